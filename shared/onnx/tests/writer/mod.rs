//! Writes ONNX files field by field; the numbers are those of `onnx.proto`.
#![allow(dead_code, reason = "each crate's tests use a part")]

/// A message of the wire format.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    fn varint(bytes: &mut Vec<u8>, mut number: u64) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    /// Appends an integer.
    pub fn int(mut self, field: u64, number: i64) -> Self {
        Self::varint(&mut self.0, field << 3);
        Self::varint(&mut self.0, number as u64);
        self
    }

    /// Appends bytes.
    pub fn bytes(self, field: u64, bytes: &[u8]) -> Self {
        let mut message = self.opened(field, bytes.len() as u64);
        message.0.extend(bytes);
        message
    }

    /// Appends the key and the length of bytes that follow.
    pub fn opened(mut self, field: u64, len: u64) -> Self {
        Self::varint(&mut self.0, field << 3 | 2);
        Self::varint(&mut self.0, len);
        self
    }

    /// Appends a text.
    pub fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// Appends a 32-bit float.
    pub fn float(mut self, field: u64, float: f32) -> Self {
        Self::varint(&mut self.0, field << 3 | 5);
        self.0.extend(float.to_le_bytes());
        self
    }

    /// Appends a nested message.
    pub fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }
}

/// Floats that are 0.
pub fn float_weight(name: &str, dims: &[i64]) -> Message {
    let numbers = dims.iter().product::<i64>() as usize;
    let weight = dims.iter().fold(Message::default(), |weight, dim| weight.int(1, *dim));
    weight.int(2, 1).text(8, name).bytes(9, &vec![0; 4 * numbers])
}

/// A list of 64-bit integers.
pub fn list(name: &str, ints: &[i64]) -> Message {
    let bytes: Vec<u8> = ints.iter().flat_map(|int| int.to_le_bytes()).collect();
    Message::default().int(1, ints.len() as i64).int(2, 7).text(8, name).bytes(9, &bytes)
}

/// A node with attributes of integers.
pub fn node(operator: &str, name: &str, inputs: &[&str], output: &str, ints: &[(&str, &[i64])]) -> Message {
    let node = inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
    let node = node.text(2, output).text(3, name).text(4, operator);
    ints.iter().fold(node, |node, (name, ints)| {
        let attribute = Message::default().text(1, name);
        node.message(
            5,
            &match ints {
                [int] => attribute.int(3, *int).int(20, 2),
                ints => ints.iter().fold(attribute, |attribute, int| attribute.int(8, *int)).int(20, 7),
            },
        )
    })
}

/// A value of this shape; a length of 0 is left open under the name `n`.
pub fn value(name: &str, dims: &[i64]) -> Message {
    let shape = dims.iter().fold(Message::default(), |shape, dim| {
        let dimension = Message::default();
        shape.message(1, &if *dim > 0 { dimension.int(1, *dim) } else { dimension.text(2, "n") })
    });
    let tensor = Message::default().int(1, 1).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

/// A graph whose input is `images` and whose output is `scores`.
pub fn graph(input: &[i64], nodes: &[Message], weights: &[Message]) -> Message {
    let graph = nodes.iter().fold(Message::default(), |graph, node| graph.message(1, node));
    let graph = weights.iter().fold(graph, |graph, weight| graph.message(5, weight));
    graph.message(11, &value("images", input)).message(12, &value("scores", &[]))
}

/// The fields of a model before its graph.
pub fn heading(opset: i64) -> Message {
    let operators = Message::default().text(1, "").int(2, opset);
    Message::default().int(1, 8).text(2, "test").message(8, &operators)
}

/// A model with one graph.
pub fn model(opset: i64, input: &[i64], nodes: &[Message], weights: &[Message]) -> Vec<u8> {
    heading(opset).message(7, &graph(input, nodes, weights)).0
}

/// Floats of another file, from an offset.
pub fn external_weight(name: &str, dims: &[i64], file: &str, offset: u64) -> Message {
    let entry = |key: &str, value: &str| Message::default().text(1, key).text(2, value);
    let weight = dims.iter().fold(Message::default(), |weight, dim| weight.int(1, *dim)).int(2, 1).text(8, name);
    let offset = offset.to_string();
    weight.message(13, &entry("location", file)).message(13, &entry("offset", &offset)).int(14, 1)
}
