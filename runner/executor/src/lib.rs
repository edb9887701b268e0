//! An executor: a process with one replica of the CNN and C threads that work through partitions of
//! images.

mod bare_loop;
mod data;
mod loader;
#[cfg(test)]
#[cfg(feature = "gpu")]
mod lost_device_tests;
mod slot;
mod training;

use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use anyhow::Context as _;
use burn::tensor::Device;

use foreglow_cnn::{Network, device};
use foreglow_data::cache_folder;
use foreglow_machine::bounds::{self, peak_memory_mib};
use foreglow_protocol::{Assignment, Order, Report};

pub use self::bare_loop::forward_passes_secs;
use self::data::Data;
use self::slot::Slot;

/// Runs an executor until its input ends: the main function of `foreglow executor`. `accelerator`
/// is the address of the accelerator that a cluster has assigned to it.
///
/// # Errors
/// The first line is not a job, or standard output is closed.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    accelerator: Option<&str>,
) -> anyhow::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line).context("the job could not be read from standard input")?;
    let mut job: Assignment = serde_json::from_str(&line).context(
        "the first line is not a job; an executor is started by `foreglow run` and `foreglow collect`, not by hand",
    )?;
    let reports = Reports(Arc::new(Mutex::new(output)));
    let assigned = accelerator.map(device::assigned).transpose();
    let started = assigned.and_then(|gpu| {
        job.place = gpu.as_ref().map_or(job.place, |gpu| gpu.place);
        job.assigned = gpu.map(|gpu| gpu.name);
        start(&job, input, &reports)
    });
    if let Err(error) = started {
        return reports.send(&Report::Failed { partition: None, reason: format!("{error:#}") });
    }
    reports.send(&Report::Ended { peak_memory_mib: peak_memory_mib("self") })
}

/// Pins the process, limits its memory, loads the CNN, warms it up in every thread, and distributes
/// the partitions.
fn start(job: &Assignment, input: impl BufRead + Send + 'static, reports: &Reports) -> anyhow::Result<()> {
    bounds::pin(&job.processors)?;
    if let Some(memory_mib) = job.memory_mib.filter(|_| job.place.is_native()) {
        bounds::bound_memory(memory_mib)?;
    }
    let network = network_of(job)?;
    let data = Arc::new(Data::open(job, &network)?);
    if let Some(training) = &job.training {
        return training::serve(job, training, &network, &data, input, reports);
    }
    let device = open_device(job)?;
    let cnn = network.build(job.seed, data.shape(), &device)?;

    let (orders, queue) = mpsc::channel();
    let queue = Arc::new(Mutex::new(queue));
    let (warm, warmed) = mpsc::channel();
    let mut threads = Vec::new();
    for index in 0..job.threads {
        let mut slot = Slot::new(cnn.share(), device.clone(), job, Arc::clone(&data));
        let (queue, warm, reports) = (Arc::clone(&queue), warm.clone(), reports.clone());
        let thread = std::thread::Builder::new().name(format!("slot-{index}")).spawn(move || {
            let is_warm = slot.warm_up();
            let stays = is_warm.is_ok();
            // A failed send means that the process is ending.
            let _ = warm.send(is_warm);
            if stays {
                slot.work(&queue, &reports);
            }
        });
        threads.push(thread.map_err(|error| match bounds::has_room_for_thread() {
            true => anyhow::anyhow!("a thread of the executor could not be started: {error}"),
            // The system's library has the same message for too many threads.
            false => anyhow::anyhow!("out of memory: there is no room for the stack of another thread"),
        })?);
    }
    drop(warm);
    for _ in 0..job.threads {
        warmed.recv().context("a thread of the executor ended while it warmed up")??;
    }
    keep_peaks(job);
    reports.send(&Report::Ready { images: data.sample.len() })?;

    for line in input.lines() {
        let line = line.context("standard input broke off")?;
        let order = serde_json::from_str(&line).with_context(|| format!("this line is not an order: {line}"))?;
        let Order::Partition(partition) = order else { anyhow::bail!("this is not an order for inference: {line}") };
        orders.send(partition).context("every thread of the executor has ended")?;
    }
    drop(orders);
    for thread in threads {
        thread.join().map_err(|_| anyhow::anyhow!("a thread of the executor panicked"))?;
    }
    Ok(())
}

/// Returns the network of a job with the user's classes and weights.
fn network_of(job: &Assignment) -> anyhow::Result<Network> {
    let network = Network::of_job(&job.model, job.network.as_ref())?.with_classes(job.classes)?;
    Ok(network.with_weights(job.weights.as_deref()))
}

/// Opens the device of a job with the measurements of earlier executors.
fn open_device(job: &Assignment) -> anyhow::Result<Device> {
    let device = device::open_in(job.place, job.number_format)?;
    if let Some(folder) = cache_folder() {
        device::recall_peaks(job.place, &folder);
    }
    Ok(device)
}

/// Stores the device measurements of the warm-up. A failure is ignored, because without the file
/// the next executor measures again.
fn keep_peaks(job: &Assignment) {
    if let Some(folder) = cache_folder() {
        let _ = device::keep_peaks(job.place, &folder);
    }
}

/// Standard output, shared by the threads line by line.
#[derive(Clone)]
pub struct Reports(Arc<Mutex<dyn Write + Send>>);

impl Reports {
    fn send(&self, report: &Report) -> anyhow::Result<()> {
        let mut line = serde_json::to_string(report).context("a report could not be written as JSON")?;
        line.push('\n');
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(line.as_bytes()).and_then(|()| output.flush()).context("the reports are no longer read")
    }
}
