//! Arguments for the user's own program, in place of a CNN.

use foreglow_console::grammar::{self, Counts};
use foreglow_data::Kind;
use foreglow_engine::{Job, Placement, Program, StopAfter};
use foreglow_exit::unusable;
use foreglow_machine::{device, machine_memory_mib, processors};
use foreglow_progress::Reader;
use foreglow_shared::{CommandTemplate, CoreSplit, Placeholder, UNKNOWN_SIZE, Workload};

use crate::training::TrainingArgs;
use crate::workload::{WorkloadArgs, listed};

/// Unit of work of a job that counts steps.
const STEPS: &str = "steps";
/// Step of the memory that is recorded without a limit, MiB: kernels differ by less.
const MEMORY_STEP_MIB: u32 = 1024;

/// The user's own program.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Own program")]
pub struct ProgramArgs {
    /// Own program to measure in place of a CNN, with its arguments, or a quoted line for the
    /// shell. Foreglow replaces {executors}, {gpus}, {nodes}, {cores}, {images}, {steps}, {epochs},
    /// {rate}, {batch_size}, {seed} and {data}, and sets FOREGLOW_STEPS and so on
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,

    /// GPUs of each machine that the program uses: 1,2,4 or 1-8. Without --executors, each is an
    /// executor [default: 1 if there is a GPU]
    #[arg(long, value_name = "LIST", requires = "command", value_parser = grammar::counts, allow_negative_numbers = true)]
    gpus: Option<Counts>,

    /// Machines that the program uses, which it reaches itself: 1,2,4 [default: 1]
    #[arg(long, value_name = "LIST", requires = "command", value_parser = grammar::executors, allow_negative_numbers = true)]
    nodes: Option<Counts>,

    /// Steps of the whole job, in place of --images
    #[arg(long, value_name = "N", requires = "command", conflicts_with_all = ["images", "unit"], value_parser = grammar::large_count, allow_negative_numbers = true)]
    steps: Option<u64>,

    /// What --images counts: texts, tokens, rows [default: images]
    #[arg(long, value_name = "NOUN", requires = "command", value_parser = noun)]
    unit: Option<String>,

    /// Stop the program early: after 200steps or 10% of its reported progress, after a time such as
    /// 5m, or as soon as its progress tells the time of the whole job to ±5%
    #[arg(long, value_name = "N steps|TIME|P%|±P%", requires = "command")]
    stop_after: Option<StopAfter>,

    /// Regular expression for the lines with the program's progress, with named groups: step,
    /// images, epoch or rate, and of [default: those of tqdm, Keras, PyTorch and others]
    #[arg(long, value_name = "REGEX", requires = "command")]
    progress: Option<String>,
}

impl ProgramArgs {
    /// Returns the job and its workload for each batch size; `None` without a command.
    ///
    /// # Errors
    /// The command cannot be used, or an option is for CNNs.
    pub fn job_and_workloads(
        &self,
        args: &WorkloadArgs,
        training: &TrainingArgs,
    ) -> anyhow::Result<Option<(Job, Vec<Workload>)>> {
        if self.command.is_empty() {
            return Ok(None);
        }
        if let Some(option) = args.of_cnn().or_else(|| training.of_cnn()) {
            return Err(unusable(format!(
                "{option} is for the CNNs that Foreglow runs; leave it out, or give it to the program after `--`"
            )));
        }
        let template = CommandTemplate::new(self.command.clone()).map_err(|error| unusable(error.to_string()))?;
        self.check_work(&template, args)?;
        let workloads = self.workloads(&template, args, training)?;
        let gpus = self.gpus.as_ref().and_then(|Counts(gpus)| gpus.last().copied());
        let is_here = self.nodes.as_ref().is_none_or(|Counts(nodes)| nodes == &[1]);
        let device = device::of_program(&args.device, gpus, is_here)?;
        if device.accelerator().is_none() && template.has(Placeholder::Gpus) {
            return Err(unusable(
                "the command has {gpus}, and no GPU is found here; give their number with --gpus, or leave {gpus} out",
            ));
        }
        args.check_monitor()?;
        let job = Job {
            workload: workloads[0].clone(),
            source: Kind::Folder.at(args.data.clone().unwrap_or_default()),
            device,
            seed: args.seed,
            timeout: args.limit()?,
            broken_limit: None,
            monitor: args.monitor.clone(),
            core_share: None,
            machine_type: args.machine.clone().or_else(foreglow_machine::machine_type),
            weights: None,
            normalisation: None,
            training: None,
            program: Some(Program { stop_after: self.stop_after, reader: self.reader()?, has_limited_memory: false }),
        };
        Ok(Some((job, workloads)))
    }

