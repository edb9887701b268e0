//! Attributes of a node.

use std::collections::BTreeSet;

use crate::network::Node;
use crate::weight::Weight;

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
