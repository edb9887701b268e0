//! `foreglow link`: creates and opens share links.

use std::path::Path;
use std::slice::from_ref;

use foreglow_collector::address::is_loopback;
use foreglow_console::answer::{PlanAnswer, SCHEMA, Startup, fit};
use foreglow_console::ask::{Source, read_bytes};
use foreglow_console::catalog::updated;
use foreglow_console::compare::note_prices;
use foreglow_console::link_suffix::LinkSuffix;
use foreglow_console::outliers;
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::question::QuestionArgs;
use foreglow_console::table::csv;
use foreglow_exit::unusable;
use foreglow_model::{JointPredictor, Limits, Plan, Prices, Space};
use foreglow_shared::{
    Catalog, Context, Job, JobDefinition, JobGroup, LeftOut, LinkSetting, MOST_RUNS_IN_LINK, Observation, Question,
    View, format_count, group_by_context, group_jobs, measured_choices,
};
use serde_json::json;

use super::serve;

/// Create a link that shows the same numbers to everyone who opens it, or open one.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    question: QuestionArgs,

    /// Address of the planner that the link opens
    #[arg(long, value_name = "URL", help_heading = "Link", default_value = serve::PLANNER_OF_LINKS, env = "FOREGLOW_PLANNER", value_parser = serve::planner)]
    planner: String,

    /// Open this link, or that of standard input with `-`, and answer its question here;
    /// --deadline, --budget, … change the question
    #[arg(long, value_name = "LINK", help_heading = "Link", conflicts_with_all = ["files", "store", "model", "context"])]
    open: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// Prints the link, or the answer of a link.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match args.open.as_deref() {
        Some("-") => open(&String::from_utf8_lossy(&read_bytes(Path::new("-"))?), args),
        Some(link) => open(link, args),
        None => create(args),
    }
}

fn create(args: &Args) -> anyhow::Result<()> {
    let samples = args.source.samples()?;
    let group = args.source.group(&samples, &|_| true)?;
    outliers::warn(&args.source, &samples, &group.definition)?;
    if updated().is_some() {
        note(
            "The link has the built-in machine types and prices, not those of `foreglow machines update`, which the \
             planner lacks.",
        );
    }
    let runs = runs_of(&group);
    // The page opens with the context of this size that has the most runs, and lists the others.
    let is_of_size = |job: &&Job| JobDefinition::of(&job.context) == group.definition;
    let most_runs = group.jobs.iter().filter(is_of_size).max_by_key(|job| job.observations.len()).cloned();
    let job = most_runs.ok_or_else(|| unusable("no run completed, so there is nothing to link to"))?;
    let others = if args.source.context.is_some() { Vec::new() } else { group_by_context(&samples) };
    let mut question = Question::about_job(&job);
    args.question.change(&mut question, &runs)?;
    let alike = group.jobs.iter().filter(|other| other.context.is_same_but_for_size(&job.context));
    let of_sizes = Job::of_all_sizes(&alike.collect::<Vec<_>>()).unwrap_or_else(|| job.clone());
    let answer = PlanAnswer::of_context(&of_sizes, fit(&of_sizes)?, &question)?;
    question.what_if = answer.what_if().unwrap_or(question.what_if);
    let view = View { job, question, pins: Vec::new(), left_out: LeftOut::default(), compared: Vec::new() };
    let view = view.comparing(&others);
    check_size(&view, &others)?;
    let mut link = view.to_link(&args.planner);
    if args.source.context.is_some() && compares(&view) {
        link.push_str(&format!("&{}", LinkSetting::Alone));
    }
    if is_loopback(&args.planner) {
        note(
            "This link works only on this machine while `foreglow serve` or `foreglow demo` runs. To share it, give the address of any copy \
             of the planner with --planner URL or FOREGLOW_PLANNER.",
        );
    }
    output::print(&match args.format {
        Format::Table => format!("{link}\n"),
        Format::Json => format!("{:#}\n", json!({ "schema": SCHEMA, "link": link })),
        Format::Csv => csv("link", [vec![link]]),
    })
}

/// Refuses a link with too many runs, which mail and chat programs cut. A note says if the link
/// lacks the runs of other machine types, batch sizes or averaging intervals.
fn check_size(view: &View, others: &[Job]) -> anyhow::Result<()> {
    if !view.fits_in_link() {
        return Err(unusable(format!(
            "the job has {}, and a link holds at most {MOST_RUNS_IN_LINK}; give the file of the samples instead",
            format_count(view.job.runs(), "run")
        )));
    }
    let definition = JobDefinition::of(&view.job.context);
    let is_left_out = |job: &Job| {
        JobDefinition::of(&job.context).is_same_job(&definition) && view.jobs().all(|held| held.context != job.context)
    };
    if others.iter().any(is_left_out) {
        note(&format!(
            "note: the job has more than {MOST_RUNS_IN_LINK} runs, so the link holds only those of {}",
            view.job.context.title()
        ));
    }
    Ok(())
}

