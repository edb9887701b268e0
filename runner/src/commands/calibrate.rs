//! `foreglow calibrate`: times of layers and short runs of a few CNNs, from which others are
//! predicted.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use foreglow_cnn::Network;
use foreglow_console::calibration;
use foreglow_console::grammar::{self, Counts};
use foreglow_console::output;
use foreglow_console::progress::{Progress, note, result};
use foreglow_console::samples_file::SamplesFile;
use foreglow_console::table::{aligned, table};
use foreglow_engine::{Engine as _, Job, Local};
use foreglow_exit::{Interrupt, unusable};
use foreglow_machine::device::DeviceChoice;
use foreglow_machine::warnings_of;
use foreglow_measurement::DEFAULT_MEMORY_MIB;
use foreglow_measurement::workload::{WorkloadArgs, default_partition_size, prepare};
use foreglow_model::median;
use foreglow_networks::layer_times::Order;
use foreglow_shared::{CoreSplit, Outcome, Sample};

/// CNNs and sides of their images, pixels: with every kind of layer, in colour and grey, and small
/// enough for runs of a few seconds. Their runs show the time beyond the layers of a CNN.
const PROBES: [(&str, u32); 6] = [
    ("resnet20_cifar", 32),
    ("mobilenet_v2", 64),
    ("resnet18", 64),
    ("lenet5", 32),
    ("xception", 96),
    ("vgg16_cifar", 32),
];
/// Executors and cores per executor.
const CONFIGURATIONS: [(u32, u32); 3] = [(1, 1), (1, 2), (2, 1)];
/// Runs of each probe on each configuration, interleaved with other probes so that a slow minute of
/// the machine does not affect all runs of one probe. The median counts.
const ROUNDS: usize = 3;
/// Target for the time of a run on one core, seconds.
const RUN_SECS: f64 = 2.0;
/// Limit on a run's share of the budget.
const SHARE_OF_RUN: f64 = 1.0 / 30.0;
/// Initial estimate of a core's multiply-accumulates per second.
const FIRST_SPEED: f64 = 5e9;
/// Fewest images of a run.
const FEWEST_IMAGES: f64 = 32.0;
/// Share of the budget for the layers.
const SHARE_OF_LAYERS: f64 = 0.35;

/// Time single layers and run a few small CNNs on this machine, in under 3 minutes, so that
/// `predict` and `plan` know CNNs that were never run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// File to append the samples to, JSON Lines
    #[arg(long, value_name = "FILE")]
    output: PathBuf,

    /// Images per mini-batch
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = grammar::count, allow_negative_numbers = true)]
    batch_size: u32,

    /// Device: auto, cpu, gpu, or the number or name of an entry of `foreglow devices`
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Auto)]
    device: DeviceChoice,

    /// Slow each core down to this share of a processor by a CPU quota, 1% to 100%
    #[arg(long, value_name = "SHARE", value_parser = grammar::core_share, allow_negative_numbers = true)]
    core_share: Option<f64>,

    /// Time after which no further run is started; about a third of it goes to single layers. One
    /// run is made in any case, which takes about 10 s in all
    #[arg(long, value_name = "TIME", default_value = "150s", value_parser = grammar::duration_secs, allow_negative_numbers = true)]
    budget: f64,

    /// CNN to leave out, to check how well the others predict it; can be given several times
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
}

/// A probe with its results.
struct Probed {
    model: &'static str,
    image_px: u32,
    job: Job,
    multiply_accumulates: f64,
    /// Time of an image on one core in each round, seconds.
    secs_per_image: Vec<f64>,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let start = Instant::now();
    args.check_without()?;
    let (mut file, _) = SamplesFile::open_alone(&args.output)?;
    let (progress, interrupt) = (Progress::default(), Interrupt::on_signals());
    let limit = Duration::try_from_secs_f64(args.budget).unwrap_or(Duration::MAX);
    let is_kept = |probe: &&(&'static str, u32)| args.without.iter().all(|name| name != probe.0);
    let mut probes =
        PROBES.iter().filter(is_kept).map(|probe| args.probe(*probe)).collect::<anyhow::Result<Vec<Probed>>>()?;
    let mut calibration = None;
    if let Some(first) = probes.first() {
        progress.line("timing single layers");
        calibration = Some(args.order(&first.job).run(&interrupt)?);
    }
    let layers = calibration.as_ref().map_or(0, |calibration| calibration.layers.len());
    let (mut speed, mut runs) = (FIRST_SPEED, 0);
    for round in 0..ROUNDS {
        for (place, probe) in probes.iter_mut().enumerate() {
            // A predictor needs more than one run, so the first CNN is measured in any case.
            let is_needed = (round, place) == (0, 0);
            if round == 0 {
                prepare(&probe.job, &progress)?;
            }
            for (executors, cores) in CONFIGURATIONS {
                let fits = probe.job.host().processors.is_none_or(|processors| executors * cores <= processors)
                    && probe.job.device.most_executors().is_none_or(|most| executors <= most);
                if !fits || (!is_needed && start.elapsed() > limit) {
                    continue;
                }
                speed = probe.speed().unwrap_or(speed);
                let secs = RUN_SECS.min(args.budget * SHARE_OF_RUN);
                let images = (secs * speed / probe.multiply_accumulates).max(FEWEST_IMAGES);
                let sampling_rate = (images / probe.job.workload.images as f64).min(1.0);
                let mut sample = measure(&probe.job, (executors, cores), sampling_rate, (&progress, &interrupt))?;
                if let Some(calibration) = calibration.take() {
                    calibration::attach(&mut sample, &calibration)?;
                }
                file.append(&sample)?;
                runs += 1;
                let Some(secs) = sample.completed_secs().filter(|_| (executors, cores) == (1, 1)) else { continue };
                let images = (sampling_rate * probe.job.workload.images as f64).round().max(1.0);
                probe.secs_per_image.push(secs / images);
            }
        }
    }
    drop(progress);
    output::print(&show(&probes))?;
    note(&format!(
        "\nThe times of {layers} layers and {runs} runs, measured in {:.0} s, are in {}. They predict a CNN that was never run: `foreglow plan {} --model NAME --image-px PX`.",
        start.elapsed().as_secs_f64(),
        args.output.display(),
        args.output.display()
    ));
    Ok(())
}

impl Args {
    /// Checks that every CNN to leave out is one of the probes.
    fn check_without(&self) -> anyhow::Result<()> {
        let known = || PROBES.iter().map(|(name, _)| *name);
        let Some(unknown) = self.without.iter().find(|name| known().all(|known| known != name.as_str())) else {
            return Ok(());
        };
        let known: Vec<&str> = known().collect();
        Err(unusable(format!("--without {unknown}: calibrate does not run it, but {}", known.join(", "))))
    }

