//! `foreglow export`: starts the planned job, or measurements, on a cluster.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Parser as _;
use foreglow_collector::address::url;
use foreglow_console::ask::{self, read_bytes};
use foreglow_console::catalog::CatalogArgs;
use foreglow_console::grammar::{self, duration_secs};
use foreglow_console::kept_plans::{following, keep};
use foreglow_console::output;
use foreglow_console::progress::note;
use foreglow_exit::unusable;
use foreglow_launch::export::{Needs, Plan, Share, Site, SparkForm, System, Task, name, sending};
use foreglow_shared::{Catalog, CatalogError, CommandTemplate, KeptPlan, Timestamp, shell_word};

use super::collect;
use crate::refusal::sentence;

/// Write the file that starts the planned job, or measurements, on a cluster.
///
/// The plan is the output of `foreglow plan … --format json`. For a CNN and without a command of
/// your own, the task runs the whole job with `foreglow collect`, which records its time.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Batch script of Slurm
    Slurm(TaskArgs),
    /// Job of Kubernetes, with Kueue's label for --queue
    Kubernetes(TaskArgs),
    /// Task of SkyPilot
    Skypilot(TaskArgs),
    /// Arguments of spark-submit
    SparkSubmit(SparkArgs),
    /// Lines of spark-defaults.conf
    SparkDefaults(SparkArgs),
    /// Patch of a SparkApplication of Kubernetes' Spark operator
    SparkApplication(SparkArgs),
    /// Step of Amazon EMR
    EmrStep(StepArgs),
}

/// Container image of Kubernetes without --image.
const DEFAULT_IMAGE: &str = "foreglow:latest";

#[derive(Debug, clap::Args)]
struct SparkArgs {
    /// Plan, JSON; `-` for standard input
    #[arg(value_name = "PLAN", default_value = "-")]
    plan: PathBuf,
}

#[derive(Debug, clap::Args)]
struct StepArgs {
    #[command(flatten)]
    plan: SparkArgs,

    /// Application with its arguments, and other options of spark-submit before it
    #[arg(value_name = "APPLICATION", last = true, required = true)]
    application: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct TaskArgs {
    /// Plan, JSON; `-` for standard input
    #[arg(value_name = "PLAN", default_value = "-", conflicts_with = "measure")]
    plan: PathBuf,

    /// Command of the job, or a quoted line for the shell, with the placeholders of `foreglow
    /// collect`: once for each executor, or for each machine if it has {executors} or {gpus}; with
    /// --measure the options of `foreglow collect` [default: the command that was measured]
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,

    /// Write a task for each of these machine types that runs `foreglow collect` and ends
    #[arg(long, value_name = "MACHINE,…", value_delimiter = ',', value_parser = grammar::machine_type)]
    measure: Vec<String>,

    /// Collector that gets the samples
    #[arg(long, value_name = "URL", value_parser = url)]
    upload: Option<String>,

    /// Time limit [default: what the job exceeds with a probability of 1 %, and the longest
    /// start-up]
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    time: Option<f64>,

    /// Partition of Slurm, or local queue of Kueue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,

    /// Container image of Kubernetes [default: foreglow:latest]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// Where the task finds the collector's token: a secret of Kubernetes (key `token`), a file for
    /// Slurm; SkyPilot takes it from `--secret FOREGLOW_TOKEN`
    #[arg(long, value_name = "NAME")]
    token_from: Option<String>,

    /// Where the task finds the collector's certificate authorities (FOREGLOW_CA): a ConfigMap of
    /// Kubernetes (key `ca.pem`), a file of Slurm's machines, a file here for SkyPilot
    #[arg(long, value_name = "NAME")]
    ca_from: Option<String>,

    /// Foreglow for SkyPilot's machines [default: this program]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// Interruptible machines, for SkyPilot
    #[arg(long)]
    spot: bool,

    #[command(flatten)]
    catalog: CatalogArgs,

    /// File, such as job.sh, or folder for the files; `-` for standard output [default: standard
    /// output, for one file]
    #[arg(long, value_name = "FILE|FOLDER")]
    output: Option<PathBuf>,
}

/// Writes the files.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (system, args) = match &args.command {
        Command::Slurm(args) => (System::Slurm, args),
        Command::Kubernetes(args) => (System::Kubernetes, args),
        Command::Skypilot(args) => (System::Skypilot, args),
        Command::SparkSubmit(args) => return for_spark(args, SparkForm::Submit),
        Command::SparkDefaults(args) => return for_spark(args, SparkForm::Defaults),
        Command::SparkApplication(args) => return for_spark(args, SparkForm::Application),
        Command::EmrStep(args) => return for_spark(&args.plan, SparkForm::EmrStep(&args.application)),
    };
    if !args.measure.is_empty() {
        return write_tasks(args, system, &measurements(args, system)?);
    }
    let plan = filled(args, read_plan(&args.plan)?)?;
    let kept = plan.kept(Timestamp::now());
    write_tasks(args, system, &[planned(args, &plan, kept.as_ref())?])?;
    keep_plan(kept.as_ref());
    Ok(())
}

