//! Training executor: one replica whose C threads share each mini-batch, averaged with the other
//! executors.

mod inbox;
mod learner;
mod optimizer;
mod peers;
mod pieces;
mod progress;
mod reader;
mod replica;
mod state;
mod team;

use std::io::BufRead;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_cnn::Network;
use foreglow_data::{Sample, open_held_out};
use foreglow_machine::bounds::peak_memory_mib;
use foreglow_protocol::{Assignment, DataSharding, Evaluation, Order, Phases, Report, Round, Training};

use self::inbox::Inbox;
use self::peers::Peers;
use self::progress::Learned;
use self::reader::{Ahead, Partitions, Reading};
use self::replica::{Replica, Snapshot};
use super::data::Data;
use super::{Reports, keep_peaks};

/// Warm-up passes for each share size on a device that compiles and tunes.
const WARM_UP_ROUNDS: usize = 2;

/// Warms up, reports that it is ready, and executes orders until the input ends.
///
/// # Errors
/// An order failed; no later order is executed.
pub fn serve(
    job: &Assignment,
    training: &Training,
    network: &Network,
    data: &Data,
    input: impl BufRead + Send + 'static,
    reports: &Reports,
) -> anyhow::Result<()> {
    let listener = match &training.listen {
        None => None,
        Some(host) => Some(listen(host, reports)?),
    };
    let (sample, replica) = (&data.sample, Replica::new(network, job, training, data)?);
    let validation = data.validation.as_ref();
    let mut worker = TrainingWorker { job, training, sample, validation, reports, replica, peers: None };
    worker.warm_up()?;
    keep_peaks(job);
    let inbox = Inbox::open(input)?;
    reports.send(&Report::Ready { images: sample.len() })?;
    while let Some(order) = inbox.next()? {
        match order {
            Order::Partition(_) => anyhow::bail!("a partition is for inference, and this executor trains"),
            Order::Peers { rank, addresses, token } => {
                let listener = listener.as_ref().context("the job does not say where to listen for other executors")?;
                worker.peers = Some(Peers::join(listener, rank as usize, &addresses, &token)?);
                reports.send(&Report::Joined { executors: addresses.len() as u32 })?;
            }
            // The driver may close the input after this report.
            Order::Train(round) => reports.send(&inbox.while_wanted(|| worker.train(&round))?)?,
            Order::Evaluate(evaluation) => reports.send(&inbox.while_wanted(|| worker.evaluate(&evaluation))?)?,
            Order::Validate { rank } => reports.send(&inbox.while_wanted(|| worker.validate(rank))?)?,
            Order::SaveWeights { path } => {
                worker.replica.save_weights(&path)?;
                reports.send(&Report::SavedWeights { path })?;
            }
        }
    }
    Ok(())
}

fn listen(host: &str, reports: &Reports) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind((host, 0)).with_context(|| format!("cannot listen on the address {host}"))?;
    let port = listener.local_addr().context("the listening socket has no address")?.port();
    reports.send(&Report::Listening { port })?;
    Ok(listener)
}

struct TrainingWorker<'a> {
    job: &'a Assignment,
    training: &'a Training,
    sample: &'a Sample,
    validation: Option<&'a Sample>,
    reports: &'a Reports,
    replica: Replica,
    peers: Option<Peers>,
}

/// Progress of a replica since the last average.
#[derive(Default)]
struct LocalProgress {
    steps: u64,
    images: u64,
}

