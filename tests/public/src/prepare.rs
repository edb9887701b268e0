//! Reads the public files and normalises them to rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use foreglow_public::{
    BuiltInNetwork, Conditions, Gpus, Measurement, Measurements, NetworkCosts, Precision, SoftwareKind, Source,
};
use foreglow_shared::Mode;

/// A line of a file, by column.
type Line = BTreeMap<String, String>;

/// Networks of timm that no other source has, of which every n-th is fitted.
const TIMM_STEP: usize = 20;

/// The measurements of the public files.
pub struct Prepared {
    /// All rows, of which the first batch of a cell is the largest.
    pub table: Measurements,
    /// Of each row: whether its licence permits to ship it.
    pub is_shippable: Vec<bool>,
    /// Of each row: whether it has the largest batch of its cell.
    pub is_largest: Vec<bool>,
}

/// Rows of one cell: all but batch and speed are equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    source: String,
    stack: String,
    network: String,
    px: u32,
    gpu: String,
    format: Precision,
    is_training: bool,
    gpus: u32,
    nodes: u32,
}

struct CellRow {
    batch: Option<u32>,
    speed: f64,
    date: String,
    is_shippable: bool,
}

/// Reads `runs.csv`, `networks.csv` and `sources.csv` of a folder.
pub fn prepare(folder: &Path) -> anyhow::Result<Prepared> {
    let gpus = Gpus::built_in();
    let costs = Costs::read(folder)?;
    let unlicensed = unlicensed(folder)?;
    let mut cells: BTreeMap<Cell, Vec<CellRow>> = BTreeMap::new();
    for line in lines(&folder.join("runs.csv"))? {
        let row = normalised(&line, &gpus, &unlicensed);
        if let Some((cell, row)) = row.filter(|(cell, _)| costs.of(&cell.network, cell.px).is_some()) {
            cells.entry(cell).or_default().push(row);
        }
    }
    Ok(gathered(cells, &costs, gpus))
}

fn lines(path: &Path) -> anyhow::Result<Vec<Line>> {
    let mut reader = csv::Reader::from_path(path).with_context(|| format!("{} cannot be read", path.display()))?;
    reader.deserialize().map(|line| line.with_context(|| format!("{} is no table", path.display()))).collect()
}

/// Returns the sources, or parts of sources, whose figures must not be shipped.
fn unlicensed(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let lines = lines(&folder.join("sources.csv"))?;
    let unclear = lines.iter().filter(|line| line["ship"] != "yes");
    Ok(unclear.map(|line| line["source"].clone()).collect())
}

/// Returns the cell and the row of a line; `None` if it is no usable speed of a classifier on a
/// known GPU.
fn normalised(line: &Line, gpus: &Gpus, unlicensed: &BTreeSet<String>) -> Option<(Cell, CellRow)> {
    let text = |name: &str| line[name].as_str();
    if text("note").starts_with("SUSPECT") || text("note").contains("ffcv") || text("source") == "detectron2" {
        return None;
    }
    gpus.with_key(text("gpu_key"))?;
    let format = match text("precision") {
        "fp32" => Precision::Fp32,
        "tf32" => Precision::Tf32,
        "amp_fp16" | "amp_bf16" => Precision::Mixed,
        "fp16" => Precision::Fp16,
        "int8" => Precision::Int8,
        _ => return None,
    };
    let is_mlperf = text("source").starts_with("mlperf");
    // Submissions of the open division are ordinary code.
    let source = match (text("source"), text("tuned")) {
        ("mlperf_training" | "mlperf_inference", "0") => "open_submissions",
        (source, _) => source,
    };
    let framework = if is_mlperf { "" } else { text("framework") };
    let stack = [framework, text("compile"), text("layout"), text("data")];
    let stack = stack.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let number = |name: &str| line[name].parse::<f64>().ok().filter(|number| *number > 0.0);
    let is_unclear = match text("source") {
        "nvidia_dle" => text("framework") == "paddlepaddle",
        source => unlicensed.contains(source),
    };
    let cell = Cell {
        source: source.to_owned(),
        stack,
        network: text("network").to_owned(),
        px: number("image_px")? as u32,
        gpu: text("gpu_key").to_owned(),
        format,
        is_training: text("mode") == "training",
        gpus: number("gpus")? as u32,
        nodes: number("nodes")? as u32,
    };
    let row = CellRow {
        batch: number("batch_per_gpu").map(|batch| batch as u32),
        speed: number("images_per_sec")?,
        date: text("date").to_owned(),
        // Results of submissions may not be shown beside others: only fitted levels are.
        is_shippable: !is_unclear && !is_mlperf && text("tuned") != "1",
    };
    Some((cell, row))
}

