//! The small exports of `runner/parity/export.py`, with PyTorch's scores.

use std::path::{Path, PathBuf};

use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{Int, TensorData};

use super::writer::{Message, external_weight, float_weight, list, model, node};
use super::*;
use crate::{Network, dropout, weights_file};

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
        cnn.take(&StateDict { learned: learned.collect(), running: numbers.running.clone() });
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
    // Each image has its own draws, so equal images get different results.
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
        foreglow_onnx::WeightRange::Inside(at, _) => Some((weight.name.clone(), at as usize)),
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

/// A network that multiplies its three channels by the weights of another file, from byte 4 on.
fn scales_in(folder: &Path, weights: &str) -> PathBuf {
    let product = node("Mul", "scaled", &["images", "scales"], "scores", &[]);
    let weight = external_weight("scales", &[1, 3, 1, 1], weights, 4);
    let path = folder.join("net.onnx");
    std::fs::write(&path, model(18, &[0, 3, 32, 32], &[product], &[weight])).unwrap();
    path
}

#[test]
fn weights_of_another_file_are_read_from_their_offset() {
    let folder = tempfile::tempdir().unwrap();
    let path = scales_in(folder.path(), "weights.bin");
    let numbers: Vec<u8> = [9.0_f32, 2.0, -1.0, 0.5].into_iter().flat_map(f32::to_le_bytes).collect();
    std::fs::write(folder.path().join("weights.bin"), numbers).unwrap();
    let device = Device::flex();
    let cnn = OnnxCnn::load(&Arc::new(OnnxFile::open(&path).unwrap()), SHAPE, &device).unwrap();
    let scores = scores(&cnn, Tensor::ones([1, 3, 32, 32], &device));
    assert_eq!([scores[0], scores[1024], scores[2048]], [2.0, -1.0, 0.5]);
}

#[test]
fn a_file_of_weights_that_is_missing_or_too_short_is_named_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = scales_in(folder.path(), "weights.bin");
    let said = || OnnxFile::open(&path).unwrap_err().to_string();
    assert_eq!(said(), "net.onnx needs the file weights.bin with its weights in the same folder, and it is missing");
    // Its three numbers end at byte 16.
    std::fs::write(folder.path().join("weights.bin"), [0; 15]).unwrap();
    assert_eq!(said(), "weights.bin is truncated: it ends before the weight scales");
    std::fs::write(folder.path().join("weights.bin"), [0; 16]).unwrap();
    assert!(OnnxFile::open(&path).is_ok());
}

#[test]
fn the_weights_of_every_export_are_saved_under_their_names_and_loaded_unchanged() {
    let (device, folder) = (Device::flex(), tempfile::tempdir().unwrap());
    let saved = folder.path().join("w.safetensors");
    for name in EXPORTS {
        let file = file(name);
        let cnn = OnnxCnn::load(&file, SHAPE, &device).unwrap();
        let stored = OnnxCnn::stored(&file, SHAPE).unwrap();
        let flat = |numbers: &StateDict| -> Vec<Vec<f32>> {
            let tensors = numbers.learned.iter().chain(&numbers.running);
            tensors.map(|tensor| tensor.clone().into_data().try_to_vec().unwrap()).collect()
        };
        let numbers = flat(&cnn.numbers());
        let counts: Vec<usize> = stored.tensors.iter().map(|tensor| tensor.dims.iter().product()).collect();
        assert_eq!(counts, numbers.iter().map(Vec::len).collect::<Vec<_>>(), "{name}");
        weights_file::save(&saved, &stored, &cnn.numbers()).unwrap();
        assert_eq!(flat(&weights_file::load(&saved, &stored, &device).unwrap()), numbers, "{name}");

        // Each initialiser is in the file as in the network.
        let bytes = std::fs::read(&saved).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let mut reader = file.reader().unwrap();
        let mut found = 0;
        for (place, weight) in file.network.weights.iter().enumerate() {
            let Ok(tensor) = tensors.tensor(&weight.name) else { continue };
            let floats: Vec<u8> = reader.floats(place).unwrap().into_iter().flat_map(f32::to_le_bytes).collect();
            assert_eq!((tensor.shape(), tensor.data()), (weight.dims.as_slice(), floats.as_slice()), "{}", weight.name);
            found += 1;
        }
        assert!(found * 10 >= 9 * counts.len(), "{name}: {found} of {} tensors are initialisers", counts.len());
    }
}

#[test]
fn weights_of_another_network_do_not_fit_an_onnx_file() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("w.safetensors");
    let (densenet, shufflenet) = (file("densenet"), file("shufflenet_v2"));
    let cnn = OnnxCnn::load(&densenet, SHAPE, &Device::flex()).unwrap();
    weights_file::save(&saved, &OnnxCnn::stored(&densenet, SHAPE).unwrap(), &cnn.numbers()).unwrap();
    let said = weights_file::check(&saved, &OnnxCnn::stored(&shufflenet, SHAPE).unwrap()).unwrap_err().to_string();
    assert!(said.ends_with("which shufflenet_v2.onnx needs; it belongs to another network"), "{said}");
}

