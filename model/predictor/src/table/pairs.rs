//! A machine type and a CNN that were both measured, but never together.
//!
//! ln t on the asked machine type is the mean of ln t on the other machine types that ran the same
//! configuration of the CNN, plus a correction: a [`GroupedProcess`] over that mean, how far each
//! of these machine types is from it, and the logarithms of the numbers. It is fitted to the other
//! CNNs on the asked machine type. How machine types differ on a CNN tells what bounds it:
//! arithmetic, memory traffic, or the start of its layers. Runs on the asked machine type that took
//! much longer than the rest suggest are replaced by what that suggests.
//!
//! PROFET (Lee et al., "PROFET: PROFiling-based CNN Training Latency ProphET for GPU Cloud
//! Instances", 2022) predicts one GPU type from another in the same way, with the times of
//! operations as features.

use std::collections::{BTreeMap, BTreeSet};

use super::transfer::SLOW;
use crate::{Dataset, DatasetError, Features, Prediction, Spread, Values};
use foreglow_numeric::{GroupedProcess, median};

/// Least rows of other CNNs that a correction is fitted to.
const LEAST_ROWS: usize = 12;

/// The runs of a table with two categories, such as machine types and CNNs.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    /// The machine type is the category with fewer names.
    machine: String,
    cnn: String,
    numbers: Vec<String>,
    runs: Runs,
    /// Pairs of a machine type and a CNN that were measured.
    measured: BTreeSet<(String, String)>,
}

/// ln t and the spread of its errors.
type Answer = (f64, Option<Spread>);

/// A machine type, a CNN and the bits of the numbers.
type Key = (String, String, Vec<u64>);

/// ln t of each run.
type Runs = BTreeMap<Key, f64>;

/// A question or a run: its numbers, and ln t on each of the other machine types.
struct Row {
    key: Key,
    on_others: Vec<f64>,
}

impl Pairs {
    /// Reads the completed runs, repeats by their median; `None` if the table has other than two
    /// categories, or no number.
    pub(super) fn of(dataset: &Dataset) -> Option<Self> {
        let completed = dataset.completed()?;
        let columns = completed.features().columns();
        let named = |is_category: bool| {
            columns.iter().filter(move |column| matches!(column.values, Values::Category { .. }) == is_category)
        };
        let mut categories: Vec<(usize, String)> =
            named(true).map(|column| (levels(&column.values), column.name.clone())).collect();
        categories.sort_by_key(|(levels, _)| *levels);
        let [(_, machine), (_, cnn)] = <[_; 2]>::try_from(categories).ok()?;
        let numbers: Vec<String> = named(false).map(|column| column.name.clone()).collect();
        if numbers.is_empty() {
            return None;
        }
        let mut pairs = Self { machine, cnn, numbers, runs: BTreeMap::new(), measured: BTreeSet::new() };
        let mut repeats: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
        for (key, secs) in pairs.keys(completed.features()).ok()?.into_iter().zip(completed.secs()) {
            pairs.measured.insert((key.0.clone(), key.1.clone()));
            repeats.entry(key).or_default().push(libm::log(*secs));
        }
        pairs.runs = repeats.into_iter().map(|(key, logs)| (key, median(&logs))).collect();
        Some(pairs)
    }

    /// Replaces the predictions of pairs that were never measured together.
    ///
    /// # Errors
    /// A column is missing, or is a category on one side alone.
    pub(super) fn improve(&self, questions: &Features, predictions: &mut [Prediction]) -> Result<(), DatasetError> {
        for (prediction, answer) in predictions.iter_mut().zip(self.predict(questions)?) {
            let Some(of_pair) = answer.and_then(|(log, spread)| Prediction::of_log(log, spread)) else { continue };
            *prediction = Prediction { warnings: std::mem::take(&mut prediction.warnings), ..of_pair };
        }
        Ok(())
    }