impl TrainingWorker<'_> {
    fn sharding(&self) -> DataSharding {
        DataSharding {
            images: self.sample.len(),
            batch_size: u64::from(self.job.batch_size),
            executors: u64::from(self.training.executors),
        }
    }

    /// Runs warm-up passes. On the CPU one share per thread is enough to allocate the memory; other
    /// devices compile and tune a kernel for each size.
    fn warm_up(&mut self) -> anyhow::Result<()> {
        let sharding = self.sharding();
        let full = sharding.mini_batch(0, 0);
        let share = u64::from(self.training.share_size);
        if self.job.place.is_native() {
            return self.replica.warm_up(self.sample, share.min(full.end - full.start));
        }
        let mut sizes = Vec::new();
        for (step, executor) in
            (0..sharding.executors).flat_map(|executor| [(0, executor), (sharding.steps() - 1, executor)])
        {
            let places = sharding.mini_batch(step, executor);
            let images = places.end - places.start;
            for size in [share.min(images), images % share] {
                if size > 0 && !sizes.contains(&size) {
                    sizes.push(size);
                }
            }
        }
        for size in &sizes {
            for _ in 0..WARM_UP_ROUNDS {
                self.replica.warm_up(self.sample, *size)?;
            }
        }
        sizes.first().map_or(Ok(()), |size| self.replica.measure_passes(self.sample, *size))
    }

    /// Trains the steps of a round, reports each partition, and returns the final report.
    fn train(&mut self, round: &Round) -> anyhow::Result<Report> {
        let sharding = self.sharding();
        let rank = u64::from(round.rank);
        anyhow::ensure!(rank < sharding.executors, "there is no executor {} among {}", rank + 1, sharding.executors);
        let is_connected = sharding.executors == 1 || self.peers.is_some();
        anyhow::ensure!(
            is_connected || self.training.average_every > 1,
            "executors that average every mini-batch must be connected first"
        );
        if round.load.is_empty() && round.first_step == 0 {
            self.replica.restart()?;
        }
        if !round.load.is_empty() {
            let is_state_averaged = self.training.average_optimizer_state;
            let loaded = state::load(&round.load, round.rank as usize, &self.job.model, is_state_averaged)?;
            self.replica.take(&if round.resident { self.with_average(&loaded)? } else { loaded })?;
        }
        let last = sharding.steps() * u64::from(self.training.epochs);
        let end = round.steps.map_or(last, |steps| round.first_step.saturating_add(steps).min(last));
        let at_once = u64::from(self.job.partition_size).div_ceil(sharding.batch_size).max(1);
        let partitions = Partitions::new(sharding, self.job.seed, rank, at_once, round.first_step..end);
        let mut local = LocalProgress::default();
        let start = Instant::now();
        // On the CPU the same threads decode and train. A graphics device trains while the threads
        // decode.
        if self.job.place.is_native() {
            for (steps, mini_batches) in partitions {
                let mut read = self.replica.read(self.sample, &mini_batches)?.into_iter();
                let mut next = || read.next().context("a mini-batch is missing");
                let learned = self.partition(steps, &mut next, &mut local, end, &mut None)?;
                self.reports.send(&learned.report()?)?;
            }
        } else {
            self.train_ahead(&partitions, &mut local, end)?;
        }
        let secs = start.elapsed().as_secs_f64();
        if let Some(path) = &round.save {
            let mut snapshot = self.replica.snapshot()?;
            if round.resident {
                snapshot.list.truncate(snapshot.averaged(self.training.average_optimizer_state));
            }
            state::save(path, &self.job.model, &snapshot, local.images)?;
        }
        let (steps, peak_memory_mib) = (end.saturating_sub(round.first_step), peak_memory_mib("self"));
        Ok(Report::Trained { steps, secs, peak_memory_mib, accelerator: self.job.assigned.clone() })
    }

    /// Returns this replica's numbers with the averaged part replaced; the optimiser's state and
    /// step count stay.
    fn with_average(&self, average: &Snapshot) -> anyhow::Result<Snapshot> {
        let mut own = self.replica.snapshot()?;
        let averaged = own.averaged(self.training.average_optimizer_state);
        let there = average.list.len();
        anyhow::ensure!(there == averaged, "the average has {there} numbers, and this executor averages {averaged}");
        own.list[..averaged].copy_from_slice(&average.list);
        Ok(own)
    }

    /// Trains partitions while other threads decode images. The next step is sent to the device
    /// before the answers of the previous one are awaited.
    fn train_ahead(&mut self, partitions: &Partitions, local: &mut LocalProgress, end: u64) -> anyhow::Result<()> {
        let (sample, readers) = (self.sample, self.replica.take_readers());
        std::thread::scope(|scope| {
            let mini_batches = partitions.clone().flat_map(|(_, mini_batches)| mini_batches);
            let ahead = Ahead::start(scope, readers, sample, mini_batches)?;
            let mut train = || -> anyhow::Result<()> {
                let mut before = None;
                for (steps, _) in partitions.clone() {
                    let learned = self.partition(steps, &mut || ahead.next(), local, end, &mut before)?;
                    before = Some(learned);
                }
                self.replica.sync()?;
                before.map_or(Ok(()), |last| self.reports.send(&last.report()?))
            };
            let trained = train();
            self.replica.restore_readers(ahead.end()?);
            trained
        })
    }

    /// Trains on the mini-batches of a partition; `next` returns them in order. `before` is the
    /// previous partition, which the device may still compute; it is reported after this one has
    /// begun.
    fn partition(
        &mut self,
        steps: std::ops::Range<u64>,
        next: &mut dyn FnMut() -> anyhow::Result<Reading>,
        local: &mut LocalProgress,
        end: u64,
        before: &mut Option<Learned>,
    ) -> anyhow::Result<Learned> {
        let mut partition = Learned::new(steps.start / self.sharding().steps());
        for step in steps {
            let reading = next()?;
            let mini_batch = reading.examples;
            partition.phases += reading.phases;
            partition.broken.extend(reading.broken);
            let start = Instant::now();
            let mut passes = self.replica.backward(&mini_batch, step)?;
            let images = partition.take(&mut passes);
            self.replica.add_gradients(&passes, start, &mut partition.phases);
            let learned = match (&self.peers, self.training.average_every) {
                (Some(peers), 1) => {
                    let start = Instant::now();
                    let mut list = self.replica.flatten_gradients(passes)?;
                    self.replica.add_step(start, &mut partition.phases);
                    let (all, time) = peers.average(&mut list, images as f64)?;
                    self.add_time(time, &mut partition.phases);
                    let start = Instant::now();
                    passes = vec![self.replica.read_gradients(&list)?];
                    self.replica.add_all_threads(start, &mut partition.phases.average_secs);
                    all
                }
                _ => images as f64,
            };
            let start = Instant::now();
            if learned > 0.0 {
                let learning_rate = self.training.learning_rate(step, self.sharding().steps());
                self.replica.step(passes, learning_rate)?;
            }
            if let Some(before) = before.take() {
                self.reports.send(&before.report()?)?;
            }
            partition.wait(1)?;
            self.replica.add_step(start, &mut partition.phases);
            local.steps += 1;
            local.images += images;
            let is_due = local.steps == u64::from(self.training.average_every) || step + 1 == end;
            if self.peers.is_some() && is_due {
                if self.training.average_every > 1 {
                    self.average(local.images, &mut partition.phases)?;
                }
                *local = LocalProgress::default();
            }
        }
        Ok(partition)
    }

    /// Averages the parameters with the other executors.
    fn average(&mut self, images: u64, phases: &mut Phases) -> anyhow::Result<()> {
        let Some(peers) = &self.peers else { return Ok(()) };
        let start = Instant::now();
        let mut snapshot = self.replica.snapshot()?;
        let averaged = snapshot.averaged(self.training.average_optimizer_state);
        self.replica.add_all_threads(start, &mut phases.average_secs);
        let (_, time) = peers.average(&mut snapshot.list[..averaged], images as f64)?;
        self.add_time(time, phases);
        let start = Instant::now();
        self.replica.take(&snapshot)?;
        self.replica.add_all_threads(start, &mut phases.average_secs);
        Ok(())
    }

    /// Adds the time of an average, during which all training threads are blocked.
    fn add_time(&self, time: peers::AverageTime, phases: &mut Phases) {
        let of_all_threads = |time: Duration| time.as_secs_f64() * self.replica.learning_threads();
        phases.wait_secs += of_all_threads(time.wait);
        phases.average_secs += of_all_threads(time.exchange);
    }

    /// Evaluates the CNN on held-out images.
    fn evaluate(&mut self, evaluation: &Evaluation) -> anyhow::Result<Report> {
        let Evaluation { source, first, images } = evaluation;
        let numbers: Vec<u64> = (*first..first.saturating_add(*images)).collect();
        let places = (0..numbers.len() as u64).collect();
        let held_out = Sample::new(open_held_out(&self.job.source, source)?, numbers);
        let (tally, confusion, broken) = self.replica.evaluate(&held_out, places, self.training.share_size as usize)?;
        Ok(Report::Evaluated { tally, broken, confusion })
    }

    /// Evaluates the CNN on this executor's share of the validation images.
    fn validate(&mut self, rank: u32) -> anyhow::Result<Report> {
        let validation = self.validation.context("the job has no validation images")?;
        let (rank, executors) = (u64::from(rank), u64::from(self.training.executors.max(1)));
        let place = |rank: u64| rank * validation.len() / executors;
        let places = (place(rank)..place(rank + 1)).collect();
        let (tally, confusion, broken) =
            self.replica.evaluate(validation, places, self.training.share_size as usize)?;
        Ok(Report::Evaluated { tally, broken, confusion })
    }
}