#[test]
fn cumulative_sums_of_images_are_those_of_the_rows() {
    let (folder, device) = (tempfile::tempdir().unwrap(), Device::flex());
    let path = folder.path().join("net.onnx");
    let sums = |attributes: &[(&str, &[i64])]| {
        let node = node("CumSum", "sums", &["images", "axis"], "scores", attributes);
        std::fs::write(&path, model(18, &[0, 3, 1, 4], &[node], &[list("axis", &[3])])).unwrap();
        let cnn = OnnxCnn::load(&Arc::new(OnnxFile::open(&path).unwrap()), [3, 1, 4], &device).unwrap();
        let numbers: Vec<f32> = (1..=12).map(|number| number as f32).collect();
        scores(&cnn, Tensor::from_data(TensorData::new(numbers, [1, 3, 1, 4]), &device))[..8].to_vec()
    };
    assert_eq!(sums(&[]), [1.0, 3.0, 6.0, 10.0, 5.0, 11.0, 18.0, 26.0]);
    assert_eq!(sums(&[("exclusive", &[1])]), [0.0, 1.0, 3.0, 6.0, 0.0, 5.0, 11.0, 18.0]);
    assert_eq!(sums(&[("reverse", &[1])]), [10.0, 9.0, 7.0, 4.0, 26.0, 21.0, 15.0, 8.0]);
    assert_eq!(sums(&[("exclusive", &[1]), ("reverse", &[1])]), [9.0, 7.0, 4.0, 0.0, 21.0, 15.0, 8.0, 0.0]);
}

#[test]
fn a_class_token_expanded_for_two_images_is_before_each_image_of_any_batch() {
    let (folder, device) = (tempfile::tempdir().unwrap(), Device::flex());
    let path = folder.path().join("net.onnx");
    let nodes = [
        node("Reshape", "rows", &["images", "target"], "rows", &[]),
        node("Expand", "all", &["token", "repeated"], "tokens", &[]),
        node("Concat", "joined", &["tokens", "rows"], "joined", &[("axis", &[1])]),
        node("Flatten", "flat", &["joined"], "scores", &[]),
    ];
    let (target, repeated) = (list("target", &[2, 1, 4]), list("repeated", &[2, 1, 4]));
    let token = [0.5_f32, -1.0, 2.0, 3.0];
    let bytes: Vec<u8> = token.iter().flat_map(|number| number.to_le_bytes()).collect();
    let weight = [1, 1, 4].iter().fold(Message::default(), |weight, length| weight.int(1, *length));
    let weight = weight.int(2, 1).text(8, "token").bytes(9, &bytes);
    std::fs::write(&path, model(18, &[2, 1, 2, 2], &nodes, &[target, repeated, weight])).unwrap();
    let cnn = OnnxCnn::load(&Arc::new(OnnxFile::open(&path).unwrap()), [1, 2, 2], &device).unwrap();
    for count in [1, 2, 3] {
        let pixels: Vec<f32> = (0..4 * count).map(|pixel| pixel as f32).collect();
        let expected: Vec<f32> = pixels.chunks(4).flat_map(|image| [&token, image].concat()).collect();
        assert_eq!(scores(&cnn, Tensor::from_data(TensorData::new(pixels, [count, 1, 2, 2]), &device)), expected);
    }
}

/// A network of one node on images of 2×2 px and three numbers.
fn of_node(folder: &Path, node: Message) -> Network {
    let path = folder.join("net.onnx");
    std::fs::write(&path, model(18, &[0, 1, 2, 2], &[node], &[float_weight("three", &[3, 1, 1, 1])])).unwrap();
    Network::open(&path).unwrap()
}

#[test]
fn a_network_whose_classes_depend_on_the_size_of_the_mini_batch_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let itself = of_node(folder.path(), node("Conv", "it", &["images", "images"], "scores", &[]));
    let said = itself.classes([1, 2, 2], 4).unwrap_err().to_string();
    assert_eq!(said, "the classes of net.onnx depend on the size of the mini-batch");
    let weighted = of_node(folder.path(), node("Conv", "it", &["images", "three"], "scores", &[]));
    assert_eq!(weighted.classes([1, 2, 2], 4).unwrap(), 12);
    let summed = of_node(folder.path(), node("ReduceSum", "it", &["images"], "scores", &[]));
    let said = summed.classes([1, 2, 2], 4).unwrap_err().to_string();
    assert_eq!(said, "net.onnx gives [1, 1, 1, 1] for 4 images, and not one row each");
}

#[test]
fn a_network_without_a_derivative_by_its_weights_is_not_trained() {
    let folder = tempfile::tempdir().unwrap();
    for (operator, inputs, is_trainable) in [
        ("Mul", &["images", "three"][..], true),
        ("Greater", &["images", "three"], false),
        ("Equal", &["images", "three"], false),
        ("Where", &["three", "images", "images"], false),
        ("Where", &["images", "three", "images"], true),
        ("Not", &["images"], false),
        ("Relu", &["images"], false),
    ] {
        let network = of_node(folder.path(), node(operator, "it", inputs, "scores", &[]));
        let checked = network.check_training([1, 2, 2]);
        assert_eq!(checked.is_ok(), is_trainable, "{operator} {inputs:?}");
        if let Err(error) = checked {
            assert_eq!(error.to_string(), "net.onnx has no weights that training could change");
        }
    }
}
