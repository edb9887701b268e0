//! Files of weights: any bytes are rejected, or give a network with one row of scores an image.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use burn::tensor::{Device, Tensor};
use foreglow_architectures::Shape;
use foreglow_cnn::Network;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

#[path = "../../shared/onnx/tests/writer/mod.rs"]
mod writer;

use writer::{float_weight, model, node};

const SHAPE: Shape = [1, 2, 2];
const CLASSES: usize = 3;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("the folder of temporary files is writable"));

/// A convolution and a fully connected layer, whose weights are in the fuzzed file.
static NETWORK: LazyLock<Network> = LazyLock::new(|| {
    let nodes = [
        node("Conv", "conv", &["images", "filters", "shift"], "filtered", &[]),
        node("Flatten", "flat", &["filtered"], "row", &[]),
        node("Gemm", "product", &["row", "matrix", "bias"], "scores", &[("transB", &[1])]),
    ];
    let weights = [("filters", &[2, 1, 1, 1][..]), ("shift", &[2]), ("matrix", &[3, 8]), ("bias", &[3])];
    let weights = weights.map(|(name, dims)| float_weight(name, dims));
    let path = FOLDER.path().join("net.onnx");
    fs::write(&path, model(18, &[0, 1, 2, 2], &nodes, &weights)).expect("the temporary file is writable");
    let network = Network::open(&path).expect("the network is supported");
    network.with_weights(Some(&FOLDER.path().join("net.safetensors")))
});

fuzz_target!(|bytes: &[u8]| {
    fs::write(FOLDER.path().join("net.safetensors"), bytes).expect("the temporary file is writable");
    let checked = NETWORK.check_weights(SHAPE);
    let built = NETWORK.build(0, SHAPE, &Device::flex());
    assert_eq!(checked.is_ok(), built.is_ok());
    let Ok(cnn) = built else { return };
    assert_eq!(cnn.forward(Tensor::ones([2, 1, 2, 2], &Device::flex())).dims(), [2, CLASSES]);
    let saved = FOLDER.path().join("saved.safetensors");
    NETWORK.save_weights(&saved, SHAPE, &cnn.numbers()).expect("the temporary file is writable");
    let again = NETWORK.clone().with_weights(Some(&saved)).build(0, SHAPE, &Device::flex());
    let again = again.expect("saved weights are complete");
    let flat = |numbers: &foreglow_cnn::StateDict| -> Vec<Vec<f32>> {
        numbers.learned.iter().map(|tensor| tensor.to_data().try_to_vec().expect("weights are floats")).collect()
    };
    assert_eq!(flat(&again.numbers()), flat(&cnn.numbers()));
});
