//! ONNX files: any bytes are rejected, or read into a network whose plans have costs.
#![no_main]

use std::io::Cursor;

use foreglow_onnx::Network;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(network) = Network::read(&mut Cursor::new(bytes)) else { return };
    let Ok([channels, height, width]) = network.image_shape(Some(32)) else { return };
    for batch in [1, 3] {
        let Ok(plan) = network.plan([batch, channels, height, width]) else { continue };
        let costs = network.costs(&plan);
        assert_eq!(costs.layers.len(), plan.steps.len());
        assert!(costs.inference_bytes >= 4 * (batch * channels * height * width) as u64);
        for step in &plan.steps {
            assert!(step.values().all(|value| value < plan.shapes.len()));
            assert!(step.results.iter().all(|result| *result < plan.shapes.len()));
        }
    }
    for weight in 0..network.weights.len() {
        let _ = network.small(weight);
    }
});
