//! `foreglow link`: creates and opens share links.

use std::slice::from_ref;

use foreglow_collector::address::is_loopback;
use foreglow_console::answer::{DecisionAnswer, MachineAnswer, SCHEMA, Startup, fit};
use foreglow_console::ask::{Selection, Source};
use foreglow_console::grammar::Counts;
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::question::QuestionArgs;
use foreglow_console::table::csv;
use foreglow_exit::unusable;
use foreglow_model::{Comparison, JointPredictor, MachineLimits, Offer};
use foreglow_shared::{
    Catalog, Job, JobDefinition, LeftOut, Observation, Question, View, group_by_context, group_jobs, measured_choices,
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
    #[arg(long, value_name = "URL", help_heading = "Link", default_value = serve::DEFAULT_PLANNER, env = "FOREGLOW_PLANNER", value_parser = serve::planner)]
    planner: String,

    /// Open this link and answer its question here; --deadline, --budget, … change the question
    #[arg(long, value_name = "LINK", help_heading = "Link", conflicts_with_all = ["files", "store", "model", "context"])]
    open: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// Prints the link, or the answer of a link.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(link) = &args.open {
        return open(link, args);
    }
    let samples = args.source.samples()?;
    let job = match args.source.selection(&samples, false)? {
        Selection::Context(job) => *job,
        // The page opens with the context that has the most runs, and lists the others.
        Selection::Group(group) => {
            let most_runs = group.jobs.into_iter().max_by_key(|job| job.observations.len());
            most_runs.ok_or_else(|| unusable("no run completed, so there is nothing to link to"))?
        }
    };
    let mut question = args.question.about(&job)?;
    let answer = DecisionAnswer::new(&job, &fit(&job)?, &question)?;
    question.what_if = answer.what_if().unwrap_or(question.what_if);
    let view = View { job, question, pins: Vec::new(), left_out: LeftOut::default(), compared: Vec::new() };
    let view = view.comparing(&group_by_context(&samples));
    let link = view.to_link(&args.planner);
    if is_loopback(&args.planner) {
        note(
            "This link works only on this machine while `foreglow serve` or `foreglow demo` runs. To share it, give the address of any copy \
             of the planner with --planner URL or FOREGLOW_PLANNER.",
        );
    }
    output::print(&match args.format {
        Format::Table => format!("{link}\n"),
        Format::Json => format!("{:#}\n", json!({ "schema": SCHEMA, "link": link })),
        Format::Csv => csv(&["link"], [vec![link]]),
    })
}

fn open(link: &str, args: &Args) -> anyhow::Result<()> {
    // Excluded runs are not part of the answer, as on the page.
    let view = View::from_link(link).map_err(|error| unusable(error.to_string()))?;
    let View { job, mut question, compared, .. } = view;
    args.question.change(&mut question, &job)?;
    if !compared.is_empty() || measured_choices(from_ref(&job), &job.context) > 1 {
        let answer = compare(&job, compared, &question, &args.question)?;
        output::print(&answer.render(args.format))?;
        return answer.check();
    }
    let answer = DecisionAnswer::new(&job, &fit(&job)?, &question)?;
    output::print(&answer.render(args.format))?;
    answer.check()
}

/// Answers over all machine types, batch sizes and partition sizes of a link, as the page does.
fn compare(job: &Job, compared: Vec<Job>, question: &Question, given: &QuestionArgs) -> anyhow::Result<MachineAnswer> {
    let definition = JobDefinition::of(&job.context);
    let jobs = std::iter::once(job.clone()).chain(compared).collect();
    let group = group_jobs(jobs).into_iter().find(|group| group.definition == definition);
    let group = group.ok_or_else(|| unusable("the link holds no runs of its job; ask for a new one"))?;
    let runs: Vec<Observation> = group.jobs.iter().flat_map(|job| job.observations.iter().copied()).collect();
    let startup = Startup::of(&runs);
    let limits = MachineLimits {
        startup_secs: startup.as_ref().map_or(0.0, Startup::median_secs),
        ..MachineLimits::of(question)
    };
    let catalog = Catalog::built_in();
    // If no machine type is in a catalog, all are priced by their cores and memory.
    let is_in_catalog = |job: &Job| catalog.find(&job.context.machine_name()).is_ok();
    let uses_sheet = !group.jobs.iter().any(is_in_catalog) && question.prices.currency == catalog.currency;
    let sheet = uses_sheet.then(|| question.prices.clone());
    let list = |counts: &Option<Counts>| counts.as_ref().map_or_else(Vec::new, |Counts(counts)| counts.clone());
    let offer = Offer {
        catalog: Some(catalog),
        sheet,
        keeps_sheet: given.bill.prices.is_some(),
        executors: list(&given.executors),
        cores_per_executor: list(&given.cores),
        memory_per_executor_mib: given.bill.memory,
        ..Offer::default()
    };
    let predictor = JointPredictor::fit(&group).map_err(|error| unusable(error.to_string()))?;
    let comparison = Comparison::of(predictor, &offer).map_err(|error| unusable(error.to_string()))?;
    MachineAnswer::new(&comparison, limits, startup)
}