    /// Returns ln t and its spread for each question whose pair was never measured together; `None`
    /// for the others, and where no other machine type ran the configuration.
    fn predict(&self, questions: &Features) -> Result<Vec<Option<Answer>>, DatasetError> {
        let keys = self.keys(questions)?;
        let mut answers = vec![None; keys.len()];
        let mut asked: BTreeMap<(String, Vec<String>), Vec<usize>> = BTreeMap::new();
        for (place, key) in keys.iter().enumerate() {
            let (machine, cnn, _) = key;
            if self.measured.contains(&(machine.clone(), cnn.clone())) {
                continue;
            }
            let others = self.machines_that_ran(key);
            if !others.is_empty() {
                asked.entry((machine.clone(), others)).or_default().push(place);
            }
        }
        for ((machine, others), places) in asked {
            let own = Rows::of(&self.runs, &machine, &others);
            if own.rows.len() < LEAST_ROWS {
                continue;
            }
            let cnns = own.cnns;
            let Some(process) = own.process() else { continue };
            let errors = with_one_more(process.errors(), cnns);
            for place in places {
                let Some(on_others) = on_others(&self.runs, &keys[place], &others) else { continue };
                let row = Row { key: keys[place].clone(), on_others };
                let (correction, deviation) = process.predict(&row.features());
                let spread = Spread::conformal(errors.iter().map(|error| error * deviation)).ok();
                answers[place] = Some((row.level() + correction, spread));
            }
        }
        Ok(answers)
    }

    fn machines_that_ran(&self, (asked, cnn, numbers): &Key) -> Vec<String> {
        let machines: BTreeSet<&String> = self.measured.iter().map(|(machine, _)| machine).collect();
        let ran = |machine: &&&String| self.runs.contains_key(&((**machine).clone(), cnn.clone(), numbers.clone()));
        machines.iter().filter(|machine| **machine != asked).filter(ran).map(|machine| (*machine).clone()).collect()
    }

    fn keys(&self, features: &Features) -> Result<Vec<Key>, DatasetError> {
        let column = |name: &String| {
            let found = features.columns().iter().find(|column| column.name == *name);
            found.map(|column| &column.values).ok_or_else(|| DatasetError::NoColumn { name: name.clone() })
        };
        let names = |name: &String| match column(name)? {
            Values::Category { levels, codes } => {
                Ok(codes.iter().map(|code| levels[*code as usize].clone()).collect::<Vec<String>>())
            }
            Values::Numeric { .. } => Err(DatasetError::Kind { name: name.clone(), numeric: false }),
        };
        let numbers = |name: &String| match column(name)? {
            Values::Numeric { values, .. } => Ok(values),
            Values::Category { .. } => Err(DatasetError::Kind { name: name.clone(), numeric: true }),
        };
        let (machines, cnns) = (names(&self.machine)?, names(&self.cnn)?);
        let columns = self.numbers.iter().map(numbers).collect::<Result<Vec<_>, _>>()?;
        let bits = |row: usize| columns.iter().map(|values| (values[row] + 0.0).to_bits()).collect::<Vec<u64>>();
        let rows = machines.into_iter().zip(cnns).enumerate();
        Ok(rows.map(|(row, (machine, cnn))| (machine, cnn, bits(row))).collect())
    }
}

/// The runs of a machine type whose configurations others ran, too.
struct Rows {
    rows: Vec<Row>,
    /// How far ln t is from the mean on the others.
    targets: Vec<f64>,
    /// Number of the CNN of each.
    groups: Vec<usize>,
    /// Number of CNNs.
    cnns: usize,
}

impl Rows {
    fn of(runs: &Runs, machine: &str, others: &[String]) -> Self {
        let own = runs.keys().filter(|key| key.0 == machine);
        let row = |key: &Key| Some(Row { key: key.clone(), on_others: on_others(runs, key, others)? });
        let rows: Vec<Row> = own.filter_map(row).collect();
        let cnns: BTreeSet<&String> = rows.iter().map(|row| &row.key.1).collect();
        let number = |row: &Row| cnns.iter().position(|cnn| **cnn == row.key.1).unwrap_or_default();
        let groups = rows.iter().map(number).collect();
        let targets = rows.iter().map(|row| runs[&row.key] - row.level()).collect();
        let cnns = cnns.len();
        Self { rows, targets, groups, cnns }
    }

    /// Fits the runs; slow ones take the time that the others suggest.
    fn process(mut self) -> Option<GroupedProcess> {
        let features: Vec<Vec<f64>> = self.rows.iter().map(Row::features).collect();
        let first = GroupedProcess::fit(&features, &self.targets, &self.groups)?;
        let slow: Vec<(usize, f64)> = first.high(SLOW).collect();
        if slow.is_empty() {
            return Some(first);
        }
        slow.into_iter().for_each(|(row, target)| self.targets[row] = target);
        GroupedProcess::fit(&features, &self.targets, &self.groups)
    }
}

