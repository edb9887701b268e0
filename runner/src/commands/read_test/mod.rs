//! `foreglow read-test`: throughput of reading and decoding images in each format, compared with
//! the CNN.

mod report;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Context as _;
use foreglow_architectures::{Colour, Input};
use foreglow_cnn::Network;
use foreglow_console::grammar::{self, Counts};
use foreglow_console::output;
use foreglow_console::progress::Progress;
use foreglow_data::speed::{Shape, read_speed};
use foreglow_data::{DataSet, Drawing, Format, Kind, Packing, Source, Split, draw, forget, images_in_sample, pack};
use foreglow_engine::{Engine as _, Job, Local};
use foreglow_exit::{Interrupt, Interrupted, Temporary, unusable};
use foreglow_machine::device::DeviceChoice;
use foreglow_measurement::DEFAULT_MEMORY_MIB;
use foreglow_measurement::workload::WorkloadArgs;
use foreglow_shared::{CoreSplit, Workload};

use self::report::{CnnSpeed, Report, Test};

/// Number of generated images if the user names no data.
const DRAWN: u64 = 800;
/// Images that go through the CNN to measure its throughput.
const CNN_IMAGES: u64 = 64;

/// Measure the throughput of reading and decoding images, and whether that or the CNN is the
/// bottleneck
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Data sets: folders of JPEG or PNG files, TFRecord, CIFAR-10, IDX or BSON files [default:
    /// generated images, as a folder and as TFRecord files]
    #[arg(value_name = "DATA")]
    data: Vec<PathBuf>,

    /// Format of the images
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    data_format: Format,

    /// Images per batch
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "2,4,8,16", value_parser = grammar::size, allow_negative_numbers = true)]
    batch_size: Vec<NonZeroUsize>,

    /// Batches per test
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "2,4,8", value_parser = grammar::size, allow_negative_numbers = true)]
    batches: Vec<NonZeroUsize>,

    /// Repetitions of each test
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = grammar::count, allow_negative_numbers = true)]
    repeat: u32,

    /// Whether the files are in the system's page cache before a test
    #[arg(long, value_enum, default_value_t)]
    cache: Cache,

    /// Threads that read and decode
    #[arg(long, value_name = "N", default_value = "1", value_parser = grammar::size, allow_negative_numbers = true)]
    threads: NonZeroUsize,

    /// CNN to compare with; `foreglow models` lists them
    #[arg(long, value_name = "NAME", default_value = "resnet18")]
    model: String,

    /// Measure only the input, without the CNN
    #[arg(long)]
    without_cnn: bool,

    /// Side of the CNN's square input, pixels [default: that of the CNN]
    #[arg(long, value_name = "PX", value_parser = grammar::count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Device of the CNN: auto, cpu, gpu, or the number or name of an entry of `foreglow devices`
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Auto)]
    device: DeviceChoice,

    /// Seed of the order of the tests and of the images they read
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = grammar::whole_number, allow_negative_numbers = true)]
    seed: u64,

    /// Cache directory for generated images [default: the user's cache directory, or
    /// FOREGLOW_CACHE]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: output::Format,
}

/// State of the page cache before a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Cache {
    /// Test both ways
    #[default]
    Both,
    /// Cached: read the files once before each test
    On,
    /// Not cached: ask the system to evict the files before each test
    Off,
}

/// A data set under test.
struct Tested {
    source: Source,
    set: Box<dyn DataSet>,
    images: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let job = args.cnn_job()?;
    let progress = Progress::default();
    let packed = Temporary::folder()?;
    let sets = args.data_sets(&packed, &progress)?;
    let interrupt = Interrupt::on_signals();
    let cnn = if args.without_cnn { None } else { Some(cnn_speed(&job, &interrupt, &progress)?) };

    let plan = args.plan(&sets)?;
    let mut tests = Vec::with_capacity(plan.len());
    for (done, place) in draw(plan.len() as u64, 1.0, args.seed).into_iter().enumerate() {
        if interrupt.is_raised() {
            return Err(Interrupted::default().into());
        }
        progress.images("reading, test", done as u64, plan.len() as u64);
        let planned = &plan[place as usize];
        if let Some(test) = args.test(&sets[planned.set], planned, &job, place, &progress)? {
            tests.push(test);
        }
    }
    drop(progress);
    // Restores the order of the plan after running in random order.
    tests.sort_by_key(|test| test.place);
    let threads = args.threads.get();
    output::print(&Report { tests, threads, image_px: job.workload.image_px, cnn }.render(args.format))
}

/// A planned test.
struct Planned {
    set: usize,
    is_cached: bool,
    batch_size: NonZeroUsize,
    batches: usize,
    repetition: u32,
}

impl Args {
    /// Returns the job for the CNN, on the first data set.
    fn cnn_job(&self) -> anyhow::Result<Job> {
        let workload = WorkloadArgs {
            data: self.data.first().cloned(),
            data_format: self.data_format,
            cache_dir: self.cache_dir.clone(),
            image_px: self.image_px.map(|px| Counts(vec![px])),
            device: self.device.clone(),
            seed: self.seed,
            ..WorkloadArgs::of_model(&self.model)?
        };
        let network = workload.network()?;
        if let Input::Texts { .. } = network.input()? {
            let name = network.name();
            return Err(unusable(format!("read-test reads images, and {name} takes texts; choose another --model")));
        }
        let mut job = workload.job()?;
        job.workload.images = job.workload.images.min(CNN_IMAGES);
        Ok(job)
    }

