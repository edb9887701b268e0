//! The executor processes of a run. Dropping the pool ends all of them.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_protocol::{Assignment, Order, Partition, Report};
use serde::Serialize;

use super::control_group::ControlGroup;
use super::cpu_quota::CpuQuota;
use super::last_lines::last_lines;
use super::watch::{Usage, Watch};

/// Lines of an executor's standard error to keep.
const KEPT_LINES: usize = 20;
/// Share of the periods in which an undisturbed executor uses up its CPU quota; periods without
/// work, such as the last, are the exception.
const FULL_QUOTA: f64 = 0.9;
/// Grace period for an executor after the end of its input.
const ENDING: Duration = Duration::from_secs(5);

/// The executors of a run, numbered from 0.
pub struct ExecutorPool {
    executors: Vec<Executor>,
    events: Receiver<(usize, Event)>,
    watch: Watch,
}

/// Mechanism that limits an executor's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryBound {
    /// A control group of its own, which limits resident memory.
    Cgroup,
    /// A resource limit on writable memory.
    Rlimit,
}

/// Event from an executor.
#[derive(Debug)]
pub enum Event {
    /// A line of the protocol.
    Report(Report),
    /// A line that is not part of the protocol.
    Garbled(String),
    /// The executor has closed its output, because it has ended or is about to.
    Gone,
}

/// How an executor ended.
#[derive(Debug)]
pub struct End {
    /// Exit status, if known.
    pub status: Option<ExitStatus>,
    /// Last lines of its standard error.
    pub last_words: Vec<String>,
    /// Whether the system killed it for exceeding its memory limit.
    pub is_out_of_memory: bool,
}

struct Executor {
    child: Child,
    input: Option<ChildStdin>,
    errors: Option<JoinHandle<VecDeque<String>>>,
    bound: Option<MemoryBound>,
    quota: Option<CpuQuota>,
    /// Removed after the executor has ended.
    group: Option<ControlGroup>,
}

impl ExecutorPool {
    /// Starts an executor for each assignment, limits its memory, and sends it the assignment.
    /// `core_share` is the share of a processor that each task thread gets once
    /// [`ExecutorPool::slow_down`] is called.
    ///
    /// # Errors
    /// The system cannot start a process, or does not permit CPU quotas.
    pub fn start(assignments: &[Assignment], core_share: Option<f64>) -> anyhow::Result<Self> {
        let (sender, events) = mpsc::channel();
        let mut executors = Vec::new();
        for (index, assignment) in assignments.iter().enumerate() {
            let mut executor = Executor::start(index, sender.clone())
                .with_context(|| format!("executor {} of {} could not be started", index + 1, assignments.len()))?;
            let assignment = executor.bound_memory(assignment);
            if let Some(share) = core_share {
                executor.prepare_quota(share * f64::from(assignment.threads))?;
            }
            executor.say(&assignment)?;
            executors.push(executor);
        }
        let watch = Watch::new(executors.iter().map(|executor| executor.child.id()).collect());
        Ok(Self { executors, events, watch })
    }

    /// Enforces the CPU quotas, if the executors have any, or lifts them.
    ///
    /// # Errors
    /// The system refuses the quota.
    pub fn slow_down(&self, is_slow: bool) -> anyhow::Result<()> {
        let quotas = self.executors.iter().filter_map(|executor| executor.quota.as_ref());
        for quota in quotas {
            quota.enforce(is_slow).context("the CPU quota of an executor could not be set")?;
        }
        Ok(())
    }

    /// Returns whether every executor has a CPU quota and used it up in nearly every period, which
    /// means that other programs did not slow it down.
    pub fn has_full_quotas(&self) -> bool {
        let is_full = |quota: &CpuQuota| quota.used_up().is_some_and(|share| share >= FULL_QUOTA);
        self.executors.iter().all(|executor| executor.quota.as_ref().is_some_and(is_full))
    }

    /// Returns the memory limit of each executor.
    pub fn memory_bounds(&self) -> impl Iterator<Item = Option<MemoryBound>> {
        self.executors.iter().map(|executor| executor.bound)
    }

    /// Returns the resource use of each executor so far.
    pub fn usages(&self) -> &[Usage] {
        self.watch.usages()
    }

