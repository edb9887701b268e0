//! `foreglow plan`: the cheapest configuration that meets the deadline.

use crate::answer::{DecisionAnswer, fit};
use crate::ask::Source;
use crate::output::{self, Format};
use crate::question::QuestionArgs;

/// Find the cheapest configuration that meets a deadline, or the fastest within a budget, and
/// compare all others.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    question: QuestionArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// Prints the decision; fails if no configuration meets the deadline.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let job = args.source.job()?;
    let question = args.question.about(&job)?;
    let answer = DecisionAnswer::new(&job, &fit(&job)?, &question)?;
    output::print(&answer.render(args.format))?;
    answer.check()
}