    /// Returns the order for the layer times on the device of a job.
    fn order(&self, job: &Job) -> Order {
        Order {
            place: job.device.place(0),
            number_format: job.workload.number_format(),
            processors: job.processors_of_one(1),
            batch_size: self.batch_size,
            secs: SHARE_OF_LAYERS * self.budget,
        }
    }

    fn probe(&self, (model, image_px): (&'static str, u32)) -> anyhow::Result<Probed> {
        let size = Network::named(model)?.size(job_shape(model, image_px)?)?;
        let multiply_accumulates = size.multiply_accumulates as f64;
        let job = self.job(model, image_px)?;
        Ok(Probed { model, image_px, job, multiply_accumulates, secs_per_image: Vec::new() })
    }

    fn job(&self, model: &str, image_px: u32) -> anyhow::Result<Job> {
        let workload = WorkloadArgs {
            image_px: Some(Counts(vec![image_px])),
            batch_size: Some(Counts(vec![self.batch_size])),
            device: self.device.clone(),
            core_share: self.core_share,
            ..WorkloadArgs::of_model(model)?
        };
        workload.job()
    }
}

impl Probed {
    /// Returns its multiply-accumulates per second on one core: the median of the rounds.
    fn speed(&self) -> Option<f64> {
        Some(self.multiply_accumulates / self.median_secs_per_image()?)
    }

    fn median_secs_per_image(&self) -> Option<f64> {
        (!self.secs_per_image.is_empty()).then(|| median(&self.secs_per_image))
    }
}

/// Returns the shape of a probe's images.
fn job_shape(model: &str, image_px: u32) -> anyhow::Result<[usize; 3]> {
    let foreglow_architectures::Input::Images { colour, .. } = Network::named(model)?.input()? else {
        anyhow::bail!("{model} takes no images");
    };
    Ok(colour.shape(image_px))
}

fn measure(
    job: &Job,
    (executors, cores): (u32, u32),
    sampling_rate: f64,
    (progress, interrupt): (&Progress, &Interrupt),
) -> anyhow::Result<Sample> {
    let configuration =
        job.configuration(CoreSplit::even(executors, cores), DEFAULT_MEMORY_MIB, default_partition_size(job));
    let mut say = |step| progress.run(step);
    let sample = Local.measure(job, &configuration, sampling_rate, interrupt, &mut say)?;
    warnings_of(&sample).into_iter().for_each(|warning| progress.warn(warning));
    let model = &job.workload.model;
    anyhow::ensure!(sample.outcome == Outcome::Completed, "a run of {model} did not complete: {}", result(&sample));
    progress.line(&format!("{model} on {executors} × {cores}: {}", result(&sample)));
    Ok(sample)
}

fn show(probes: &[Probed]) -> String {
    let columns = aligned([
        "<CNN",
        "pixels",
        "million multiply-accumulates per image",
        "ms per image on one core",
        "billion per second",
    ]);
    let rows = probes.iter().filter_map(|probe| {
        let secs_per_image = probe.median_secs_per_image()?;
        Some(vec![
            probe.model.to_owned(),
            probe.image_px.to_string(),
            format!("{:.1}", probe.multiply_accumulates / 1e6),
            format!("{:.2}", secs_per_image * 1e3),
            format!("{:.2}", probe.multiply_accumulates / secs_per_image / 1e9),
        ])
    });
    table(&columns, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_is_a_cnn_that_takes_its_images() {
        for (model, image_px) in PROBES {
            let network = Network::named(model).unwrap();
            assert!(network.size(job_shape(model, image_px).unwrap()).unwrap().multiply_accumulates > 0, "{model}");
            assert!(WorkloadArgs::of_model(model).is_ok(), "{model}");
        }
    }
}
