//! What holds for every CNN.

use super::*;

/// The inputs of a batch, without any regularity that a wrong layout would survive.
fn batch(architecture: &Architecture, images: usize, px: usize, device: &Device) -> Tensor<4> {
    let channels = architecture.input.colour.channels();
    let values: Vec<f32> = (0..images * channels * px * px).map(|i| ((i * 7919) % 1013) as f32 / 506.5 - 1.0).collect();
    Tensor::from_data(burn::tensor::TensorData::new(values, [images, channels, px, px]), device)
}

fn scores(cnn: &dyn Cnn, images: Tensor<4>) -> Vec<f32> {
    cnn.forward(images).into_data().try_to_vec::<f32>().unwrap()
}

fn smallest(architecture: &Architecture) -> usize {
    *architecture.input.px.start() as usize
}

#[test]
fn every_cnn_scores_each_class_at_its_default_and_its_smallest_size() {
    let device = Device::flex();
    for architecture in ALL {
        let name = architecture.name;
        let cnn = architecture.build(1, &device);
        for px in [architecture.input.default_px as usize, smallest(architecture)] {
            let out = cnn.forward(batch(architecture, 1, px, &device));
            assert_eq!(out.dims(), [1, architecture.classes], "{name}");
            let scores = out.into_data().try_to_vec::<f32>().unwrap();
            assert!(scores.iter().all(|score| score.is_finite()), "{name}");
            assert!(scores.iter().any(|score| *score != scores[0]), "{name}");
        }
    }
}

#[test]
fn the_shapes_that_are_counted_are_the_shapes_that_run() {
    let device = Device::flex();
    for architecture in ALL {
        let cnn = (architecture.build)(&device);
        let mut trace = Trace::new(architecture.input.colour.channels(), smallest(architecture));
        cnn.trace(&mut trace);
        assert_eq!((trace.channels, trace.px), (architecture.classes, [1, 1]), "{}", architecture.name);
    }
}

#[test]
fn the_same_seed_gives_the_same_scores_and_another_seed_others() {
    let device = Device::flex();
    for architecture in ALL {
        let images = || batch(architecture, 1, smallest(architecture), &device);
        let run = |seed| scores(architecture.build(seed, &device).as_ref(), images());
        let first = run(5);
        assert_eq!(first, run(5), "{}", architecture.name);
        assert_ne!(first, run(6), "{}", architecture.name);
    }
}

#[test]
fn an_image_is_scored_alike_alone_and_in_a_batch() {
    let device = Device::flex();
    for architecture in ALL {
        let cnn = architecture.build(1, &device);
        let images = batch(architecture, 3, smallest(architecture), &device);
        let together = scores(cnn.as_ref(), images.clone());
        let alone = scores(cnn.share().as_ref(), images.narrow(0, 1, 1));
        let size = together.iter().fold(1.0_f32, |max, score| max.max(score.abs()));
        for (a, b) in together[architecture.classes..2 * architecture.classes].iter().zip(&alone) {
            assert!((a - b).abs() <= 1e-4 * size, "{}: {a} and {b}", architecture.name);
        }
    }
}

/// On any graphics adapter, Mesa's software one too: what is checked is that the shaders compute the same. These three have
/// every kind of convolution; a software adapter takes minutes to make the shaders of the large ones.
#[test]
fn a_graphics_adapter_scores_as_the_processor_does() {
    let adapters = crate::device::probe();
    let Some(adapter) = adapters.iter().find(|adapter| adapter.place != crate::device::Place::Cpu) else {
        eprintln!("SKIPPED: this machine has no Vulkan adapter; install mesa-vulkan-drivers to run this test");
        return;
    };
    for architecture in ["lenet5", "resnet18", "mobilenet_v2"].map(|name| Architecture::named(name).unwrap()) {
        let px = smallest(architecture);
        let scores =
            |device: &Device| scores(architecture.build(1, device).as_ref(), batch(architecture, 2, px, device));
        let (native, graphics) = (scores(&Device::flex()), scores(&adapter.place.open().unwrap()));
        let size = native.iter().fold(0.0_f32, |max, score| max.max(score.abs()));
        for (a, b) in native.iter().zip(&graphics) {
            assert!((a - b).abs() <= 1e-3 * size, "{} on {}: {a} and {b}", architecture.name, adapter.name);
        }
    }
}
