//! A running program with its process group, its resources and its output. Dropping it ends every
//! process of the group.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foreglow_machine::bounds;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::output::Output;
use super::tree::{Tree, members};
use crate::control_group::ControlGroup;

/// Time that a program has to end after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// Time that it has to end after SIGKILL.
const KILL_GRACE: Duration = Duration::from_secs(30);
/// Time that the children of a program that has ended have to end.
const CHILDREN_GRACE: Duration = Duration::from_secs(2);
/// Bytes of output that a program can write while it is not read; more than the 64 KiB of the
/// system, so that a pause of the reader does not stop a program that writes much.
const PIPE_BYTES: usize = 1 << 20;
/// Time in which the rest of the output arrives after the end.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// Resources of a program.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Processors, by the system's numbers; empty for all.
    pub processors: Vec<u32>,
    /// Memory of all processes together, MiB; `None` without a limit.
    pub memory_mib: Option<u32>,
    /// Environment variables.
    pub variables: Vec<(String, String)>,
}

/// A running program.
pub struct Process {
    child: std::process::Child,
    group: Pid,
    started: Instant,
    /// The moment at which the program ended.
    ended: Receiver<Instant>,
    ended_at: Option<Instant>,
    readers: Vec<JoinHandle<()>>,
    control_group: Option<ControlGroup>,
    memory_mib: Option<u32>,
    tree: Tree,
    output: Output,
    is_reaped: bool,
}

/// How a program ended.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Exit status, if known.
    pub status: Option<ExitStatus>,
    /// Last lines of its output.
    pub last_lines: Vec<String>,
    /// Whether the system ended one of its processes for exceeding the memory limit.
    pub is_out_of_memory: bool,
    /// Processes that the program left behind, and that were ended.
    pub left_behind: usize,
}

impl Process {
    /// Starts a program in a process group of its own, so that Ctrl-C does not reach it and all of
    /// its processes can be ended. Its input is closed.
    ///
    /// # Errors
    /// The program is missing, or the system cannot start it.
    pub fn start(words: &[String], resources: &Resources, output: Output) -> io::Result<Self> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(resources.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let started = output.started();
        let mut child = spawn(&mut command, &resources.processors)?;
        let group = Pid::from_child(&child);
        let control_group = resources.memory_mib.and_then(|mib| ControlGroup::with_memory(child.id(), mib));
        let (tree, (sender, ended)) = (Tree::of(child.id()), mpsc::channel());
        let streams = (child.stdout.take(), child.stderr.take());
        streams.0.iter().for_each(enlarge);
        streams.1.iter().for_each(enlarge);
        let mut process = Self {
            child,
            group,
            started,
            ended,
            ended_at: None,
            readers: Vec::new(),
            memory_mib: resources.memory_mib,
            control_group,
            tree,
            output,
            is_reaped: false,
        };
        process.readers.extend(streams.0.map(|stream| process.output.read(0, stream)).transpose()?);
        process.readers.extend(streams.1.map(|stream| process.output.read(1, stream)).transpose()?);
        std::thread::Builder::new().spawn(move || {
            // The status stays unread, so that the number of the group is not given to others.
            while matches!(
                waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT),
                Err(rustix::io::Errno::INTR)
            ) {}
            // A failed send means that nobody waits for the end.
            let _ = sender.send(Instant::now());
        })?;
        Ok(process)
    }

    /// Waits for the end, at most for a time. Returns whether the program has ended.
    pub fn wait(&mut self, longest: Duration) -> bool {
        if self.ended_at.is_some() {
            return true;
        }
        match self.ended.recv_timeout(longest) {
            Ok(at) => self.ended_at = Some(at),
            Err(RecvTimeoutError::Timeout) => self.tree.glance(),
            Err(RecvTimeoutError::Disconnected) => self.ended_at = Some(Instant::now()),
        }
        self.ended_at.is_some()
    }

    /// Returns the time from the start to the end, or until now.
    pub fn elapsed(&self) -> Duration {
        self.ended_at.unwrap_or_else(Instant::now) - self.started
    }

    /// Returns the output of the program.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Returns when the program was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Returns the resource use so far.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Takes a sample of the resource use.
    pub fn look(&mut self) {
        self.tree.look();
    }

    /// Returns whether the processes use more memory than their limit, which a control group
    /// enforces, if there is one.
    pub fn exceeds_memory(&self) -> bool {
        let is_watched = self.control_group.is_none();
        is_watched && self.memory_mib.zip(self.tree.memory_mib()).is_some_and(|(most, now)| now > u64::from(most))
    }

    /// Returns the mechanism that limits the memory.
    pub fn memory_bound(&self) -> Option<&'static str> {
        self.memory_mib.map(|_| if self.control_group.is_some() { "cgroup" } else { "watched" })
    }

    /// Asks all processes of the group to end, kills those that do not, and returns how the program
    /// ended.
    pub fn end(mut self) -> End {
        if self.ended_at.is_none() {
            self.stop();
        }
        self.tree.look();
        let left_behind = self.end_children();
        let patience = Instant::now() + OUTPUT_GRACE;
        while self.readers.iter().any(|reader| !reader.is_finished()) && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.output.finish();
        self.is_reaped = true;
        End {
            status: self.child.try_wait().ok().flatten(),
            last_lines: self.output.last_lines(),
            is_out_of_memory: self.control_group.as_ref().is_some_and(ControlGroup::has_killed),
            left_behind,
        }
    }

    fn stop(&mut self) {
        self.signal(Signal::TERM);
        let patience = Instant::now() + GRACE;
        while !self.wait(Duration::from_millis(100)) && Instant::now() < patience {}
        if self.ended_at.is_none() {
            self.stop_at_once();
        }
    }

    /// Ends the processes that the program left behind, and returns their number.
    fn end_children(&self) -> usize {
        let group = self.child.id();
        let count = members(group).len();
        if count > 0 {
            self.signal(Signal::TERM);
            let patience = Instant::now() + CHILDREN_GRACE;
            while !members(group).is_empty() && Instant::now() < patience {
                std::thread::sleep(Duration::from_millis(20));
            }
            self.kill();
        }
        count
    }

    /// Kills all processes. One that waits for a device may not end before the device answers.
    fn stop_at_once(&mut self) {
        self.kill();
        let patience = Instant::now() + KILL_GRACE;
        while !self.wait(Duration::from_millis(20)) && Instant::now() < patience {}
    }

    fn kill(&self) {
        self.signal(Signal::KILL);
        if let Some(group) = &self.control_group {
            group.kill();
        }
    }

    fn signal(&self, signal: Signal) {
        // Fails if all processes have ended.
        let _ = kill_process_group(self.group, signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.stop_at_once();
            // Reads the status, so that no ended process stays in the system's table.
            let _ = self.child.try_wait();
        }
    }
}

/// Enlarges the buffer of a pipe, if the system does.
fn enlarge(pipe: &impl AsFd) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

/// Starts a program on these processors. A thread is pinned and starts the program, which inherits
/// its processors.
fn spawn(command: &mut Command, processors: &[u32]) -> io::Result<std::process::Child> {
    if processors.is_empty() {
        return command.spawn();
    }
    std::thread::scope(|scope| {
        let pinned = scope.spawn(|| {
            bounds::pin(processors).map_err(io::Error::other)?;
            command.spawn()
        });
        pinned.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts the program ended")))
    })
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