    fn data_sets(&self, packed: &Temporary, progress: &Progress) -> anyhow::Result<Vec<Tested>> {
        let mut sets = Vec::new();
        for path in &self.data {
            let source = self.data_format.source(path)?;
            let set = source.open()?;
            set.remark().iter().for_each(|remark| progress.line(&format!("note: {remark}")));
            sets.push(Tested { source, images: set.len(), set });
        }
        if sets.is_empty() {
            let source = Source::drawn(Drawing::Photographs, self.cache_dir.as_deref())?;
            source.prepare(DRAWN, &mut |there, all| progress.images("drawing images", there, all))?;
            let set = source.open()?;
            let packing = Packing { name: "drawn".into(), split: Split::Shards(1), seed: self.seed, broken_limit: 0 };
            pack(set.as_ref(), DRAWN, packed.path(), &packing, &mut |done, of| progress.images("packing", done, of))?;
            sets.push(Tested { source, set, images: DRAWN });
            let source = Kind::Tfrecord.at(packed.path());
            sets.push(Tested { set: source.open()?, source, images: DRAWN });
        }
        Ok(sets)
    }

    fn plan(&self, sets: &[Tested]) -> anyhow::Result<Vec<Planned>> {
        let most = |counts: &[NonZeroUsize]| counts.iter().copied().max().map_or(1, NonZeroUsize::get);
        let largest = most(&self.batch_size).saturating_mul(most(&self.batches)) as u64;
        if let Some(small) = sets.iter().find(|set| set.images < largest) {
            let (path, images) = (small.source.path.display(), small.images);
            return Err(unusable(format!(
                "the largest test reads {largest} images and {path} holds {images}; choose a smaller --batch-size or --batches"
            )));
        }
        let ways: &[bool] = match self.cache {
            Cache::Both => &[false, true],
            Cache::On => &[true],
            Cache::Off => &[false],
        };
        let mut plan = Vec::new();
        for set in 0..sets.len() {
            for &is_cached in ways {
                for &batch_size in &self.batch_size {
                    for &batches in &self.batches {
                        for repetition in 1..=self.repeat {
                            plan.push(Planned { set, is_cached, batch_size, batches: batches.get(), repetition });
                        }
                    }
                }
            }
        }
        Ok(plan)
    }

    /// Runs a test; `None` if the system cannot evict files from its cache.
    fn test(
        &self,
        data: &Tested,
        planned: &Planned,
        job: &Job,
        place: u64,
        progress: &Progress,
    ) -> anyhow::Result<Option<Test>> {
        let colour = colour_of(&job.workload)?;
        let images = (planned.batch_size.get() * planned.batches) as u64;
        let rate = images as f64 / data.images as f64;
        debug_assert_eq!(images_in_sample(data.images, rate), images);
        let numbers = draw(data.images, rate, self.seed.wrapping_add(place));
        for file in data.set.files(&numbers) {
            let result = if planned.is_cached { std::fs::read(&file).map(drop) } else { forget(&file) };
            match result {
                Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {
                    progress.line(
                        "warning: this system cannot evict files from its cache; only --cache on is \
                        measured",
                    );
                    return Ok(None);
                }
                other => other.with_context(|| format!("{} cannot be read", file.display()))?,
            }
        }
        let shape = Shape { colour, px: job.workload.image_px, batch_size: planned.batch_size };
        let speed = read_speed(data.set.as_ref(), &numbers, shape, self.threads);
        if let Some(first) = speed.first_broken.as_ref().filter(|_| speed.images == 0) {
            return Err(unusable(format!("no image of a test is usable; the first is {first}")));
        }
        Ok(Some(Test {
            place,
            data: data.source.path.display().to_string(),
            format: data.source.format(),
            is_cached: planned.is_cached,
            batch_size: planned.batch_size.get(),
            batches: planned.batches,
            repetition: planned.repetition,
            speed,
        }))
    }
}

fn colour_of(workload: &Workload) -> anyhow::Result<Colour> {
    match Network::of(workload)?.input()? {
        Input::Images { colour, .. } => Ok(colour),
        Input::Texts { .. } => anyhow::bail!("{} takes no images", workload.model),
    }
}

/// Measures the time of images in the CNN on one slot.
fn cnn_speed(job: &Job, interrupt: &Interrupt, progress: &Progress) -> anyhow::Result<CnnSpeed> {
    job.prepare(&mut |there, all| progress.images("drawing images", there, all))?;
    let images = u32::try_from(job.workload.images).unwrap_or(u32::MAX);
    let configuration = job.configuration(CoreSplit::even(1, 1), DEFAULT_MEMORY_MIB, images);
    let sample = Local.measure(job, &configuration, 1.0, interrupt, &mut |step| progress.run(step))?;
    let reason = sample.reason.clone().unwrap_or_default();
    let forward_secs = sample.extra.get("phases").and_then(|phases| phases.get("forward_secs")?.as_f64());
    let images = sample.images_processed.unwrap_or(0);
    let secs = forward_secs.filter(|secs| sample.completed_secs().is_some() && *secs > 0.0);
    let secs = secs.with_context(|| format!("the CNN could not be measured: {reason}; --without-cnn leaves it out"))?;
    Ok(CnnSpeed {
        model: job.workload.model.clone(),
        device: job.device.name().to_owned(),
        images_per_sec: images as f64 / secs,
    })
}
