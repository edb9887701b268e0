//! The section of `docs/accuracy.md` that holds the figures.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use foreglow_shared::Timestamp;

use crate::protocol::Protocol;
use crate::standing::{Covered, Row};

const BEGIN: &str = "<!-- made by `make accuracy` -->\n";
const END: &str = "<!-- end of what `make accuracy` makes -->";

/// A table for each data set: predictors down, protocols across.
pub fn section(protocols: &[Protocol], rows: &[Row]) -> String {
    let date = Timestamp::now().to_string();
    let mut text = format!(
        "Made by `make accuracy` on {}. MAPE in percent; `foreglow` is the default predictor, with one set of defaults for\n\
         everything. *k of n*: the others are runs that this rival can say nothing about.\n",
        &date[..10]
    );
    let mut sets: Vec<&str> = protocols.iter().map(|protocol| protocol.set).collect();
    sets.dedup();
    for set in sets {
        let own: Vec<&Protocol> = protocols.iter().filter(|protocol| protocol.set == set).collect();
        let names: Vec<&str> = own.iter().map(|protocol| protocol.name.as_str()).collect();
        let _ =
            write!(text, "\n### {set}\n\n| predictor | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(own.len()));
        let of_set = || rows.iter().filter(|row| row.set == set);
        let mut predictors: Vec<&str> = Vec::new();
        for row in of_set().filter(|row| row.mape_percent.is_some()) {
            if !predictors.contains(&row.predictor.as_str()) {
                predictors.push(&row.predictor);
            }
        }
        for predictor in predictors {
            let cells: Vec<String> = names
                .iter()
                .map(|name| cell(of_set().find(|row| row.protocol == *name && row.predictor == predictor)))
                .collect();
            let _ = writeln!(text, "| {predictor} | {} |", cells.join(" | "));
        }
        let _ = writeln!(text, "\n```sh");
        for protocol in own {
            let words = protocol.parts[0].iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            let more = protocol.parts.len() - 1;
            let more = if more == 0 { String::new() } else { format!(", and {more} more like this") };
            let _ = writeln!(text, "# {}{more}\nforeglow evaluate {words}", protocol.name);
        }
        let _ = writeln!(text, "```");
    }
    text.push_str(&coverage(rows));
    text
}

fn cell(row: Option<&Row>) -> String {
    let Some(Row { mape_percent: Some(mape), tested, unknown, .. }) = row else { return "–".into() };
    match unknown {
        0 => format!("{mape:.2}"),
        unknown => format!("{mape:.2} ({tested} of {})", tested + unknown),
    }
}

/// How often the 90 % interval held the measured time.
fn coverage(rows: &[Row]) -> String {
    let foreglow = || rows.iter().filter(|row| row.predictor == "foreglow");
    let mut text = String::from(
        "\n### The 90 % intervals of `foreglow`\n\nTested runs that lie inside the interval, by whether every number of the \
         question lies within the range of the fitted runs.\n\n| set | protocol | within the range | beyond it |\n|---|---|---|---|\n",
    );
    let covered = |covered: Covered| match covered.percent() {
        Some(percent) => format!("{percent:.1} % of {}", covered.tested),
        None => "–".into(),
    };
    let mut line = |set: &str, protocol: &str, within: Covered, beyond: Covered| {
        let _ = writeln!(text, "| {set} | {protocol} | {} | {} |", covered(within), covered(beyond));
    };
    foreglow().for_each(|row| line(row.set, &row.protocol, row.within, row.beyond));
    line("all", "", foreglow().map(|row| row.within).sum(), foreglow().map(|row| row.beyond).sum());
    text
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// Puts the section between the page's markers.
///
/// # Errors
/// The page cannot be read or written, or lacks a marker.
pub fn replace(page: &Path, section: &str) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("{} cannot be read", page.display()))?;
    let (before, rest) = text.split_once(BEGIN).context("the page has no marker where the section begins")?;
    let (_, after) = rest.split_once(END).context("the page has no marker where the section ends")?;
    std::fs::write(page, format!("{before}{BEGIN}{section}{END}{after}"))
        .with_context(|| format!("{} cannot be written", page.display()))
}
