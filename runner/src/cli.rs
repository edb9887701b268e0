//! Command line; each subcommand is a file of `commands`.

use clap::{Parser, Subcommand};

use crate::commands::{
    advise, collect, demo, devices, evaluate, executor, import, link, models, pack, plan, predict, read_test, run,
    serve, simulate, upload,
};

/// Run a little, know the whole: predicts the time and the cost of a CNN job on every cluster
/// configuration from a few short runs, and recommends the cheapest that meets the deadline.
#[derive(Debug, Parser)]
#[command(name = "foreglow", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Devices(devices::Args),
    Models(models::Args),
    Pack(pack::Args),
    ReadTest(read_test::Args),
    Run(Box<run::Args>),
    Collect(Box<collect::Args>),
    Import(import::Args),
    Evaluate(evaluate::Args),
    Predict(predict::Args),
    Plan(plan::Args),
    Advise(advise::Args),
    Simulate(simulate::Args),
    Serve(serve::Args),
    Upload(upload::Args),
    Link(link::Args),
    #[command(hide = true)]
    Executor(executor::Args),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Demo(args) => demo::run(&args),
            Self::Devices(args) => devices::run(&args),
            Self::Models(args) => models::run(&args),
            Self::Pack(args) => pack::run(&args),
            Self::ReadTest(args) => read_test::run(&args),
            Self::Run(args) => run::run(&args),
            Self::Collect(args) => collect::run(&args),
            Self::Import(args) => import::run(&args),
            Self::Evaluate(args) => evaluate::run(&args),
            Self::Predict(args) => predict::run(&args),
            Self::Plan(args) => plan::run(&args),
            Self::Advise(args) => advise::run(&args),
            Self::Simulate(args) => simulate::run(&args),
            Self::Serve(args) => serve::run(args),
            Self::Upload(args) => upload::run(args),
            Self::Link(args) => link::run(&args),
            Self::Executor(args) => executor::run(&args),
        }
    }
}
