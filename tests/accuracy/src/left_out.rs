//! Leave-one-data-set-out: constants are chosen on the other development sets and tested on this
//! one.
//!
//! The interface to the model is [`crate::contestant::candidates`], the sets of constants to choose
//! from, the model's own first. With only one set there is no choice, and the rows have no such
//! figure.

use std::collections::BTreeMap;

use crate::bouts::own_rows;
use crate::contestant::{FOREGLOW, candidates};
use crate::figures::Figures;
use crate::options::Options;
use crate::protocol::{Places, Protocol};
use crate::slowed::Slowed;

/// Added to an error before the logarithm, percent, so that one almost exact row does not dominate.
const FLOOR_PERCENT: f64 = 0.5;

/// Error of one set of constants on a row of a data set.
#[derive(Clone, Copy, Debug)]
pub struct SetError {
    /// The data set.
    pub set: &'static str,
    /// Mean absolute percentage error.
    pub mape_percent: f64,
}

/// Returns the set of constants with the smallest error on all data sets but one: the mean over the
/// data sets of the mean logarithm of the error. The first one wins a tie.
pub fn chosen_without(set: &str, errors: &[Vec<SetError>]) -> usize {
    let loss = |errors: &Vec<SetError>| {
        let mut by_set: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for error in errors.iter().filter(|error| error.set != set) {
            let (sum, rows) = by_set.entry(error.set).or_default();
            *sum += libm::log(error.mape_percent + FLOOR_PERCENT);
            *rows += 1.0;
        }
        by_set.values().map(|(sum, rows)| sum / rows).sum::<f64>() / by_set.len() as f64
    };
    let losses: Vec<f64> = errors.iter().map(loss).collect();
    (0..losses.len()).min_by(|a, b| losses[*a].total_cmp(&losses[*b])).unwrap_or(0)
}

/// Adds to each row of the default predictor without slow runs its error with constants chosen
/// without the row's data set.
///
/// # Errors
/// A data set cannot be read.
pub fn measure(rows: &mut [Figures], protocols: &[Protocol], places: &Places, options: &Options) -> anyhow::Result<()> {
    let candidates = candidates();
    if candidates.len() < 2 {
        return Ok(());
    }
    let few = Options { is_quick: true, is_clean: true, trials: None, ..options.clone() };
    let clean = Options { is_clean: true, ..options.clone() };
    let mut errors = Vec::new();
    for constants in &candidates {
        let mut own = Vec::new();
        for protocol in protocols.iter().filter(|protocol| protocol.set.is_development && protocol.limit_secs.is_none())
        {
            let measured = own_rows(protocol, &(protocol.parts)(places)?, &few, constants);
            let error = |row: &Figures| Some(SetError { set: row.set, mape_percent: row.mape_percent? });
            own.extend(measured.iter().filter_map(error));
        }
        eprintln!("constants {}: {} rows", errors.len() + 1, own.len());
        errors.push(own);
    }
    for protocol in protocols.iter().filter(|protocol| protocol.limit_secs.is_none()) {
        let chosen = chosen_without(protocol.set.name, &errors);
        eprintln!("{}: constants {} chosen without the set", protocol.title(), chosen + 1);
        let is_own = |row: &Figures| {
            row.predictor == FOREGLOW && (row.set, &row.protocol) == (protocol.set.name, &protocol.name)
        };
        let Some(row) = rows.iter_mut().find(|row| is_own(row) && row.slowed == Slowed::None) else { continue };
        // The first candidate is the model's own constants, which were measured already.
        row.left_out_mape_percent = match chosen {
            0 => row.mape_percent,
            _ => own_rows(protocol, &(protocol.parts)(places)?, &clean, &candidates[chosen])
                .first()
                .and_then(|row| row.mape_percent),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_chosen_on_the_other_sets_alone() {
        let errors = |a: f64, b: f64, c: f64| -> Vec<SetError> {
            [("a", a), ("b", b), ("c", c)].map(|(set, mape_percent)| SetError { set, mape_percent }).into()
        };
        // The first is best on a alone, the second on b and c.
        let all = [errors(1.0, 10.0, 10.0), errors(100.0, 5.0, 5.0)];
        assert_eq!(chosen_without("a", &all), 1);
        assert_eq!(chosen_without("b", &all), 0);
        assert_eq!(chosen_without("another", &all), 0);
    }

    #[test]
    fn a_set_of_many_rows_counts_as_much_as_a_set_of_one() {
        let row = |set, mape_percent| SetError { set, mape_percent };
        let many = |mape: f64| (0..20).map(|_| row("many", mape)).collect::<Vec<_>>();
        let all = [[many(9.0), vec![row("one", 10.0)]].concat(), [many(10.0), vec![row("one", 5.0)]].concat()];
        assert_eq!(chosen_without("none", &all), 1);
    }
}
