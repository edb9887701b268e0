//! `foreglow run`: measures one configuration.

use std::path::PathBuf;

use foreglow_console::answer::predicted_before;
use foreglow_console::grammar;
use foreglow_console::kept_plans::KeptPlans;
use foreglow_console::output::{self, Format};
use foreglow_console::progress::{Progress, note, result};
use foreglow_console::sample_table;
use foreglow_console::samples_file::SamplesFile;
use foreglow_console::split::TotalCores;
use foreglow_engine::{self as engine, Command, Engine, Job, Local};
use foreglow_exit::{Interrupt, unusable};
use foreglow_machine::warnings_of;
use foreglow_measurement::DEFAULT_MEMORY_MIB;
use foreglow_measurement::program::{ProgramArgs, usual_memory_mib};
use foreglow_measurement::training::TrainingArgs;
use foreglow_measurement::upload::UploadArgs;
use foreglow_measurement::workload::{WorkloadArgs, check_sizes, default_partition_size, prepare, warn};
use foreglow_networks::batch_memory;
use foreglow_shared::{Configuration, Outcome, Sample};

/// Default sampling rate.
const USUAL_RATE: f64 = 0.1;

/// Measure a CNN job, or your own program, once on a sample of its work and print the timing
/// sample, which is saved only with --output or --upload
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,

    #[command(flatten)]
    training: TrainingArgs,

    #[command(flatten)]
    program: ProgramArgs,

    /// File that keeps the state of the training after each epoch: after a kill the same command
    /// continues. Deleted when the run is complete
    #[arg(long, value_name = "FILE", help_heading = "Training")]
    checkpoint: Option<PathBuf>,

    /// File for the trained weights, safetensors: a built-in CNN's by PyTorch's names, those of an
    /// ONNX file by the names of its initialisers
    #[arg(long, value_name = "FILE", help_heading = "Training")]
    save_weights: Option<PathBuf>,

    /// Number of executors (processes), E [default: 1]
    #[arg(long, short = 'E', value_name = "E", help_heading = "Configuration", value_parser = grammar::one_executors, allow_negative_numbers = true)]
    executors: Option<u32>,

    /// Threads per executor, C [default: 1, and for your own program all processors]
    #[arg(long, short = 'C', value_name = "C", help_heading = "Configuration", value_parser = grammar::one_cores, allow_negative_numbers = true)]
    cores: Option<u32>,

    #[command(flatten, next_help_heading = "Configuration")]
    total: TotalCores,

    /// Memory limit of an executor: 2048 (MiB), 512m, 2g [default: 2048, and none for your own
    /// program]
    #[arg(long, value_name = "SIZE", help_heading = "Configuration", value_parser = grammar::mib, allow_negative_numbers = true)]
    memory: Option<u32>,

    /// Images per task, P [default: 8, or a mini-batch for training]
    #[arg(long, value_name = "P", help_heading = "Configuration", value_parser = grammar::count, allow_negative_numbers = true)]
    partition_size: Option<u32>,

    /// Share of the images that the run processes, above 0 and at most 1 [default: 0.1, and 1 with
    /// --stop-after or for a program that always does the whole job]
    #[arg(long, value_name = "SR", help_heading = "Configuration", value_parser = grammar::rate, allow_negative_numbers = true)]
    sampling_rate: Option<f64>,

    /// File to append the sample to, JSON Lines
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    upload: UploadArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

impl Args {
    /// Adds the files that a training run writes to the job.
    fn keep(&self, job: &mut Job) -> anyhow::Result<()> {
        for (option, file) in [("--checkpoint", &self.checkpoint), ("--save-weights", &self.save_weights)] {
            let Some(file) = file else { continue };
            if !self.training.is_training() {
                return Err(unusable(format!("{option} is for training; add --mode training or leave it out")));
            }
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            if file.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
                let shown = file.display();
                return Err(unusable(format!("{option} cannot write {shown}; give a file in an existing folder")));
            }
        }
        if let Some(training) = &mut job.training {
            training.checkpoint.clone_from(&self.checkpoint);
            training.save_weights.clone_from(&self.save_weights);
        }
        Ok(())
    }
}

impl Args {
    /// Returns the job.
    fn job(&self) -> anyhow::Result<Job> {
        self.workload.check_single()?;
        if let Some((mut job, _)) = self.program.job_and_workloads(&self.workload, &self.training)? {
            if let Some(program) = &mut job.program {
                program.has_limited_memory = self.memory.is_some();
            }
            return Ok(job);
        }
        self.training.job(self.workload.job()?, &self.workload)
    }

