//! `foreglow advise`: advice on which samples to collect next.

use std::path::{Path, PathBuf};

use foreglow_console::answer::AdviceAnswer;
use foreglow_console::ask::Source;
use foreglow_console::output::{self, Format};
use foreglow_console::question::QuestionArgs;

use super::advise_table::TableArgs;

/// Recommend which samples to collect next, by how much each narrows the decision for the time it
/// takes, and when to stop; or, with --candidates, which configuration of any table to run next.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    question: QuestionArgs,

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
    let job = args.source.job()?;
    let question = args.question.about(&job)?;
    let place = place(args);
    let place = place.as_ref().map(|(option, path)| (*option, path.as_str()));
    output::print(&AdviceAnswer::new(&job, &question, place)?.render(args.format))
}

/// Returns the option, with its value, that tells the printed command where to save its sample;
/// `None` for the default store.
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
