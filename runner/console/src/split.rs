//! Executors and cores from arguments: cores per executor, or a total that is divided among the
//! executors.

use foreglow_exit::unusable;
use foreglow_model::Space;
use foreglow_shared::{CoreSplit, MOST_CORES, Mode};

use crate::grammar::{Counts, one_total_cores, total_cores};

/// The cores of all executors, for commands about one configuration.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct TotalCores {
    /// Cores of all executors together, divided as evenly as possible: 8 for 3 executors are 3, 3
    /// and 2
    #[arg(long, value_name = "T", conflicts_with = "cores", value_parser = one_total_cores, allow_negative_numbers = true)]
    total_cores: Option<u32>,
}

/// The cores of all executors, for commands about several configurations.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TotalsOfCores {
    /// Candidate total numbers of cores instead of --cores, each divided as evenly as possible
    /// among every number of executors: 8 or 4-12; 8 for 3 executors are 3, 3 and 2
    #[arg(long, value_name = "LIST", conflicts_with = "cores", value_parser = total_cores, allow_negative_numbers = true)]
    total_cores: Option<Counts>,
}

impl TotalCores {
    /// Returns the split of one configuration, with these cores of each executor if no total is
    /// given.
    ///
    /// # Errors
    /// The total is less than a core per executor, or too large, or an uneven split is to train.
    pub fn split(self, executors: u32, cores: u32, mode: Mode) -> anyhow::Result<CoreSplit> {
        let Some(total) = self.total_cores else { return Ok(CoreSplit::even(executors, cores)) };
        let split = CoreSplit::of_total(executors, total).ok_or_else(|| {
            unusable(format!(
                "--total-cores {total} leaves some of the {executors} executors without a core; give {executors} or more"
            ))
        })?;
        check(split, mode)
    }

    /// Refuses a total for the user's own program.
    ///
    /// # Errors
    /// A total is given.
    pub fn check_for_program(self) -> anyhow::Result<()> {
        refuse_for_program(self.total_cores.is_some())
    }

    /// Returns the option with its value, or `--cores` with these cores of each executor if no
    /// total is given.
    pub fn option(self, cores: u32) -> String {
        self.total_cores.map_or_else(|| format!("--cores {cores}"), |total| format!("--total-cores {total}"))
    }
}

impl TotalsOfCores {
    /// Whether totals are given.
    pub fn is_given(&self) -> bool {
        self.total_cores.is_some()
    }

    /// Returns the splits of every number of executors: with each of these numbers of cores, or
    /// with each total that suffices for them.
    ///
    /// # Errors
    /// No total is large enough, one is too large, or an uneven split is to train.
    pub fn splits(&self, executors: &[u32], cores: &[u32], mode: Mode) -> anyhow::Result<Vec<CoreSplit>> {
        let Some(Counts(totals)) = &self.total_cores else {
            let with = |executors: u32| cores.iter().map(move |cores| CoreSplit::even(executors, *cores));
            return Ok(executors.iter().copied().flat_map(with).collect());
        };
        let splits = CoreSplit::all(executors, totals);
        if splits.is_empty() {
            let fewest = executors.iter().min().copied().unwrap_or(1);
            return Err(unusable(format!(
                "--total-cores leaves an executor without a core in every combination; give {fewest} or more"
            )));
        }
        splits.into_iter().map(|split| check(split, mode)).collect()
    }

    /// Adds the totals to the configurations to choose from.
    ///
    /// # Errors
    /// As [`TotalsOfCores::splits`].
    pub fn add_to(&self, space: &mut Space, mode: Mode) -> anyhow::Result<()> {
        let Some(Counts(totals)) = &self.total_cores else { return Ok(()) };
        let executors = if space.executors.is_empty() { &[1][..] } else { &space.executors };
        self.splits(executors, &[], mode)?;
        space.total_cores.clone_from(totals);
        Ok(())
    }

    /// Refuses totals for the user's own program.
    ///
    /// # Errors
    /// A total is given.
    pub fn check_for_program(&self) -> anyhow::Result<()> {
        refuse_for_program(self.total_cores.is_some())
    }
}

fn refuse_for_program(is_given: bool) -> anyhow::Result<()> {
    match is_given {
        true => Err(unusable("--total-cores is for CNNs; give your own program --cores")),
        false => Ok(()),
    }
}

/// Returns the columns of a CSV of these splits: the total is the last one if a split is uneven.
/// Without one, the columns are those of earlier versions.
pub fn with_total(columns: &str, splits: impl IntoIterator<Item = CoreSplit>) -> String {
    match CoreSplit::total_column(splits) {
        Some(total) => format!("{columns},{total}"),
        None => columns.to_owned(),
    }
}

fn check(split: CoreSplit, mode: Mode) -> anyhow::Result<CoreSplit> {
    let cores = split.cores_per_executor;
    if cores > MOST_CORES {
        return Err(unusable(format!(
            "--total-cores gives an executor {cores} cores, and at most {MOST_CORES} are possible; give fewer"
        )));
    }
    if mode == Mode::Training && split.equal_counts().is_none() {
        let (total, executors, fewest) = (split.slots(), split.executors, split.fewest_cores());
        return Err(unusable(format!(
            "executors that train wait for each other, so {total} cores on {executors} executors are as slow as \
             {fewest} of each; give --cores {fewest}"
        )));
    }
    Ok(split)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(total_cores: Option<u32>) -> TotalCores {
        TotalCores { total_cores }
    }

    fn among(totals: &[u32], executors: &[u32]) -> anyhow::Result<Vec<CoreSplit>> {
        TotalsOfCores { total_cores: Some(Counts(totals.to_vec())) }.splits(executors, &[1], Mode::Inference)
    }

    #[test]
    fn totals_that_cannot_be_divided_are_refused_with_what_to_give() {
        let error = |executors, total, mode| of(Some(total)).split(executors, 1, mode).unwrap_err().to_string();
        assert!(error(4, 3, Mode::Inference).contains("give 4 or more"));
        assert!(error(1, 2_000, Mode::Inference).contains("at most 1000"));
        assert!(error(3, 8, Mode::Training).contains("give --cores 2"));
        assert_eq!(of(Some(8)).split(2, 1, Mode::Training).unwrap(), CoreSplit::even(2, 4), "each has as many");
        assert_eq!(of(None).split(3, 2, Mode::Inference).unwrap(), CoreSplit::even(3, 2));
    }

    #[test]
    fn every_total_is_divided_among_the_executors_that_it_suffices_for() {
        let all = among(&[4, 8], &[1, 3, 9]).unwrap();
        assert_eq!(
            all.iter().map(|split| split.short()).collect::<Vec<_>>(),
            ["1 × 4", "1 × 8", "3 (2+1+1)", "3 (3+3+2)"]
        );
        assert!(among(&[8], &[9]).unwrap_err().to_string().contains("give 9 or more"));
    }
}
