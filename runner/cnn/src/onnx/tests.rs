//! The small exports of `runner/parity/export.py`, with PyTorch's scores.

use std::path::PathBuf;

use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{Int, TensorData};

use super::*;
use crate::dropout;

const EXPORTS: [&str; 6] = ["mobilenet_v3", "shufflenet_v2", "convnext", "operators", "efficientnet", "densenet"];
const SHAPE: Shape = [3, 32, 32];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/onnx/tests/exports").join(name)
}

fn file(name: &str) -> Arc<OnnxFile> {
    Arc::new(OnnxFile::open(&path(&format!("{name}.onnx"))).unwrap())
}

/// The images of the script.
fn images(count: usize, device: &Device) -> Tensor<4> {
    let values: Vec<f32> = (0..count * 3 * 32 * 32).map(|i| ((i * 7919) % 1013) as f32 / 506.5 - 1.0).collect();
    Tensor::from_data(TensorData::new(values, [count, 3, 32, 32]), device)
}

fn scores(cnn: &dyn Cnn, images: Tensor<4>) -> Vec<f32> {
    cnn.forward(images).into_data().try_to_vec::<f32>().unwrap()
}

fn pytorch(name: &str) -> (usize, Vec<f32>) {
    let text = std::fs::read_to_string(path(&format!("{name}.json"))).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    let scores = answer["scores"].as_array().unwrap().iter().map(|score| score.as_f64().unwrap() as f32).collect();
    (answer["parameters"].as_u64().unwrap() as usize, scores)
}

fn assert_close(ours: &[f32], theirs: &[f32], limit: f32, what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let size = theirs.iter().fold(0.0_f32, |max, score| max.max(score.abs()));
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= limit * size, "{what}: {a} and {b}, the largest is {size}");
    }
}

#[test]
fn exported_networks_give_pytorchs_scores_alone_and_in_a_batch() {
    let device = Device::flex();
    for name in EXPORTS {
        let cnn = OnnxCnn::load(&file(name), SHAPE, &device).unwrap();
        let (_, expected) = pytorch(name);
        // mobilenet_v3 was exported for a batch of one image.
        assert_close(&scores(&cnn, images(2, &device)), &expected, 1e-4, name);
        assert_close(&scores(&cnn, images(1, &device)), &expected[..10], 1e-4, name);
    }
}

#[test]
fn an_export_with_its_normalisations_has_pytorchs_parameters() {
    let device = Device::flex();
    for name in ["shufflenet_v2", "convnext", "operators", "efficientnet", "densenet"] {
        let file = file(name);
        let cnn = OnnxCnn::load(&file, SHAPE, &device).unwrap();
        let costs = file.network.costs(&file.network.plan([1, 3, 32, 32]).unwrap());
        let (parameters, _) = pytorch(name);
        assert_eq!((cnn.parameters(), costs.parameters), (parameters, parameters as u64), "{name}");
    }
}

#[test]
fn a_step_against_the_gradient_lowers_the_loss_of_every_export() {
    let device = Device::flex().autodiff();
    for name in EXPORTS {
        let mut cnn = OnnxCnn::load(&file(name), SHAPE, &device).unwrap();
        let numbers = cnn.numbers();
        let loss = |cnn: &OnnxCnn| {
            let labels: Tensor<1, Int> = Tensor::from_data([3, 7], &device);
            // The same dropout before and after the step.
            dropout::seed(1);
            let scores = cnn.forward(images(2, &Device::flex()).autodiff());
            CrossEntropyLossConfig::new().init(&device).forward(scores, labels)
        };
        cnn.take(&numbers);
        let before = loss(&cnn);
        let gradients = cnn.gradients(&mut before.backward());
        assert_eq!(gradients.len(), numbers.learned.len(), "{name}");
        let is_zero = |gradient: &Tensor<1>| gradient.clone().abs().max().into_scalar::<f32>() == 0.0;
        let zeros = gradients.iter().filter(|gradient| is_zero(gradient)).count();
        // A bias before a normalisation over one pixel has no influence.
        assert!(zeros * 10 <= gradients.len(), "{name}: {zeros} of {} gradients are zero", gradients.len());
        let learned =
            numbers.learned.iter().zip(gradients).map(|(weights, gradient)| weights.clone() - gradient * 1e-3);
        cnn.take(&Numbers { learned: learned.collect(), running: numbers.running.clone() });
        let [before, after]: [f32; 2] = [before, loss(&cnn)].map(|loss| loss.into_scalar());
        assert!(after < before, "{name}: from {before} to {after}");
    }
}

