//! The user's own program: a command with placeholders for the work and the resources of a run.

use serde::{Deserialize, Serialize};

use crate::{Configuration, Workload, edit_distance, shell_word};

/// Unit of work of a job that is counted in optimiser steps.
const STEPS: &str = "steps";
/// Suffixes of programs that an interpreter or a launcher runs.
const SCRIPTS: [&str; 8] = [".py", ".sh", ".jl", ".R", ".pl", ".js", ".rb", ".lua"];
/// Most letters of a program's name.
const MOST_LETTERS: usize = 80;

/// A value of a run that the command may contain, as `{name}` or `$FOREGLOW_NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// Processes of the run, E.
    Executors,
    /// GPUs of each machine.
    Gpus,
    /// Machines of the run.
    Nodes,
    /// Cores of an executor, C.
    Cores,
    /// Units of work of the run, in each epoch.
    Images,
    /// Steps of the run, of one mini-batch on each executor.
    Steps,
    /// Passes over the data.
    Epochs,
    /// Share of the whole job, in (0, 1].
    Rate,
    /// Units of work in a mini-batch of an executor.
    BatchSize,
    /// Seed.
    Seed,
    /// Path of the data.
    Data,
}

impl Placeholder {
    /// All placeholders, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::Executors,
        Self::Gpus,
        Self::Nodes,
        Self::Cores,
        Self::Images,
        Self::Steps,
        Self::Epochs,
        Self::Rate,
        Self::BatchSize,
        Self::Seed,
        Self::Data,
    ];

    /// Placeholders that can bound the work of a run, in order of precedence: only the first one of
    /// a template is scaled by the sampling rate.
    const OF_WORK: [Self; 4] = [Self::Steps, Self::Images, Self::Rate, Self::Epochs];

    /// Returns the name between the braces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Executors => "executors",
            Self::Gpus => "gpus",
            Self::Nodes => "nodes",
            Self::Cores => "cores",
            Self::Images => "images",
            Self::Steps => "steps",
            Self::Epochs => "epochs",
            Self::Rate => "rate",
            Self::BatchSize => "batch_size",
            Self::Seed => "seed",
            Self::Data => "data",
        }
    }

    /// Returns the name of the environment variable with the same value.
    pub fn variable(self) -> String {
        format!("FOREGLOW_{}", self.name().to_ascii_uppercase())
    }
}

/// Why a command cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// There is no program.
    #[error("the command is empty; write the program and its arguments after `--`")]
    Empty,
    /// A word in braces is not a placeholder.
    #[error("{{{name}}} is no placeholder; {}, and write {{{{{name}}}}} for the braces themselves", choice(*.nearest))]
    Unknown {
        /// The word.
        name: String,
        /// The placeholder with the most similar name, if one is similar.
        nearest: Option<Placeholder>,
    },
}

fn choice(nearest: Option<Placeholder>) -> String {
    match nearest {
        Some(placeholder) => format!("write {{{}}}", placeholder.name()),
        None => format!("choose one of {}", Placeholder::ALL.map(|one| format!("{{{}}}", one.name())).join(", ")),
    }
}

/// A command with placeholders: the words of a program and its arguments, or one line for a shell.
///
/// ```
/// # use foreglow_shared::CommandTemplate;
/// let words = ["python", "train.py", "--max-steps", "{steps}"].map(str::to_owned).to_vec();
/// let template = CommandTemplate::new(words)?;
/// assert_eq!(template.name(), "train.py");
/// assert_eq!(template.line(), "python train.py --max-steps '{steps}'");
/// let error = CommandTemplate::new(vec!["./train {step}".to_owned()]).unwrap_err();
/// assert!(error.to_string().starts_with("{step} is no placeholder; write {steps}"));
/// # Ok::<(), foreglow_shared::TemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandTemplate {
    words: Vec<String>,
}

