use std::io::Cursor;

use super::liveness::StepFormat;
use super::{Operand, PeakBytes, Rule, StepBytes, Tape};
use crate::Network;

/// Tape of images of 64 numbers, a convolution to 256, and these rules one after the other.
fn tape(rules: &[(Rule, u64)]) -> Tape {
    let mut tape = Tape::new(64);
    let mut x = tape.push(Rule::PRODUCT, vec![Operand::Tensor(0), Operand::Parameter(0)], 256);
    for (rule, numbers) in rules {
        x = tape.push(*rule, vec![Operand::Tensor(x)], *numbers);
    }
    tape
}

fn full(tape: &Tape, is_training: bool) -> u64 {
    tape.peak_bytes(StepFormat::Full, is_training, 1)
}

#[test]
fn inference_holds_the_images_and_the_two_tensors_of_an_operation() {
    assert_eq!(full(&tape(&[(Rule::BATCH_NORM, 256), (Rule::AVERAGE_POOL, 64)]), false), 4 * (64 + 256 + 256));
}

#[test]
fn relu_in_place_keeps_one_tensor_and_a_function_of_its_argument_two() {
    // Images, what is kept, the mean, and two gradients where the activation is differentiated.
    let needs = |rule| full(&tape(&[(rule, 256), (Rule::MEAN, 1)]), true);
    assert_eq!(needs(Rule::ACTIVATION), 4 * (64 + 256 + 1 + 2 * 256));
    let pooled = |rule| full(&tape(&[(rule, 256), (Rule::AVERAGE_POOL, 1)]), true);
    assert_eq!(pooled(Rule::FUNCTION), 4 * (64 + 2 * 256 + 1 + 256 + 1));
}

#[test]
fn a_max_pool_keeps_64_bit_indices() {
    let pooled = |rule| full(&tape(&[(rule, 64)]), true);
    assert_eq!(pooled(Rule::MAX_POOL) - pooled(Rule::AVERAGE_POOL), 8 * 64);
}

#[test]
fn an_operand_that_another_operation_needs_is_not_overwritten() {
    let mut tape = tape(&[(Rule::ACTIVATION, 256)]);
    // The residual reads the convolution's result as well.
    tape.push(Rule::SUM, vec![Operand::Tensor(1), Operand::Tensor(2)], 256);
    assert_eq!(full(&tape, false), 4 * (64 + 3 * 256));
}

#[test]
fn mixed_precision_converts_the_images_and_normalises_them_in_32_bits() {
    let mixed = |rules: &[(Rule, u64)]| tape(rules).peak_bytes(StepFormat::Mixed, false, 1);
    // The images in both formats, and two tensors of 16 bits.
    assert_eq!(mixed(&[(Rule::BATCH_NORM, 256)]), 4 * 64 + 2 * (256 + 256));
    // A tensor in 16 bits, its copy and its result in 32.
    assert_eq!(mixed(&[(Rule::LAYER_NORM, 256)]), 4 * 64 + 2 * 256 + 4 * (256 + 256));
}

const EXPORTS: [&[u8]; 5] = [
    include_bytes!("../../tests/exports/convnext.onnx"),
    include_bytes!("../../tests/exports/densenet.onnx"),
    include_bytes!("../../tests/exports/efficientnet.onnx"),
    include_bytes!("../../tests/exports/mobilenet_v3.onnx"),
    include_bytes!("../../tests/exports/shufflenet_v2.onnx"),
];

/// Peaks of an exported network with images of 32 pixels.
fn exported(file: &[u8], batch: usize) -> StepBytes {
    let network = Network::read(&mut Cursor::new(file)).unwrap();
    network.costs(&network.plan([batch, 3, 32, 32]).unwrap()).step
}

#[test]
fn training_needs_more_than_inference_and_32_bits_more_than_16() {
    for file in EXPORTS {
        let StepBytes { inference, training } = exported(file, 1);
        let bytes = |peak: PeakBytes| peak.fixed + 32 * peak.per_image;
        let ([full, mixed], [less, _]) = (training.map(bytes), inference.map(bytes));
        assert!(full > mixed && full > less && less > 0, "{full} {mixed} {less}");
    }
}

#[test]
fn copies_of_the_weights_and_their_gradients_do_not_depend_on_the_batch() {
    let mut tape = Tape::new(8);
    tape.push(Rule::PRODUCT, vec![Operand::Tensor(0), Operand::Parameter(1000)], 2);
    let StepBytes { inference, training } = tape.step_bytes();
    assert_eq!(inference.map(|peak| peak.fixed), [0, 2000]);
    assert_eq!(training.map(|peak| peak.fixed), [4000, 2000 + 2000 + 4000]);
    // Images in 32 bits, and in 16; results and their gradients.
    assert_eq!(training.map(|peak| peak.per_image), [8 * 4 + 2 * 8, 8 * 6 + 2 * 4]);
}

#[test]
fn the_peak_of_an_image_does_not_depend_on_the_batch() {
    assert_eq!(exported(EXPORTS[0], 1), exported(EXPORTS[0], 6));
}
