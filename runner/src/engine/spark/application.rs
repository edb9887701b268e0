//! One Spark application: the process of its driver, and the lines that they exchange. Dropping it ends the application.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_shared::Uuid;

use super::rounds::Rounds;
use crate::executor::protocol::{Assignment, Evaluation, Order, Report};

/// Lines of Spark's log that are kept for its last words.
const KEPT_LINES: usize = 200;
/// How long the driver may take to end once its input has: it gives the executors back to the cluster.
const ENDING: Duration = Duration::from_secs(20);

/// A running application.
pub struct Application {
    driver: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Line>,
    errors: Option<JoinHandle<VecDeque<String>>>,
}

/// A line of the driver, whose form stands in `runner/spark/foreglow/Driver.java`.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// The cluster has taken the application.
    Started {
        /// Its name there.
        id: String,
        /// Version of Spark.
        version: String,
    },
    /// Every executor is there, on processors of this name, where Spark's own settings do not say it already.
    Ready(Option<String>),
    /// The timed job starts.
    Measuring,
    /// Tasks of it that have ended.
    Progress(u64),
    /// What an executor says of a partition of it.
    Done(Report),
    /// It has ended.
    Measured,
    /// The application has failed, and why, as Spark says it.
    Failed(String),
    /// The driver has ended.
    Gone,
}

/// A job that the driver is asked to time.
#[derive(Clone, Debug)]
pub struct Request {
    /// The sample's, for the event log.
    pub id: Uuid,
    /// Share of the images, for the event log.
    pub sampling_rate: f64,
    /// What the executors do.
    pub task: Task,
}

/// What the executors do in a timed job.
#[derive(Clone, Debug)]
pub enum Task {
    /// They work through partitions.
    Work {
        /// Images of the sample.
        images: u64,
        /// Images of a partition.
        partition_size: u32,
        /// Sizes of the mini-batches to warm up with.
        mini_batches: Vec<usize>,
    },
    /// They train, and judge the CNN afterwards.
    Train {
        /// The rounds after which Spark averages; `None` where the executors do.
        rounds: Option<Rounds>,
        /// What each of them judges it by, by rank; none where nothing was held out.
        evaluations: Vec<Evaluation>,
    },
}

impl Task {
    /// As the driver reads it.
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
    /// Submits it, and tells the driver what its executors are told.
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
        // What the workers of this machine's own cluster reach in any case.
        if on_loopback && std::env::var_os("SPARK_LOCAL_IP").is_none() {
            command.env("SPARK_LOCAL_IP", "127.0.0.1");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the engine: it ends the application itself.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut driver = command.spawn().with_context(|| format!("{} could not be started", program.display()))?;
        let (input, output, errors) = (driver.stdin.take(), driver.stdout.take(), driver.stderr.take());
        let (sender, lines) = mpsc::channel();
        let mut application = Self { driver, input, lines, errors: None };
        let (Some(output), Some(errors)) = (output, errors) else {
            anyhow::bail!("the pipes of {} are missing", program.display());
        };
        application.errors = Some(std::thread::Builder::new().spawn(move || last_lines(BufReader::new(errors)))?);
        std::thread::Builder::new().spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for line in lines.filter_map(|line| read(&line)).chain([Line::Gone]) {
                // A failed send means that the engine has turned away.
                let _ = sender.send(line);
            }
        })?;
        application.say(&serde_json::to_string(assignment)?);
        Ok(application)
    }

    /// Asks for a timed job.
    ///
    /// # Errors
    /// The request cannot be written.
    pub fn ask(&mut self, request: &Request) -> anyhow::Result<()> {
        let Request { id, sampling_rate, task } = request;
        let (word, more) = task.words()?;
        self.say(&format!("{word} {id} {sampling_rate} {more}"));
        Ok(())
    }

    /// The next line; `None` once the time is over.
    pub fn next(&self, longest: Duration) -> Option<Line> {
        match self.lines.recv_timeout(longest) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Line::Gone),
        }
    }

    /// How a driver that is gone has ended.
    pub fn last_words(&mut self) -> String {
        self.end();
        let status = self.driver.wait().map_or_else(|_| "without a status".to_owned(), |status| status.to_string());
        let lines = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        match telling(&lines) {
            Some(line) => format!("spark-submit ended early ({status}): {line}"),
            None => format!("spark-submit ended early ({status})"),
        }
    }

    /// A driver that is gone says so by its last line.
    fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        }
    }

    /// Ends its input, waits until it has given its executors back, and kills it where it does not.
    fn end(&mut self) {
        self.input = None;
        let patience = Instant::now() + ENDING;
        while Instant::now() < patience && matches!(self.driver.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // It fails where the driver has ended by itself, which is as good.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads a line of the driver; `None` of one that Spark or the person's own settings wrote.
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

/// The line of Spark's log that says most: the first error.
fn telling(lines: &VecDeque<String>) -> Option<&String> {
    let is_error = |line: &&String| line.contains(" ERROR ") || line.contains("Exception");
    lines.iter().find(is_error).or_else(|| lines.back())
}

fn last_lines(errors: impl std::io::BufRead) -> VecDeque<String> {
    let mut lines = VecDeque::new();
    for line in errors.lines().map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_driver_are_told_from_those_of_others() {
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
    fn the_first_error_tells_most() {
        let lines = ["INFO start", "26/11/21 ERROR StandaloneSchedulerBackend: no master", "INFO end"];
        let lines: VecDeque<String> = lines.map(str::to_owned).into();
        assert_eq!(telling(&lines), Some(&lines[1]));
        assert_eq!(telling(&VecDeque::from(["bye".to_owned()])).map(String::as_str), Some("bye"));
    }
}
