//! Command line; each subcommand is a file of `commands`.

#[cfg(test)]
mod documents_tests;

use clap::{Parser, Subcommand};

use crate::commands::{
    advise, calibrate, collect, completions, demo, devices, evaluate, executor, export, import, link, machines, man,
    models, pack, plan, predict, read_test, run, samples, scaling, serve, simulate, store, tokens, upload, watch,
};

/// Version and commit. The build script provides the commit and the other lines of `--version`.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("FOREGLOW_BUILD_COMMIT"), ")");
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("FOREGLOW_BUILD_COMMIT"),
    ")\nfeatures: ",
    env!("FOREGLOW_BUILD_FEATURES"),
    "\nembedded: ",
    env!("FOREGLOW_BUILD_PARTS"),
);

/// Run a little, know the whole: predicts the time and the cost of a CNN job on every cluster
/// configuration from a few short runs, and recommends the cheapest that meets the deadline.
#[derive(Debug, Parser)]
#[command(name = "foreglow", version = VERSION, long_version = LONG_VERSION, max_term_width = 100, args_override_self = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// Print only the answer and errors: no progress, notes or warnings
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Devices(devices::Args),
    Models(models::Args),
    Machines(machines::Args),
    Pack(pack::Args),
    ReadTest(read_test::Args),
    Run(Box<run::Args>),
    Collect(Box<collect::Args>),
    Calibrate(calibrate::Args),
    Import(import::Args),
    Samples(samples::Args),
    Evaluate(evaluate::Args),
    Predict(predict::Args),
    Plan(plan::Args),
    Scaling(scaling::Args),
    Advise(advise::Args),
    Export(Box<export::Args>),
    Simulate(simulate::Args),
    Watch(watch::Args),
    Serve(serve::Args),
    Upload(upload::Args),
    Tokens(tokens::Args),
    Store(store::Args),
    Link(link::Args),
    Completions(completions::Args),
    Man(man::Args),
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
            Self::Machines(args) => machines::run(&args),
            Self::Pack(args) => pack::run(&args),
            Self::ReadTest(args) => read_test::run(&args),
            Self::Run(args) => run::run(&args),
            Self::Collect(args) => collect::run(&args),
            Self::Calibrate(args) => calibrate::run(&args),
            Self::Import(args) => import::run(&args),
            Self::Samples(args) => samples::run(&args),
            Self::Evaluate(args) => evaluate::run(&args),
            Self::Predict(args) => predict::run(&args),
            Self::Plan(args) => plan::run(&args),
            Self::Scaling(args) => scaling::run(&args),
            Self::Advise(args) => advise::run(&args),
            Self::Export(args) => export::run(&args),
            Self::Simulate(args) => simulate::run(&args),
            Self::Watch(args) => watch::run(&args),
            Self::Serve(args) => serve::run(args),
            Self::Upload(args) => upload::run(args),
            Self::Tokens(args) => tokens::run(&args),
            Self::Store(args) => store::run(&args),
            Self::Link(args) => link::run(&args),
            Self::Completions(args) => completions::run::<Cli>(&args),
            Self::Man(args) => man::run::<Cli>(&args),
            Self::Executor(args) => executor::run(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_version_names_the_commit_the_features_and_the_embedded_parts() {
        let version = Cli::command().render_long_version();
        let lines: Vec<&str> = version.lines().collect();
        let [first, features, parts] = lines[..] else { panic!("{version}") };
        assert!(first.starts_with(concat!("foreglow ", env!("CARGO_PKG_VERSION"), " (")), "{first}");
        assert!(first.contains("commit") && first.ends_with(')'), "{first}");
        assert!(features.starts_with("features: ") && parts.starts_with("embedded: "), "{version}");
    }
}
