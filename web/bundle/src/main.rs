//! Turns the planner's wasm and the root `index.html` into a folder of static files.
//!
//! It does what trunk does for this page, but calls wasm-bindgen as a library, which takes a
//! fraction of the time to build trunk. The start script, which trunk writes inline, is a file, so
//! that the page can have a strict content security policy.

mod bind;
mod offline;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::bind::bind;
use crate::page::{Asset, Page};

const USAGE: &str = "usage: foreglow-bundle --wasm FILE --reader FILE [--comparison FILE] --out DIR [--index FILE]";
/// The modules that the page's workers fetch on first use.
const READER: &str = "foreglow-reader";
const COMPARISON: &str = "foreglow-comparison";

/// The example with the published study's CNNs, and the folder with the samples of each.
const STUDY: &str = "study.jsonl";
const STUDY_SAMPLES: &str = "bench/paper/samples";

/// The parsed command line.
struct Arguments {
    wasm: PathBuf,
    reader: PathBuf,
    comparison: Option<PathBuf>,
    out: PathBuf,
    index: PathBuf,
}

fn main() -> Result<()> {
    let arguments = arguments(std::env::args().skip(1))?;
    let index = read(&arguments.index)?;
    let page = Page::parse(&index)?;
    let root = arguments.index.parent().unwrap_or(Path::new("."));

    // Files of an earlier build must not remain.
    if arguments.out.exists() {
        fs::remove_dir_all(&arguments.out).with_context(|| format!("clearing {}", arguments.out.display()))?;
    }
    fs::create_dir_all(&arguments.out).with_context(|| format!("making {}", arguments.out.display()))?;
    let mut style = String::new();
    for asset in page.assets() {
        match asset {
            Asset::Copied { href } => copy(&root.join(href), &arguments.out)?,
            Asset::Style { href } => style.push_str(&page::without_comments(&read(&root.join(href))?)),
            Asset::Program { name } => bind(&arguments.wasm, name, &arguments.out)?,
        }
    }
    bind(&arguments.reader, READER, &arguments.out)?;
    match &arguments.comparison {
        Some(comparison) => bind(comparison, COMPARISON, &arguments.out)?,
        None => {
            let stand_in = read(&root.join("web/assets").join(page::NO_COMPARISON))?;
            write(&arguments.out.join(page::COMPARISON_WORKER), &stand_in)?;
        }
    }
    write(&arguments.out.join(page::STYLE), &style)?;
    write(&arguments.out.join(STUDY), &joined_samples(&root.join(STUDY_SAMPLES))?)?;
    write(&arguments.out.join("index.html"), &page.html())?;
    write(&arguments.out.join(page::START_SCRIPT), &page.start_script())?;
    // Last, because it lists all other files. The service worker caches the reader at once, so that
    // files open offline, and the comparison at its first use.
    offline::write(&arguments.out, &root.join("web/assets").join(page::SERVICE_WORKER), COMPARISON)
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments> {
    let (mut wasm, mut reader, mut comparison, mut out) = (None, None, None, None);
    let mut index = PathBuf::from("index.html");
    while let Some(word) = words.next() {
        let value = words.next().map(PathBuf::from);
        match (word.as_str(), value) {
            ("--wasm", Some(path)) => wasm = Some(path),
            ("--reader", Some(path)) => reader = Some(path),
            ("--comparison", Some(path)) => comparison = Some(path),
            ("--out", Some(path)) => out = Some(path),
            ("--index", Some(path)) => index = path,
            _ => bail!("{word}: {USAGE}"),
        }
    }
    match (wasm, reader, out) {
        (Some(wasm), Some(reader), Some(out)) => Ok(Arguments { wasm, reader, comparison, out, index }),
        _ => bail!("{USAGE}"),
    }
}

fn copy(from: &Path, out: &Path) -> Result<()> {
    let name = from.file_name().with_context(|| format!("{} names no file", from.display()))?;
    fs::copy(from, out.join(name)).with_context(|| format!("copying {}", from.display()))?;
    Ok(())
}

/// The samples of all files in a folder, without subfolders, in the order of their names.
fn joined_samples(folder: &Path) -> Result<String> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}; run from the root of the repository", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
