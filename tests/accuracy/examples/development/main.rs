//! Prints the figures on which the constants of the default predictor's intervals were chosen, and
//! the gain of a context with few runs from other contexts: `make development`, or `cargo run
//! --release --workspace --example development -- DATA [intervals|few-runs]`.
//!
//! To tune a constant of `model/predictor/src/ensemble/errors.rs`, change it and compare the last
//! line:
//! larger is better. Exit code 2: the data is missing.

#![allow(clippy::panic, reason = "a column that the program itself names is there")]
#![allow(clippy::print_stdout, reason = "the tables are its output")]

mod few_runs;
mod groups;
mod intervals;
mod public;
#[path = "../../../../model/tests/behaviour/simulated.rs"]
mod simulated;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use rayon::prelude::*;

use crate::public::Public;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let data = PathBuf::from(arguments.next().unwrap_or_else(|| "../shared/data".into()));
    let what = arguments.next();
    if !data.join("c3o").is_dir() {
        eprintln!("development: there is no data in {}; name its folder with DATA=FOLDER", data.display());
        return ExitCode::from(2);
    }
    let asked = |name: &str| what.as_deref().is_none_or(|what| what == name);
    match measure(&data, asked("intervals"), asked("few-runs")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("development: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(data: &std::path::Path, intervals: bool, few_runs: bool) -> anyhow::Result<()> {
    let public = Public::read(data)?;
    if intervals {
        let groups = groups::groups(&public);
        intervals::print(&each(&groups, intervals::find)?);
    }
    if few_runs {
        let cases = few_runs::cases(&public)?;
        let trials: Vec<few_runs::Trial> = cases.iter().flat_map(few_runs::trials).collect();
        few_runs::print(&each(&trials, few_runs::Trial::find)?);
    }
    Ok(())
}

/// Applies `find` to each item, on all processors, and returns the results in the order of the
/// items.
fn each<T: Sync, F: Send>(
    things: &[T],
    find: impl Fn(&T) -> anyhow::Result<Vec<F>> + Sync + Send,
) -> anyhow::Result<Vec<F>> {
    let found: Vec<Vec<F>> = things.par_iter().with_max_len(1).map(find).collect::<anyhow::Result<_>>()?;
    Ok(found.into_iter().flatten().collect())
}
