//! `foreglow evaluate`: accuracy of the scenarios on samples, or of all predictors on any other
//! table.

use foreglow_console::answer::{EvaluationAnswer, ScenarioTableAnswer};
use foreglow_console::ask::Source;
use foreglow_console::evaluation::{EvaluationArgs, on_samples};
use foreglow_console::output::{self, Format};
use foreglow_console::progress::Progress;
use foreglow_model::{Grid, Predictor, Scenario};

/// Show the accuracy of each scenario on the samples, with collection and training times; with
/// --input, the accuracy of Foreglow's predictor and its rivals on any table.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Test only this published scenario: baseline, 1, 2, 3-1, 3-2, 4-1 or 4-2; may be repeated
    /// [default: all]
    #[arg(long = "scenario", value_name = "NAME", value_parser = scenario, conflicts_with = "input")]
    scenarios: Vec<Scenario>,

    #[command(flatten)]
    table: EvaluationArgs,
}

/// Parses the published name of a scenario.
fn scenario(text: &str) -> Result<Scenario, String> {
    let named = Scenario::ALL.into_iter().find(|scenario| scenario.label() == text.trim());
    named.ok_or_else(|| format!("write one of {}", Scenario::ALL.map(Scenario::label).join(", ")))
}

/// Prints the scenario table, or the comparison of predictors.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(evaluation) = args.table.evaluate()? {
        return output::print(&EvaluationAnswer::new(evaluation).render(args.format));
    }
    // Only what was measured can be tested, not what its progress tells of the rest.
    let job = args.source.pick(&args.source.measured_samples()?)?;
    // In the order of the published table, without duplicates.
    let is_asked = |scenario: &Scenario| args.scenarios.is_empty() || args.scenarios.contains(scenario);
    let scenarios: Vec<Scenario> = Scenario::ALL.into_iter().filter(is_asked).collect();
    let progress = Progress::default();
    let show = |scenario: Scenario, done, total| progress.tuning(scenario.label(), done, total);
    let answer = ScenarioTableAnswer::new(&job, &scenarios, Grid::Published, &show)?;
    drop(progress);
    let warnings = Predictor::fit_job(&job).map(|predictor| predictor.contradictions()).unwrap_or_default();
    let answer = answer.with_predictors(on_samples(&job)).warned(warnings);
    let checked = answer.check();
    // A table of nothing but unknown values would repeat the reason in each row.
    if checked.is_ok() || args.format != Format::Table {
        output::print(&answer.render(args.format))?;
    }
    checked
}
