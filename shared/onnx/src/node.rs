//! Nodes of a graph with their attributes, some of which are graphs.

use std::collections::BTreeSet;

use crate::Error;
use crate::weight::Weight;

/// A node of the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub name: String,
    pub operator: String,
    /// Empty for the standard operators.
    pub domain: String,
    /// Empty for an omitted optional input.
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attributes: Attributes,
}

impl Node {
    /// Returns the nodes of the graphs inside of this node.
    pub fn inner(&self) -> impl Iterator<Item = &Self> {
        self.attributes.0.iter().flat_map(|(_, attribute)| match attribute {
            Attribute::Branch(branch) => branch.nodes.as_slice(),
            _ => &[],
        })
    }

    /// Returns whether this is a standard operator of this name.
    pub fn is(&self, operator: &str) -> bool {
        self.domain.is_empty() && self.operator == operator
    }

    /// Returns the name of the node, or of its first output if the node has no name.
    pub fn title(&self) -> &str {
        if self.name.is_empty() { self.outputs.first().map_or("without a name", String::as_str) } else { &self.name }
    }

    /// Returns an error about this node.
    pub fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Node { node: self.title().to_owned(), operator: self.operator.clone(), why: why.into() }
    }
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Float(f32),
    Int(i64),
    Text(String),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Tensor(Weight),
    /// A graph that the node runs.
    Branch(Branch),
    /// A type or a list; no supported operator has one.
    Other,
}

/// A graph inside of a node, which may read the values of the graph around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    pub nodes: Vec<Node>,
    /// Names of its results.
    pub outputs: Vec<String>,
    /// Its weights, until they are among those of the network.
    pub weights: Vec<Weight>,
    /// Names of the weights that are constants.
    pub constants: BTreeSet<String>,
}

/// The attributes of a node, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub Vec<(String, Attribute)>);

impl Attributes {
    /// Returns an attribute.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Removes and returns the tensor of a constant; `None` if it is written in another form.
    pub fn take_tensor(&mut self) -> Option<Weight> {
        let place = self.0.iter().position(|(name, value)| name == "value" && matches!(value, Attribute::Tensor(_)))?;
        match self.0.swap_remove(place) {
            (_, Attribute::Tensor(weight)) => Some(weight),
            _ => None,
        }
    }

    /// Returns a graph.
    pub fn branch(&self, name: &str) -> Option<&Branch> {
        match self.get(name) {
            Some(Attribute::Branch(branch)) => Some(branch),
            _ => None,
        }
    }

    /// Returns an integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Attribute::Int(number)) => Some(*number),
            _ => None,
        }
    }

    /// Returns a float, or a default.
    pub fn float(&self, name: &str, default: f32) -> f32 {
        match self.get(name) {
            Some(Attribute::Float(number)) => *number,
            _ => default,
        }
    }

    /// Returns a list of integers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.get(name) {
            Some(Attribute::Ints(numbers)) => Some(numbers),
            _ => None,
        }
    }

    /// Returns a text, or a default.
    pub fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        match self.get(name) {
            Some(Attribute::Text(text)) => text,
            _ => default,
        }
    }
}
