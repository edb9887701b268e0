//! `foreglow evaluate`: accuracy of the scenarios on samples, or of all predictors on any other
//! table.

use foreglow_model::{Grid, Predictor};

use crate::answer::{EvaluationAnswer, ScenarioTableAnswer};
use crate::ask::Source;
use crate::evaluation::{TableArgs, on_samples};
use crate::output::{self, Format};
use crate::progress::Progress;

/// Show the accuracy of each scenario on the samples, with collection and training times; with
/// --input, the accuracy of Foreglow's predictor and its rivals on any table.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    table: TableArgs,
}

/// Prints the scenario table, or the comparison of predictors.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(evaluation) = args.table.evaluate()? {
        return output::print(&EvaluationAnswer::new(evaluation).render(args.format));
    }
    let job = args.source.job()?;
    let progress = Progress::new();
    let answer = ScenarioTableAnswer::new(&job, Grid::Published, &|done, total| progress.tuning(done, total))?;
    drop(progress);
    let warnings = Predictor::fit_job(&job).map(|predictor| predictor.contradictions()).unwrap_or_default();
    let answer = answer.beside(on_samples(&job)).warned(warnings);
    output::print(&answer.render(args.format))?;
    answer.check()
}
