//! A command whose output is shown and read.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const CHUNK: usize = 64 << 10;
/// Chunks that wait to be read; then the command waits, as it would for a slow terminal.
const MOST_WAITING: usize = 64;

/// A running command. Its output goes where it would go without Foreglow, which reads it as well.
#[derive(Debug)]
pub struct FollowedCommand {
    child: Child,
    /// The stream, 0 for the output and 1 for the errors, and what was written to it.
    chunks: Receiver<(usize, Vec<u8>)>,
}

impl FollowedCommand {
    /// Starts a command.
    ///
    /// # Errors
    /// The program is missing, or the system cannot start it.
    pub fn start(words: &[String]) -> io::Result<Self> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(arguments)
            // A Python program that prints into a pipe would otherwise keep it in a buffer.
            .env("PYTHONUNBUFFERED", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (sender, chunks) = mpsc::sync_channel(MOST_WAITING);
        if let Some(output) = child.stdout.take() {
            copy(0, output, io::stdout(), sender.clone())?;
        }
        if let Some(errors) = child.stderr.take() {
            copy(1, errors, io::stderr(), sender)?;
        }
        Ok(Self { child, chunks })
    }

    /// Passes on the output that arrives within a time: the stream, 0 for the output and 1 for the
    /// errors, and the bytes. Returns whether there may be more.
    pub fn read(&mut self, within: Duration, on_bytes: &mut dyn FnMut(usize, &[u8])) -> bool {
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.chunks.recv_timeout(left) {
                Ok((stream, chunk)) => on_bytes(stream, &chunk),
                Err(mpsc::RecvTimeoutError::Timeout) => return true,
                Err(mpsc::RecvTimeoutError::Disconnected) => return false,
            }
            // A command that writes without a pause always has the next chunk ready.
            if left.is_zero() {
                return true;
            }
        }
    }

    /// Returns how the command ended, once it has.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks the command to end.
    pub fn stop(&mut self) {
        // Fails if it has ended.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }
}

/// Copies a stream to its end, in a thread of its own.
fn copy(
    stream: usize,
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    sender: SyncSender<(usize, Vec<u8>)>,
) -> io::Result<()> {
    std::thread::Builder::new().spawn(move || {
        let mut chunk = vec![0; CHUNK];
        loop {
            match from.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    // Where nobody reads the output any more, the progress still counts.
                    let _ = to.write_all(&chunk[..length]).and_then(|()| to.flush());
                    if sender.send((stream, chunk[..length].to_vec())).is_err() {
                        break;
                    }
                }
            }
        }
    })?;
    Ok(())
}