/// Whether the page compares machine types, batch sizes or partition sizes of a link.
fn compares(view: &View) -> bool {
    !view.compared.is_empty() || measured_choices(from_ref(&view.job), &view.job.context) > 1
}

fn runs_of(group: &JobGroup) -> Vec<Observation> {
    group.jobs.iter().flat_map(|job| job.observations.iter().copied()).collect()
}

fn open(link: &str, args: &Args) -> anyhow::Result<()> {
    // Excluded runs are not part of the answer, as on the page.
    let view = View::from_link(link).map_err(|error| unusable(error.to_string()))?;
    let mut suffix = LinkSuffix::of(link)?;
    let workload = &view.job.context.workload;
    suffix.settings.size = suffix.settings.size.filter(|size| *size != (workload.images, workload.epochs));
    if !suffix.not_applied.is_empty() {
        let parts: Vec<String> = suffix.not_applied.iter().map(|part| format!("&{part}")).collect();
        note(&format!("note: only the page applies {} of the link", parts.join(" and ")));
    }
    let view = if suffix.settings.is_alone { View { compared: Vec::new(), ..view } } else { view };
    let answer = plan(view, &suffix, args)?;
    output::print(&answer.render(args.format))?;
    answer.check()
}

/// Answers over all machine types, batch sizes and partition sizes of a link, as `plan` does.
fn plan(view: View, suffix: &LinkSuffix, args: &Args) -> anyhow::Result<PlanAnswer> {
    let View { job, mut question, compared, .. } = view;
    // What the question has in common with the default was not asked for.
    let usual = Question::about_job(&job);
    let definition = JobDefinition::of(&job.context);
    let jobs = std::iter::once(job).chain(compared).collect();
    let group = group_jobs(jobs).into_iter().find(|group| group.definition.is_same_job(&definition));
    let group = group.ok_or_else(|| unusable("the link holds no runs of its job; ask for a new one"))?;
    let mut group = JobGroup { definition, ..group };
    if let Some((images, epochs)) = suffix.settings.size {
        (group.definition.images, group.definition.epochs) = (images, epochs);
    }
    let runs = runs_of(&group);
    args.question.change(&mut question, &runs)?;
    let startup = Startup::of(&runs);
    let limits = Limits {
        startup_secs: startup.as_ref().map_or(0.0, Startup::median_secs),
        spot: suffix.settings.spot,
        max_hourly_cost: suffix.settings.max_hourly_cost,
        ..Limits::of(&question)
    };
    let machines = machines(&group, suffix)?;
    let bill = &args.question.bill;
    let given = (bill.prices.is_some() || question.prices != usual.prices).then(|| question.prices.clone());
    let Prices { catalog, sheet, keeps_sheet, note: about } =
        Prices::of(&group, &machines, (catalog(suffix), true), given, suffix.compares());
    note_prices(about);
    let asked = |is_given: bool, counts: &[u32], usual: &[u32]| {
        if is_given || counts != usual { counts.to_vec() } else { Vec::new() }
    };
    let memory = question.memory_per_executor_mib;
    let space = Space {
        catalog: Some(catalog),
        sheet,
        keeps_sheet,
        machines,
        executors: asked(args.question.executors.is_some(), &question.executors, &usual.executors),
        cores_per_executor: asked(
            args.question.cores.is_some(),
            &question.cores_per_executor,
            &usual.cores_per_executor,
        ),
        memory_per_executor_mib: bill.memory.or(Some(memory).filter(|mib| *mib != usual.memory_per_executor_mib)),
        ..Space::default()
    };
    let predictor = JointPredictor::fit(&group).map_err(|error| unusable(error.to_string()))?;
    let plan = Plan::new(predictor, space).map_err(|error| unusable(error.to_string()))?;
    PlanAnswer::new(&plan, limits, startup)
}

/// Returns the built-in catalog with the prices of the link.
fn catalog(suffix: &LinkSuffix) -> Catalog {
    let mut catalog = Catalog::built_in();
    for (machine, price) in &suffix.settings.prices {
        let own = catalog.machines.iter_mut().find(|own| own.name == *machine);
        own.into_iter().for_each(|own| own.hourly_price = *price);
    }
    catalog
}

/// Returns the machine types that the link compares; none for all.
fn machines(group: &JobGroup, suffix: &LinkSuffix) -> anyhow::Result<Vec<String>> {
    if !suffix.omits_machines() {
        return Ok(Vec::new());
    }
    let contexts = || group.jobs.iter().chain(group.other_machines()).map(|job| &job.context);
    let is_accelerated =
        |name: &str| contexts().any(|context| context.accelerator.is_some() && context.machine_name() == name);
    let is_compared = |name: &String| {
        !suffix.settings.without.contains(name) && suffix.settings.devices.includes(is_accelerated(name))
    };
    let mut machines: Vec<String> = contexts().map(Context::machine_name).filter(is_compared).collect();
    machines.sort_unstable();
    machines.dedup();
    if machines.is_empty() {
        return Err(unusable("the link leaves out every machine type; remove a &without= or &devices= from its end"));
    }
    Ok(machines)
}
