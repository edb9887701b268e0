//! Properties of every CNN.

use foreglow_architectures::{ALL, Input};

use super::*;

/// Returns a batch of irregular inputs, because regular ones could hide a wrong layout.
fn batch(inputs: usize, [channels, height, width]: Shape, device: &Device) -> Tensor<4> {
    let count = inputs * channels * height * width;
    let values: Vec<f32> = (0..count).map(|i| ((i * 7919) % 1013) as f32 / 506.5 - 1.0).collect();
    Tensor::from_data(burn::tensor::TensorData::new(values, [inputs, channels, height, width]), device)
}

fn scores(cnn: &dyn Cnn, images: Tensor<4>) -> Vec<f32> {
    cnn.forward(images).into_data().try_to_vec::<f32>().unwrap()
}

fn smallest(architecture: &Architecture) -> Shape {
    match &architecture.input {
        Input::Images { colour, px, .. } => colour.shape(*px.start()),
        Input::Texts { words, .. } => [1, *words.start() as usize, 50],
    }
}

#[test]
fn every_architecture_lists_the_size_of_its_network() {
    for architecture in ALL {
        let listed =
            Size { parameters: architecture.parameters, multiply_accumulates: architecture.multiply_accumulates };
        assert_eq!(architecture.size(architecture.input.usual()), listed, "{}", architecture.name);
    }
}

#[test]
fn every_cnn_scores_each_class_at_its_default_and_its_smallest_size() {
    let device = Device::flex();
    for architecture in ALL {
        let name = architecture.name;
        for shape in [architecture.input.usual(), smallest(architecture)] {
            let cnn = architecture.build(1, shape, &device);
            let out = cnn.forward(batch(1, shape, &device));
            assert_eq!(out.dims(), [1, architecture.classes], "{name}");
            let scores = out.into_data().try_to_vec::<f32>().unwrap();
            assert!(scores.iter().all(|score| score.is_finite()), "{name}");
            assert!(scores.iter().any(|score| *score != scores[0]), "{name}");
        }
    }
}

#[test]
fn traced_shapes_equal_the_shapes_of_a_forward_pass() {
    let device = Device::flex();
    for architecture in ALL {
        let cnn = architecture.build_empty(smallest(architecture), &device);
        let mut trace = Trace::new(smallest(architecture));
        cnn.trace(&mut trace);
        assert_eq!((trace.channels, trace.px), (architecture.classes, [1, 1]), "{}", architecture.name);
    }
}

#[test]
fn the_seed_determines_the_scores() {
    let device = Device::flex();
    for architecture in ALL {
        let shape = smallest(architecture);
        let run = |seed| scores(architecture.build(seed, shape, &device).as_ref(), batch(1, shape, &device));
        let first = run(5);
        assert_eq!(first, run(5), "{}", architecture.name);
        assert_ne!(first, run(6), "{}", architecture.name);
    }
}

#[test]
fn an_image_has_the_same_scores_alone_and_in_a_batch() {
    let device = Device::flex();
    for architecture in ALL {
        let shape = smallest(architecture);
        let cnn = architecture.build(1, shape, &device);
        let images = batch(3, shape, &device);
        let together = scores(cnn.as_ref(), images.clone());
        let alone = scores(cnn.share().as_ref(), images.narrow(0, 1, 1));
        let size = together.iter().fold(1.0_f32, |max, score| max.max(score.abs()));
        for (a, b) in together[architecture.classes..2 * architecture.classes].iter().zip(&alone) {
            assert!((a - b).abs() <= 1e-4 * size, "{}: {a} and {b}", architecture.name);
        }
    }
}

/// Runs on any graphics adapter, including Mesa's software adapter, and checks that its shaders
/// compute the same scores. These CNNs cover every kind of layer; compiling the shaders of the
/// large CNNs takes minutes on a software adapter.
#[cfg(feature = "gpu")]
#[test]
fn a_graphics_adapter_gives_the_scores_of_the_cpu() {
    let adapters = device::probe();
    let Some(adapter) = adapters.iter().find(|adapter| adapter.place != foreglow_machine::device::DeviceId::Cpu) else {
        eprintln!("SKIPPED: this machine has no Vulkan adapter; install mesa-vulkan-drivers to run this test");
        return;
    };
    let architectures = ["lenet5", "resnet18", "mobilenet_v2", "text_cnn", "text_lstm"];
    for architecture in architectures.map(|name| Architecture::named(name).unwrap()) {
        let shape = smallest(architecture);
        let scores = |device: &Device| scores(architecture.build(1, shape, device).as_ref(), batch(2, shape, device));
        let (native, graphics) = (scores(&Device::flex()), scores(&device::open(adapter.place).unwrap()));
        let size = native.iter().fold(0.0_f32, |max, score| max.max(score.abs()));
        for (a, b) in native.iter().zip(&graphics) {
            assert!((a - b).abs() <= 1e-3 * size, "{} on {}: {a} and {b}", architecture.name, adapter.name);
        }
    }
}

/// The number format of a device is set once per process. This test therefore needs its own
/// process, as under nextest.
#[test]
fn a_graphics_adapter_in_16_bit_floats_gives_nearly_the_scores_of_the_cpu() {
    let adapters = device::probe();
    let half = foreglow_shared::NumberFormat::F16;
    let Some(adapter) = adapters.iter().find(|adapter| adapter.number_formats.contains(&half)) else {
        eprintln!("SKIPPED: this machine has no Vulkan adapter with 16-bit floats");
        return;
    };
    let Ok(device) = device::open_in(adapter.place, half) else {
        eprintln!("SKIPPED: another test of this process has used the adapter; run the tests with cargo nextest");
        return;
    };
    for name in ["lenet5", "resnet18", "mobilenet_v2"] {
        let architecture = Architecture::named(name).unwrap();
        let shape = smallest(architecture);
        let native = scores(architecture.build(1, shape, &Device::flex()).as_ref(), batch(2, shape, &Device::flex()));
        let answer = architecture.build(1, shape, &device).forward(batch(2, shape, &device));
        assert_eq!(answer.dtype(), burn::tensor::DType::F16, "{name}");
        let half: Vec<f32> = answer.into_data().iter::<f32>().collect();
        let size = native.iter().fold(0.0_f32, |max, score| max.max(score.abs()));
        for (a, b) in native.iter().zip(&half) {
            assert!((a - b).abs() <= 2e-2 * size, "{name} on {}: {a} and {b}", adapter.name);
        }
    }
}

#[test]
fn every_architecture_has_a_builder_and_every_builder_an_architecture() {
    assert_eq!(
        BUILDERS.map(|(architecture, _)| architecture.name).as_slice(),
        ALL.iter().map(|it| it.name).collect::<Vec<_>>()
    );
}
