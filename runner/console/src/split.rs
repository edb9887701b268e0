//! Executors and cores from arguments: cores per executor, or a total that is divided among the
//! executors.

use foreglow_exit::unusable;
use foreglow_shared::{CoreSplit, MOST_CORES, Mode};

use crate::table;

/// Returns the split of one configuration.
///
/// # Errors
/// The total is less than a core per executor, or too large, or an uneven split is to train.
pub fn split(executors: u32, cores: u32, total_cores: Option<u32>, mode: Mode) -> anyhow::Result<CoreSplit> {
    let Some(total) = total_cores else { return Ok(CoreSplit::even(executors, cores)) };
    let split = CoreSplit::of_total(executors, total).ok_or_else(|| {
        unusable(format!(
            "--total-cores {total} leaves some of the {executors} executors without a core; give {executors} or more"
        ))
    })?;
    check(split, mode)
}

/// Returns every split of these totals among these numbers of executors. Numbers of executors above
/// a total are skipped for that total.
///
/// # Errors
/// No total is large enough, one is too large, or an uneven split is to train.
pub fn splits(executors: &[u32], total_cores: &[u32], mode: Mode) -> anyhow::Result<Vec<CoreSplit>> {
    let splits = CoreSplit::all(executors, total_cores);
    if splits.is_empty() {
        let fewest = executors.iter().min().copied().unwrap_or(1);
        return Err(unusable(format!(
            "--total-cores leaves an executor without a core in every combination; give {fewest} or more"
        )));
    }
    splits.into_iter().map(|split| check(split, mode)).collect()
}

/// Renders rows of configurations as CSV, each with the total of its uneven split. The last column
/// is `total_cores` if there is an uneven split; without one, the columns are those of earlier
/// versions.
pub fn csv(header: &str, rows: impl IntoIterator<Item = (Option<u32>, Vec<String>)>) -> String {
    let (totals, mut rows): (Vec<Option<u32>>, Vec<Vec<String>>) = rows.into_iter().unzip();
    let mut header = header.to_owned();
    if totals.iter().any(Option::is_some) {
        header.push_str(",total_cores");
        let cell = |total: Option<u32>| total.map_or_else(String::new, |total| total.to_string());
        rows.iter_mut().zip(totals).for_each(|(row, total)| row.push(cell(total)));
    }
    table::csv(&header, rows)
}

fn check(split: CoreSplit, mode: Mode) -> anyhow::Result<CoreSplit> {
    let CoreSplit { executors, cores_per_executor, total_cores } = split;
    if cores_per_executor > MOST_CORES {
        return Err(unusable(format!(
            "--total-cores gives an executor {cores_per_executor} cores, and at most {MOST_CORES} are possible; give fewer"
        )));
    }
    match total_cores {
        Some(total) if mode == Mode::Training => Err(unusable(format!(
            "executors that train wait for each other, so {total} cores on {executors} executors are as slow as {} of \
             each; give --cores {}",
            split.fewest_cores(),
            split.fewest_cores()
        ))),
        _ => Ok(split),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_that_cannot_be_divided_are_refused_with_what_to_give() {
        let error = |executors, total, mode| split(executors, 1, Some(total), mode).unwrap_err().to_string();
        assert!(error(4, 3, Mode::Inference).contains("give 4 or more"));
        assert!(error(1, 2_000, Mode::Inference).contains("at most 1000"));
        assert!(error(3, 8, Mode::Training).contains("give --cores 2"));
        assert_eq!(split(2, 1, Some(8), Mode::Training).unwrap(), CoreSplit::even(2, 4), "each has as many");
        assert_eq!(split(3, 2, None, Mode::Inference).unwrap(), CoreSplit::even(3, 2));
    }

    #[test]
    fn every_total_is_divided_among_the_executors_that_it_suffices_for() {
        let all = splits(&[1, 3, 9], &[4, 8], Mode::Inference).unwrap();
        assert_eq!(
            all.iter().map(|split| split.short()).collect::<Vec<_>>(),
            ["1 × 4", "1 × 8", "3 (2+1+1)", "3 (3+3+2)"]
        );
        assert!(splits(&[9], &[8], Mode::Inference).unwrap_err().to_string().contains("give 9 or more"));
    }
}