/// Costs of networks by name and image size.
struct Costs {
    by_size: BTreeMap<(String, u32), NetworkCosts>,
}

impl Costs {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut by_size = BTreeMap::new();
        for line in lines(&folder.join("networks.csv"))? {
            let number = |name: &str| line[name].parse::<f64>().ok().filter(|number| *number > 0.0);
            let numbers = (number("image_px"), number("parameters_m"), number("gmacs"), number("activations_m"));
            let (Some(px), Some(parameters_m), Some(gmacs), Some(activations_m)) = numbers else { continue };
            let (name, image_px) = (line["network"].clone(), px as u32);
            let costs = NetworkCosts {
                name: name.clone(),
                family: line["family"].clone(),
                is_convolutional: line["kind"] == "cnn",
                image_px,
                parameters_m,
                gmacs,
                activations_m,
            };
            by_size.insert((name, image_px), costs);
        }
        Ok(Self { by_size })
    }

    /// Returns the costs at an image size, if necessary scaled by the number of pixels.
    fn of(&self, name: &str, px: u32) -> Option<NetworkCosts> {
        if let Some(costs) = self.by_size.get(&(name.to_owned(), px)) {
            return Some(costs.clone());
        }
        let sizes = self.by_size.range((name.to_owned(), 0)..=(name.to_owned(), u32::MAX));
        let (_, nearest) = sizes.min_by_key(|((_, own), _)| own.abs_diff(px))?;
        Some(nearest.at(px))
    }
}

/// Sources whose programs hardly scale over several GPUs.
const HARDLY_SCALES: [&str; 2] = ["ryujaehun", "gavel"];

/// Licences and addresses of the sources, with the kind of their software.
const SOURCES: [(&str, SoftwareKind, &str, &str); 16] = [
    ("flax", SoftwareKind::Example, "Apache-2.0", "github.com/google/flax@1dbd90eaed"),
    ("gavel", SoftwareKind::Plain, "MIT", "github.com/stanford-futuredata/gavel@c4fa400973"),
    ("haiku", SoftwareKind::Example, "Apache-2.0", "github.com/google-deepmind/dm-haiku@017e2a3e4a"),
    ("jcjohnson", SoftwareKind::Plain, "MIT", "github.com/jcjohnson/cnn-benchmarks@83d441f852"),
    ("mlperf_inference", SoftwareKind::Tuned, "", ""),
    ("mlperf_training", SoftwareKind::Tuned, "", ""),
    (
        "nvidia_dle",
        SoftwareKind::Example,
        "BSD-3-Clause and Apache-2.0",
        "github.com/NVIDIA/DeepLearningExamples@729963dd47",
    ),
    ("open_submissions", SoftwareKind::Plain, "", ""),
    ("profet", SoftwareKind::Plain, "MIT", "github.com/ddps-lab/profet@e69477f"),
    ("pycls", SoftwareKind::Plain, "MIT", "github.com/facebookresearch/pycls@5719de6416"),
    ("ryujaehun", SoftwareKind::Plain, "MIT", "github.com/ryujaehun/pytorch-gpu-benchmark@3f47a9e2a4"),
    ("swin", SoftwareKind::Plain, "MIT", "github.com/microsoft/Swin-Transformer@2cb103f2de"),
    ("tensorflow_2017", SoftwareKind::Example, "", ""),
    ("tensorpack", SoftwareKind::Example, "Unlicense", "github.com/tensorpack/benchmarks@7c97174f9a"),
    ("timm", SoftwareKind::Plain, "Apache-2.0", "github.com/huggingface/pytorch-image-models@aa4b5850c1"),
    ("tuned", SoftwareKind::Tuned, "fitted here", "fitted levels of tuned submissions"),
];

