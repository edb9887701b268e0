//! Networks of ONNX files in use: a graph of any nodes is rejected, or computes scores of the
//! planned shape, and gradients if training is possible. The input is read as a graph, because
//! random bytes are rarely an ONNX file.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use burn::tensor::{Device, Tensor, TensorData};
use foreglow_architectures::{Colour, Input, Shape};
use foreglow_cnn::Network;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

#[path = "../../shared/onnx/tests/writer/mod.rs"]
mod writer;

use writer::{Message, list, model};

/// Operators, as in `shared/onnx/src/rules`.
const OPERATORS: [&str; 96] = [
    "Conv",
    "ConvTranspose",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "Resize",
    "Upsample",
    "BatchNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "LayerNormalization",
    "Softmax",
    "LogSoftmax",
    "CumSum",
    "Gemm",
    "MatMul",
    "Concat",
    "Split",
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Transpose",
    "Expand",
    "Slice",
    "Gather",
    "Pad",
    "Dropout",
    "Cast",
    "CastLike",
    "Identity",
    "Where",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Min",
    "Max",
    "PRelu",
    "Less",
    "LessOrEqual",
    "Greater",
    "GreaterOrEqual",
    "Equal",
    "And",
    "Or",
    "Xor",
    "Relu",
    "LeakyRelu",
    "Elu",
    "Celu",
    "Selu",
    "Clip",
    "Sigmoid",
    "HardSigmoid",
    "HardSwish",
    "Tanh",
    "Gelu",
    "Erf",
    "Mish",
    "Softplus",
    "Softsign",
    "Exp",
    "Log",
    "Sqrt",
    "Reciprocal",
    "Abs",
    "Neg",
    "Floor",
    "Ceil",
    "Sin",
    "Cos",
    "Sign",
    "Round",
    "Not",
    "ReduceMean",
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "Constant",
    "ConstantOfShape",
    "Shape",
    "Size",
    "Range",
    "ReduceProd",
    "Mod",
    "NonZero",
    "RandomUniform",
    "RandomUniformLike",
    "Bernoulli",
    "Unknown",
];
/// Attributes of those operators.
const ATTRIBUTES: [&str; 38] = [
    "strides",
    "pads",
    "dilations",
    "group",
    "kernel_shape",
    "auto_pad",
    "ceil_mode",
    "count_include_pad",
    "axis",
    "axes",
    "keepdims",
    "epsilon",
    "momentum",
    "training_mode",
    "num_groups",
    "alpha",
    "beta",
    "gamma",
    "transA",
    "transB",
    "perm",
    "split",
    "num_outputs",
    "mode",
    "coordinate_transformation_mode",
    "nearest_mode",
    "scales",
    "output_padding",
    "output_shape",
    "allowzero",
    "ratio",
    "to",
    "approximate",
    "exclusive",
    "reverse",
    "low",
    "high",
    "noop_with_empty_axes",
];
const TEXTS: [&str; 14] = [
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "NOTSET",
    "linear",
    "cubic",
    "nearest",
    "align_corners",
    "asymmetric",
    "half_pixel",
    "reflect",
    "edge",
    "tanh",
    "ceil",
];
/// Largest number of weights, nodes, inputs of a node, axes, and values of an attribute.
const MOST: usize = 6;
/// Limits on the costs of a graph that is computed.
const MACS: u64 = 1 << 20;
const BYTES: u64 = 1 << 22;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("the folder of temporary files is writable"));

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = graph(&mut Unstructured::new(bytes)) else { return };
    let path: PathBuf = FOLDER.path().join("net.onnx");
    fs::write(&path, file).expect("the temporary file is writable");
    let Ok(network) = Network::open(&path) else { return };
    let Ok(Input::Images { colour, default_px, .. }) = network.input() else { return };
    let side = if default_px == 0 { 8 } else { default_px as usize };
    let shape = [if colour == Colour::Grey { 1 } else { 3 }, side, side];
    let _ = compute(&network, shape);
});

