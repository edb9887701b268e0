//! `foreglow pack`: packs images into TFRecord shards.

use std::path::PathBuf;

use foreglow_console::grammar;
use foreglow_console::output;
use foreglow_console::progress::Progress;
use foreglow_console::table::{aligned, csv, table};
use foreglow_data::{Format, Packing, Split, pack};
use foreglow_exit::unusable;

/// Pack images of any supported format into TFRecord shards for TensorFlow and Foreglow
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Images: a folder whose sub-folders are the classes, or TFRecord, CIFAR-10, IDX or BSON files
    #[arg(value_name = "FOLDER")]
    data: PathBuf,

    /// Folder for the shards; it must not contain any yet
    #[arg(value_name = "OUT")]
    out: PathBuf,

    /// Format of the images
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    data_format: Format,

    /// Number of shards
    #[arg(long, value_name = "N", conflicts_with = "shard_mib", value_parser = grammar::large_count, allow_negative_numbers = true)]
    shards: Option<u64>,

    /// Size of a shard, MiB [default: 128]
    #[arg(long, value_name = "MIB", value_parser = grammar::large_count, allow_negative_numbers = true)]
    shard_mib: Option<u64>,

    /// Prefix of the shards' names
    #[arg(long, value_name = "NAME", default_value = "images")]
    name: String,

    /// Seed of the image order
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = grammar::whole_number, allow_negative_numbers = true)]
    seed: u64,

    /// Broken images to skip before packing fails
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = grammar::whole_number, allow_negative_numbers = true)]
    max_broken: u64,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: output::Format,
}

/// Default size of a shard, MiB; TensorFlow's guide recommends at least 100 MB.
const DEFAULT_SHARD_MIB: u64 = 128;

impl Args {
    fn packing(&self) -> anyhow::Result<Packing> {
        let split = match (self.shards, self.shard_mib.unwrap_or(DEFAULT_SHARD_MIB)) {
            (Some(shards), _) => Split::Shards(shards),
            (None, mib) => Split::Bytes(mib.saturating_mul(1 << 20)),
        };
        if self.name.is_empty() || self.name.contains(['/', '\\']) {
            return Err(unusable(format!("--name is {:?}; give a prefix for file names", self.name)));
        }
        Ok(Packing { name: self.name.clone(), split, seed: self.seed, broken_limit: self.max_broken })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let packing = args.packing()?;
    let set = args.data_format.source(&args.data)?.open()?;
    if let Split::Shards(shards) = packing.split
        && shards > set.len()
    {
        return Err(unusable(format!(
            "{shards} shards are more than the {} images; give --shards {0} or less",
            set.len()
        )));
    }
    let progress = Progress::default();
    set.remark().iter().for_each(|remark| progress.line(&format!("note: {remark}")));
    let packed =
        pack(set.as_ref(), set.len(), &args.out, &packing, &mut |done, of| progress.images("packing", done, of))?;
    if let Some(first) = packed.broken.first() {
        progress.line(&format!("warning: broken images left out: {}; the first is {first}", packed.broken.len()));
    }
    drop(progress);
    let shards: Vec<String> = packed.shards.iter().map(|shard| shard.display().to_string()).collect();
    output::print(&match args.format {
        output::Format::Table => {
            let size = format!("{:.1} MiB", packed.bytes as f64 / f64::from(1 << 20));
            let rows = [
                ("images", packed.images.to_string()),
                ("classes", set.classes().map_or_else(|| "unknown".to_owned(), |classes| classes.to_string())),
                ("broken, left out", packed.broken.len().to_string()),
                ("size", size),
                ("shards", shards.len().to_string()),
                ("first shard", shards.first().cloned().unwrap_or_default()),
            ];
            let out = format!("<{}", args.out.display());
            table(&aligned(["<packed", &out]), rows.map(|(name, value)| vec![name.to_owned(), value]))
        }
        output::Format::Json => format!(
            "{:#}\n",
            serde_json::json!({
                "schema": 1,
                "images": packed.images,
                "classes": set.classes(),
                "bytes": packed.bytes,
                "broken": packed.broken,
                "shards": shards,
            })
        ),
        output::Format::Csv => csv("shard", shards.into_iter().map(|shard| vec![shard])),
    })
}