/// torchvision's EfficientNet, exported in training mode, has dropout and stochastic depth.
#[test]
fn dropout_and_stochastic_depth_of_an_export_follow_the_seed_in_training_only() {
    let cnn = OnnxCnn::load(&file("efficientnet"), SHAPE, &Device::flex().autodiff()).unwrap();
    let numbers = cnn.numbers();
    let learning = |seed: u64, count: usize| {
        let mut cnn = OnnxCnn::load(&file("efficientnet"), SHAPE, &Device::flex().autodiff()).unwrap();
        cnn.take(&numbers);
        dropout::seed(seed);
        scores(&cnn, images(count, &Device::flex()).autodiff())
    };
    assert_eq!(learning(3, 2), learning(3, 2));
    assert_ne!(learning(3, 2), learning(4, 2));
    // Every image has draws of its own: equal images do not stay equal.
    let twice = Tensor::cat(vec![images(1, &Device::flex()); 8], 0);
    dropout::seed(5);
    let all = scores(&cnn, twice.autodiff());
    assert!(all.chunks(10).skip(1).any(|image| image != &all[..10]));
    let inference = |seed| {
        dropout::seed(seed);
        scores(cnn.trained().as_ref(), images(2, &Device::flex()))
    };
    assert_eq!(inference(3), inference(4));
    let plan = cnn.program(2).plan.clone();
    let masks = plan.steps.iter().filter_map(|step| match &step.operation {
        foreglow_onnx::Operation::Dropout { mask, .. } => Some(mask.clone()),
        _ => None,
    });
    assert_eq!(masks.collect::<Vec<_>>(), [vec![2, 1, 1, 1], vec![2, 1, 1, 1], vec![2, 32]]);
}

#[test]
fn running_statistics_follow_in_training_and_are_used_afterwards() {
    let cnn = OnnxCnn::load(&file("shufflenet_v2"), SHAPE, &Device::flex().autodiff()).unwrap();
    let before = cnn.numbers();
    assert!(!before.running.is_empty());
    let (_, expected) = pytorch("shufflenet_v2");
    assert_close(&scores(cnn.trained().as_ref(), images(2, &Device::flex())), &expected, 1e-4, "inference");
    let learning = scores(&cnn, images(2, &Device::flex()).autodiff());
    assert!(learning.iter().zip(&expected).any(|(a, b)| (a - b).abs() > 1e-3), "the mini-batch's statistics");
    let moved =
        cnn.numbers().running.into_iter().zip(before.running).map(|(after, before)| (after - before).abs().max());
    assert!(moved.map(|by| by.into_scalar::<f32>()).all(|by| by > 0.0));
}

#[test]
fn nan_weights_and_files_that_are_missing_or_cut_are_errors_of_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let said = |bytes: &[u8]| -> String {
        let path = folder.path().join("net.onnx");
        std::fs::write(&path, bytes).unwrap();
        let opened = OnnxFile::open(&path).and_then(|file| OnnxCnn::load(&Arc::new(file), SHAPE, &Device::flex()));
        opened.err().map_or_else(String::new, |error| format!("{error:#}"))
    };
    let whole = std::fs::read(path("mobilenet_v3.onnx")).unwrap();
    assert_eq!(said(&whole), "");
    assert!(said(&whole[..whole.len() / 2]).starts_with("net.onnx: the file is truncated"));
    let network = file("mobilenet_v3");
    let large = network.network.weights.iter().find_map(|weight| match weight.place {
        foreglow_onnx::Place::Inside(at, _) => Some((weight.name.clone(), at as usize)),
        _ => None,
    });
    let (name, at) = large.expect("the export has a weight of more than 4 KiB");
    let mut broken = whole;
    broken[at + 4..at + 8].copy_from_slice(&f32::NAN.to_le_bytes());
    let words = said(&broken);
    assert!(words.starts_with(&format!("net.onnx: the weight {name}: its number 2 of")), "{words}");
    assert!(words.ends_with("is NaN"), "{words}");
    let missing = OnnxFile::open(&folder.path().join("none.onnx")).unwrap_err().to_string();
    assert!(missing.contains("there is no file") && missing.contains("none.onnx"), "{missing}");
}
