//! The options of the command line.

use std::path::PathBuf;

/// What is to be measured, and where the figures go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The folder of the public data sets.
    pub data: Option<PathBuf>,
    /// Parts of a protocol's name with its set; a protocol that has any of them is measured.
    pub only: Vec<String>,
    /// Parts of a predictor's name.
    pub predictors: Vec<String>,
    /// Few trials of each protocol.
    pub is_quick: bool,
    /// No slow runs.
    pub is_clean: bool,
    /// The page whose tables are replaced.
    pub page: Option<PathBuf>,
    /// The file of the figures.
    pub json: Option<PathBuf>,
}

/// What `--help` prints.
pub const HELP: &str = "\
Measures the default predictor and its rivals: every protocol, clean and with slow runs.

accuracy [DATA] [options]
  DATA                  folder of the public data sets [default: ../shared/data]
  --only TEXT           protocols with TEXT in `set: protocol`; again for more
  --predictor TEXT      predictors with TEXT in their name; again for more
  --quick               few trials of each protocol
  --clean               no slow runs
  --json FILE           where the figures go [default: target/accuracy.json, of a part target/accuracy-part.json]
  --page FILE           page whose tables are replaced
";

impl Options {
    /// Reads the arguments; `None` asks for help.
    ///
    /// # Errors
    /// An argument is unknown or lacks its value.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} lacks its value"));
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--only" => options.only.push(value()?),
                "--predictor" => options.predictors.push(value()?),
                "--quick" => options.is_quick = true,
                "--clean" => options.is_clean = true,
                "--json" => options.json = Some(value()?.into()),
                "--page" => options.page = Some(value()?.into()),
                unknown if unknown.starts_with('-') => return Err(format!("there is no option {unknown}; see --help")),
                data if options.data.is_none() => options.data = Some(data.into()),
                extra => return Err(format!("{extra:?} is one folder too many; see --help")),
            }
        }
        Ok(Some(options))
    }

    /// Whether every figure is measured in full.
    pub fn is_full(&self) -> bool {
        self.only.is_empty() && self.predictors.is_empty() && !self.is_quick && !self.is_clean
    }

    /// Whether a protocol is to be measured.
    pub fn wants(&self, set: &str, protocol: &str) -> bool {
        has_any(&self.only, &format!("{set}: {protocol}"))
    }

    /// Whether a predictor is to be measured.
    pub fn wants_predictor(&self, name: &str) -> bool {
        has_any(&self.predictors, name)
    }
}

fn has_any(parts: &[String], text: &str) -> bool {
    let text = text.to_lowercase();
    parts.is_empty() || parts.iter().any(|part| text.contains(&part.to_lowercase()))
}