    /// Returns the reader of the program's progress.
    fn reader(&self) -> anyhow::Result<Reader> {
        let Some(pattern) = &self.progress else { return Ok(Reader::new()) };
        Reader::with_pattern(pattern).map_err(|error| unusable(format!("--progress: {error}")))
    }

    /// Checks that the values of the placeholders are known.
    fn check_work(&self, template: &CommandTemplate, args: &WorkloadArgs) -> anyhow::Result<()> {
        let has = |placeholder: Placeholder| template.has(placeholder);
        let is_counted = args.images.is_some() || self.steps.is_some();
        if has(Placeholder::Images) && !is_counted {
            return Err(unusable("the command has {images}; give the number of the whole job with --images"));
        }
        if has(Placeholder::Steps) && self.steps.is_none() && (args.images.is_none() || args.batch_size.is_none()) {
            return Err(unusable(
                "the command has {steps}; give the steps of the whole job with --steps, or its --images and the \
                 --batch-size of an executor",
            ));
        }
        if has(Placeholder::Data) && args.data.is_none() {
            return Err(unusable("the command has {data}; give its path with --data"));
        }
        match &args.data {
            Some(path) if !path.exists() => {
                Err(unusable(format!("{} does not exist; give an existing path with --data", path.display())))
            }
            _ => Ok(()),
        }
    }

    /// Checks that something bounds the work of a run: a placeholder or Foreglow itself. A run of
    /// the whole job needs neither.
    ///
    /// # Errors
    /// The command always does the whole job, and sampling rates below 1 were asked for.
    pub fn check_bound(&self, job: &Job, sampling_rates: &[f64]) -> anyhow::Result<()> {
        let is_bound = job.workload.bound().is_some();
        let is_stopped = self.stop_after.is_some();
        if job.program.is_none() || (is_bound && !is_stopped) || sampling_rates.iter().all(|rate| *rate >= 1.0) {
            return Ok(());
        }
        Err(unusable(match self.stop_after {
            Some(stop) => format!(
                "--stop-after {stop} ends a run of the whole job, which bounds its work; leave --sampling-rate out"
            ),
            None => "the command has nothing that bounds its work, so that every run would take as long as the whole \
                     job; give it a placeholder, such as `-- python train.py --max-steps {steps}` with --steps 5000, or \
                     stop it with --stop-after 5m"
                .to_owned(),
        }))
    }

    /// Returns the sampling rates if none are given: `usual`, or the whole job for a program that
    /// Foreglow stops.
    pub fn usual_rates(&self, usual: &[f64]) -> Vec<f64> {
        if self.stop_after.is_some() { vec![1.0] } else { usual.to_vec() }
    }

    fn workloads(
        &self,
        template: &CommandTemplate,
        args: &WorkloadArgs,
        training: &TrainingArgs,
    ) -> anyhow::Result<Vec<Workload>> {
        let sizes = listed(&args.image_px);
        let (images, unit) = match (self.steps, args.images) {
            (Some(steps), _) => (steps, Some(STEPS)),
            (None, Some(images)) => {
                let unit = self.unit.as_deref().or_else(|| sizes.is_empty().then_some("images"));
                (images, unit)
            }
            // The share of the job is all that is known.
            (None, None) => (100, Some(UNKNOWN_SIZE)),
        };
        if !sizes.is_empty() && unit.is_some() {
            return Err(unusable("--image-px is the size of images; give their number with --images, and no --unit"));
        }
        let data = args.data.as_ref().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
        let sizes = if sizes.is_empty() { &[1][..] } else { sizes };
        let batches = if args.batch_size.is_none() { &[1][..] } else { listed(&args.batch_size) };
        let workload = |px: u32, batch_size: u32| Workload {
            epochs: training.epochs(),
            batch_size,
            command: Some(template.clone()),
            data: data.as_ref().map(|path| path.to_string_lossy().into_owned()),
            unit: unit.map(str::to_owned),
            ..Workload::new(template.name(), training.program_mode(), px, images)
        };
        Ok(sizes
            .iter()
            .flat_map(|px| batches.iter().map(move |batch| (*px, *batch)))
            .map(|(px, batch)| workload(px, batch))
            .collect())
    }

    /// Returns the one placement of a single run. Without a number of cores, the executors share
    /// all processors.
    ///
    /// # Errors
    /// There are several numbers of GPUs or machines, or the GPUs cannot be divided.
    pub fn placement(&self, job: &Job, executors: Option<u32>, cores: Option<u32>) -> anyhow::Result<Placement> {
        for (option, counts) in [("--gpus", &self.gpus), ("--nodes", &self.nodes)] {
            let count = listed(counts).len();
            if count > 1 {
                return Err(unusable(format!(
                    "{option} has {count} numbers; this command takes one, `foreglow collect` several"
                )));
            }
        }
        let executors = executors.map(|executors| vec![executors]);
        let placements = self.placements(job, executors.as_deref(), Some(&[cores.unwrap_or(1)]))?;
        let mut placement = placements[0];
        if cores.is_none() {
            let here = placement.split.executors.div_ceil(placement.machines.unwrap_or(1));
            placement.split = CoreSplit::even(placement.split.executors, all_cores(here));
        }
        Ok(placement)
    }

