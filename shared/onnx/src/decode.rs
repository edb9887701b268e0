//! Decodes the messages of an ONNX file; the field numbers are those of `onnx.proto`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use crate::network::{Dimension, Network};
use crate::node::Node;
use crate::node::{Attribute, Branch};
use crate::weight::{READ_WITH_GRAPH, Weight, WeightRange};
use crate::wire::{Payload, Wire};
use crate::{Error, compose, known::MOST_KNOWN};

/// Bytes of the longest number.
const INTEGER: u64 = 8;
/// Limit on graphs inside of nodes of graphs.
const DEEPEST: usize = 4;

/// An input or output of the graph.
struct Value {
    name: String,
    dims: Vec<Dimension>,
}

#[derive(Default)]
struct Graph {
    nodes: Vec<Node>,
    weights: Vec<Weight>,
    /// Names of the weights that are constants.
    constants: BTreeSet<String>,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
}

impl Graph {
    /// Adds a node. The tensor of a constant is a weight, as if it were an initialiser, and so are
    /// the initialisers of a graph inside the node.
    fn push(&mut self, mut node: Node) {
        for (_, attribute) in &mut node.attributes.0 {
            if let Attribute::Branch(branch) = attribute {
                self.weights.append(&mut branch.weights);
                self.constants.append(&mut branch.constants);
            }
        }
        let tensor = if node.is("Constant") { node.attributes.take_tensor() } else { None };
        match (tensor, node.outputs.first()) {
            (Some(weight), Some(name)) => {
                self.constants.insert(name.clone());
                self.weights.push(Weight { name: name.clone(), ..weight });
            }
            _ => compose::expand(node, &mut self.nodes, &mut self.weights),
        }
    }

    /// Marks the constants that stand for a missing scale or bias: PyTorch writes a normalisation
    /// of groups as one of instances with a scale of ones and a bias of zeros.
    fn mark_neutral(&mut self) {
        for node in self.nodes.iter().filter(|node| node.is("InstanceNormalization")) {
            for (name, neutral) in
                node.inputs.iter().skip(1).zip([1.0, 0.0]).filter(|(name, _)| self.constants.contains(*name))
            {
                let is_it = |weight: &Weight| {
                    weight.name == *name
                        && weight.known().is_some_and(|known| known.floats().iter().all(|float| *float == neutral))
                };
                self.weights.iter_mut().filter(|weight| is_it(weight)).for_each(|weight| weight.is_neutral = true);
            }
        }
    }
}

/// Decodes a `ModelProto`.
pub fn model(source: &mut (impl Read + Seek)) -> Result<Network, Error> {
    let mut wire = Wire::new(source)?;
    let (mut producer, mut opset, mut graph) = (String::new(), None, None);
    let end = wire.len();
    while let Some((number, payload)) = wire.field(end)? {
        match number {
            2 => producer = wire.text(payload)?,
            7 => graph = Some(self::graph(&mut wire, payload, DEEPEST)?),
            8 => {
                let (domain, version) = operator_set(&mut wire, payload)?;
                if is_standard(&domain) {
                    opset = Some(version);
                }
            }
            _ => wire.skip(payload)?,
        }
    }
    let mut graph = graph.ok_or_else(|| Error::NotOnnx("it has no graph".to_owned()))?;
    graph.mark_neutral();
    let opset = opset.ok_or_else(|| Error::NotOnnx("it names no operator set".to_owned()))?;
    let weight_places: BTreeMap<String, usize> =
        graph.weights.iter().enumerate().map(|(place, weight)| (weight.name.clone(), place)).collect();
    // Files of the first versions list the weights among the inputs.
    let mut inputs = graph.inputs.into_iter().filter(|input| !weight_places.contains_key(&input.name));
    let mut input = inputs.next().ok_or_else(|| Error::Input("it has no input".to_owned()))?;
    if let Some(other) = inputs.next() {
        let (first, second) = (input.name, other.name);
        return Err(Error::Input(format!(
            "it has more than one input ({first}, {second}); export it with the images as its only input"
        )));
    }
    if graph.outputs.is_empty() {
        return Err(Error::Input("it has no output".to_owned()));
    }
    let is_channels_last = are_channels_last(&input.dims);
    if is_channels_last {
        input.dims[1..].rotate_right(1);
    }
    Ok(Network {
        producer,
        is_channels_last,
        opset,
        weights: graph.weights,
        input: input.dims,
        input_name: input.name,
        outputs: graph.outputs.into_iter().map(|output| output.name).collect(),
        nodes: graph.nodes,
        weight_places,
    })
}

/// Returns whether the last axis holds the channels of images, which are one or three, and those
/// before it have the length of a side.
fn are_channels_last(dims: &[Dimension]) -> bool {
    let is_side = |length: &Dimension| !matches!(length, Dimension::Fixed(..8));
    matches!(dims, [_, height, width, Dimension::Fixed(1 | 3)] if is_side(height) && is_side(width))
}

