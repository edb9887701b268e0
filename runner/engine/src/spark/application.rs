//! A Spark application: its driver process and the lines that they exchange. Dropping it ends the
//! application.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_protocol::{Assignment, Evaluation, Order, Report};
use foreglow_shared::Uuid;

use super::rounds::Rounds;
use crate::last_lines::last_lines;

/// Lines of Spark's log to keep.
const KEPT_LINES: usize = 200;
/// Grace period for the driver after the end of its input, in which it releases the executors.
const ENDING: Duration = Duration::from_secs(20);

/// A running application.
pub struct Application {
    driver: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Line>,
    errors: Option<JoinHandle<VecDeque<String>>>,
}

/// A line from the driver, in the format described in `runner/spark/foreglow/Driver.java`.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// The cluster has accepted the application.
    Started {
        /// Application ID.
        id: String,
        /// Version of Spark.
        version: String,
    },
    /// All executors have registered. Contains their CPU model if Spark's settings do not already
    /// have it.
    Ready(Option<String>),
    /// The timed job starts.
    Measuring,
    /// Number of its finished tasks.
    Progress(u64),
    /// Report of an executor on a part of the job.
    Done(Report),
    /// The timed job has ended.
    Measured,
    /// The application has failed, with the reason from Spark.
    Failed(String),
    /// The driver has ended.
    Gone,
}

/// Request for a timed job.
#[derive(Clone, Debug)]
pub struct Request {
    /// ID of the sample, for the event log.
    pub id: Uuid,
    /// Sampling rate, for the event log.
    pub sampling_rate: f64,
    /// Task of the executors.
    pub task: Task,
}

/// Task of the executors in a timed job.
#[derive(Clone, Debug)]
pub enum Task {
    /// Inference on partitions.
    Work {
        /// Images of the sample.
        images: u64,
        /// Images per partition.
        partition_size: u32,
        /// Mini-batch sizes to warm up.
        mini_batches: Vec<usize>,
    },
    /// Training and evaluation.
    Train {
        /// Rounds after which Spark averages; `None` if the executors average.
        rounds: Option<Rounds>,
        /// Held-out images by rank; empty without an evaluation.
        evaluations: Vec<Evaluation>,
    },
}

impl Task {
    /// Encodes the task for the driver.
    fn words(&self) -> anyhow::Result<(&'static str, String)> {
        Ok(match self {
            Self::Work { images, partition_size, mini_batches } => {
                let sizes: Vec<String> = mini_batches.iter().map(usize::to_string).collect();
                ("work", format!("{images} {partition_size} {}", sizes.join(",")))
            }
            Self::Train { rounds, evaluations } => {
                let Rounds { steps, every } = rounds.unwrap_or(Rounds { steps: 0, every: 0 });
                let mut words = vec![format!("{steps} {every}")];
                for evaluation in evaluations {
                    words.push(serde_json::to_string(&Order::Evaluate(evaluation.clone()))?);
                }
                ("train", words.join("\t"))
            }
        })
    }
}

