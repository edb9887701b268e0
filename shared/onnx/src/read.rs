//! Reading and validation of a network.

use std::io::{Read, Seek};

use crate::network::Network;
use crate::node::Node;
use crate::weight::Weight;
use crate::{Error, OPSETS, decode, rules};

impl Network {
    /// Reads and validates a network. The numbers of its weights are not read.
    ///
    /// # Errors
    /// The file is not an ONNX file, is truncated, or uses an unsupported feature.
    pub fn read(source: &mut (impl Read + Seek)) -> Result<Self, Error> {
        let network = decode::model(source)?;
        network.check()?;
        Ok(network)
    }

    fn check(&self) -> Result<(), Error> {
        if !OPSETS.contains(&self.opset) {
            return Err(Error::Opset(self.opset));
        }
        let mut missing = Vec::new();
        let mut nodes: Vec<&Node> = self.nodes.iter().rev().collect();
        while let Some(node) = nodes.pop() {
            nodes.extend(node.inner());
            let operator = match node.domain.as_str() {
                "" => node.operator.clone(),
                domain => format!("{domain}.{}", node.operator),
            };
            if !rules::is_supported(&operator) && missing.iter().all(|(other, _)| *other != operator) {
                missing.push((operator, node.title()));
            }
        }
        if let Some((first, _)) = missing.first() {
            let advice = rules::advice(first);
            let named = missing.iter().map(|(operator, node)| format!("{operator} (node {node})"));
            return Err(Error::Operators { operators: named.collect::<Vec<_>>().join(", "), advice });
        }
        self.weights.iter().try_for_each(Weight::check)
    }
}
