//! `foreglow advise`: advice on which samples to collect next.

use std::path::{Path, PathBuf};

use crate::answer::AdviceAnswer;
use crate::ask::Source;
use crate::output::{self, Format};
use crate::question::QuestionArgs;

/// Recommend which samples to collect next, by how much each narrows the decision for the time it
/// takes, and when to stop.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    question: QuestionArgs,

    /// File that the printed command collects into [default: the sample file if it is JSON Lines,
    /// otherwise samples.jsonl]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prints the advice.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let job = args.source.job()?;
    let question = args.question.about(&job)?;
    let output = args.output.as_deref().unwrap_or_else(|| same_file(&args.source.files));
    output::print(&AdviceAnswer::new(&job, &question, output)?.render(args.format))
}

fn same_file(files: &[PathBuf]) -> &Path {
    match files {
        [file] if file.extension().is_some_and(|extension| extension == "jsonl") => file,
        _ => Path::new("samples.jsonl"),
    }
}