/// Computes scores and gradients, as an executor does after its checks.
fn compute(network: &Network, shape: Shape) -> anyhow::Result<()> {
    let costs = network.costs(shape)?;
    if costs.multiply_accumulates() > MACS || costs.training_bytes > BYTES {
        return Ok(());
    }
    let batch = 4;
    let classes = network.classes(shape, batch)?;
    let cnn = network.build(0, shape, &Device::flex())?;
    // The last mini-batch may be smaller; `classes` has not checked 3.
    for images in [batch, 3, 1] {
        assert_eq!(cnn.forward(inputs(images, shape)).dims(), [images, classes]);
    }
    network.check_training(shape)?;
    let cnn = network.build(0, shape, &Device::flex().autodiff())?;
    let scores = cnn.forward(inputs(batch, shape).autodiff());
    assert_eq!(scores.dims(), [batch, classes]);
    let gradients = cnn.gradients(&mut scores.sum().backward());
    let numbers = cnn.numbers();
    assert_eq!(gradients.len(), numbers.learned.len());
    for (gradient, learned) in gradients.iter().zip(&numbers.learned) {
        assert_eq!(gradient.dims(), learned.dims());
    }
    assert_eq!(cnn.trained().forward(inputs(batch, shape)).dims(), [batch, classes]);
    Ok(())
}

fn inputs(images: usize, [channels, height, width]: Shape) -> Tensor<4> {
    let values: Vec<f32> = (0..images * channels * height * width).map(|at| (at % 7) as f32 - 3.0).collect();
    Tensor::from_data(TensorData::new(values, [images, channels, height, width]), &Device::flex())
}

/// Reads a graph. The values of its nodes are named `0`, `1`, …, the weights `w0`, `w1`, …; the
/// last node gives the scores.
fn graph(source: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let opset = source.int_in_range(7..=22)?;
    let side = source.int_in_range(0..=9)?;
    let input = [source.int_in_range(0..=2)?, *source.choose(&[1, 3])?, side, side];
    let mut weights = Vec::new();
    for number in 0..source.int_in_range(0..=MOST)? {
        weights.push(weight(source, &format!("w{number}"))?);
    }
    let mut nodes = Vec::new();
    let last = source.int_in_range(0..=MOST)?;
    for number in 0..=last {
        let mut node = Message::default();
        for _ in 0..source.int_in_range(0..=MOST - 1)? {
            node = node.text(1, &name(source, number, weights.len())?);
        }
        let output = if number == last { "scores".to_owned() } else { number.to_string() };
        node = node.text(2, &output).text(3, &format!("node{number}")).text(4, source.choose(&OPERATORS)?);
        for _ in 0..source.int_in_range(0..=MOST)? {
            node = node.message(5, &attribute(source)?);
        }
        nodes.push(node);
    }
    Ok(model(opset, &input, &nodes, &weights))
}

/// Returns the name of an input of a node: an earlier value, a weight, or none.
fn name(source: &mut Unstructured<'_>, nodes: usize, weights: usize) -> Result<String> {
    let place = source.int_in_range(0..=nodes + weights + 1)?;
    Ok(match place {
        0 => "images".to_owned(),
        1 => String::new(),
        _ if place < nodes + 2 => (place - 2).to_string(),
        _ => format!("w{}", place - nodes - 2),
    })
}

fn weight(source: &mut Unstructured<'_>, name: &str) -> Result<Message> {
    if source.arbitrary()? {
        return Ok(list(name, &ints(source)?));
    }
    let mut dims = Vec::new();
    for _ in 0..source.int_in_range(0..=4)? {
        dims.push(source.int_in_range(1..=6)?);
    }
    let floats: Vec<f32> = (0..dims.iter().product::<i64>()).map(|at| (at % 5) as f32 / 2.0 - 0.5).collect();
    let bytes: Vec<u8> = floats.into_iter().flat_map(f32::to_le_bytes).collect();
    let weight = dims.iter().fold(Message::default(), |weight, dim| weight.int(1, *dim));
    Ok(weight.int(2, 1).text(8, name).bytes(9, &bytes))
}

fn attribute(source: &mut Unstructured<'_>) -> Result<Message> {
    let attribute = Message::default().text(1, source.choose(&ATTRIBUTES)?);
    Ok(match source.int_in_range(0..=4)? {
        0 => attribute.float(2, f32::from(source.arbitrary::<i8>()?) / 16.0).int(20, 1),
        1 => attribute.int(3, i64::from(source.arbitrary::<i8>()?)).int(20, 2),
        2 => attribute.text(4, source.choose(&TEXTS)?).int(20, 3),
        3 => ints(source)?.iter().fold(attribute, |attribute, int| attribute.float(7, *int as f32 / 2.0)).int(20, 6),
        _ => ints(source)?.iter().fold(attribute, |attribute, int| attribute.int(8, *int)).int(20, 7),
    })
}

fn ints(source: &mut Unstructured<'_>) -> Result<Vec<i64>> {
    (0..source.int_in_range(0..=MOST)?).map(|_| source.int_in_range(-9..=16)).collect()
}
