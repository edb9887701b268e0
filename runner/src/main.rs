//! `foreglow`: measures CNN jobs on small samples, collects timing samples, and predicts the whole
//! job.
//!
//! Standard output holds only the answer; progress and logs go to standard error. Exit codes: 0
//! done, 1 the job failed, 2 unusable input.

mod answer;
mod ask;
mod cli;
mod cnn;
mod collector;
mod commands;
mod device;
mod engine;
mod evaluation;
mod event_log;
mod executor;
mod exit;
mod grammar;
mod images;
mod input;
mod interrupt;
mod machine;
mod output;
mod place;
mod progress;
mod question;
mod sample_table;
mod samples_file;
mod store;
mod sweep;
mod table;
mod texts;
mod upload;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => match cli::sentence(&error) {
            Some(sentence) => return exit::report(Err(exit::unusable(sentence))),
            // Help and version.
            None => error.exit(),
        },
    };
    progress::be_quiet(cli.quiet);
    exit::report(cli.command.run())
}
