//! `foreglow simulate`: simulates an application on other configurations from its event log.

use std::collections::BTreeSet;
use std::ffi::OsString;

use foreglow_console::answer::{Asked, ComparedRun, LogComparison, SimulationAnswer, fit};
use foreglow_console::ask::Source;
use foreglow_console::grammar::{self, Counts, duration_secs};
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_event_log::{Log, LogFiles, find, read};
use foreglow_exit::{Temporary, unusable};
use foreglow_shared::{Context, Engine, Labels, Sample, format_count};
use foreglow_spark_log::{Run, Simulation};

/// Simulate a Spark application on other numbers of executors and cores, from the event log of one
/// run.
///
/// The measured tasks are scheduled on the slots of another cluster as Spark would do; the time in
/// which only the driver worked stays the same. With --samples, the prediction of Foreglow's
/// predictor is shown next to it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Event log, plain or compressed, or the folder of a rolling log; `-` for standard input; or
    /// the URL of a history server
    #[arg(value_name = "LOG|URL")]
    log: OsString,

    /// Application of a history server, by its ID
    #[arg(long, value_name = "ID")]
    application: Option<String>,

    /// Number of the run, from the list printed if the log contains several runs
    #[arg(long, value_name = "N", value_parser = grammar::place, allow_negative_numbers = true)]
    run: Option<usize>,

    /// Numbers of executors: 1-8 or 1,2,4 [default: 1 to twice the logged number]
    #[arg(long, short = 'E', value_name = "LIST", value_parser = grammar::executors, allow_negative_numbers = true)]
    executors: Option<Counts>,

    /// Numbers of cores per executor: 1-8 or 1,2,4 [default: the logged number]
    #[arg(long, short = 'C', value_name = "LIST", value_parser = grammar::cores, allow_negative_numbers = true)]
    cores: Option<Counts>,

    /// Deadline: 90s, 5m, 1h30m
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    deadline: Option<f64>,

    /// Sample files of the same job, for the predictor; `-` for standard input
    #[arg(long, value_name = "FILE")]
    samples: Vec<std::path::PathBuf>,

    /// Number of the job, from the list printed if the samples contain several jobs
    #[arg(long, value_name = "N", requires = "samples", value_parser = grammar::place, allow_negative_numbers = true)]
    context: Option<usize>,

    /// Share of the images that the run processed, for the predictor [default: from the log, or 1]
    #[arg(long, value_name = "SR", requires = "samples", value_parser = grammar::rate, allow_negative_numbers = true)]
    sampling_rate: Option<f64>,

    /// Event log of a later run: what has changed since this one, and how much of that the
    /// executors explain
    #[arg(long, value_name = "LOG|URL", conflicts_with_all = ["executors", "cores", "deadline", "samples"])]
    against: Option<OsString>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prints the simulation.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let log = read_one(&args.log, args.application.as_slice())?;
    match &args.against {
        Some(later) => compare(args, &log, &read_one(later, &[])?),
        None => simulate(args, &log),
    }
}

/// Reads the log at a path or URL, which must hold a single one.
fn read_one(place: &OsString, application: &[String]) -> anyhow::Result<Log> {
    let folder = Temporary::folder()?;
    let logs: Vec<LogFiles> = find(&[place], application, folder.path()).into_iter().collect::<anyhow::Result<_>>()?;
    let [files] = logs.as_slice() else {
        let names: Vec<String> = logs.iter().map(|log| format!("  {}", log.name)).collect();
        return Err(unusable(format!("there are {} logs; name one of them:\n{}", logs.len(), names.join("\n"))));
    };
    let log = read(files)?;
    log.notes.iter().for_each(|of_log| note(&format!("{}: {of_log}", log.name)));
    Ok(log)
}

/// Prints what two logs took and used.
fn compare(args: &Args, before: &Log, after: &Log) -> anyhow::Result<()> {
    let compared = |log: &Log| -> anyhow::Result<(ComparedRun, Simulation)> {
        let named = |sentence: String| unusable(format!("{}: {sentence}", log.name));
        let runs = log.application.runs().map_err(|error| named(error.to_string()))?;
        let (_, run) = choose(&runs, args.run)?;
        let simulation = Simulation::of(run).map_err(|error| named(error.to_string()))?;
        let compared = ComparedRun::new(log.name.clone(), run, &simulation)
            .ok_or_else(|| named("it does not name its executors".to_owned()))?;
        Ok((compared, simulation))
    };
    let ((before, simulation), (after, _)) = (compared(before)?, compared(after)?);
    output::print(&LogComparison::new(before, &simulation, after).render(args.format))
}

