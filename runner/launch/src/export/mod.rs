//! Files that start a job elsewhere: on Slurm, Kubernetes, SkyPilot or Spark.

mod kubernetes;
mod plan;
mod skypilot;
mod slurm;
mod spark;

use foreglow_exit::unusable;
use foreglow_shared::shell_word;

pub use self::plan::Plan;
pub use self::spark::SparkForm;

/// Memory of the process that starts the executors, MiB.
const ENGINE_MIB: u32 = 512;
const SECS_PER_MINUTE: f64 = 60.0;
/// Maximum time limit: more than thirty years, as for the time of a run.
const MOST_LIMIT_SECS: f64 = 1e9;

/// Where a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Batch script for `sbatch`
    Slurm,
    /// Job for `kubectl create`, with the labels of Kueue
    Kubernetes,
    /// Task for `sky launch` or `sky jobs launch`
    Skypilot,
}

/// A task to start.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Name, of lower-case letters, digits and hyphens.
    pub name: String,
    /// Machine type; `None` for any.
    pub machine: Option<String>,
    /// Resources of a machine of the type, if known.
    pub capacity: Option<Needs>,
    /// Number of machines; `None` if the cluster may choose it.
    pub nodes: Option<u32>,
    /// Processes on all machines together.
    pub processes: u32,
    /// Processes of a full machine.
    pub processes_per_machine: u32,
    /// Resources of the processes.
    pub share: Share,
    /// Name of the GPU, if the plan has one.
    pub gpu: Option<String>,
    /// GPUs of each machine that all of its processes share; 0 if each process has its own.
    pub shared_gpus: u32,
    /// Whether the plan is for interruptible machines, for SkyPilot.
    pub spot: bool,
    /// Time after which the job is ended.
    pub limit_secs: Option<f64>,
    /// Program and its arguments, quoted for a shell.
    pub command: String,
    /// Words of the command that may name files and folders.
    pub reads: Vec<String>,
    /// Whether the command is `foreglow collect`, which the machines must have.
    pub runs_foreglow: bool,
}

/// Resources of the processes of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Resources for each process.
    Each(Needs),
    /// A whole machine without other programs, for measurements.
    Machine,
}

/// Resources of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Processor cores.
    pub cores: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// GPUs.
    pub gpus: u32,
}

/// Settings of the system that a plan lacks.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Queue: a partition of Slurm, or a local queue of Kueue.
    pub queue: Option<String>,
    /// Container image, for Kubernetes.
    pub image: String,
    /// Secret of Kubernetes, or file of Slurm, with the collector's token.
    pub token: Option<String>,
    /// The collector's certificate authorities, PEM: a ConfigMap of Kubernetes, a file of Slurm's
    /// machines, or a local file for SkyPilot.
    pub authorities: Option<String>,
    /// Local file of Foreglow that SkyPilot copies to the machines.
    pub binary: String,
    /// Interruptible machines, for SkyPilot.
    pub spot: bool,
}

impl System {
    /// Returns the file.
    ///
    /// # Errors
    /// The system cannot express the task, or its time limit is out of range.
    pub fn file(self, task: &Task, site: &Site) -> anyhow::Result<String> {
        if task.limit_secs.is_some_and(|secs| !(secs > 0.0 && secs <= MOST_LIMIT_SECS)) {
            return Err(unusable(format!(
                "the time limit must be above 0 and at most {MOST_LIMIT_SECS} s; give another with --time"
            )));
        }
        match self {
            Self::Slurm => slurm::script(task, site),
            Self::Kubernetes => kubernetes::job(task, site),
            Self::Skypilot => skypilot::task(task, site),
        }
    }

    /// Returns the extension of the file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Slurm => "sh",
            Self::Kubernetes | Self::Skypilot => "yaml",
        }
    }
}

/// Returns a name of at most 50 lower-case letters, digits and single hyphens, which all systems
/// accept. SkyPilot rejects three hyphens in a row.
pub fn name(parts: &[&str]) -> String {
    const MOST: usize = 50;
    let joined = parts.join("-").to_ascii_lowercase();
    let words = joined.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(MOST).collect();
    name.trim_matches('-').to_owned()
}

/// Returns the command that passes a line to a shell.
pub fn shell(line: &str) -> String {
    format!("sh -c {}", shell_word(line))
}

/// Returns a command that measures and then sends the remaining samples, also after a failed run,
/// because the store may be lost with the machine at the end of the task. It fails if either does.
pub fn sending(collect: &str, upload: &str) -> String {
    let upload = shell_word(upload);
    shell(&format!("{collect} --upload {upload}; status=$?; foreglow upload --to {upload} && exit $status"))
}

/// Returns whole minutes, rounded up.
fn minutes(secs: f64) -> u64 {
    (secs / SECS_PER_MINUTE).ceil().max(1.0) as u64
}

/// Returns a text as YAML, which includes the strings of JSON. YAML does not allow some characters
/// of JSON, and reads others as ends of lines.
fn quoted(text: &str) -> String {
    let escaped = |c: char| if is_printable(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
    serde_json::Value::from(text).to_string().chars().map(escaped).collect()
}

/// Whether YAML keeps a character as it is. All others have at most 16 bits.
fn is_printable(c: char) -> bool {
    let breaks_or_marks = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !c.is_control() && !breaks_or_marks
}

/// Returns the lines of a text, indented.
fn indented(text: &str, spaces: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(spaces))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_system() {
        assert_eq!(name(&["ResNet_18", "inference"]), "resnet-18-inference");
        assert_eq!(name(&["measure", "c5.4xlarge"]), "measure-c5-4xlarge");
        assert!(name(&["a".repeat(80).as_str()]).len() <= 50);
        assert_eq!(name(&["-a-", "."]), "a");
        assert_eq!(name(&["net - α/β", "inference"]), "net-inference");
    }

    #[test]
    fn the_remaining_samples_are_sent_after_a_failed_run_too() {
        let command = sending("foreglow collect", "https://host:1");
        for (collect, upload, code, said) in [
            (0, 0, 0, "collect --upload https://host:1\nupload --to https://host:1\n"),
            (1, 0, 1, "collect --upload https://host:1\nupload --to https://host:1\n"),
            (0, 3, 3, "collect --upload https://host:1\nupload --to https://host:1\n"),
        ] {
            let foreglow = format!(
                "foreglow() {{ echo \"$*\"; case $1 in collect) return {collect};; *) return {upload};; esac; }}"
            );
            // The inner shell does not have the function of the outer one.
            let line = command.strip_prefix("sh -c '").unwrap().strip_suffix('\'').unwrap();
            let script = format!("{foreglow}\n{line}");
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap().as_str()), (Some(code), said));
        }
    }

    #[test]
    fn minutes_are_rounded_up() {
        assert_eq!([0.1, 60.0, 61.0, 3_600.0].map(minutes), [1, 1, 2, 60]);
    }

    #[test]
    fn a_text_of_yaml_has_no_characters_that_yaml_rejects_or_reads_as_ends_of_lines() {
        let text = "\u{7}\u{7f}\u{85}\u{9b}\u{2028}\u{2029}\u{feff}\u{ffff}";
        assert_eq!(quoted(text), r#""\u0007\u007f\u0085\u009b\u2028\u2029\ufeff\uffff""#);
        assert_eq!(quoted("a\r\n\t\"\\ ü模😀"), r#""a\r\n\t\"\\ ü模😀""#);
    }
}
