//! End of a command: exit codes, errors in the user's input, and signals.

mod interrupt;
mod leftovers;
mod notes;
mod reading;
mod temporary;
mod wrapping;

use std::process::ExitCode;

pub use self::interrupt::{Interrupt, Interrupted, Signals, outlive_the_file_size_limit};
pub use self::notes::{be_quiet, complain, is_quiet, note, plain};
pub use self::reading::{open_data, read_data, read_small, read_whole};
pub use self::temporary::{Temporary, create_in_place};
pub use self::wrapping::{NARROWEST, terminal_width, wrapped, wrapped_in};

/// Error in the user's input. All other errors are failures of the job.
#[derive(Debug, Clone)]
pub struct UnusableInput(pub String);

impl std::fmt::Display for UnusableInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnusableInput {}

/// Error for damaged stored data, such as after a fault of the disk. The exit code is that of
/// unusable input.
#[derive(Debug, Clone)]
pub struct Damaged(pub String);

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}

/// Standard output was closed by its reader, who has seen enough (`foreglow … | head`).
#[derive(Debug, Clone, Copy)]
pub struct OutputClosed;

impl std::fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for OutputClosed {}

/// Returns an error with exit code 2 and this message.
pub fn unusable(sentence: impl Into<String>) -> anyhow::Error {
    UnusableInput(sentence.into()).into()
}

/// Returns the error for a file that cannot be read.
pub fn unreadable(file: &std::path::Path, error: &std::io::Error) -> anyhow::Error {
    match error.kind() {
        std::io::ErrorKind::NotFound => unusable(format!("there is no file {}; check its name", file.display())),
        std::io::ErrorKind::IsADirectory => unusable(format!("{} is a folder; give a file", file.display())),
        _ => unusable(format!("the file {} cannot be read: {error}", file.display())),
    }
}

/// Prints the error, if any, and returns the exit code: 0 done, 1 the job failed, 2 unusable input,
/// 128 and the number of the signal that ended the command. [`OutputClosed`] is not a failure; any
/// other closed pipe or connection is.
pub fn report(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if error.chain().any(|cause| cause.is::<OutputClosed>()) {
        return ExitCode::SUCCESS;
    }
    complain(&format!("foreglow: {error:#}"));
    if error.chain().any(|cause| cause.is::<Interrupted>()) {
        return ExitCode::from(Interrupted::exit_code());
    }
    let is_input = error.chain().any(|cause| cause.is::<UnusableInput>() || cause.is::<Damaged>());
    ExitCode::from(if is_input { 2 } else { 1 })
}
