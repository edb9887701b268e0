//! Queue of orders to a training executor. A separate thread reads the input, so that its end is
//! noticed at once.

use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use anyhow::Context as _;

use foreglow_protocol::Order;

/// Orders not executed yet.
pub struct Inbox {
    lines: mpsc::Receiver<std::io::Result<String>>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    has_ended: AtomicBool,
    is_busy: AtomicBool,
}

impl Inbox {
    /// Starts reading the input.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn open(input: impl BufRead + Send + 'static) -> anyhow::Result<Self> {
        let (sender, lines) = mpsc::channel();
        let state = Arc::new(State::default());
        let seen = Arc::clone(&state);
        let read = move || {
            for line in input.lines() {
                // A failed send means that the executor is ending.
                let _ = sender.send(line);
            }
            seen.has_ended.store(true, Ordering::SeqCst);
            if seen.is_busy.load(Ordering::SeqCst) {
                abandon();
            }
        };
        std::thread::Builder::new().name("orders".into()).spawn(read).context("a thread could not be started")?;
        Ok(Self { lines, state })
    }

    /// Returns the next order, or `None` once the input has ended.
    ///
    /// # Errors
    /// A line is not an order.
    pub fn next(&self) -> anyhow::Result<Option<Order>> {
        let Ok(line) = self.lines.recv() else { return Ok(None) };
        let line = line.context("standard input broke off")?;
        serde_json::from_str(&line).map(Some).with_context(|| format!("this line is not an order: {line}"))
    }

    /// Runs a long operation. If the input ends first, the result is not needed: the process exits,
    /// which closes the connections that other executors may wait for.
    ///
    /// # Errors
    /// The operation failed.
    pub fn while_wanted<T>(&self, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.state.is_busy.store(true, Ordering::SeqCst);
        if self.state.has_ended.load(Ordering::SeqCst) {
            abandon();
        }
        let result = work();
        self.state.is_busy.store(false, Ordering::SeqCst);
        result
    }
}

fn abandon() {
    eprintln!("the input ended before the training did");
    std::process::exit(1);
}
