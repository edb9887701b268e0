//! The options of the command line.

use std::path::PathBuf;

use crate::contestant::FOREGLOW;

/// The measured protocols and predictors, and the output files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The folder of the public data sets.
    pub data: Option<PathBuf>,
    /// Substrings of protocol names with their data set; a protocol that contains any of them is
    /// measured.
    pub only: Vec<String>,
    /// Substrings of predictor names.
    pub predictors: Vec<String>,
    /// Maximum number of trials of each part of a public set, spread evenly over all.
    pub trials: Option<usize>,
    /// Few trials of each protocol.
    pub is_quick: bool,
    /// No slow runs.
    pub is_clean: bool,
    /// Figures of an earlier run to show instead of new ones.
    pub from: Option<PathBuf>,
    /// Adds errors with constants chosen without the data set to the figures of the earlier run.
    pub adds_left_out: bool,
    /// The page whose tables are replaced.
    pub page: Option<PathBuf>,
    /// The file of the figures.
    pub json: Option<PathBuf>,
    /// Task of the program.
    pub task: Task,
}

/// Task of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Task {
    /// Measure all figures and show them.
    #[default]
    Measure,
    /// Compare a quick run with the committed reference.
    Check,
    /// Make a quick run the reference.
    Refresh,
    /// Print one answer; for child processes of this program.
    Bout(Bout),
}

/// One predictor on one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bout {
    /// The set and the protocol, as `set: protocol`.
    pub protocol: String,
    /// Index among the protocol's trials, including those with slow runs.
    pub slot: usize,
    /// The predictor's name.
    pub predictor: String,
}

/// The output of `--help`.
pub const HELP: &str = "\
Measures the default predictor and its rivals: every protocol, clean and with slow runs.

accuracy [DATA] [options]
  DATA                  folder of the public data sets [default: ../shared/data]
  --only TEXT           protocols with TEXT in `set: protocol`; again for more
  --predictor TEXT      predictors with TEXT in their name; again for more
  --trials N            at most N splits of each public table, spread over all; costly protocols have slow runs of one kind
  --quick               few trials of each protocol
  --clean               no slow runs
  --json FILE           where the figures go [default: target/accuracy.json, of a part target/accuracy-part.json]
  --from FILE           shows the figures of an earlier run and measures none
  --left-out            with --from: adds the errors with constants chosen without the data set, and writes the file anew
  --page FILE           page whose tables are replaced
  --check               compares a quick run with tests/accuracy/reference.csv; fails where a figure is worse by over a twentieth
  --refresh             writes that reference
";

impl Options {
    /// Parses the arguments; `None` asks for help.
    ///
    /// # Errors
    /// An argument is unknown or has no value.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} lacks its value"));
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--only" => options.only.push(value()?),
                "--predictor" => options.predictors.push(value()?),
                "--bout" => {
                    let (protocol, slot, predictor) = (value()?, value()?, value()?);
                    let slot = slot.parse().map_err(|_| format!("{slot:?} is not the number of a trial"))?;
                    options.task = Task::Bout(Bout { protocol, slot, predictor });
                }
                "--trials" => {
                    let text = value()?;
                    let trials = text.parse().ok().filter(|trials: &usize| *trials > 0);
                    options.trials = Some(trials.ok_or_else(|| format!("{text:?} is not a number of trials"))?);
                }
                "--quick" => options.is_quick = true,
                "--check" => options.gate(Task::Check),
                "--refresh" => options.gate(Task::Refresh),
                "--left-out" => options.adds_left_out = true,
                "--clean" => options.is_clean = true,
                "--json" => options.json = Some(value()?.into()),
                "--from" => options.from = Some(value()?.into()),
                "--page" => options.page = Some(value()?.into()),
                unknown if unknown.starts_with('-') => return Err(format!("there is no option {unknown}; see --help")),
                data if options.data.is_none() => options.data = Some(data.into()),
                extra => return Err(format!("{extra:?} is one folder too many; see --help")),
            }
        }
        Ok(Some(options))
    }

    /// The gate compares only the default predictor, on few trials.
    fn gate(&mut self, task: Task) {
        self.task = task;
        self.is_quick = true;
        self.predictors = vec![FOREGLOW.to_owned()];
    }

    /// Returns the arguments for a child process that runs one bout.
    pub fn arguments_of(&self, bout: &Bout) -> Vec<std::ffi::OsString> {
        let mut words: Vec<std::ffi::OsString> = self.data.iter().map(|data| data.clone().into()).collect();
        if let Some(trials) = self.trials {
            words.extend(["--trials".into(), trials.to_string().into()]);
        }
        let flags = [("--quick", self.is_quick), ("--clean", self.is_clean)];
        words.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.into()));
        let Bout { protocol, slot, predictor } = bout;
        words.extend(["--bout", protocol, &slot.to_string(), predictor].map(Into::into));
        words
    }

    /// Returns whether every figure is measured in full.
    pub fn is_full(&self) -> bool {
        self.only.is_empty() && self.predictors.is_empty() && !self.is_quick && !self.is_clean
    }

    /// Returns whether to measure a protocol.
    pub fn wants(&self, title: &str) -> bool {
        has_any(&self.only, title)
    }

    /// Returns whether to measure a predictor.
    pub fn wants_predictor(&self, name: &str) -> bool {
        has_any(&self.predictors, name)
    }
}

fn has_any(parts: &[String], text: &str) -> bool {
    let text = text.to_lowercase();
    parts.is_empty() || parts.iter().any(|part| text.contains(&part.to_lowercase()))
}
