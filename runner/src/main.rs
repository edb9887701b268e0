//! `foreglow`: measures CNN jobs on small samples, collects timing samples, and predicts the whole
//! job.
//!
//! Standard output holds only the answer; progress and logs go to standard error. Exit codes: 0
//! done, 1 the job failed, 2 unusable input.

mod cli;
mod commands;
mod refusal;

use std::process::ExitCode;

use clap::Parser as _;
use foreglow_console::progress;
use foreglow_exit::{outlive_the_file_size_limit, report, unusable};

fn main() -> ExitCode {
    outlive_the_file_size_limit();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => match refusal::sentence(&error) {
            Some(sentence) => return report(Err(unusable(sentence))),
            // Help and version are not errors.
            None => error.exit(),
        },
    };
    progress::be_quiet(cli.quiet);
    report(cli.command.run())
}