/// Prints the times of a log on other configurations.
fn simulate(args: &Args, log: &Log) -> anyhow::Result<()> {
    let named = |sentence: String| unusable(format!("{}: {sentence}", log.name));
    let runs = log.application.runs().map_err(|error| named(error.to_string()))?;
    let (number, run) = choose(&runs, args.run)?;
    let simulation = Simulation::of(run).map_err(|error| named(error.to_string()))?;
    let ending = run.ending().ok_or_else(|| named("it does not name its executors".to_owned()))?;

    let labels = run.labels();
    let asked = Asked {
        executors: args.executors.as_ref().map_or_else(
            || (1..=ending.executors.saturating_mul(2).min(64).max(ending.executors.min(10_000))).collect(),
            |Counts(executors)| executors.clone(),
        ),
        cores: args.cores.as_ref().map_or_else(|| vec![ending.cores_per_executor], |Counts(cores)| cores.clone()),
        deadline_secs: args.deadline,
        sampling_rate: match args.sampling_rate {
            Some(rate) => rate,
            None => labels.get("sampling_rate").and_then(|rate| rate.parse().ok()).unwrap_or(1.0),
        },
    };
    let predictor = if args.samples.is_empty() {
        None
    } else {
        let model = labels.get("model").map(str::to_owned);
        let source = Source { files: args.samples.clone(), store: None, model, context: args.context };
        let samples = source.samples()?;
        check_model(&source, &samples)?;
        let job = source.pick(&samples)?;
        let differences = differences(&labels, &job.context);
        if !differences.is_empty() {
            note(&format!(
                "warning: the samples are not of the job in the log: {}; the prediction is of the samples' job",
                differences.join(", ")
            ));
        }
        Some(fit(&job)?)
    };
    let answer = SimulationAnswer::new(run, number, &ending, &simulation, predictor.as_ref(), &asked);
    output::print(&answer.render(args.format))?;
    answer.check()
}

/// Checks that a sample is of the CNN in the log, if the log names it.
fn check_model(source: &Source, samples: &[Sample]) -> anyhow::Result<()> {
    let models: BTreeSet<&str> = samples.iter().map(|sample| sample.workload.model.as_str()).collect();
    match &source.model {
        Some(model) if !models.is_empty() && !models.iter().any(|name| source.is_of_model(name)) => {
            let models: Vec<&str> = models.into_iter().collect();
            Err(unusable(format!(
                "the log is of {model}, and the samples have only {}; give samples of the same job",
                models.join(", ")
            )))
        }
        _ => Ok(()),
    }
}

/// Returns the differences between the job of a log, as far as recorded, and that of samples.
fn differences(log: &Labels, context: &Context) -> Vec<String> {
    let Context { workload, engine, host, .. } = context;
    let is_text = workload.text.is_some();
    let of_samples = [
        ("images", "images", Some(workload.images.to_string())),
        ("image_px", "pixels", Some(workload.image_px.to_string()).filter(|_| !is_text)),
        ("epochs", "epochs", Some(workload.epochs.to_string())),
        ("batch_size", "images in a mini-batch", Some(workload.batch_size.to_string())),
        ("cpu", "as the processor", host.cpu.clone()),
        ("adapter", "as the GPU", host.adapter.clone()),
    ];
    let mut differences: Vec<String> = Vec::new();
    for (label, what, sampled) in of_samples {
        if let Some((logged, sampled)) = log.get(label).zip(sampled).filter(|(logged, sampled)| logged != sampled) {
            differences.push(format!("{logged} instead of {sampled} {what}"));
        }
    }
    if *engine != Engine::Spark {
        differences.push(format!("spark instead of {} as the engine", engine.as_str()));
    }
    differences
}

fn choose<'r, 'a>(runs: &'r [Run<'a>], asked: Option<usize>) -> anyhow::Result<(usize, &'r Run<'a>)> {
    let chosen = match asked {
        None if runs.len() == 1 => Some(1),
        asked => asked,
    };
    if let Some(chosen) = chosen.and_then(|number| Some((number, runs.get(number.checked_sub(1)?)?))) {
        return Ok(chosen);
    }
    let lines: Vec<String> = (1..).zip(runs).map(|(number, run): (usize, _)| line(number, run)).collect();
    Err(unusable(format!("the log has {} runs; choose one with --run N:\n{}", runs.len(), lines.join("\n"))))
}

fn line(number: usize, run: &Run<'_>) -> String {
    let rate = run.labels().get("sampling_rate").map_or_else(String::new, |rate| format!(", sampling rate {rate}"));
    let time = foreglow_shared::format_duration(run.completion_time_secs());
    format!("  {number}  {}, {time}{rate}", format_count(run.jobs.len(), "job"))
}
