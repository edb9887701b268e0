//! `foreglow evaluate`: how accurate the scenarios are on samples.

use foreglow_model::Grid;

use crate::answer::ScenarioTableAnswer;
use crate::ask::Source;
use crate::output::{self, Format};
use crate::progress::Progress;

/// Show how accurate each scenario is on the samples, and what collecting and training took.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prints the scenario table.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let job = args.source.job()?;
    let progress = Progress::new();
    let answer = ScenarioTableAnswer::new(&job, Grid::Published, &|done, total| progress.tuning(done, total))?;
    drop(progress);
    output::print(&answer.render(args.format))?;
    answer.check()
}