/// Prints the file of a task, or writes the files of all.
fn write_tasks(args: &TaskArgs, system: System, tasks: &[Task]) -> anyhow::Result<()> {
    let site = site(args, system)?;
    let output = args.output.as_ref().filter(|output| output.as_path() != Path::new("-"));
    match (output, tasks) {
        (None, [task]) => output::print(&system.file(task, &site)?),
        (None, _) => Err(unusable("there is a file for each machine type; name a folder for them with --output")),
        (Some(file), [task]) if is_file_name(file) => write(file, &system.file(task, &site)?),
        (Some(file), _) if is_file_name(file) => Err(unusable(format!(
            "there is a file for each machine type, and {} is the name of one file; name a folder with --output",
            file.display()
        ))),
        (Some(folder), tasks) => {
            let file = |task: &Task| Ok((format!("{}.{}", task.name, system.extension()), system.file(task, &site)?));
            let files: BTreeMap<String, String> = tasks.iter().map(file).collect::<anyhow::Result<_>>()?;
            if files.len() < tasks.len() {
                return Err(unusable(
                    "two of the machine types give the same name of a file; export them one by one, into other folders",
                ));
            }
            std::fs::create_dir_all(folder)
                .with_context(|| format!("the folder {} cannot be created", folder.display()))?;
            files.iter().try_for_each(|(name, text)| write(&folder.join(name), text))
        }
    }
}

/// Keeps the prediction of an exported plan, to compare the run of the whole job with it.
fn keep_plan(plan: Option<&KeptPlan>) {
    plan.into_iter().for_each(|plan| drop(keep(plan)));
}

/// Prints the planned executors for a Spark application.
fn for_spark(args: &SparkArgs, form: SparkForm<'_>) -> anyhow::Result<()> {
    let plan = read_plan(&args.plan)?;
    output::print(&plan.for_spark(form)?)?;
    keep_plan(plan.kept(Timestamp::now()).as_ref());
    Ok(())
}

/// Refuses an option that the system has no use for.
fn check_options(args: &TaskArgs, system: System) -> anyhow::Result<()> {
    let (slurm, kubernetes, skypilot) = (System::Slurm, System::Kubernetes, System::Skypilot);
    let options = [
        ("--queue", args.queue.is_some(), &[slurm, kubernetes][..], "Slurm and Kubernetes"),
        ("--image", args.image.is_some(), &[kubernetes], "Kubernetes"),
        ("--spot", args.spot, &[skypilot], "SkyPilot"),
        ("--binary", args.binary.is_some(), &[skypilot], "SkyPilot, which copies it"),
    ];
    let wrong = options.into_iter().find(|(_, is_given, systems, _)| *is_given && !systems.contains(&system));
    wrong.map_or(Ok(()), |(option, _, _, names)| Err(unusable(format!("{option} is for {names}; leave it out"))))
}

/// Returns the settings of the system.
fn site(args: &TaskArgs, system: System) -> anyhow::Result<Site> {
    check_options(args, system)?;
    // SkyPilot copies local files, so their paths must be absolute.
    let local = |path: &Path| {
        let path = std::path::absolute(path).with_context(|| format!("{} has no absolute path", path.display()))?;
        Ok::<String, anyhow::Error>(path.display().to_string())
    };
    let (authorities, binary) = match (system, &args.binary) {
        (System::Skypilot, binary) => {
            let own = std::env::current_exe().context("the path of this program is unknown; name it with --binary");
            let binary = binary.clone().map_or(own, Ok)?;
            (args.ca_from.as_deref().map(|file| local(file.as_ref())).transpose()?, local(&binary)?)
        }
        _ => (args.ca_from.clone(), String::new()),
    };
    Ok(Site {
        queue: args.queue.clone(),
        image: args.image.clone().unwrap_or_else(|| DEFAULT_IMAGE.to_owned()),
        token: args.token_from.clone(),
        authorities,
        binary,
        spot: args.spot,
    })
}