impl Application {
    /// Submits the application and sends the driver the executors' assignment.
    ///
    /// # Errors
    /// `spark-submit` cannot be started.
    pub fn submit(
        home: &Path,
        arguments: &[String],
        on_loopback: bool,
        assignment: &Assignment,
    ) -> anyhow::Result<Self> {
        let program = home.join("bin/spark-submit");
        let mut command = Command::new(&program);
        command.args(arguments).env("SPARK_HOME", home);
        // The workers of a cluster on this machine can always reach the loopback address.
        if on_loopback && std::env::var_os("SPARK_LOCAL_IP").is_none() {
            command.env("SPARK_LOCAL_IP", "127.0.0.1");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A separate process group keeps Ctrl-C from the application, because the engine ends it
        // itself.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut driver = command.spawn().with_context(|| format!("{} could not be started", program.display()))?;
        let (input, output, errors) = (driver.stdin.take(), driver.stdout.take(), driver.stderr.take());
        let (sender, lines) = mpsc::channel();
        let mut application = Self { driver, input, lines, errors: None };
        let (Some(output), Some(errors)) = (output, errors) else {
            anyhow::bail!("the pipes of {} are missing", program.display());
        };
        application.errors =
            Some(std::thread::Builder::new().spawn(move || last_lines(BufReader::new(errors), KEPT_LINES))?);
        std::thread::Builder::new().spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for line in lines.filter_map(|line| read(&line)).chain([Line::Gone]) {
                // A failed send means that the engine has stopped listening.
                let _ = sender.send(line);
            }
        })?;
        application.say(&serde_json::to_string(assignment)?);
        Ok(application)
    }

    /// Requests a timed job.
    ///
    /// # Errors
    /// The request cannot be written.
    pub fn ask(&mut self, request: &Request) -> anyhow::Result<()> {
        let Request { id, sampling_rate, task } = request;
        let (word, more) = task.words()?;
        self.say(&format!("{word} {id} {sampling_rate} {more}"));
        Ok(())
    }

    /// Returns the next line; `None` after `longest`.
    pub fn next(&self, longest: Duration) -> Option<Line> {
        match self.lines.recv_timeout(longest) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Line::Gone),
        }
    }

    /// Returns how a driver that is gone has ended.
    pub fn last_words(&mut self) -> String {
        self.end();
        let status = self.driver.wait().map_or_else(|_| "without a status".to_owned(), |status| status.to_string());
        let lines = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        match telling(&lines) {
            Some(line) => format!("spark-submit ended early ({status}): {line}"),
            None => format!("spark-submit ended early ({status})"),
        }
    }

    /// Sends a line. A driver that has ended is reported by its last line.
    fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        }
    }

    /// Closes the input, waits until the driver has released its executors, and kills it after the
    /// grace period.
    fn end(&mut self) {
        self.input = None;
        let patience = Instant::now() + ENDING;
        while Instant::now() < patience && matches!(self.driver.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Fails if the driver has already ended.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.end();
    }
}

/// Parses a line of the driver; `None` for output of Spark or of the user's settings.
fn read(line: &str) -> Option<Line> {
    let line = line.strip_prefix("foreglow ")?;
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "started" => rest.split_once(' ').map(|(id, version)| Line::Started { id: id.into(), version: version.into() }),
        "ready" => Some(Line::Ready(Some(rest.to_owned()).filter(|cpu| !cpu.is_empty()))),
        "measuring" => Some(Line::Measuring),
        "progress" => rest.parse().ok().map(Line::Progress),
        "done" => serde_json::from_str(rest).ok().map(Line::Done),
        "measured" => Some(Line::Measured),
        "failed" => Some(Line::Failed(rest.replace('\t', "\n"))),
        _ => None,
    }
}

/// Returns the most informative line of Spark's log: the first error.
fn telling(lines: &VecDeque<String>) -> Option<&String> {
    let is_error = |line: &&String| line.contains(" ERROR ") || line.contains("Exception");
    lines.iter().find(is_error).or_else(|| lines.back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_lines_are_distinguished_from_other_output() {
        assert_eq!(read("foreglow ready"), Some(Line::Ready(None)));
        assert_eq!(read("foreglow ready Some CPU @ 2 GHz"), Some(Line::Ready(Some("Some CPU @ 2 GHz".into()))));
        assert_eq!(read("foreglow progress 12"), Some(Line::Progress(12)));
        assert_eq!(
            read("foreglow started app-1 3.5.9"),
            Some(Line::Started { id: "app-1".into(), version: "3.5.9".into() })
        );
        assert_eq!(read("foreglow failed one: two\tat Three"), Some(Line::Failed("one: two\nat Three".into())));
        assert!(matches!(
            read(r#"foreglow done {"done":{"partition":3,"images":8,"read_secs":0,"decode_secs":0,"forward_secs":1}}"#),
            Some(Line::Done(Report::Done { partition: 3, images: 8, .. }))
        ));
        for line in ["ready", "26/11/21 INFO SparkContext", "foreglow", "foreglow progress", "foreglow done {}"] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn the_first_error_is_reported() {
        let lines = ["INFO start", "26/11/21 ERROR StandaloneSchedulerBackend: no master", "INFO end"];
        let lines: VecDeque<String> = lines.map(str::to_owned).into();
        assert_eq!(telling(&lines), Some(&lines[1]));
        assert_eq!(telling(&VecDeque::from(["bye".to_owned()])).map(String::as_str), Some("bye"));
    }
}