/// A part of a template.
enum Piece<'a> {
    Text(&'a str),
    /// A name in braces.
    Name(&'a str),
    /// A name in double braces, which stand for single ones.
    Braced(&'a str),
}

impl CommandTemplate {
    /// Returns the template of these words; a single word is a line for a shell.
    ///
    /// # Errors
    /// There is no program, or a placeholder is unknown.
    pub fn new(words: Vec<String>) -> Result<Self, TemplateError> {
        if words.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(TemplateError::Empty);
        }
        for word in &words {
            for piece in pieces(word) {
                let Piece::Name(name) = piece else { continue };
                if Placeholder::ALL.iter().all(|placeholder| placeholder.name() != name) {
                    return Err(TemplateError::Unknown { name: name.to_owned(), nearest: nearest(name) });
                }
            }
        }
        Ok(Self { words })
    }

    /// Returns the words as given.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the line for a shell, if the command is one.
    pub fn shell_line(&self) -> Option<&str> {
        match self.words.as_slice() {
            [line] => Some(line),
            _ => None,
        }
    }

    /// Returns the command as a line for a shell.
    pub fn line(&self) -> String {
        match self.shell_line() {
            Some(line) => line.to_owned(),
            None => self.words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// Returns the name of the program: that of the script which an interpreter or launcher runs,
    /// else that of the first word.
    pub fn name(&self) -> String {
        let line = self.words.join(" ");
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
        let is_script = |word: &&str| SCRIPTS.iter().any(|suffix| word.ends_with(suffix)) && !word.starts_with('-');
        let is_program = |word: &&str| !word.contains('=') && !word.starts_with('-') && *word != "env";
        let module = words.windows(2).find(|pair| pair[0] == "-m").map(|pair| pair[1]);
        let word = words.iter().copied().find(is_script).or(module).or_else(|| words.iter().copied().find(is_program));
        let name = word.and_then(|word| word.rsplit('/').next()).filter(|name| !name.is_empty()).unwrap_or("program");
        name.chars().take(MOST_LETTERS).collect()
    }

    /// Returns whether the command has a placeholder, or mentions its environment variable.
    pub fn has(&self, placeholder: Placeholder) -> bool {
        let variable = placeholder.variable();
        let is_named = |word: &String| {
            word.contains(&variable)
                || pieces(word).any(|piece| matches!(piece, Piece::Name(name) if name == placeholder.name()))
        };
        self.words.iter().any(is_named)
    }

    /// Returns whether the command has a placeholder for executors, GPUs or machines. One without
    /// does the same on any number of them, unless it reads the environment itself.
    pub fn scales_out(&self) -> bool {
        [Placeholder::Executors, Placeholder::Gpus, Placeholder::Nodes].into_iter().any(|one| self.has(one))
    }

    /// Returns the placeholder that bounds the work of a run; `None` if the command always does the
    /// whole job.
    pub fn bound(&self) -> Option<Placeholder> {
        Placeholder::OF_WORK.into_iter().find(|placeholder| self.has(*placeholder))
    }

    /// Returns whether the command starts the processes of a machine itself, as launchers do.
    pub fn starts_processes(&self) -> bool {
        self.has(Placeholder::Executors) || self.has(Placeholder::Gpus)
    }

    /// Returns the words of the program with the values of a run. A placeholder without a value
    /// stays.
    pub fn filled(&self, run: &ProgramRun<'_>) -> Vec<String> {
        match self.shell_line() {
            Some(line) => ["sh", "-c"].map(str::to_owned).into_iter().chain([self.fill(line, run)]).collect(),
            None => self.words.iter().map(|word| self.fill(word, run)).collect(),
        }
    }

    fn fill(&self, text: &str, run: &ProgramRun<'_>) -> String {
        let value = |name: &str| {
            let placeholder = Placeholder::ALL.into_iter().find(|placeholder| placeholder.name() == name)?;
            let value = run.value(placeholder)?;
            Some(if self.shell_line().is_some() { shell_word(&value) } else { value })
        };
        let piece = |piece: Piece<'_>| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Braced(name) => format!("{{{name}}}"),
            Piece::Name(name) => value(name).unwrap_or_else(|| format!("{{{name}}}")),
        };
        pieces(text).map(piece).collect()
    }
}

/// A run of a program, from which the placeholders get their values.
#[derive(Clone, Copy, Debug)]
pub struct ProgramRun<'a> {
    /// The job, with its command.
    pub workload: &'a Workload,
    /// The configuration.
    pub configuration: &'a Configuration,
    /// Share of the whole job, in (0, 1].
    pub sampling_rate: f64,
    /// Seed.
    pub seed: u64,
}

impl ProgramRun<'_> {
    /// Returns the value of a placeholder; `None` if it is unknown: the path of data that were not
    /// given, and the GPUs of a job without any.
    pub fn value(&self, placeholder: Placeholder) -> Option<String> {
        let Configuration { executors, cores_per_executor, .. } = *self.configuration;
        Some(match placeholder {
            Placeholder::Executors => executors.to_string(),
            Placeholder::Gpus => self.configuration.accelerators_per_machine()?.to_string(),
            Placeholder::Nodes => self.configuration.machines.unwrap_or(1).to_string(),
            Placeholder::Cores => cores_per_executor.to_string(),
            Placeholder::Images => {
                self.workload.program_share(Placeholder::Images, self.configuration, self.sampling_rate).0.to_string()
            }
            Placeholder::Steps => {
                self.workload.program_share(Placeholder::Steps, self.configuration, self.sampling_rate).0.to_string()
            }
            Placeholder::Epochs if self.workload.bound() == Some(Placeholder::Epochs) => {
                self.workload.program_share(Placeholder::Epochs, self.configuration, self.sampling_rate).0.to_string()
            }
            Placeholder::Epochs => self.workload.epochs.to_string(),
            Placeholder::Rate => self.sampling_rate.to_string(),
            Placeholder::BatchSize => self.workload.batch_size.to_string(),
            Placeholder::Seed => self.seed.to_string(),
            Placeholder::Data => self.workload.data_path()?.to_owned(),
        })
    }
}