fn is_standard(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

fn operator_set<R: Read + Seek>(wire: &mut Wire<'_, R>, payload: Payload) -> Result<(String, i64), Error> {
    let (mut domain, mut version, end) = (String::new(), 0, wire.message(payload)?);
    while let Some((number, payload)) = wire.field(end)? {
        match (number, payload) {
            (1, _) => domain = wire.text(payload)?,
            (2, Payload::Varint(number)) => version = number as i64,
            _ => wire.skip(payload)?,
        }
    }
    Ok((domain, version))
}

fn graph<R: Read + Seek>(wire: &mut Wire<'_, R>, payload: Payload, depth: usize) -> Result<Graph, Error> {
    let (mut graph, end) = (Graph::default(), wire.message(payload)?);
    while let Some((number, payload)) = wire.field(end)? {
        match number {
            1 => graph.push(node(wire, payload, depth)?),
            5 => graph.weights.push(weight(wire, payload, READ_WITH_GRAPH)?),
            11 => graph.inputs.push(value(wire, payload)?),
            12 => graph.outputs.push(value(wire, payload)?),
            15 => {
                return Err(Error::NotOnnx(
                    "it has sparse weights, which are not supported; export it with dense ones".to_owned(),
                ));
            }
            _ => wire.skip(payload)?,
        }
    }
    Ok(graph)
}

fn node<R: Read + Seek>(wire: &mut Wire<'_, R>, payload: Payload, depth: usize) -> Result<Node, Error> {
    let (mut node, end) = (Node::default(), wire.message(payload)?);
    while let Some((number, payload)) = wire.field(end)? {
        match number {
            1 => node.inputs.push(wire.text(payload)?),
            2 => node.outputs.push(wire.text(payload)?),
            3 => node.name = wire.text(payload)?,
            4 => node.operator = wire.text(payload)?,
            5 => {
                let attribute = attribute(wire, payload, depth)?;
                node.attributes.0.push(attribute);
            }
            7 => {
                let domain = wire.text(payload)?;
                node.domain = if is_standard(&domain) { String::new() } else { domain };
            }
            _ => wire.skip(payload)?,
        }
    }
    Ok(node)
}

fn attribute<R: Read + Seek>(
    wire: &mut Wire<'_, R>,
    payload: Payload,
    depth: usize,
) -> Result<(String, Attribute), Error> {
    let (mut name, mut kind, end) = (String::new(), None, wire.message(payload)?);
    let (mut float, mut int, mut text, mut tensor) = (None, None, None, None);
    let (mut floats, mut ints, mut branch) = (Vec::new(), Vec::new(), None);
    while let Some((number, payload)) = wire.field(end)? {
        match (number, payload) {
            (1, _) => name = wire.text(payload)?,
            (2, Payload::Fixed32(bits)) => float = Some(f32::from_bits(bits)),
            (3, Payload::Varint(number)) => int = Some(number as i64),
            (4, _) => text = Some(wire.text(payload)?),
            (5, _) => tensor = Some(weight(wire, payload, READ_WITH_GRAPH)?),
            (6, _) if depth > 0 => branch = Some(graph(wire, payload, depth - 1)?),
            (7, _) => wire.floats(payload, &mut floats)?,
            (8, _) => wire.integers(payload, &mut ints)?,
            (20, Payload::Varint(number)) => kind = Some(number),
            _ => wire.skip(payload)?,
        }
    }
    // A writer may omit fields with the value 0, or the type.
    let value = match (kind, float, int, text, tensor) {
        (Some(1), float, ..) => Attribute::Float(float.unwrap_or(0.0)),
        (Some(2), _, int, ..) => Attribute::Int(int.unwrap_or(0)),
        (Some(3), _, _, text, _) => Attribute::Text(text.unwrap_or_default()),
        (Some(4) | None, _, _, _, Some(tensor)) => Attribute::Tensor(tensor),
        _ if branch.is_some() => branch.map_or(Attribute::Other, |graph| {
            let outputs = graph.outputs.into_iter().map(|output| output.name).collect();
            Attribute::Branch(Branch {
                nodes: graph.nodes,
                outputs,
                weights: graph.weights,
                constants: graph.constants,
            })
        }),
        (Some(6), ..) => Attribute::Floats(floats),
        (Some(7), ..) => Attribute::Ints(ints),
        (None, Some(float), ..) => Attribute::Float(float),
        (None, _, Some(int), ..) => Attribute::Int(int),
        (None, _, _, Some(text), _) => Attribute::Text(text),
        (None, ..) if !ints.is_empty() => Attribute::Ints(ints),
        (None, ..) if !floats.is_empty() => Attribute::Floats(floats),
        _ => Attribute::Other,
    };
    Ok((name, value))
}

/// Decodes a `TensorProto`. Floats are read if they have at most this many bytes, and integers,
/// such as the indices of a table, up to the largest tensor that is folded.
fn weight<R: Read + Seek>(wire: &mut Wire<'_, R>, payload: Payload, most_bytes: u64) -> Result<Weight, Error> {
    let (mut name, mut dims, mut data_type, end) = (String::new(), Vec::new(), 0, wire.message(payload)?);
    let (mut place, mut external, mut is_external) = (None, Vec::new(), false);
    let (mut ints, mut floats) = (Vec::new(), Vec::new());
    while let Some((number, payload)) = wire.field(end)? {
        match (number, payload) {
            (1, _) => wire.integers(payload, &mut dims)?,
            (2, Payload::Varint(number)) => data_type = number as i64,
            // Raw bytes, and packed floats or doubles, which have the same encoding.
            (4 | 9 | 10, Payload::Bytes(len)) => {
                let is_integer = matches!(data_type, 6 | 7) && len <= MOST_KNOWN as u64 * INTEGER;
                place = Some(if len <= most_bytes || is_integer {
                    WeightRange::Here(wire.bytes(payload)?)
                } else {
                    let at = wire.at();
                    wire.skip(payload)?;
                    WeightRange::Inside(at, len)
                });
            }
            (4, _) => wire.floats(payload, &mut floats)?,
            (5 | 7 | 11, _) => wire.integers(payload, &mut ints)?,
            (8, _) => name = wire.text(payload)?,
            (13, _) => external.push(entry(wire, payload)?),
            (14, Payload::Varint(number)) => is_external = number == 1,
            _ => wire.skip(payload)?,
        }
    }
    let dims = dims.into_iter().map(|dim| usize::try_from(dim).ok()).collect::<Option<Vec<_>>>();
    let dims = dims.ok_or_else(|| Error::Weight { name: name.clone(), why: "it has a negative length".to_owned() })?;
    let place = match place {
        _ if is_external => outside(&name, &external)?,
        Some(place) => place,
        None if !floats.is_empty() => WeightRange::Here(floats.into_iter().flat_map(f32::to_le_bytes).collect()),
        None if !ints.is_empty() => WeightRange::Numbers(ints),
        None => WeightRange::Here(Vec::new()),
    };
    Ok(Weight { name, dims, place, data_type, is_neutral: false })
}

fn outside(name: &str, external: &[(String, String)]) -> Result<WeightRange, Error> {
    let wrong = |why: String| Error::Weight { name: name.to_owned(), why };
    let entry = |key: &str| external.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let number =
        |key: &str| entry(key).map(|text| text.parse::<u64>().map_err(|_| wrong(format!("its {key} is {text}"))));
    let file = entry("location").ok_or_else(|| wrong("its file is not named".to_owned()))?;
    // The format forbids absolute paths and parents. Accepting them would let a network read any
    // file.
    if file.is_empty() || file.contains(['/', '\\', ':']) || file == ".." {
        return Err(wrong(format!("its file {file} is not in the folder of the network")));
    }
    Ok(WeightRange::Outside(file.to_owned(), number("offset").transpose()?.unwrap_or(0), number("length").transpose()?))
}

fn entry<R: Read + Seek>(wire: &mut Wire<'_, R>, payload: Payload) -> Result<(String, String), Error> {
    let (mut key, mut value, end) = (String::new(), String::new(), wire.message(payload)?);
    while let Some((number, payload)) = wire.field(end)? {
        match number {
            1 => key = wire.text(payload)?,
            2 => value = wire.text(payload)?,
            _ => wire.skip(payload)?,
        }
    }
    Ok((key, value))
}

/// Decodes a `ValueInfoProto` with the shape of a tensor.
fn value<R: Read + Seek>(wire: &mut Wire<'_, R>, payload: Payload) -> Result<Value, Error> {
    let (mut value, end) = (Value { name: String::new(), dims: Vec::new() }, wire.message(payload)?);
    while let Some((number, payload)) = wire.field(end)? {
        match number {
            1 => value.name = wire.text(payload)?,
            2 => value.dims = descend(wire, payload, &[1, 2])?,
            _ => wire.skip(payload)?,
        }
    }
    Ok(value)
}

/// Follows nested messages by their field numbers (type, tensor type, shape) to the dimensions.
fn descend<R: Read + Seek>(wire: &mut Wire<'_, R>, payload: Payload, path: &[u64]) -> Result<Vec<Dimension>, Error> {
    let (mut dims, end) = (Vec::new(), wire.message(payload)?);
    while let Some((number, payload)) = wire.field(end)? {
        match path {
            [first, rest @ ..] if number == *first => dims = descend(wire, payload, rest)?,
            [] if number == 1 => dims.push(dimension(wire, payload)?),
            _ => wire.skip(payload)?,
        }
    }
    Ok(dims)
}

fn dimension<R: Read + Seek>(wire: &mut Wire<'_, R>, payload: Payload) -> Result<Dimension, Error> {
    let (mut dimension, end) = (Dimension::Open(String::new()), wire.message(payload)?);
    while let Some((number, payload)) = wire.field(end)? {
        match (number, payload) {
            // Some writers use 0 or -1 for an open length.
            (1, Payload::Varint(number)) if (1..=1 << 31).contains(&number) => {
                dimension = Dimension::Fixed(number as usize);
            }
            (2, _) => dimension = Dimension::Open(wire.text(payload)?),
            _ => wire.skip(payload)?,
        }
    }
    Ok(dimension)
}
