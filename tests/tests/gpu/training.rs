//! Training gives the same losses on a GPU as on the CPU.

use std::path::Path;

use foreglow_shared::{Outcome, Sample, parse_line};
use foreglow_tests::GpuRig;

use crate::on;

/// 20 epochs of one mini-batch, so that each epoch's loss is that of one step.
const STEPS: usize = 20;
/// Maximum relative difference of two losses. Sums on a GPU are in a different order, and each step
/// starts from the rounding errors of the previous steps.
const TOLERANCE: f64 = 1e-3;

/// The loss of each step.
fn losses(rig: &GpuRig, home: &Path, model: &str, learning_rate: f64, device: &str) -> Vec<f64> {
    let line = format!(
        "run --mode training --model {model} --image-px 32 --images 8 --batch-size 8 --epochs {STEPS} --sampling-rate 1 \
         --executors 1 --cores 1 --optimizer sgd --learning-rate {learning_rate} --format json --device {device}"
    );
    let answer = on(rig, home, &line);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let sample: Sample = parse_line(answer.stdout.trim()).expect("standard output is a sample");
    assert_eq!(sample.outcome, Outcome::Completed, "{:?}", sample.reason);
    assert_eq!(sample.configuration.accelerator.is_some(), device == "gpu");
    let epochs = sample.extra["training"]["epochs"].as_array().expect("a training run has epochs");
    epochs.iter().map(|epoch| epoch["loss"].as_f64().expect("an epoch has a loss")).collect()
}

fn assert_alike(ours: &[f64], theirs: &[f64], what: &str) {
    assert_eq!((ours.len(), theirs.len()), (STEPS, STEPS), "{what}");
    for (step, (own, other)) in ours.iter().zip(theirs).enumerate() {
        assert!((own - other).abs() <= TOLERANCE * other.abs(), "{what}, step {step}: {own} and {other}");
    }
    assert!(
        theirs[STEPS - 1] < 0.9 * theirs[0],
        "{what}: nothing was learned, so that nothing was compared: {theirs:?}"
    );
}

/// Compares a CNN on a GPU with the processor, for each level of kernel tuning. Kernels are chosen
/// by measurement, and each choice must give the same losses.
fn learns_alike(model: &str, learning_rate: f64, efforts: &[&str]) -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let processor = losses(&rig, home.path(), model, learning_rate, "cpu");
    for effort in efforts {
        let gpu = losses(&rig.and("CUBECL_AUTOTUNE_LEVEL", *effort), home.path(), model, learning_rate, "gpu");
        assert_alike(&gpu, &processor, &format!("{model}, {effort} autotune"));
    }
    Ok(())
}

#[test]
fn a_cnn_learns_on_a_gpu_as_on_the_processor_whatever_kernels_are_chosen() -> anyhow::Result<()> {
    learns_alike("lenet5", 0.01, &["minimal", "full"])
}

/// Residual connections and batch normalisation. The learning rate is low, because the last layers
/// normalise only 8 values, which amplifies rounding errors beyond the tolerance when the loss is
/// small.
#[test]
fn a_residual_cnn_learns_on_a_gpu_as_on_the_processor() -> anyhow::Result<()> {
    learns_alike("resnet18", 5e-6, &["minimal"])
}

/// Two executors on a GPU average their gradients after each step, like one executor with a
/// mini-batch twice as large.
#[test]
fn two_gpus_that_average_learn_as_two_executors_on_the_processor() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(2, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let line = |device: &str| {
        format!(
            "run --mode training --model lenet5 --images 16 --batch-size 8 --epochs {STEPS} --sampling-rate 1 --executors 2 \
             --cores 1 --optimizer sgd --learning-rate 0.01 --format json --device {device}"
        )
    };
    let curve = |device: &str| {
        let answer = on(&rig, home.path(), &line(device));
        assert_eq!(answer.code, Some(0), "{}", answer.stderr);
        let sample: Sample = parse_line(answer.stdout.trim()).unwrap();
        let epochs = sample.extra["training"]["epochs"].as_array().unwrap().clone();
        epochs.iter().map(|epoch| epoch["loss"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    assert_alike(&curve("gpu"), &curve("cpu"), "two executors");
    Ok(())
}