impl Workload {
    /// Returns the placeholder that bounds the runs of the user's program; `None` if none does.
    pub fn bound(&self) -> Option<Placeholder> {
        self.command.as_ref()?.bound()
    }

    /// Returns the optimiser steps of the whole job of a program: each takes a mini-batch on every
    /// executor.
    pub fn program_steps(&self, configuration: &Configuration) -> u64 {
        if self.unit.as_deref() == Some(STEPS) {
            return self.images.saturating_mul(self.epochs.into());
        }
        let at_once = u64::from(self.batch_size) * u64::from(configuration.executors);
        self.images.saturating_mul(self.epochs.into()).div_ceil(at_once.max(1))
    }

    /// Returns the share of the whole job that a run of a program at the requested sampling rate
    /// does: whole images, steps or epochs.
    pub fn program_rate(&self, configuration: &Configuration, sampling_rate: f64) -> f64 {
        let (count, whole) = match self.bound() {
            None => return 1.0,
            Some(Placeholder::Rate) => return sampling_rate,
            Some(bound) => self.program_share(bound, configuration, sampling_rate),
        };
        count as f64 / whole as f64
    }

    /// Returns the number of images, steps or epochs of a run, and that of the whole job.
    fn program_share(&self, bound: Placeholder, configuration: &Configuration, sampling_rate: f64) -> (u64, u64) {
        let whole = match bound {
            Placeholder::Steps => self.program_steps(configuration),
            Placeholder::Epochs => self.epochs.into(),
            _ => self.images,
        };
        // The counts are below 2^53, where they are exact.
        let count = (whole as f64 * sampling_rate).round() as u64;
        (count.clamp(1, whole.max(1)), whole.max(1))
    }
}

impl Configuration {
    /// Returns the accelerators of each machine; `None` on CPUs.
    pub fn accelerators_per_machine(&self) -> Option<u32> {
        self.accelerator.as_ref()?;
        let all = self.executors.saturating_mul(self.accelerators_per_executor.unwrap_or(1));
        Some(all.div_ceil(self.machines.unwrap_or(1).max(1)))
    }
}

/// Returns the parts of a text. Braces after `$` belong to a shell, and braces around anything but
/// a name are text.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    let mut is_after_dollar = false;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((piece, length)) = braces(rest).filter(|_| !is_after_dollar) {
            rest = &rest[length..];
            is_after_dollar = false;
            return Some(piece);
        }
        let end = rest.char_indices().skip(1).find(|(_, letter)| *letter == '{').map_or(rest.len(), |(place, _)| place);
        let (text, after) = rest.split_at(end);
        (rest, is_after_dollar) = (after, text.ends_with('$'));
        Some(Piece::Text(text))
    })
}

/// Returns the braces with a name at the start of a text, and their length.
fn braces(text: &str) -> Option<(Piece<'_>, usize)> {
    let is_name = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let of_double =
        || text.strip_prefix("{{").and_then(|rest| rest.split_once("}}")).map(|(name, _)| name).filter(is_name);
    if let Some(name) = of_double() {
        return Some((Piece::Braced(name), name.len() + 4));
    }
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    Some(name).filter(is_name).map(|name| (Piece::Name(name), name.len() + 2))
}