/// Whether a path is that of a file: it has an extension such as `sh` and is not a folder. A
/// version number, as in `jobs-1.2`, does not count as an extension.
fn is_file_name(path: &Path) -> bool {
    let is_extension = |end: &OsStr| end.to_string_lossy().starts_with(|c: char| c.is_ascii_alphabetic());
    let ends_in_separator = path.to_string_lossy().ends_with(std::path::is_separator);
    path.extension().is_some_and(is_extension) && !ends_in_separator && !path.is_dir()
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("the file {} cannot be written", path.display()))?;
    note(&format!("wrote {}", path.display()));
    Ok(())
}

fn read_plan(file: &Path) -> anyhow::Result<Plan> {
    Plan::read(&read_bytes(file)?).map_err(|error| unusable(format!("{}: {error}", ask::name(file))))
}

/// Gives the processes of a plan from public measurements their part of the machine, if its
/// resources are known.
fn filled(args: &TaskArgs, plan: Plan) -> anyhow::Result<Plan> {
    let Some(machine) = plan.unmeasured_machine() else { return Ok(plan) };
    let machine = resources(&args.catalog.read()?, machine).ok();
    Ok(machine.map_or(plan.clone(), |machine| plan.filling(machine)))
}

fn planned(args: &TaskArgs, plan: &Plan, kept: Option<&KeptPlan>) -> anyhow::Result<Task> {
    let template = |words: &[String]| CommandTemplate::new(words.to_vec()).map_err(|error| unusable(error.to_string()));
    let command = (!args.command.is_empty()).then(|| template(&args.command)).transpose()?;
    let mut task = plan.task(command, args.upload.as_deref(), args.time)?;
    if let Some(kept) = kept.filter(|_| task.runs_foreglow) {
        task.command = following(kept, &task.command)?;
    }
    if let Some(local) = task.reads.iter().find(|path| Path::new(path).exists()) {
        note(&format!(
            "The command names {local}, which is on this machine: the task needs it at the same path there. Mount it, or \
             copy it before."
        ));
    }
    let Some(machine) = &task.machine else {
        note(
            "The plan names no machine type, so that the task may start on other hardware than was measured; name it \
             with --machine when you measure.",
        );
        return Ok(task);
    };
    let capacity = resources(&args.catalog.read()?, machine).ok();
    Ok(Task { capacity, ..task })
}

/// A command line of `foreglow collect`, to check the user's options before a cluster does.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Collect {
    #[command(flatten)]
    _args: collect::Args,
}

/// Returns a task for each machine type, which measures and sends the samples.
fn measurements(args: &TaskArgs, system: System) -> anyhow::Result<Vec<Task>> {
    let upload = args
        .upload
        .as_deref()
        .ok_or_else(|| unusable("the samples of a machine that ends are lost; name the collector with --upload URL"))?;
    Collect::try_parse_from(&args.command).map_err(|error| {
        let why = sentence(&error).unwrap_or_else(|| "`foreglow collect --help` lists them".to_owned());
        unusable(format!("after `--` come options of `foreglow collect`: {why}"))
    })?;
    let catalog = args.catalog.read()?;
    let task = |machine: &String| {
        let resources = resources(&catalog, machine);
        if let (System::Kubernetes, Err(error)) = (system, &resources) {
            note(&format!("The job of {machine} asks for no processors, memory or GPUs: {error}"));
        }
        let words = ["foreglow", "collect", "--machine", machine.as_str()].map(str::to_owned);
        let words: Vec<String> = words.into_iter().chain(args.command.iter().cloned()).collect();
        Task {
            name: name(&["measure", machine]),
            machine: Some(machine.clone()),
            capacity: resources.ok(),
            nodes: Some(1),
            processes: 1,
            processes_per_machine: 1,
            share: Share::Machine,
            gpu: None,
            shared_gpus: 0,
            spot: false,
            limit_secs: args.time,
            reads: Vec::new(),
            command: sending(&in_shell(&words), upload),
            runs_foreglow: true,
        }
    };
    Ok(args.measure.iter().map(task).collect())
}

/// Returns the resources of a machine type.
fn resources(catalog: &Catalog, machine: &str) -> Result<Needs, CatalogError> {
    let found = catalog.find(machine)?;
    Ok(Needs { cores: found.processors, memory_mib: found.memory_mib, gpus: found.accelerator_count() })
}

fn in_shell(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}
