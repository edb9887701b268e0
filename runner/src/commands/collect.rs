//! `foreglow collect`: measures a grid of configurations.

use foreglow_console::answer::predicted_before;
use foreglow_console::kept_plans::KeptPlans;
use foreglow_console::outliers::outliers;
use foreglow_console::output::{self, Format};
use foreglow_console::place::DestinationArgs;
use foreglow_console::progress::{Progress, note};
use foreglow_console::sample_table;
use foreglow_engine::sweep::{self, Forecast, Grid, Limits, Run, SkippedRuns};
use foreglow_engine::{self as engine, Engine, Job};
use foreglow_exit::{Interrupt, Interrupted, unusable};
use foreglow_machine::{Warning, warnings_of};
use foreglow_measurement::dry_run::list;
use foreglow_measurement::engine::EngineArgs;
use foreglow_measurement::grid::{BudgetArgs, GridArgs};
use foreglow_measurement::program::ProgramArgs;
use foreglow_measurement::training::TrainingArgs;
use foreglow_measurement::upload::UploadArgs;
use foreglow_measurement::workload::{WorkloadArgs, prepare, warn};
use foreglow_model::{FitError, Predictor, Repetitions};
use foreglow_shared::{Context, Outcome, Sample, Uuid, Workload, format_count, group_by_context};

/// Measure a CNN job, or your own program, on a grid of configurations and save the timing samples
///
/// Runs with a saved sample are not repeated, so that the same command continues where it stopped.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,

    #[command(flatten)]
    training: TrainingArgs,

    #[command(flatten)]
    program: ProgramArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    engine: EngineArgs,

    #[command(flatten)]
    budget: BudgetArgs,

    #[command(flatten)]
    place: DestinationArgs,

    #[command(flatten)]
    upload: UploadArgs,

    /// Measure outliers and disturbed runs again, and replace their samples
    #[arg(long, help_heading = "Samples")]
    redo_outliers: bool,

    /// List the runs with their expected time and cost, and exit
    #[arg(long, help_heading = "Output")]
    dry_run: bool,

    /// Output format of the samples, or of the runs with --dry-run
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