/// Returns the placeholder with the most similar name: at most a third of its letters differ.
fn nearest(name: &str) -> Option<Placeholder> {
    let distance = |placeholder: &Placeholder| edit_distance(name, placeholder.name());
    let nearest = Placeholder::ALL.into_iter().min_by_key(distance)?;
    (distance(&nearest) <= nearest.name().len().div_ceil(3)).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    fn template(words: &[&str]) -> CommandTemplate {
        CommandTemplate::new(words.iter().map(|word| (*word).to_owned()).collect()).unwrap()
    }

    fn job(words: &[&str]) -> (Workload, Configuration) {
        let command = template(words);
        let mut workload = Workload::new(command.name(), Mode::Training, 1, 1000);
        (workload.epochs, workload.batch_size, workload.command) = (90, 25, Some(command));
        let configuration = serde_json::from_str(
            r#"{"executors":4,"cores_per_executor":2,"memory_per_executor_mib":1024,"partition_size":25,"accelerator":"gpu","machines":2}"#,
        );
        (workload, configuration.unwrap())
    }

    fn filled(words: &[&str], rate: f64) -> Vec<String> {
        let (mut workload, configuration) = job(words);
        workload.data = Some("/my data".into());
        let command = workload.command.clone().unwrap();
        let sampling_rate = workload.program_rate(&configuration, rate);
        command.filled(&ProgramRun { workload: &workload, configuration: &configuration, sampling_rate, seed: 7 })
    }

    #[test]
    fn placeholders_are_replaced_in_words_and_quoted_in_a_line_for_the_shell() {
        assert_eq!(
            filled(&["a", "--n={images}", "{gpus}/{executors}/{nodes}/{cores}", "{batch_size}{seed}", "{data}"], 0.1),
            ["a", "--n=100", "2/4/2/2", "257", "/my data"]
        );
        let line = "x {data} --rate {rate} ${HOME} ${steps} {{steps}} '{\"a\": 1}' | awk '{print $1}'";
        let shown = "x '/my data' --rate 0.1 ${HOME} ${steps} {steps} '{\"a\": 1}' | awk '{print $1}'";
        assert_eq!(filled(&[line], 0.1), ["sh", "-c", shown]);
    }

    #[test]
    fn only_the_bound_of_the_work_follows_the_sampling_rate() {
        // 1,000 images in 90 epochs are 900 steps of 4 × 25.
        assert_eq!(filled(&["a", "{steps}", "{epochs}"], 0.1), ["a", "90", "90"]);
        assert_eq!(filled(&["a", "{images}", "{epochs}"], 0.1), ["a", "100", "90"]);
        assert_eq!(filled(&["a", "{epochs}"], 0.1), ["a", "9"]);
        assert_eq!(filled(&["a", "{epochs}"], 0.001), ["a", "1"], "at least one epoch");
        let (workload, configuration) = job(&["a", "{epochs}"]);
        assert_eq!(workload.program_rate(&configuration, 0.001), 1.0 / 90.0);
        let (mut workload, configuration) = job(&["a"]);
        assert_eq!(workload.program_rate(&configuration, 0.1), 1.0, "nothing bounds the work");
        workload.unit = Some("steps".into());
        workload.epochs = 1;
        assert_eq!(workload.program_steps(&configuration), 1000);
    }

    #[test]
    fn a_rate_of_whole_steps_gives_the_same_steps_again() {
        let (workload, configuration) = job(&["a", "{steps}"]);
        for steps in 1..=900 {
            let rate = workload.program_rate(&configuration, f64::from(steps) / 900.0);
            assert_eq!(
                workload.program_share(Placeholder::Steps, &configuration, rate),
                (u64::from(steps as u32), 900)
            );
        }
    }

    #[test]
    fn an_environment_variable_bounds_the_work_too() {
        assert_eq!(template(&["./train --steps $FOREGLOW_STEPS"]).bound(), Some(Placeholder::Steps));
        assert_eq!(template(&["env", "N={images}", "./train"]).bound(), Some(Placeholder::Images));
        assert_eq!(template(&["./train", "--workers", "{cores}"]).bound(), None);
    }

    #[test]
    fn unknown_placeholders_are_refused_with_the_nearest_name() {
        let refused = |word: &str| CommandTemplate::new(vec!["a".into(), word.into()]).unwrap_err().to_string();
        assert!(refused("{gpu}").starts_with("{gpu} is no placeholder; write {gpus}, "), "{}", refused("{gpu}"));
        assert!(refused("{batchsize}").contains("write {batch_size},"));
        assert!(refused("{whatever}").contains("choose one of {executors}, {gpus}, "));
        for none in [vec![], vec![" ".to_owned()]] {
            assert_eq!(CommandTemplate::new(none), Err(TemplateError::Empty));
        }
    }

    #[test]
    fn a_program_is_named_after_its_script() {
        for (words, name) in [
            (&["torchrun", "--nproc_per_node={gpus}", "src/train.py", "--data", "/d"][..], "train.py"),
            (&["python", "-m", "timm.train", "{steps}"], "timm.train"),
            (&["env", "A=1", "/usr/bin/ffmpeg", "-i", "{data}"], "ffmpeg"),
            (&["cd x && ./run.sh {images}"], "run.sh"),
            (&["sleep {images}"], "sleep"),
        ] {
            assert_eq!(template(words).name(), name);
        }
    }
}
