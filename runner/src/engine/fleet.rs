//! The executor processes of a run. Dropping the fleet ends every one of them.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;

use super::memory_group::MemoryGroup;
use super::watch::{Usage, Watch};
use crate::executor::protocol::{Assignment, Order, Partition, Report};

/// Lines of an executor's standard error that are kept for its last words.
const KEPT_LINES: usize = 20;
/// How long an executor may take to end once its input has.
const ENDING: Duration = Duration::from_secs(5);

/// The executors of one run, numbered from 0.
pub struct Fleet {
    executors: Vec<Executor>,
    events: Receiver<(usize, Event)>,
    watch: Watch,
}

/// What holds an executor to its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryBound {
    /// A control group of its own, which counts what it holds.
    Cgroup,
    /// A limit on the memory that it may ask for.
    Rlimit,
}

/// What reaches the engine from an executor.
#[derive(Debug)]
pub enum Event {
    /// A line of the protocol.
    Report(Report),
    /// A line that is none.
    Garbled(String),
    /// The executor has closed its output: it has ended, or is about to.
    Gone,
}

/// How an executor ended.
#[derive(Debug)]
pub struct End {
    /// Its exit status, if the system knows it.
    pub status: Option<ExitStatus>,
    /// Its last lines on standard error.
    pub last_words: Vec<String>,
    /// Whether the system has ended it because it went over its memory.
    pub is_out_of_memory: bool,
}

struct Executor {
    child: Child,
    input: Option<ChildStdin>,
    errors: Option<JoinHandle<VecDeque<String>>>,
    bound: Option<MemoryBound>,
    /// Removed after the executor has ended.
    group: Option<MemoryGroup>,
}

impl Fleet {
    /// Starts an executor for each assignment, holds it to its memory, and hands the assignment over.
    ///
    /// # Errors
    /// The system refuses to start a process.
    pub fn start(assignments: &[Assignment]) -> anyhow::Result<Self> {
        let (sender, events) = mpsc::channel();
        let mut executors = Vec::new();
        for (index, assignment) in assignments.iter().enumerate() {
            let mut executor = Executor::start(index, sender.clone())
                .with_context(|| format!("executor {} of {} could not be started", index + 1, assignments.len()))?;
            let assignment = executor.bound_memory(assignment);
            // An executor that is gone already says so by its end.
            let _ = executor.say(&assignment);
            executors.push(executor);
        }
        let watch = Watch::new(executors.iter().map(|executor| executor.child.id()).collect());
        Ok(Self { executors, events, watch })
    }

    /// What holds each executor to its memory.
    pub fn memory_bounds(&self) -> impl Iterator<Item = Option<MemoryBound>> {
        self.executors.iter().map(|executor| executor.bound)
    }

    /// What each executor has used so far.
    pub fn usages(&self) -> &[Usage] {
        self.watch.usages()
    }

    /// Processor time of all executors by now, seconds.
    pub fn processor_secs(&mut self) -> f64 {
        self.watch.look();
        self.watch.processor_secs()
    }

    /// Processors that the executors had in the last moments.
    pub fn processors_in_use(&self) -> f64 {
        self.watch.processors_in_use()
    }

    /// Returns the resident memory of all executors now, MiB.
    pub fn memory_mib(&self) -> Option<u64> {
        self.watch.memory_mib()
    }

    /// Hands a partition to an executor. One that is gone says so by its end.
    pub fn hand_out(&mut self, executor: usize, partition: Partition) {
        let _ = self.executors[executor].say(&Order::Partition(partition));
    }

    /// Gives an executor an order. One that is gone says so by its end.
    pub fn order(&mut self, executor: usize, order: &Order) {
        let _ = self.executors[executor].say(order);
    }

    /// Waits for the next event; `None` once the time is over.
    pub fn next(&mut self, longest: Duration) -> Option<(usize, Event)> {
        self.watch.glance();
        match self.events.recv_timeout(longest) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            // Every executor's reader has ended: nothing will ever come. The caller's clock goes on.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(longest);
                None
            }
        }
    }

    /// Ends every executor's input and waits for the last reports, with the most memory that each held.
    pub fn finish(&mut self) {
        for executor in &mut self.executors {
            executor.input = None;
        }
        let (end, mut gone) = (Instant::now() + ENDING, 0);
        while gone < self.executors.len() {
            match self.next(end.saturating_duration_since(Instant::now())) {
                Some((executor, Event::Report(Report::Ended { peak_memory_mib }))) => {
                    self.watch.note(executor, peak_memory_mib);
                }
                Some((_, Event::Gone)) => gone += 1,
                Some(_) => {}
                None => break,
            }
        }
    }

    /// Whether an executor that is gone has ended otherwise than well.
    pub fn has_failed(&mut self, executor: usize) -> bool {
        let patience = Instant::now() + ENDING;
        while Instant::now() < patience {
            match self.executors[executor].child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Ok(Some(status)) => return !status.success(),
                Err(_) => return false,
            }
        }
        false
    }

    /// How an executor that is gone has ended.
    pub fn end_of(&mut self, executor: usize) -> End {
        let executor = &mut self.executors[executor];
        let patience = Instant::now() + ENDING;
        let mut status = None;
        while status.is_none() && Instant::now() < patience {
            status = executor.child.try_wait().ok().flatten();
            if status.is_none() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        executor.kill();
        let last_words = executor.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        let is_out_of_memory = executor.group.as_ref().is_some_and(MemoryGroup::has_killed);
        End { status, last_words: last_words.into(), is_out_of_memory }
    }
}

impl Executor {
    fn start(index: usize, events: Sender<(usize, Event)>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("the path of this program is unknown")?;
        let mut command = Command::new(program);
        command.args(["executor", "--engine", &std::process::id().to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the engine: it ends its executors itself.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut executor = Self { child, input, errors: None, bound: None, group: None };
        let (Some(output), Some(errors)) = (output, errors) else {
            anyhow::bail!("its pipes are missing");
        };
        executor.errors = Some(std::thread::Builder::new().spawn(move || last_lines(BufReader::new(errors)))?);
        std::thread::Builder::new().spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).map_or(Event::Garbled(line), Event::Report);
                // A failed send means that the engine has turned away.
                let _ = events.send((index, event));
            }
            let _ = events.send((index, Event::Gone));
        })?;
        Ok(executor)
    }

    /// Holds the executor to its memory: by a group of its own where that is allowed, else it is told to do so itself.
    fn bound_memory(&mut self, assignment: &Assignment) -> Assignment {
        let Some(memory_mib) = assignment.memory_mib else { return assignment.clone() };
        self.group = MemoryGroup::around(self.child.id(), memory_mib);
        self.bound = match &self.group {
            Some(_) => Some(MemoryBound::Cgroup),
            // Drivers of graphics cards ask for far more memory than they hold.
            None => assignment.place.is_native().then_some(MemoryBound::Rlimit),
        };
        let memory_mib = (self.bound == Some(MemoryBound::Rlimit)).then_some(memory_mib);
        Assignment { memory_mib, ..assignment.clone() }
    }

    fn say(&mut self, message: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_string(message)?;
        line.push('\n');
        let input = self.input.as_mut().context("its input is closed")?;
        input.write_all(line.as_bytes())?;
        Ok(input.flush()?)
    }

    fn kill(&mut self) {
        // It fails where the executor has ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.input = None;
        self.kill();
    }
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
