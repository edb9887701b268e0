//! The largest batches of a network that fit GPUs.

use foreglow_console::output::Format;
use foreglow_console::table::{aligned, csv_of, table, wrapped};
use foreglow_exit::unusable;
use foreglow_model::{
    BatchMemory, Gpu, LargestBatch, MemoryRun, MemorySource, OwnPeak, Precision, PublicData, short_name,
};
use foreglow_shared::{Mode, format_count, format_integer};
use serde::Serialize;

use crate::public::source;

/// Bytes in a GiB.
const GIB: f64 = 1_073_741_824.0;
/// Number formats of the table, unless the user asks for one.
const FORMATS: [Precision; 3] = [Precision::Fp32, Precision::Mixed, Precision::Fp16];

/// What is asked.
pub struct Question<'a> {
    /// Name of the network, or an ONNX file.
    pub network: &'a str,
    /// Side of the images, pixels; `None` for the usual one.
    pub image_px: Option<u32>,
    /// Mode of the job.
    pub mode: Mode,
    /// The GPUs.
    pub gpus: &'a [String],
    /// The number format; `None` for all that the GPU has.
    pub precision: Option<Precision>,
    /// Measured peaks of the network on a GPU.
    pub peaks: &'a [OwnPeak],
}

/// The batches of a network by GPU and number format.
pub struct Answer {
    name: String,
    image_px: u32,
    mode: Mode,
    /// What the memory is predicted from: the `graph`, or the number of `activations`.
    basis: &'static str,
    /// Number of measured peaks.
    measured: usize,
    gpus: Vec<GpuBatch>,
}

/// The batches that fit a GPU in a number format.
#[derive(Serialize)]
struct GpuBatch {
    gpu: String,
    memory_gib: f64,
    dtype: &'static str,
    surely: u64,
    expected: u64,
    at_most: u64,
}

impl Answer {
    /// Answers a question.
    ///
    /// # Errors
    /// The network or a GPU is unknown, or a GPU lacks the number format.
    pub fn new(asked: &Question<'_>) -> anyhow::Result<Self> {
        let data = PublicData::built_in();
        let network = data.network(&source(asked.network, asked.image_px)?, asked.image_px);
        let (costs, step) = network.map_err(|error| unusable(error.to_string()))?;
        if asked.mode == Mode::Training && asked.precision == Some(Precision::Int8) {
            return Err(unusable("int8 is for inference; choose another --dtype or --mode inference"));
        }
        let runs: Vec<MemoryRun> = asked.peaks.iter().map(|peak| peak.run()).collect();
        let mut gpus = Vec::new();
        for name in asked.gpus {
            let gpu = data.table().gpus.find(name, None).map_err(|error| unusable(error.to_string()))?;
            for precision in formats(gpu, asked.precision)? {
                let memory = BatchMemory::on_gpu(&step, asked.mode, precision).measured(&runs);
                let LargestBatch { surely, expected, at_most } = memory.largest_batch(gpu.memory_gib * GIB);
                let (gpu, memory_gib, dtype) = (short_name(gpu), gpu.memory_gib, precision.name());
                gpus.push(GpuBatch { gpu, memory_gib, dtype, surely, expected, at_most });
            }
        }
        let basis = match step.source {
            MemorySource::Graph => "graph",
            MemorySource::Costs => "activations",
        };
        let measured = runs.len();
        Ok(Self { name: costs.name, image_px: costs.image_px, mode: asked.mode, basis, measured, gpus })
    }

    /// Formats the answer.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Table => self.table(),
            Format::Json => format!("{:#}\n", self.json()),
            Format::Csv => csv_of("gpu,memory_gib,dtype,surely,expected,at_most", &self.gpus),
        }
    }

    fn json(&self) -> serde_json::Value {
        let Self { name, image_px, mode, basis, measured, gpus } = self;
        serde_json::json!({
            "schema": 1,
            "name": name,
            "image_px": image_px,
            "mode": mode,
            "basis": basis,
            "measured": measured,
            "gpus": gpus,
        })
    }

    fn table(&self) -> String {
        let Self { name, image_px, mode, .. } = self;
        let basis = match self.basis {
            "graph" => "the tensors of the graph that are alive at the same time",
            _ => "the number of activations, because the graph is unknown; an ONNX file has it",
        };
        let measured = match self.measured {
            0 => String::new(),
            count => format!(", and {}", format_count(count, "measured peak")),
        };
        let head = format!(
            "{name} on images of {image_px}×{image_px}, {mode}: the largest batch that fits one GPU\nbased on {basis}\
             {measured}\n\n"
        );
        let columns = aligned(["<GPU", "memory, GiB", "<dtype", "batch: fits surely", "expected", "at most"]);
        let rows = self.gpus.iter().map(|row| {
            let [surely, expected, at_most] = [row.surely, row.expected, row.at_most].map(format_integer);
            vec![row.gpu.clone(), format!("{:.0}", row.memory_gib), row.dtype.to_owned(), surely, expected, at_most]
        });
        wrapped(&head) + &table(&columns, rows)
    }
}

/// Returns the number formats to list for a GPU.
fn formats(gpu: &Gpu, asked: Option<Precision>) -> anyhow::Result<Vec<Precision>> {
    match asked {
        Some(format) if !gpu.has(format) => {
            let (gpu, format) = (short_name(gpu), format.name());
            Err(unusable(format!("{gpu} has no units for {format}; choose another --dtype")))
        }
        Some(format) => Ok(vec![format]),
        None => Ok(FORMATS.into_iter().filter(|format| gpu.has(*format)).collect()),
    }
}
