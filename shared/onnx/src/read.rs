//! Reading and validation of a network.

use std::io::{Read, Seek};

use crate::network::Network;
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
        let (mut missing, mut advice): (Vec<String>, _) = (Vec::new(), "");
        for node in &self.nodes {
            let operator = match node.domain.as_str() {
                "" => node.operator.clone(),
                domain => format!("{domain}.{}", node.operator),
            };
            if !rules::is_supported(&operator) && !missing.iter().any(|words| words.starts_with(&operator)) {
                missing.push(format!("{operator} (node {})", node.title()));
                advice = if advice.is_empty() { rules::advice(&operator) } else { advice };
            }
        }
        if !missing.is_empty() {
            return Err(Error::Operators { operators: missing.join(", "), advice });
        }
        self.weights.iter().try_for_each(Weight::check)
    }
}