fn gathered(cells: BTreeMap<Cell, Vec<CellRow>>, costs: &Costs, gpus: Gpus) -> Prepared {
    let sources: Vec<Source> = SOURCES
        .into_iter()
        .map(|(name, kind, licence, address)| Source {
            name: name.to_owned(),
            kind,
            licence: licence.to_owned(),
            address: address.to_owned(),
        })
        .collect();
    let base = base(&cells);
    let mut prepared = Prepared {
        table: Measurements { sources, networks: Vec::new(), built_in: BuiltInNetwork::all(), gpus, rows: Vec::new() },
        is_shippable: Vec::new(),
        is_largest: Vec::new(),
    };
    let mut network_of: BTreeMap<(String, u32), usize> = BTreeMap::new();
    for (cell, rows) in cells {
        let Some(source) = SOURCES.iter().position(|source| source.0 == cell.source) else { continue };
        let Some(gpu) = prepared.table.gpus.all().iter().position(|gpu| gpu.key == cell.gpu) else { continue };
        let table = &mut prepared.table;
        let network = *network_of.entry((cell.network.clone(), cell.px)).or_insert_with(|| {
            table.networks.extend(costs.of(&cell.network, cell.px));
            table.networks.len() - 1
        });
        // Programs that hardly scale (DataParallel, jobs that a scheduler spreads) are a tail. It
        // must not set the slope of all others.
        let is_outlier = cell.gpus > 1 && HARDLY_SCALES.contains(&cell.source.as_str());
        let is_thinned = cell.source == "timm" && !base.contains(&(cell.network.clone(), cell.px));
        let is_base = !is_outlier && !is_thinned;
        for (number, row) in batches(rows).into_iter().enumerate() {
            let conditions = Conditions {
                network,
                gpu,
                mode: if cell.is_training { Mode::Training } else { Mode::Inference },
                format: cell.format,
                gpus: cell.gpus,
                nodes: cell.nodes,
                batch: row.batch,
            };
            prepared.table.rows.push(Measurement {
                source,
                stack: cell.stack.clone(),
                date: row.date,
                conditions,
                images_per_sec: row.speed,
                is_base,
            });
            prepared.is_shippable.push(row.is_shippable);
            prepared.is_largest.push(number == 0);
        }
    }
    prepared
}

/// Returns the networks of timm that every fit has, each at its smallest image size: all that
/// another source has, and every [`TIMM_STEP`]-th of the others.
fn base(cells: &BTreeMap<Cell, Vec<CellRow>>) -> BTreeSet<(String, u32)> {
    let elsewhere: BTreeSet<&str> =
        cells.keys().filter(|cell| cell.source != "timm").map(|cell| cell.network.as_str()).collect();
    let mut sizes: BTreeMap<&str, u32> = BTreeMap::new();
    for cell in cells.keys().filter(|cell| cell.source == "timm") {
        let size = sizes.entry(&cell.network).or_insert(cell.px);
        *size = cell.px.min(*size);
    }
    let chosen = sizes.into_iter().enumerate();
    let chosen = chosen.filter(|(number, (name, _))| elsewhere.contains(name) || number % TIMM_STEP == 0);
    chosen.map(|(_, (name, px))| (name.to_owned(), px)).collect()
}

/// Returns the row with the largest batch, and that with the smallest if it is at most a quarter:
/// the median of equal ones.
fn batches(rows: Vec<CellRow>) -> Vec<CellRow> {
    let mut by_batch: BTreeMap<Option<u32>, Vec<CellRow>> = BTreeMap::new();
    for row in rows {
        by_batch.entry(row.batch).or_default().push(row);
    }
    let (smallest, largest) =
        (by_batch.keys().next().copied().flatten(), by_batch.keys().next_back().copied().flatten());
    let has_both = smallest.zip(largest).is_some_and(|(smallest, largest)| smallest * 4 <= largest);
    let mut kept: Vec<CellRow> = by_batch.pop_last().into_iter().map(|(_, rows)| median(rows)).collect();
    if has_both {
        kept.extend(by_batch.pop_first().map(|(_, rows)| median(rows)));
    }
    kept
}

fn median(mut rows: Vec<CellRow>) -> CellRow {
    rows.sort_by(|one, other| one.speed.total_cmp(&other.speed));
    let middle = (rows.len() - 1) / 2;
    rows.swap_remove(middle)
}