/// Returns ln t of a configuration on other machine types; `None` unless all of them ran it.
fn on_others(runs: &Runs, (_, cnn, numbers): &Key, others: &[String]) -> Option<Vec<f64>> {
    others.iter().map(|other| runs.get(&(other.clone(), cnn.clone(), numbers.clone())).copied()).collect()
}

impl Row {
    /// The mean of ln t on the other machine types.
    fn level(&self) -> f64 {
        self.on_others.iter().sum::<f64>() / self.on_others.len() as f64
    }

    fn features(&self) -> Vec<f64> {
        let level = self.level();
        // The last distance follows from the others.
        let distances = self.on_others[1..].iter().map(|log| log - level);
        let numbers = self.key.2.iter().map(|bits| {
            let value = f64::from_bits(*bits);
            if value > 0.0 { libm::log(value) } else { value }
        });
        [level].into_iter().chain(distances).chain(numbers).collect()
    }
}

/// Returns the errors of some CNNs with those of one more, which are all as large as the largest:
/// errors of a CNN are alike, so that the CNNs count and not the rows (Lee, Barber and Willett,
/// "Distribution-free inference with hierarchical data", 2023).
fn with_one_more(errors: &[f64], cnns: usize) -> Vec<f64> {
    let largest = errors.iter().copied().fold(0.0, f64::max);
    let more = errors.len() / cnns.max(1);
    errors.iter().copied().chain(std::iter::repeat_n(largest, more)).collect()
}

fn levels(values: &Values) -> usize {
    match values {
        Values::Category { codes, .. } => codes.iter().collect::<BTreeSet<_>>().len(),
        Values::Numeric { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    /// Two bounds of a CNN's time: arithmetic and memory traffic, and machine types that differ in
    /// both. The pair of machine type 3 and CNN 7 is left out.
    fn table(is_left_out: bool) -> (Dataset, f64) {
        let secs = |machine: usize, cnn: usize, batch: f64| {
            let (arithmetic, traffic) = ([1.0, 2.0, 4.0, 3.0][machine], [1.0, 1.5, 1.2, 4.0][machine]);
            batch * (arithmetic * (1.0 + cnn as f64 % 3.0) + traffic * (1.0 + cnn as f64 / 2.0))
        };
        let mut rows = Vec::new();
        for machine in 0..4 {
            for cnn in 0..10 {
                for batch in [8.0, 16.0, 32.0] {
                    if ((machine, cnn) == (3, 7)) == is_left_out {
                        rows.push((machine, cnn, batch));
                    }
                }
            }
        }
        let features = Features::new(vec![
            Column::category("machine", rows.iter().map(|row| format!("machine {}", row.0))),
            Column::category("cnn", rows.iter().map(|row| format!("cnn {}", row.1))),
            Column::numeric("batch", rows.iter().map(|row| row.2).collect(), None),
        ]);
        let times = rows.iter().map(|row| secs(row.0, row.1, row.2)).collect();
        (Dataset::new(features.unwrap(), times, vec![false; rows.len()]).unwrap(), secs(3, 7, 8.0))
    }

    #[test]
    fn a_pair_that_was_never_measured_follows_from_the_other_machine_types() {
        let (asked, secs) = table(true);
        let pairs = Pairs::of(&table(false).0).unwrap();
        let (log, spread) = pairs.predict(asked.features()).unwrap()[0].clone().unwrap();
        let error = log - libm::log(secs);
        assert!(error.abs() < 0.1, "{error}");
        assert!(error.abs() < libm::log(spread.unwrap().quantile(0.95)));
    }

    #[test]
    fn slow_runs_of_other_cnns_on_the_machine_type_move_the_answer_little() {
        let (asked, _) = table(true);
        let (fitted, _) = table(false);
        let log = |slower: f64| {
            let mut times = fitted.secs().to_vec();
            // Machine type 3 has the last runs, of nine CNNs on three batch sizes each.
            let first = times.len() - 27;
            [0, 12, 22].iter().for_each(|run| times[first + run] *= slower);
            let runs = Dataset::new(fitted.features().clone(), times, vec![false; fitted.secs().len()]).unwrap();
            Pairs::of(&runs).unwrap().predict(asked.features()).unwrap()[0].clone().unwrap().0
        };
        let moved = log(2.5) - log(1.0);
        assert!(moved.abs() < 0.02, "{moved}");
    }

    #[test]
    fn a_measured_pair_gets_no_answer() {
        let (fitted, _) = table(false);
        let answers = Pairs::of(&fitted).unwrap().predict(fitted.features()).unwrap();
        assert!(answers.iter().all(Option::is_none));
    }
}
