//! The costs of the network in an ONNX file, computed from its graph, as HTML. A worker writes it,
//! so that the page needs neither the reader of ONNX files nor the tables.

use std::io::{Read, Seek};

use foreglow_model::{NetworkFromFile, Precision, StepMemory};
use foreglow_onnx::{Costs, Dimension, Error, LayerCost, Network};
use foreglow_shared::{Mode, format_integer};
use serde::{Deserialize, Serialize};

use crate::data::text::escaped;
use crate::data::unmeasured::costs_text;

/// Batch sizes of the table of memory.
pub const BATCHES: [u64; 4] = [1, 8, 32, 128];
/// Bytes in a MiB.
const MIB: f64 = 1_048_576.0;

/// The HTML of a network. All costs are per image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkHtml {
    /// The row of the table of costs.
    pub costs: String,
    /// The rows of the table of memory: inference and training, by [`BATCHES`].
    pub memory: String,
    /// The layers, folded.
    pub layers: String,
    /// Whether the file leaves the size of its images open.
    pub is_open: bool,
    /// Its costs and memory in the form of the address, for a question about it; `None` if its
    /// images are not square.
    pub network: Option<String>,
}

impl NetworkHtml {
    /// Reads a network; `px` is the side of its images where the file leaves it open.
    ///
    /// # Errors
    /// The file is not a supported network; one sentence without its full stop.
    pub fn read(name: &str, source: &mut (impl Read + Seek), px: u32) -> Result<Self, String> {
        Self::of(name, source, px as usize).map_err(|error| error.to_string())
    }

    fn of(name: &str, source: &mut (impl Read + Seek), px: usize) -> Result<Self, Error> {
        let network = Network::read(source)?;
        let shape = network.image_shape(Some(px))?;
        let [channels, height, width] = shape;
        let costs = network.costs(&network.plan([1, channels, height, width])?);
        let is_open = network.input.iter().skip(2).any(|side| matches!(side, Dimension::Open(_)));
        let side = u32::try_from(height).ok().filter(|_| height == width);
        let network = side.map(|side| costs_text(&NetworkFromFile::of_graph(name, side, &costs)));
        let name = escaped(name);
        Ok(Self {
            network,
            costs: costs_row(&name, shape, &costs),
            memory: memory_rows(&name, &StepMemory::of_graph(&costs)),
            layers: layers(&name, &costs),
            is_open,
        })
    }
}

fn cell(number: u64) -> String {
    format!("<td class=\"number\">{}</td>", format_integer(number))
}

fn costs_row(name: &str, [channels, height, width]: [usize; 3], costs: &Costs) -> String {
    format!(
        "<tr><th scope=\"row\">{name}</th><td>{height}×{width}×{channels}</td>{}{}{}{}{}</tr>",
        cell(costs.parameters),
        cell(costs.multiply_accumulates()),
        cell(costs.activations()),
        cell(costs.traffic_bytes()),
        cell(costs.launches() as u64),
    )
}

fn memory_rows(name: &str, memory: &StepMemory) -> String {
    let row = |mode: Mode| {
        let bytes = |batch: u64| {
            memory.fixed_bytes(mode, Precision::Fp32) + batch as f64 * memory.bytes_per_image(mode, Precision::Fp32)
        };
        let cells = BATCHES.map(|batch| format!("<td class=\"number\">{:.1}</td>", bytes(batch) / MIB));
        format!("<tr><th scope=\"row\">{name}</th><td>{mode}</td>{}</tr>", cells.concat())
    };
    [Mode::Inference, Mode::Training].map(row).concat()
}

fn layers(name: &str, costs: &Costs) -> String {
    let row = |layer: &LayerCost| {
        let output: Vec<String> = layer.output.iter().skip(1).map(usize::to_string).collect();
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>{}{}{}{}</tr>",
            escaped(&layer.name),
            escaped(&layer.operator),
            output.join("×"),
            cell(layer.parameters),
            cell(layer.multiply_accumulates),
            cell(layer.activations),
            cell(layer.traffic_bytes),
        )
    };
    let rows: String = costs.layers.iter().filter(|layer| !layer.is_view).map(row).collect();
    format!(
        "<details><summary>Layers of {name}</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\">layer</th>\
         <th scope=\"col\">operator</th><th scope=\"col\">output</th><th scope=\"col\" class=\"number\">parameters</th>\
         <th scope=\"col\" class=\"number\">multiply-accumulates</th><th scope=\"col\" class=\"number\">activations</th>\
         <th scope=\"col\" class=\"number\">memory traffic, bytes</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn export(name: &str) -> Vec<u8> {
        let path = format!("{}/../shared/onnx/tests/exports/{name}.onnx", env!("CARGO_MANIFEST_DIR"));
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_network_has_its_costs_memory_and_layers() {
        let html = NetworkHtml::read("net<1>.onnx", &mut Cursor::new(export("shufflenet_v2")), 224).unwrap();
        assert!(html.costs.starts_with("<tr><th scope=\"row\">net&lt;1&gt;.onnx</th>"), "{}", html.costs);
        assert!(html.memory.contains("<td>training</td>") && html.layers.contains("<td>Conv</td>"));
        let numbers = |text: &str| text.matches("class=\"number\"").count();
        assert_eq!((numbers(&html.costs), numbers(&html.memory)), (5, 2 * BATCHES.len()));
    }

    #[test]
    fn a_damaged_file_is_rejected_in_one_sentence() {
        let bytes = export("convnext");
        let read = |bytes: &[u8]| NetworkHtml::read("net.onnx", &mut Cursor::new(bytes), 224).unwrap_err();
        let error = read(&bytes[..bytes.len() / 2]);
        assert!(error.contains("truncated"), "{error}");
        let error = read(b"hello");
        assert!(!error.is_empty() && !error.ends_with('.'), "{error}");
    }
}