impl Args {
    /// Returns the job, and its workload for each image size and batch size.
    fn job_and_workloads(&self) -> anyhow::Result<(Job, Vec<Workload>)> {
        if let Some(own) = self.program.job_and_workloads(&self.workload, &self.training)? {
            return Ok(own);
        }
        let (job, workloads) = self.engine.job_and_workloads(&self.workload)?;
        self.training.job_and_workloads(job, workloads, &self.workload)
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    args.engine.check()?;
    let (mut job, workloads) = args.job_and_workloads()?;
    let grid = args.grid.grid(&mut job, workloads, &args.program)?;
    let mut engine = args.engine.engine(&job)?;
    if engine.is_cluster() {
        args.training.check_cluster()?;
        check_even(&grid)?;
    }
    let prices = args.budget.prices(&job)?;
    let budget = args.budget.budget(prices.clone(), &job)?;
    let has_limit = args.budget.is_limited() || args.grid.precision().is_some();
    let all = args.engine.order(grid.runs(&job), has_limit);
    let (mut place, mut known) = match args.dry_run {
        true => (None, args.place.read()?),
        false => {
            let (place, known) = args.place.open()?;
            (Some(place), known)
        }
    };
    let mut redone = if args.redo_outliers { to_redo(&*engine, &job, &all, &known) } else { Vec::new() };
    known.retain(|sample| !redone.iter().any(|redo| redo.id == sample.id));
    let runs = sweep::left(all.clone(), &*engine, &job, &known);
    let forecast = Forecast::of(&*engine, &job, &known);
    if args.dry_run {
        return output::print(&list(&runs, &forecast, &prices, args.format));
    }

    let progress = Progress::default();
    let shown = place.as_ref().map_or_else(String::new, |place| place.location().to_string());
    say_before(args, &job, &grid, &*engine, &progress);
    if runs.len() < all.len() {
        progress.line(&format!("{} of {} runs are already in {shown}", all.len() - runs.len(), all.len()));
    }
    engine.check(&job, &runs.iter().map(|run| &run.configuration).collect::<Vec<_>>())?;
    prepare(&job, &progress)?;

    let mut upload = args.upload.start()?;
    let mut samples: Vec<Sample> = Vec::new();
    let limits = Limits::new(args.grid.precision(), budget, &sweep::of_these_machines(&*engine, &job, &known));
    let plans = KeptPlans::of_user();
    let mut keep = |number: usize, run: &Run, mut sample: Sample| {
        plans.attach(&mut sample);
        if let Some(place) = &mut place {
            place.append(&sample)?;
            // The old sample is removed only after its replacement is saved.
            if let Some(old) = redone.iter().position(|old| run.is_of(old)) {
                place.remove(&[redone.swap_remove(old).id])?;
            }
        }
        progress.finished(number + 1, runs.len(), run, &sample);
        if let Some(broken) = engine::broken_images(&sample).filter(|_| sample.outcome == Outcome::Completed) {
            progress.line(&format!("warning: {broken}"));
        }
        warnings_of(&sample).into_iter().for_each(|warning| progress.warn(warning));
        upload.send(&sample, &progress);
        samples.push(sample);
        Ok(())
    };
    let interrupt = Interrupt::on_signals();
    let plan = (forecast, limits);
    let result = sweep::sweep(&mut *engine, &job, &runs, plan, &interrupt, &mut |step| progress.step(&step), &mut keep);
    let mut of_grid = sweep::of_these_machines(&*engine, &job, &known);
    of_grid.retain(|sample| all.iter().any(|run| run.is_of(sample)));
    let of_grid: Vec<&Sample> = of_grid.into_iter().chain(&samples).collect();
    let combinations = sweep::combinations(of_grid.iter().copied());
    let noisy = |(_, times): &(_, Vec<f64>)| Warning::of_repetitions(times.len(), &Repetitions::of(times)?);
    combinations.iter().filter_map(noisy).for_each(|warning| progress.warn(warning));
    drop(progress);
    drop(engine);
    upload.finish();
    let skipped = match result {
        Err(error) if error.is::<Interrupted>() => {
            return Err(Interrupted::with(format!(
                "interrupted: {} of {} runs are saved in {shown}; the same command continues with the rest",
                samples.len(),
                runs.len()
            )));
        }
        other => other?,
    };
    say(skipped);
    let disturbed = of_grid.iter().filter(|sample| sample.is_disturbed()).count();
    if disturbed > 0 {
        note(&format!(
            "something else slowed the machine in {} of {}; predictions give less weight to such samples. Measure them \
             again with --redo-outliers",
            disturbed,
            format_count(of_grid.len(), "run")
        ));
    }
    output::print(&args.format.samples(&samples, || {
        let repeated = sample_table::repeated(&combinations);
        sample_table::many(&samples) + &repeated.map_or_else(String::new, |repeated| format!("\n{repeated}"))
    }))?;
    if let Some(sample) = of_grid.first() {
        let kept: Vec<Sample> = known.iter().chain(&samples).cloned().collect();
        warn_without_effect(&kept, &Context::of(sample));
        predicted_before(&samples, &kept).iter().for_each(|sentence| note(sentence));
        note(&format!("The samples are in {shown}. Next: {}", args.place.next_command(&Context::of(sample), &kept)));
    }
    let failed = samples.iter().filter(|sample| sample.outcome == Outcome::Failed).count();
    anyhow::ensure!(failed == 0, "{failed} of {} runs failed; their reasons are in {shown}", samples.len());
    Ok(())
}

/// Refuses configurations that Spark cannot express.
fn check_even(grid: &Grid) -> anyhow::Result<()> {
    let mut splits = grid.placements.iter().map(|placement| placement.split);
    match splits.find(|split| split.equal_counts().is_none()) {
        None => Ok(()),
        Some(split) => Err(unusable(format!(
            "Spark gives every executor of an application equally many cores, so it cannot run {split}; give --cores, or \
             leave --engine spark out"
        ))),
    }
}

/// Returns the samples of the grid to measure again: outliers among their repetitions, and
/// disturbed runs.
fn to_redo(engine: &dyn Engine, job: &Job, runs: &[Run], known: &[Sample]) -> Vec<Sample> {
    let mut of_grid: Vec<Sample> = sweep::of_these_machines(engine, job, known).into_iter().cloned().collect();
    of_grid.retain(|sample| runs.iter().any(|run| run.is_of(sample)));
    let outliers: std::collections::BTreeSet<Uuid> = outliers(&of_grid);
    of_grid.retain(|sample| sample.is_disturbed() || outliers.contains(&sample.id));
    of_grid
}

/// Warns about a grid that exceeds this machine.
fn say_before(args: &Args, job: &Job, grid: &Grid, engine: &dyn Engine, progress: &Progress) {
    let slots = grid.placements.iter().map(|placement| placement.split.slots()).max().unwrap_or(1);
    warn(job, engine.processors(job), slots, args.grid.bounds_memory(), progress);
}

/// Warns about a program that takes equally long for any amount of work.
fn warn_without_effect(samples: &[Sample], context: &Context) {
    let job = group_by_context(samples).into_iter().find(|job| job.context == *context);
    if let Some(Err(error @ FitError::WorkWithoutEffect { .. })) = job.map(|job| Predictor::fit_job(&job)) {
        note(&format!("warning: {error}"));
    }
}

/// Reports the runs that were not made.
fn say(SkippedRuns { precise, over_budget }: SkippedRuns) {
    if precise > 0 {
        let runs = if precise == 1 { "run was" } else { "runs were" };
        note(&format!("{precise} {runs} skipped: the medians of their combinations are precise enough"));
    }
    if over_budget > 0 {
        let (runs, them) = if over_budget == 1 { ("run exceeds", "it") } else { ("runs exceed", "them") };
        note(&format!("{over_budget} {runs} the remaining budget; the same command makes {them} with a new budget"));
    }
}