    /// Returns the configuration of the run.
    fn configuration(&self, job: &Job) -> anyhow::Result<Configuration> {
        let partition_size = self.partition_size.unwrap_or_else(|| default_partition_size(job));
        if job.program.is_some() {
            self.total.check_for_program()?;
            let placement = self.program.placement(job, self.executors, self.cores)?;
            let memory_mib = self.memory.unwrap_or_else(|| usual_memory_mib(&[placement]));
            return Ok(job.configuration(placement, memory_mib, partition_size));
        }
        let (executors, cores) = (self.executors.unwrap_or(1), self.cores.unwrap_or(1));
        let split = self.total.split(executors, cores, job.workload.mode)?;
        check_sizes(job, &[executors], &[partition_size])?;
        Ok(job.configuration(split, self.memory.unwrap_or(DEFAULT_MEMORY_MIB), partition_size))
    }

    /// Returns the sampling rate of the run.
    fn rate(&self, job: &Job, configuration: &Configuration) -> anyhow::Result<f64> {
        // A program whose work nothing bounds does the whole job.
        let is_unbound = job.program.is_some() && job.workload.bound().is_none();
        let usual = if is_unbound { 1.0 } else { self.program.usual_rates(&[USUAL_RATE])[0] };
        let asked = self.sampling_rate.unwrap_or(usual);
        self.program.check_bound(job, &[asked])?;
        Ok(if job.program.is_some() { job.true_rate(&job.workload, configuration, asked) } else { asked })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut job = args.job()?;
    args.keep(&mut job)?;
    let configuration = args.configuration(&job)?;
    let sampling_rate = args.rate(&job, &configuration)?;
    let mut engine: Box<dyn Engine> =
        if job.program.is_some() { Box::new(Command::default()) } else { Box::new(Local) };
    engine.check(&job, &[&configuration])?;
    // Locked until the end, so that no other command replaces the file before the sample is in it.
    let (mut file, known) = args.output.as_deref().map(SamplesFile::open_alone).transpose()?.unzip();

    let mut upload = args.upload.start()?;
    let progress = Progress::default();
    warn(&job, job.host().processors, configuration.split().slots(), args.memory.is_some(), &progress);
    prepare(&job, &progress)?;
    if let Some(warning) = batch_memory::warning(&job, &configuration).filter(|_| job.program.is_none()) {
        progress.line(&format!("warning: {warning}"));
    }
    let interrupt = Interrupt::on_signals();
    let mut say = |step| progress.run(step);
    let mut sample = engine.measure(&job, &configuration, sampling_rate, &interrupt, &mut say)?;
    KeptPlans::of_user().attach(&mut sample);
    warnings_of(&sample).into_iter().for_each(|warning| progress.warn(warning));
    // Whatever fails from here on, the sample takes every other way to the user.
    let saved = file.as_mut().map_or(Ok(()), |file| file.append(&sample));
    upload.send(&sample, &progress);
    let is_finished = saved.is_ok() && sample.outcome == Outcome::Completed;
    let removed = match args.checkpoint.as_ref().filter(|_| is_finished) {
        Some(checkpoint) => engine::remove_checkpoint(checkpoint),
        None => Ok(()),
    };
    drop(progress);

    let table = || format!("{}{}", sample_table::one(&sample), sample_table::classes(&sample));
    let printed = output::print(&args.format.samples(std::slice::from_ref(&sample), table));
    upload.finish();
    predicted_before(std::slice::from_ref(&sample), &known.unwrap_or_default())
        .iter()
        .for_each(|sentence| note(sentence));
    saved.and(removed).and_then(|()| args.end(&sample)).and(printed)
}

impl Args {
    fn say_unsaved(&self) {
        if self.output.is_none() && !self.upload.is_given() {
            note("The sample was not saved; add --output FILE, or use `foreglow collect`, which saves it.");
        }
    }

    /// Returns how the command ends after a run, which the sample describes.
    fn end(&self, sample: &Sample) -> anyhow::Result<()> {
        let broken = engine::broken_images(sample);
        match sample.outcome {
            _ if engine::is_stopped(sample) => {
                self.say_unsaved();
                Ok(())
            }
            Outcome::Completed => {
                if let Some(broken) = broken {
                    note(&format!("warning: {broken}"));
                }
                self.say_unsaved();
                Ok(())
            }
            Outcome::Failed if broken.is_some() => {
                Err(unusable(format!("the run did not complete: {}", result(sample))))
            }
            _ => anyhow::bail!("the run did not complete: {}", result(sample)),
        }
    }
}
