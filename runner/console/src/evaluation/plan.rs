//! Splits of the rows into fitted and tested ones.

use foreglow_exit::unusable;
use foreglow_model::{Dataset, Features, Repeats, Settings, Split, Trial, draw};

use crate::evaluation::condition::Condition;
use crate::evaluation::input::{Input, Sides};
use crate::grammar;

/// Limit on the settings for leave-one-out; with more, folds are used.
const MAX_LEFT_OUT: usize = 100;
/// Number of folds in that case.
const FOLDS: usize = 10;
/// Limit on the settings of an evaluation, in total or, if split by conditions, on each side.
const MAX_SETTINGS: usize = 10_000;

/// How rows are split
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Fitted and tested rows [default: leave out each setting in turn]")]
pub struct SplitArgs {
    /// Fit the rows that meet this condition, such as 'machines<=8' (= != < <= > >=), and test the
    /// others; may be repeated
    #[arg(long, value_name = "CONDITION", requires = "input", conflicts_with_all = ["folds", "random_splits", "leave_out"])]
    pub fit_on: Vec<Condition>,

    /// Test the rows that meet this condition and fit the others; may be repeated
    #[arg(long, value_name = "CONDITION", requires = "input", conflicts_with_all = ["folds", "random_splits", "leave_out"])]
    pub test_on: Vec<Condition>,

    /// Cross-validate with N random folds
    #[arg(long, value_name = "N", requires = "input", value_parser = folds, allow_negative_numbers = true, conflicts_with_all = ["random_splits", "leave_out"])]
    pub folds: Option<u32>,

    /// Hold out a random tenth, N times
    #[arg(long, value_name = "N", requires = "input", value_parser = random_splits, allow_negative_numbers = true, conflicts_with = "leave_out")]
    pub random_splits: Option<u32>,

    /// With --random-splits, fit N random settings and test all others
    #[arg(long, value_name = "N", requires = "random_splits", value_parser = grammar::count, allow_negative_numbers = true)]
    pub fit_settings: Option<u32>,

    /// Leave out each value of this feature in turn; given twice, each pair of values
    #[arg(long, value_name = "COLUMN", requires = "input")]
    pub leave_out: Vec<String>,

    /// Seed of the folds and random splits
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = grammar::whole_number, allow_negative_numbers = true)]
    pub seed: u64,

    /// Fit and test the median of the runs of a setting, or each run
    #[arg(long, value_enum, default_value_t, requires = "input")]
    pub repeats: RepeatsArg,
}

/// Reference for settings with several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RepeatsArg {
    /// The median of the runs
    #[default]
    Median,
    /// Each of the runs
    Each,
}

/// Trials with their description.
pub struct Plan {
    /// The trials: at least one, with at least one tested run.
    pub trials: Vec<Trial>,
    /// Description of the split, such as `each of 24 settings left out in turn`.
    pub split: String,
    /// Deviations from the requested split, with the reason.
    pub notes: Vec<String>,
}

/// Parses a number of folds.
fn folds(text: &str) -> Result<u32, String> {
    grammar::count(text).ok().filter(|folds| *folds > 1).ok_or_else(|| "write a whole number, 2 or more".to_owned())
}

/// Parses a number of random splits.
fn random_splits(text: &str) -> Result<u32, String> {
    let splits = grammar::count(text).ok().filter(|splits| *splits <= 10_000);
    splits.ok_or_else(|| "write a whole number from 1 to 10000".to_owned())
}