    /// Returns the CPU time of all executors so far, seconds.
    pub fn processor_secs(&mut self) -> f64 {
        self.watch.look();
        self.watch.processor_secs()
    }

    /// Returns the processors that the executors used recently.
    pub fn processors_in_use(&self) -> f64 {
        self.watch.processors_in_use()
    }

    /// Returns the resident memory of all executors now, MiB.
    pub fn memory_mib(&self) -> Option<u64> {
        self.watch.memory_mib()
    }

    /// Sends a partition to an executor. An executor that has ended is reported as an event.
    ///
    /// # Errors
    /// The order cannot be sent to an executor that waits for it.
    pub fn hand_out(&mut self, executor: usize, partition: Partition) -> anyhow::Result<()> {
        self.order(executor, &Order::Partition(partition))
    }

    /// Sends an order to an executor. An executor that has ended is reported as an event.
    ///
    /// # Errors
    /// The order cannot be sent to an executor that waits for it.
    pub fn order(&mut self, executor: usize, order: &Order) -> anyhow::Result<()> {
        self.executors[executor].say(order)
    }

    /// Waits for the next event; `None` after `longest`.
    pub fn next(&mut self, longest: Duration) -> Option<(usize, Event)> {
        self.watch.glance();
        match self.events.recv_timeout(longest) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            // All readers have ended, so no event will arrive, but the caller's timeout still has
            // to pass.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(longest);
                None
            }
        }
    }

    /// Closes the input of every executor and waits for the final reports, which have the peak
    /// memory.
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

    /// Returns whether an executor that has closed its output ends with an error.
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

    /// Returns how an executor that has closed its output ended.
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
        let is_out_of_memory = executor.group.as_ref().is_some_and(ControlGroup::has_killed);
        End { status, last_words: last_words.into(), is_out_of_memory }
    }
}

impl Executor {
    fn start(index: usize, events: Sender<(usize, Event)>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("the path of this program is unknown")?;
        let mut command = Command::new(program);
        command.args(["executor", "--engine", &std::process::id().to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A separate process group keeps Ctrl-C from the executors, because the engine ends them
        // itself.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut executor = Self { child, input, errors: None, bound: None, quota: None, group: None };
        let (Some(output), Some(errors)) = (output, errors) else {
            anyhow::bail!("its pipes are missing");
        };
        executor.errors =
            Some(std::thread::Builder::new().spawn(move || last_lines(BufReader::new(errors), KEPT_LINES))?);
        std::thread::Builder::new().spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).map_or(Event::Garbled(line), Event::Report);
                // A failed send means that the engine has stopped listening.
                let _ = events.send((index, event));
            }
            let _ = events.send((index, Event::Gone));
        })?;
        Ok(executor)
    }

    /// Limits the executor's memory by a control group if allowed; otherwise the executor limits
    /// itself.
    fn bound_memory(&mut self, assignment: &Assignment) -> Assignment {
        let Some(memory_mib) = assignment.memory_mib else { return assignment.clone() };
        self.group = ControlGroup::with_memory(self.child.id(), memory_mib);
        self.bound = match &self.group {
            Some(_) => Some(MemoryBound::Cgroup),
            // Drivers of graphics cards reserve far more address space than they use.
            None => assignment.place.is_native().then_some(MemoryBound::Rlimit),
        };
        let memory_mib = (self.bound == Some(MemoryBound::Rlimit)).then_some(memory_mib);
        Assignment { memory_mib, ..assignment.clone() }
    }

    fn prepare_quota(&mut self, processors: f64) -> anyhow::Result<()> {
        let quota = CpuQuota::around(self.child.id(), processors, self.group.as_ref());
        self.quota = Some(quota.context("this system does not permit a CPU quota for --core-share")?);
        Ok(())
    }

    /// Sends a line of the protocol. Only a closed pipe is no error: the end of the executor is
    /// reported as an event. Any other message that is lost would be waited for without end.
    fn say(&mut self, message: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_string(message).context("a message to an executor cannot be written as JSON")?;
        line.push('\n');
        let Some(input) = &mut self.input else { return Ok(()) };
        match input.write_all(line.as_bytes()).and_then(|()| input.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("an executor cannot be reached"),
            _ => Ok(()),
        }
    }

    fn kill(&mut self) {
        // Fails if the executor has already ended.
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
