//! `foreglow advise`: advice on which samples to collect next.

use std::path::{Path, PathBuf};

use foreglow_console::answer::AdviceAnswer;
use foreglow_console::ask::Source;
use foreglow_console::candidates::CandidateArgs;
use foreglow_console::compare::{MachineArgs, Planned};
use foreglow_console::outliers;
use foreglow_console::output::{self, Format};
use foreglow_console::question::QuestionArgs;
use foreglow_console::split::TotalsOfCores;
use foreglow_exit::unusable;
use foreglow_model::advise;
use foreglow_networks::public::unsuitable;
use foreglow_shared::{MachineType, Sample};

/// Recommend what to measure next, by what each run is expected to save for its cost, and when to
/// stop. With --candidates: which configuration of any table to
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
    table: CandidateArgs,

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
    let group = args.source.group(&samples, &|_| true)?;
    outliers::warn(&args.source, &samples, &group.definition)?;
    let planned = args.machines.plan(&args.question, &TotalsOfCores::default(), group, None)?;
    output::print(&answer(args, &planned, &samples, place)?.render(args.format))
}

/// Advises on the measured machine types, and on others if the user names them or a catalog.
fn answer(
    args: &Args,
    planned: &Planned,
    samples: &[Sample],
    place: Option<(&str, &str)>,
) -> anyhow::Result<AdviceAnswer> {
    let Planned { group, plan, limits, .. } = planned;
    let MachineArgs { machines, catalog, .. } = &args.machines;
    let is_asked = |machine: &MachineType| match machines.as_slice() {
        [] => catalog.is_given(),
        names => names.contains(&machine.name),
    };
    let is_measured = |machine: &MachineType| plan.predictor().arms().iter().any(|arm| arm.machine == machine.name);
    let all = plan.space().catalog.iter().flat_map(|catalog| &catalog.machines);
    let mut unmeasured: Vec<MachineType> =
        all.filter(|machine| is_asked(machine) && !is_measured(machine)).cloned().collect();
    let unsuitable = unsuitable(&unmeasured, group, samples);
    unmeasured.retain(|machine| unsuitable.iter().all(|(name, _)| *name != machine.name));
    let mut advice = advise(group, plan, limits, &unmeasured).map_err(|error| unusable(error.to_string()))?;
    advice.left_out.extend(unsuitable);
    let asks_new_machines = !machines.is_empty() || catalog.is_given();
    Ok(AdviceAnswer::new(plan, *limits, advice, place, asks_new_machines))
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
