//! Ctrl-C: the first one ends the command gracefully, the second one immediately.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Flag that asks the command to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

/// Error of an interrupted command; finished work is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

impl Interrupt {
    /// Returns a flag that SIGINT raises.
    pub fn on_ctrl_c() -> Self {
        let interrupt = Self::default();
        let raised = interrupt.clone();
        // Without the thread, Ctrl-C ends the process immediately, and its executors with it.
        let _ = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                if tokio::signal::ctrl_c().await.is_ok() {
                    raised.0.store(true, Ordering::Relaxed);
                }
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::exit(130);
                }
            });
        });
        interrupt
    }

    /// Returns whether the flag was raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
