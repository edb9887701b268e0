//! The least that the CNN takes: forward passes one after the other, with no partitions, no protocol and no reading.

use std::time::Instant;

use anyhow::Context as _;
use burn::tensor::{Tensor, TensorData};

use super::data::Data;
use super::protocol::Assignment;
use crate::cnn::Architecture;

/// Passes before the clock starts.
const WARM_UP: u32 = 3;

/// Sends the first mini-batch of an assignment's sample through its CNN so many times; seconds, each answer read back.
///
/// # Errors
/// The sample has fewer images than a mini-batch, or one that cannot be used.
pub fn forward_passes_secs(job: &Assignment, passes: u32) -> anyhow::Result<f64> {
    let architecture = Architecture::named(&job.model).context("there is no such CNN")?;
    let device = job.place.open();
    let data = Data::open(job, architecture)?;
    let cnn = architecture.build(job.seed, data.shape(), &device);
    let mut decoder = data.decoder();
    let mut numbers = Vec::new();
    for place in 0..u64::from(job.batch_size) {
        data.sample
            .read(place)
            .and_then(|image| decoder.decode(&image, &mut numbers))
            .map_err(|why| anyhow::anyhow!(why.0))?;
    }
    let [channels, height, width] = data.shape();
    let batch = TensorData::new(numbers, [job.batch_size as usize, channels, height, width]);
    let pass = || Tensor::from_data(batch.clone(), &device);
    let (mut clock, mut classes) = (Instant::now(), 0);
    for number in 0..WARM_UP + passes {
        if number == WARM_UP {
            clock = Instant::now();
        }
        let answer = cnn.forward(pass()).argmax(1).try_into_data();
        classes += answer.map_err(|error| anyhow::anyhow!("the CNN failed: {error:?}"))?.num_elements();
    }
    anyhow::ensure!(classes == job.batch_size as usize * (WARM_UP + passes) as usize, "the CNN answered too little");
    Ok(clock.elapsed().as_secs_f64())
}