    /// Returns every combination of executors, GPUs, machines and cores.
    ///
    /// # Errors
    /// The GPUs cannot be divided among the executors.
    pub fn placements(
        &self,
        job: &Job,
        executors: Option<&[u32]>,
        cores: Option<&[u32]>,
    ) -> anyhow::Result<Vec<Placement>> {
        let nodes = self.nodes.as_ref().map_or(&[1][..], |Counts(nodes)| nodes.as_slice());
        let has_gpus = job.device.accelerator().is_some();
        let gpus = self.gpus.as_ref().map(|Counts(gpus)| gpus.as_slice());
        let gpus = gpus.or_else(|| (has_gpus && executors.is_none()).then_some(&[1][..]));
        // Executors, and GPUs of an executor.
        let mut holders: Vec<(u32, u32, u32)> = Vec::new();
        for &machines in nodes {
            match (gpus, executors) {
                (None, executors) => {
                    holders.extend(executors.unwrap_or(&[1]).iter().map(|executors| (*executors, 1, machines)));
                }
                (Some(gpus), None) => {
                    holders.extend(gpus.iter().map(|gpus| (gpus.saturating_mul(machines), 1, machines)))
                }
                (Some(gpus), Some(executors)) => {
                    let all = gpus.iter().flat_map(|gpus| executors.iter().map(move |executors| (gpus, executors)));
                    let divided =
                        all.filter(|(gpus, executors)| gpus.saturating_mul(machines).is_multiple_of(**executors));
                    holders
                        .extend(divided.map(|(gpus, executors)| (*executors, gpus * machines / executors, machines)));
                }
            }
        }
        if holders.is_empty() {
            return Err(unusable(
                "no number of --gpus can be divided among the --executors; leave --executors out for one GPU each",
            ));
        }
        let is_told = job.workload.command.as_ref().is_none_or(CommandTemplate::scales_out);
        if !is_told && holders.iter().any(|(executors, ..)| *executors > 1) {
            foreglow_exit::note(
                "warning: the command has none of {executors}, {gpus} and {nodes}; unless it reads FOREGLOW_EXECUTORS, \
                 several executors do the same as one",
            );
        }
        let most = holders.iter().map(|(executors, _, machines)| executors.div_ceil(*machines)).max().unwrap_or(1);
        let usual = usual_cores(most, has_gpus);
        let cores = cores.unwrap_or(&usual);
        let several = |count: u32| Some(count).filter(|count| *count > 1);
        let placement = |(executors, gpus, machines): &(u32, u32, u32), cores: u32| Placement {
            split: CoreSplit::even(*executors, cores),
            accelerators_per_executor: several(*gpus),
            machines: several(*machines),
        };
        Ok(holders.iter().flat_map(|holder| cores.iter().map(move |cores| placement(holder, *cores))).collect())
    }
}

/// Returns the cores of an executor if none are given: with GPUs all processors, divided among the
/// most executors of a machine; otherwise two numbers, to see their effect.
fn usual_cores(most_executors: u32, has_gpus: bool) -> Vec<u32> {
    if has_gpus { vec![all_cores(most_executors)] } else { vec![1, 2] }
}

/// Returns the processors of this machine, divided among executors.
fn all_cores(executors: u32) -> u32 {
    (processors().unwrap_or(1) / executors.max(1)).max(1)
}

/// Returns the memory that is recorded for an executor of a program without a limit: an equal part
/// of the machine's.
pub fn usual_memory_mib(placements: &[Placement]) -> u32 {
    let here = |placement: &Placement| placement.split.executors.div_ceil(placement.machines.unwrap_or(1));
    let most = placements.iter().map(here).max().unwrap_or(1);
    let whole = machine_memory_mib().and_then(|mib| u32::try_from(mib).ok()).unwrap_or(crate::DEFAULT_MEMORY_MIB);
    let part = whole / most.max(1);
    if part > 2 * MEMORY_STEP_MIB { part / MEMORY_STEP_MIB * MEMORY_STEP_MIB } else { part.max(1) }
}

/// Parses the plural noun of a unit of work.
fn noun(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_noun = !text.is_empty()
        && text.chars().count() <= 40
        && text.chars().all(|letter| letter.is_alphanumeric() || letter == ' ');
    is_noun.then(|| text.to_owned()).ok_or_else(|| "write a plural noun, such as tokens".to_owned())
}
