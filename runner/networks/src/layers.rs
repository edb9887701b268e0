//! The layers of one network, with their costs.

use foreglow_cnn::Costs;
use foreglow_console::output::Format;
use foreglow_console::table::{aligned, csv, narrowing_table, wrapped};
use foreglow_model::PeakBytes;
use foreglow_shared::format_integer;
use serde::Serialize;

use crate::batch_memory::MIB;

/// A network with its costs for one input.
pub struct Layers<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// Channels, height and width of the input.
    pub shape: [usize; 3],
    /// Costs.
    pub costs: Costs,
}

/// A layer as JSON.
#[derive(Serialize)]
struct Layer<'a> {
    name: &'a str,
    operator: &'a str,
    output: &'a [usize],
    parameters: u64,
    multiply_accumulates: u64,
    activations: u64,
    traffic_bytes: u64,
    weights: u64,
    /// Weights of one output from one input channel, of a convolution.
    kernel: Option<u64>,
    /// Input and output channels of a group.
    channels: Option<[u64; 2]>,
    groups: Option<u64>,
}

impl Layers<'_> {
    /// Formats the layers and their sums.
    pub fn render(&self, format: Format) -> anyhow::Result<String> {
        Ok(match format {
            Format::Table => self.table(),
            Format::Json => format!("{}\n", serde_json::to_string_pretty(&self.json())?),
            Format::Csv => self.csv(),
        })
    }

    /// Returns the layers without views, which cost nothing.
    fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        self.costs.layers.iter().filter(|layer| !layer.is_view).map(|layer| Layer {
            name: &layer.name,
            operator: &layer.operator,
            output: &layer.output,
            parameters: layer.parameters,
            multiply_accumulates: layer.multiply_accumulates,
            activations: layer.activations,
            traffic_bytes: layer.traffic_bytes,
            weights: layer.weights,
            kernel: layer.convolution.map(|convolution| convolution.kernel),
            channels: layer.convolution.map(|convolution| convolution.channels),
            groups: layer.convolution.map(|convolution| convolution.groups),
        })
    }

    fn table(&self) -> String {
        let columns = aligned([
            "<layer",
            "<operator",
            "<output",
            "parameters",
            "multiply-accumulates",
            "activations",
            "memory traffic, bytes",
        ]);
        let costs = &self.costs;
        let total = vec![
            "total".to_owned(),
            format!("{} launches", costs.launches()),
            String::new(),
            format_integer(costs.parameters),
            format_integer(costs.multiply_accumulates()),
            format_integer(costs.activations()),
            format_integer(costs.traffic_bytes()),
        ];
        let rows = self.layers().map(|layer| {
            vec![
                layer.name.to_owned(),
                layer.operator.to_owned(),
                sides(layer.output),
                format_integer(layer.parameters),
                format_integer(layer.multiply_accumulates),
                format_integer(layer.activations),
                format_integer(layer.traffic_bytes),
            ]
        });
        let [channels, height, width] = self.shape;
        let mut text = format!("{} on one input of {height}×{width}×{channels}\n\n", self.name);
        let optional = ["memory traffic, bytes", "activations", "output"];
        text.push_str(&narrowing_table(&columns, &optional, &rows.chain([total]).collect::<Vec<_>>()));
        if costs.inference_bytes > 0 {
            let mib = |bytes: u64| bytes as f64 / MIB;
            text.push_str(&format!(
                "\nmemory in 32-bit floats: weights {:.1} MiB; activations of an image {:.1} MiB in inference and {:.1} MiB in training\n",
                mib(costs.parameters.saturating_mul(4)),
                mib(costs.inference_bytes),
                mib(costs.training_bytes)
            ));
        }
        wrapped(&text)
    }

    fn json(&self) -> serde_json::Value {
        let costs = &self.costs;
        let known = |bytes: u64| Some(bytes).filter(|bytes| *bytes > 0);
        serde_json::json!({
            "schema": 1,
            "name": self.name,
            "input": self.shape,
            "parameters": costs.parameters,
            "multiply_accumulates": costs.multiply_accumulates(),
            "activations": costs.activations(),
            "traffic_bytes": costs.traffic_bytes(),
            "launches": costs.launches(),
            "inference_bytes": known(costs.inference_bytes),
            "training_bytes": known(costs.training_bytes),
            "step_bytes": { "inference": peaks(costs.step.inference), "training": peaks(costs.step.training) },
            "layers": self.layers().collect::<Vec<_>>(),
        })
    }

    fn csv(&self) -> String {
        let header = "name,operator,output,parameters,multiply_accumulates,activations,traffic_bytes";
        let rows = self.layers().map(|layer| {
            vec![
                layer.name.to_owned(),
                layer.operator.to_owned(),
                sides(layer.output),
                layer.parameters.to_string(),
                layer.multiply_accumulates.to_string(),
                layer.activations.to_string(),
                layer.traffic_bytes.to_string(),
            ]
        });
        csv(header, rows)
    }
}

/// Formats a shape without its batch: `64×112×112`.
fn sides(shape: &[usize]) -> String {
    shape.iter().skip(1).map(usize::to_string).collect::<Vec<_>>().join("×")
}

/// Returns the peaks of a step on a GPU as JSON, by number format.
fn peaks([full, mixed]: [PeakBytes; 2]) -> serde_json::Value {
    let peak = |PeakBytes { fixed, per_image }| serde_json::json!({ "fixed": fixed, "per_image": per_image });
    serde_json::json!({ "fp32": peak(full), "amp": peak(mixed) })
}
