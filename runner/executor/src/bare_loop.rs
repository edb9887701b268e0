//! A lower bound for an executor's time: forward passes in a loop, without partitions, protocol or
//! reading.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::time::Instant;

use foreglow_cnn::Cnn;
use foreglow_data::Decoded;
use foreglow_protocol::Assignment;

use super::data::Data;
use super::loader::Loader;
use super::slot::words;
use super::{keep_peaks, network_of, open_device};

/// Passes before the clock starts.
const WARM_UP: u32 = 3;

/// Runs the first mini-batch of an assignment's sample through its CNN `passes` times in each of
/// its threads, reads back each answer, and returns the seconds.
///
/// # Errors
/// The sample has fewer images than a mini-batch, an image is broken, or the device fails.
pub fn forward_passes_secs(job: &Assignment, passes: u32) -> anyhow::Result<f64> {
    let network = network_of(job)?;
    let device = open_device(job)?;
    let data = Data::open(job, &network)?;
    let cnn = network.build(job.seed, data.shape(), &device)?;
    let batch = mini_batch(job, &data)?;
    // One participant per thread, and one for the clock.
    let start = Barrier::new(job.threads as usize + 1);
    let one = |cnn: Box<dyn Cnn>| {
        let loader = data.loader(&device);
        // A panic here would leave the other threads waiting at the barrier.
        let warm = catch_unwind(AssertUnwindSafe(|| pass(cnn.as_ref(), job, &batch, &loader, WARM_UP)))
            .unwrap_or_else(|panic| Err(anyhow::anyhow!("the CNN panicked: {}", words(panic.as_ref()))));
        start.wait();
        warm.and_then(|()| pass(cnn.as_ref(), job, &batch, &loader, passes))
    };
    let one = &one;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..job.threads).map(|_| cnn.share()).map(|cnn| scope.spawn(move || one(cnn))).collect();
        start.wait();
        let clock = Instant::now();
        for thread in threads {
            thread.join().map_err(|panic| anyhow::anyhow!("the CNN panicked: {}", words(panic.as_ref())))??;
        }
        let secs = clock.elapsed().as_secs_f64();
        keep_peaks(job);
        Ok(secs)
    })
}

fn mini_batch(job: &Assignment, data: &Data) -> anyhow::Result<Decoded> {
    let mut decoder = data.decoder();
    let mut all = decoder.room(job.batch_size as usize);
    for place in 0..u64::from(job.batch_size) {
        data.sample
            .read(place)
            .and_then(|image| decoder.decode(&image, &mut all))
            .map_err(|why| anyhow::anyhow!(why.0))?;
    }
    Ok(all)
}

fn pass(cnn: &dyn Cnn, job: &Assignment, batch: &Decoded, loader: &Loader, passes: u32) -> anyhow::Result<()> {
    let images = job.batch_size as usize;
    for _ in 0..passes {
        let answer = cnn.forward(loader.load(batch.clone(), images)).argmax(1).try_into_data();
        let classes = answer.map_err(|error| anyhow::anyhow!("the CNN failed: {error:?}"))?.num_elements();
        anyhow::ensure!(classes == images, "the CNN gave a wrong number of answers");
    }
    Ok(())
}
