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
