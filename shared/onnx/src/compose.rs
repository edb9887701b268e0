//! Operators that are defined by others, and operators of any number of inputs: they are replaced
//! when the graph is read.

use crate::node::Node;
use crate::node::{Attribute, Attributes};
use crate::weight::{Weight, WeightRange};

/// Type of a 32-bit float in `TensorProto.DataType`.
const FLOAT: i64 = 1;

/// Adds a node, or the nodes that replace it.
pub fn expand(node: Node, nodes: &mut Vec<Node>, weights: &mut Vec<Weight>) {
    let first = nodes.len();
    if node.domain.is_empty() {
        Parts { node: &node, nodes, weights }.replace();
    }
    match nodes.get_mut(first..).and_then(<[Node]>::last_mut) {
        Some(last) => last.outputs = node.outputs,
        None => nodes.push(node),
    }
}

/// The nodes that replace one.
struct Parts<'a> {
    node: &'a Node,
    nodes: &'a mut Vec<Node>,
    weights: &'a mut Vec<Weight>,
}

impl Parts<'_> {
    /// Adds the parts of an operator that has some.
    fn replace(&mut self) {
        let given: Vec<&str> = self.node.inputs.iter().map(String::as_str).collect();
        let float = |name, default| self.node.attributes.float(name, default);
        match (self.node.operator.as_str(), given.as_slice()) {
            ("Sum" | "Max" | "Min" | "Mean", [x]) => {
                self.add("Identity", &[x]);
            }
            (operator @ ("Sum" | "Max" | "Min"), [_, _, _, ..]) => {
                self.chain(operator, &given);
            }
            ("Mean", [_, _, ..]) => {
                let (sum, count) = (self.chain("Sum", &given), self.number(given.len() as f32));
                self.add("Div", &[&sum, &count]);
            }
            ("ThresholdedRelu", [x]) => {
                let alpha = self.number(float("alpha", 1.0));
                let is_above = self.add("Greater", &[x, &alpha]);
                self.add("Mul", &[x, &is_above]);
            }
            ("Swish", [x]) => {
                let alpha = self.number(float("alpha", 1.0));
                let scaled = self.add("Mul", &[x, &alpha]);
                let gate = self.add("Sigmoid", &[&scaled]);
                self.add("Mul", &[x, &gate]);
            }
            ("LpNormalization", [x]) => {
                let operator = if self.node.attributes.int("p") == Some(1) { "ReduceL1" } else { "ReduceL2" };
                let norm = self.reduce(operator, x, &[self.node.attributes.int("axis").unwrap_or(-1)]);
                // The norm of zeros is 0, and so is their quotient.
                let smallest = self.number(f32::MIN_POSITIVE);
                let norm = self.add("Max", &[&norm, &smallest]);
                self.add("Div", &[x, &norm]);
            }
            ("MeanVarianceNormalization", [x]) => {
                let axes = self.node.attributes.ints("axes").unwrap_or(&[0, 2, 3]).to_vec();
                let mean = self.reduce("ReduceMean", x, &axes);
                let centred = self.add("Sub", &[x, &mean]);
                let square = self.add("Mul", &[&centred, &centred]);
                let variance = self.reduce("ReduceMean", &square, &axes);
                let (deviation, epsilon) = (self.add("Sqrt", &[&variance]), self.number(1e-9));
                let deviation = self.add("Add", &[&deviation, &epsilon]);
                self.add("Div", &[&centred, &deviation]);
            }
            (operator @ ("ReduceLogSum" | "ReduceLogSumExp"), [x, rest @ ..]) => {
                let x = if operator == "ReduceLogSum" { (*x).to_owned() } else { self.add("Exp", &[x]) };
                let inputs: Vec<&str> = std::iter::once(x.as_str()).chain(rest.iter().copied()).collect();
                let sum = self.add("ReduceSum", &inputs);
                self.set_attributes(self.node.attributes.clone());
                self.add("Log", &[&sum]);
            }
            _ => {}
        }
    }

    /// Adds a node and returns the name of its output.
    fn add(&mut self, operator: &str, inputs: &[&str]) -> String {
        let output = format!("part {} of {}", self.nodes.len(), self.node.title());
        self.nodes.push(Node {
            name: self.node.title().to_owned(),
            operator: operator.to_owned(),
            inputs: inputs.iter().map(|input| (*input).to_owned()).collect(),
            outputs: vec![output.clone()],
            ..Node::default()
        });
        output
    }

    /// Adds an operator of two inputs for each input after the first.
    fn chain(&mut self, operator: &str, inputs: &[&str]) -> String {
        let (first, rest) = inputs.split_first().map_or(("", inputs), |(first, rest)| (*first, rest));
        rest.iter().fold(first.to_owned(), |left, right| self.add(operator, &[&left, right]))
    }

    /// Adds a reduction that keeps the axes.
    fn reduce(&mut self, operator: &str, input: &str, axes: &[i64]) -> String {
        let output = self.add(operator, &[input]);
        self.set_attributes(Attributes(vec![("axes".to_owned(), Attribute::Ints(axes.to_vec()))]));
        output
    }

    /// Sets the attributes of the last node.
    fn set_attributes(&mut self, attributes: Attributes) {
        if let Some(last) = self.nodes.last_mut() {
            last.attributes = attributes;
        }
    }

    /// Adds a constant number and returns its name.
    fn number(&mut self, number: f32) -> String {
        let name = format!("number {} of {}", self.weights.len(), self.node.title());
        let place = WeightRange::Here(number.to_le_bytes().to_vec());
        self.weights.push(Weight { name: name.clone(), dims: Vec::new(), place, data_type: FLOAT, is_neutral: false });
        name
    }
}
