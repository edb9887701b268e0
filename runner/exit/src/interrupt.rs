//! Signals: the first one ends the command gracefully, the second one immediately.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use crate::leftovers::remove_all;

/// SIGINT, which Ctrl-C sends.
const INTERRUPT: u8 = 2;
#[cfg(unix)]
const TERMINATE: u8 = 15;
#[cfg(unix)]
const HANGUP: u8 = 1;
/// SIGXFSZ.
#[cfg(unix)]
const FILE_SIZE: i32 = 25;
/// Offset of the exit code of a process that a signal ends; the signal's number is added.
const SIGNAL_BASE: u8 = 128;

/// The first signal received; 0 before.
static SIGNAL: AtomicU8 = AtomicU8::new(0);

/// Flag that asks the command to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

/// Error of an interrupted command; finished work is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted(String);

impl Interrupted {
    /// Returns the error with a sentence about the finished work.
    pub fn with(sentence: impl Into<String>) -> anyhow::Error {
        Self(sentence.into()).into()
    }

    /// Returns the exit code of a command that a signal ended: 130 for SIGINT, 143 for SIGTERM, 129
    /// for SIGHUP.
    pub fn exit_code() -> u8 {
        match SIGNAL.load(Ordering::Relaxed) {
            0 => SIGNAL_BASE + INTERRUPT,
            signal => SIGNAL_BASE + signal,
        }
    }
}

impl Default for Interrupted {
    fn default() -> Self {
        Self("interrupted".to_owned())
    }
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Interrupted {}

impl Interrupt {
    /// Returns a flag that the first SIGINT, SIGTERM or SIGHUP raises. The second ends the command.
    pub fn on_signals() -> Self {
        let interrupt = Self::default();
        flags().push(interrupt.clone());
        listen();
        interrupt
    }

    /// Raises the flag.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag was raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The flags that the first signal raises.
static FLAGS: Mutex<Vec<Interrupt>> = Mutex::new(Vec::new());

fn flags() -> MutexGuard<'static, Vec<Interrupt>> {
    FLAGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread that waits for signals, and returns when it does. A signal ends the command
/// and removes what is temporary, unless it is the first and there are flags to raise.
pub fn listen() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        // Without the thread, a signal ends the process immediately, and its executors with it.
        let _ = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                let Ok(mut signals) = Signals::listen() else { return };
                // A failed send means that nobody waits.
                let _ = ready.send(());
                let signal = signals.next().await;
                SIGNAL.store(signal, Ordering::Relaxed);
                if raise(&flags()) {
                    signals.next().await;
                }
                let _held = remove_all();
                std::process::exit(i32::from(Interrupted::exit_code()));
            });
        });
        // An error means that the thread has ended.
        let _ = is_ready.recv();
    });
}

/// Raises the flags, and returns whether there are any.
fn raise(flags: &[Interrupt]) -> bool {
    flags.iter().for_each(Interrupt::raise);
    !flags.is_empty()
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) fail like one to a full disk,
/// instead of ending the process by SIGXFSZ without a message and in the middle of a line.
pub fn outlive_the_file_size_limit() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays for the life of the process. Without it, only the message is missing.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let _ = runtime.map(|runtime| {
            let _entered = runtime.enter();
            signal(SignalKind::from_raw(FILE_SIZE)).map(drop)
        });
    }
}

/// The signals that end a command.
#[cfg(unix)]
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` if the process ignores SIGHUP, as under `nohup`.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    /// Installs the handlers now, not at the first wait.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = if ignores(&status, HANGUP) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())?, hangup })
    }

    /// Waits for the next signal and returns its number.
    pub async fn next(&mut self) -> u8 {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPT,
            _ = self.terminate.recv() => TERMINATE,
            () = hangup => HANGUP,
        }
    }
}

/// Returns whether a process ignores a signal, from its `/proc/PID/status`.
#[cfg(unix)]
fn ignores(status: &str, signal: u8) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_the_process_ignores_is_told_by_its_mask() {
        let nohup = "Name:\tforeglow\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert!(ignores(nohup, HANGUP) && !ignores(nohup, TERMINATE) && !ignores("", HANGUP));
    }
}

/// The signals that end a command.
#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Installs the handler.
    ///
    /// # Errors
    /// Never on this platform.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next signal and returns its number.
    pub async fn next(&mut self) -> u8 {
        // If no handler can be installed, Ctrl-C ends the process directly.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        INTERRUPT
    }
}