impl SplitArgs {
    /// Returns the conditions.
    pub fn sides(&self) -> Sides<'_> {
        Sides { fit_on: &self.fit_on, test_on: &self.test_on }
    }

    /// Builds the trials.
    ///
    /// # Errors
    /// There is nothing to fit or to test, or a column is not a feature.
    pub fn plan(&self, input: &Input) -> anyhow::Result<Plan> {
        let plan = if input.is_tested.is_empty() { self.drawn(input)? } else { self.by_conditions(input) };
        if plan.trials.iter().all(|trial| trial.tested() == 0) {
            return Err(unusable("every tested time is only a lower bound, so there is nothing to compare with"));
        }
        Ok(plan)
    }

    fn repeats(&self) -> Repeats {
        match self.repeats {
            RepeatsArg::Median => Repeats::Median,
            RepeatsArg::Each => Repeats::Each,
        }
    }

    fn by_conditions(&self, input: &Input) -> Plan {
        let mut notes = Vec::new();
        let mut side = |tested: bool, done: &str| {
            let rows = (0..input.is_tested.len()).filter(|row| input.is_tested[*row] == tested);
            self.few(&input.runs.select(&rows.collect::<Vec<_>>()), done, &mut notes)
        };
        let (fit, test) = (side(false, "fitted"), side(true, "tested"));
        let trial = Trial::new(&fit, &test, self.repeats());
        let fitted = Settings::of(trial.fit()).len();
        let split = format!("{fitted} settings fitted, {} other runs tested", trial.tested());
        Plan { trials: vec![trial], split, notes }
    }

    fn drawn(&self, input: &Input) -> anyhow::Result<Plan> {
        let mut notes = Vec::new();
        let runs = self.few(&input.runs, "evaluated", &mut notes);
        let settings = Settings::of(&runs);
        let count = settings.len();
        if count < 2 {
            return Err(unusable(
                "all rows have the same setting, so there is no other to test; give rows of two or more settings",
            ));
        }
        let (splits, split) = if !self.leave_out.is_empty() {
            let names: Vec<&str> = self.leave_out.iter().map(String::as_str).collect();
            let features = settings.medians().features();
            names.iter().try_for_each(|name| is_feature(name, features, "--leave-out"))?;
            let splits = Split::leave_out(features, &names);
            let names = names.join(" and ");
            let split = format!("each of {} values of {names} left out in turn", splits.len());
            (splits, split)
        } else if let Some(number) = self.random_splits {
            let (tested, split) = match self.fit_settings {
                None => {
                    let split = format!("{number} random tenths of {count} settings, each predicted from the rest");
                    (((count + 5) / 10).max(1), split)
                }
                Some(fitted) if (fitted as usize) < count => {
                    let split =
                        format!("{number} times {fitted} random settings of {count}, the others predicted from them");
                    (count - fitted as usize, split)
                }
                Some(fitted) => {
                    return Err(unusable(format!(
                        "--fit-settings {fitted} leaves none of the {count} settings to test; fit fewer of them"
                    )));
                }
            };
            (Split::random(count, tested, number as usize, self.seed), split)
        } else if let Some(folds) = self.folds {
            let splits = Split::folds(count, folds as usize, self.seed);
            let split = format!("{} random parts of {count} settings, each predicted from the others", splits.len());
            (splits, split)
        } else if count > MAX_LEFT_OUT {
            notes.push(format!("{count} settings are too many to leave each out: {FOLDS} parts are left out instead"));
            let split = format!("{FOLDS} random parts of {count} settings, each predicted from the others");
            (Split::folds(count, FOLDS, self.seed), split)
        } else {
            (Split::leave_one_out(count), format!("each of {count} settings left out in turn"))
        };
        if splits.is_empty() {
            return Err(unusable("the --leave-out column has a single value, so there is nothing to fit"));
        }
        let trials = splits.iter().map(|split| settings.trial(split, self.repeats())).collect();
        Ok(Plan { trials, split, notes })
    }

    /// Returns the runs of at most [`MAX_SETTINGS`] settings.
    fn few(&self, runs: &Dataset, done: &str, notes: &mut Vec<String>) -> Dataset {
        if runs.secs().len() <= MAX_SETTINGS {
            return runs.clone();
        }
        let settings = Settings::of(runs);
        if settings.len() > MAX_SETTINGS {
            notes.push(format!(
                "{MAX_SETTINGS} of {} settings, drawn by seed {}, are {done}",
                settings.len(),
                self.seed
            ));
            let mut drawn = draw(settings.len(), MAX_SETTINGS, self.seed);
            drawn.sort_unstable();
            settings.runs(&drawn)
        } else {
            runs.clone()
        }
    }
}

/// Checks that a named column is a feature.
///
/// # Errors
/// The column is not a feature.
pub fn is_feature(name: &str, features: &Features, option: &str) -> anyhow::Result<()> {
    let names: Vec<&str> = features.columns().iter().map(|column| column.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    Err(unusable(format!("{option} names {name:?}, which is not a --feature; the features are {}", names.join(", "))))
}
