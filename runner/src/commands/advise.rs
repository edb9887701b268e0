//! `foreglow advise`: advice on which samples to collect next.

use std::path::{Path, PathBuf};

use foreglow_console::answer::{AdviceAnswer, NextRunsAnswer};
use foreglow_console::ask::{Selection, Source};
use foreglow_console::candidates::TableArgs;
use foreglow_console::compare::{Compared, MachineArgs};
use foreglow_console::output::{self, Format};
use foreglow_console::question::QuestionArgs;
use foreglow_exit::unusable;
use foreglow_model::next_runs;
use foreglow_shared::{JobGroup, MachineType};

/// Recommend which samples to collect next, and when to stop: by how much each narrows the decision
/// for the time it takes, or over several machine types by what it is expected to save for its
/// cost, which machine type first included. With --candidates: which configuration of any table to
/// run next.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    question: QuestionArgs,

    #[command(flatten)]
    machines: MachineArgs,

    #[command(flatten)]
    table: TableArgs,

    /// File that the printed command collects into [default: the source of the samples, or
    /// samples.jsonl for several files and for CSV]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// Prints the advice.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(answer) = args.table.advise(args.question.deadline)? {
        output::print(&answer.render(args.format))?;
        return answer.check();
    }
    let place = place(args);
    let place = place.as_ref().map(|(option, path)| (*option, path.as_str()));
    let samples = args.source.samples()?;
    match args.source.selection(&samples, args.machines.is_given(), &|_| true)? {
        Selection::Context(job) => {
            let question = args.question.about(&job)?;
            output::print(&AdviceAnswer::new(&job, &question, place)?.render(args.format))
        }
        Selection::Group(group) => output::print(&over_machines(args, *group, place)?.render(args.format)),
    }
}

/// Advises over all machine types: the measured ones, and others if the user names them or a
/// catalog.
fn over_machines(args: &Args, group: JobGroup, place: Option<(&str, &str)>) -> anyhow::Result<NextRunsAnswer> {
    let Compared { group, comparison, offer, limits, .. } = args.machines.compare(&args.question, None, group)?;
    let MachineArgs { machines, catalog, .. } = &args.machines;
    let is_asked = |machine: &MachineType| match machines.as_slice() {
        [] => catalog.is_given(),
        names => names.contains(&machine.name),
    };
    let is_measured =
        |machine: &MachineType| comparison.predictor().arms().iter().any(|arm| arm.machine == machine.name);
    let all = offer.catalog.iter().flat_map(|catalog| &catalog.machines);
    let unmeasured: Vec<MachineType> =
        all.filter(|machine| is_asked(machine) && !is_measured(machine)).cloned().collect();
    let next =
        next_runs(&group, &comparison, &offer, &limits, &unmeasured).map_err(|error| unusable(error.to_string()))?;
    let asks_new_machines = !machines.is_empty() || catalog.is_given();
    Ok(NextRunsAnswer::new(&comparison, limits, next, place, asks_new_machines))
}

/// Returns the option, with its value, for the destination of the printed command's sample; `None`
/// for the default store.
fn place(args: &Args) -> Option<(&'static str, String)> {
    let text = |path: &Path| path.display().to_string();
    match (&args.output, args.source.files.as_slice(), &args.source.store) {
        (Some(output), _, _) => Some(("--output", text(output))),
        (None, [], None) => None,
        (None, [], Some(store)) => Some(("--store", store.to_string())),
        (None, [file], _) if file.extension().is_some_and(|extension| extension == "jsonl") => {
            Some(("--output", text(file)))
        }
        (None, _, _) => Some(("--output", "samples.jsonl".to_owned())),
    }
}
