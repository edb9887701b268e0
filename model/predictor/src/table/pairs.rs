//! A machine type and a CNN that were both measured, but never together.
//!
//! ln t on the asked machine type is the mean of ln t on the other machine types that ran the same
//! configuration of the CNN, plus a correction: a [`GroupedProcess`] over that mean, the deviation
//! of each of these machine types from it, the logarithms of the numbers, and indicators of further
//! names, such as the precision. The correction is fitted to the other CNNs on the asked machine
//! type. The differences between machine types on a CNN show its bottleneck: arithmetic, memory
//! traffic, or the start of its layers. Outliers on the asked machine type, which took much longer
//! than predicted from the rest, are replaced by that prediction. The prediction is the mean of
//! this answer and the fit of all runs.
//!
//! PROFET (Lee et al., "PROFET: PROFiling-based CNN Training Latency ProphET for GPU Cloud
//! Instances", 2022) predicts one GPU type from another in the same way, with the times of
//! operations as features.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use foreglow_shared::{distinct, sort_by_cached_key};

use super::transfer::{SLOW, half_width_of, spread_of};
use crate::ensemble::{Group, add_group, measured};
use crate::{Dataset, DatasetError, Features, Prediction, Spread, Values};
use foreglow_numeric::GroupedProcess;

/// Minimum number of rows of other CNNs for a correction.
const LEAST_ROWS: usize = 12;
/// Weight of the fit of all runs, relative to the answer from the other machine types, if both
/// intervals are equally wide. Chosen among values from 1/8 to 1 by the errors on PROFET's unseen
/// pairs, with and without slow runs.
const WEIGHT_OF_FIT: f64 = 0.25;

/// The runs of a table with several categories, such as machine types, CNNs and precisions.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    /// The two categories with the most names; the machine type is the one with fewer.
    machine: String,
    cnn: String,
    /// The other categories, each with its names.
    others: Vec<(String, Vec<String>)>,
    numbers: Vec<String>,
    runs: Runs,
    /// Pairs of a machine type and a CNN that were measured.
    measured: Vec<(String, String)>,
    /// Cache of corrections, by machine type and the others; `None` if these have too few
    /// configurations in common.
    corrections: Arc<Mutex<BTreeMap<Machines, Option<Arc<Correction>>>>>,
}

/// The correction from the mean of other machine types to one machine type.
#[derive(Debug)]
struct Correction {
    process: GroupedProcess,
    /// |error| ÷ its standard deviation for CNNs that were left out.
    errors: Vec<f64>,
}

/// A machine type and the others that it is compared with.
type Machines = (String, Vec<String>);

/// ln t and the spread of its errors.
type Answer = (f64, Option<Spread>);

/// Settings with the median of their runs.
type Runs = BTreeMap<Key, Group>;

/// A run or a question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    machine: String,
    cnn: String,
    setting: Setting,
}

/// The names of the other categories, and the bits of the numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Setting {
    names: Vec<String>,
    numbers: Vec<u64>,
}

/// A question or a run, with the times on the other machine types.
struct Row {
    /// The mean of ln t on the other machine types.
    level: f64,
    features: Vec<f64>,
}

impl Pairs {
    /// Reads the completed runs, repeats by their median; `None` if the table has fewer than two
    /// categories.
    pub(super) fn of(dataset: &Dataset) -> Option<Self> {
        let mut categories: Vec<(String, Vec<String>)> = Vec::new();
        let mut numbers = Vec::new();
        let settings = measured(dataset);
        let rows: Vec<usize> = settings.iter().map(|setting| setting.rows[0]).collect();
        let features = dataset.features().select(&rows);
        for column in features.columns() {
            match &column.values {
                Values::Category { .. } => categories.push((column.name.clone(), names(&column.values))),
                Values::Numeric { .. } => numbers.push(column.name.clone()),
            }
        }
        sort_by_cached_key(&mut categories, |(_, names)| names.len());
        let (cnn, _) = categories.pop()?;
        let (machine, _) = categories.pop()?;
        let (runs, measured, corrections) = (BTreeMap::new(), Vec::new(), Arc::default());
        let mut pairs = Self { machine, cnn, others: categories, numbers, runs, measured, corrections };
        pairs.runs.extend(pairs.keys(&features).ok()?.into_iter().zip(settings));
        pairs.measured = distinct(pairs.runs.keys().map(|key| (key.machine.clone(), key.cnn.clone())));
        Some(pairs)
    }

    /// Replaces the predictions of pairs that were never measured together by their mean with the
    /// answers from the other machine types.
    ///
    /// # Errors
    /// A column is missing, or is a category on one side alone.
    pub(super) fn improve(&self, questions: &Features, predictions: &mut [Prediction]) -> Result<(), DatasetError> {
        for (prediction, answer) in predictions.iter_mut().zip(self.predict(questions)?) {
            let Some((log, spread)) = answer.map(|answer| mean_with(prediction, answer)) else { continue };
            let Some(of_pair) = Prediction::of_log(log, spread) else { continue };
            *prediction = Prediction { warnings: std::mem::take(&mut prediction.warnings), ..of_pair };
        }
        Ok(())
    }

    /// Returns ln t and its spread for each question whose pair was never measured together; `None`
    /// for the others, and where no other machine type ran the configuration.
    fn predict(&self, questions: &Features) -> Result<Vec<Option<Answer>>, DatasetError> {
        let keys = self.keys(questions)?;
        let mut answers = vec![None; keys.len()];
        let mut asked: BTreeMap<Machines, Vec<usize>> = BTreeMap::new();
        for (place, key) in keys.iter().enumerate() {
            if self.measured.binary_search(&(key.machine.clone(), key.cnn.clone())).is_ok() {
                continue;
            }
            let others = self.machines_that_ran(key);
            if !others.is_empty() {
                asked.entry((key.machine.clone(), others)).or_default().push(place);
            }
        }
        for ((machine, others), places) in asked {
            let Some(fitted) = self.correction(&machine, &others) else { continue };
            for place in places {
                let Some(row) = self.row(&keys[place], &others) else { continue };
                let (correction, deviation) = fitted.process.predict(&row.features);
                let spread = Spread::conformal(fitted.errors.iter().map(|error| error * deviation)).ok();
                answers[place] = Some((row.level + correction, spread));
            }
        }
        Ok(answers)
    }

    fn correction(&self, machine: &str, others: &[String]) -> Option<Arc<Correction>> {
        let mut corrections = self.corrections.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = (machine.to_owned(), others.to_vec());
        corrections.entry(asked).or_insert_with(|| self.rows(machine, others).correction().map(Arc::new)).clone()
    }

    fn machines_that_ran(&self, asked: &Key) -> Vec<String> {
        let machines = distinct(self.measured.iter().map(|(machine, _)| machine));
        let ran = |machine: &&&String| self.runs.contains_key(&asked.on(machine));
        machines.iter().filter(|machine| **machine != &asked.machine).filter(ran).map(|name| (*name).clone()).collect()
    }

    /// Returns the runs of a machine type whose configurations all of the others ran, too.
    fn rows(&self, machine: &str, others: &[String]) -> Rows<'_> {
        let own = self.runs.iter().filter(|(key, _)| key.machine == machine);
        let own: Vec<(&Key, &Group, Row)> =
            own.filter_map(|(key, setting)| Some((key, setting, self.row(key, others)?))).collect();
        let cnns = distinct(own.iter().map(|(key, ..)| &key.cnn));
        let number = |key: &Key| cnns.iter().position(|cnn| **cnn == key.cnn).unwrap_or_default();
        let groups = own.iter().map(|(key, ..)| number(key)).collect();
        let targets =
            own.iter().map(|(_, setting, row)| setting.log_median().unwrap_or_default() - row.level).collect();
        let settings = own.iter().map(|(_, setting, _)| *setting).collect();
        let cnns = cnns.len();
        Rows { rows: own.into_iter().map(|(.., row)| row.features).collect(), targets, settings, groups, cnns }
    }

    /// Returns the times of a configuration on other machine types; `None` unless all of them ran
    /// it.
    fn row(&self, key: &Key, others: &[String]) -> Option<Row> {
        let logs = others.iter().map(|other| self.runs.get(&key.on(other))?.log_median());
        let logs = logs.collect::<Option<Vec<f64>>>()?;
        let level = logs.iter().sum::<f64>() / logs.len() as f64;
        // The last distance follows from the others.
        let distances = logs[1..].iter().map(|log| log - level);
        let numbers = key.setting.numbers.iter().map(|bits| {
            let value = f64::from_bits(*bits);
            if value > 0.0 { libm::log(value) } else { value }
        });
        let indicators = self.others.iter().zip(&key.setting.names).flat_map(|((_, names), name)| {
            names.iter().skip(1).map(move |other| if other == name { 1.0 } else { 0.0 })
        });
        let features = [level].into_iter().chain(distances).chain(numbers).chain(indicators).collect();
        Some(Row { level, features })
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
        let others = self.others.iter().map(|(name, _)| names(name)).collect::<Result<Vec<_>, _>>()?;
        let columns = self.numbers.iter().map(numbers).collect::<Result<Vec<_>, _>>()?;
        let setting = |row: usize| Setting {
            names: others.iter().map(|names| names[row].clone()).collect(),
            numbers: columns.iter().map(|values| (values[row] + 0.0).to_bits()).collect(),
        };
        let rows = machines.into_iter().zip(cnns).enumerate();
        Ok(rows.map(|(row, (machine, cnn))| Key { machine, cnn, setting: setting(row) }).collect())
    }
}

impl Key {
    /// The same configuration on another machine type.
    fn on(&self, machine: &str) -> Self {
        Self { machine: machine.to_owned(), ..self.clone() }
    }
}

/// The runs of a machine type whose configurations others ran, too.
struct Rows<'a> {
    rows: Vec<Vec<f64>>,
    /// Difference of ln t from the mean on the others.
    targets: Vec<f64>,
    settings: Vec<&'a Group>,
    /// Number of the CNN of each.
    groups: Vec<usize>,
    /// Number of CNNs.
    cnns: usize,
}

impl Rows<'_> {
    /// Fits the runs; `None` if they are too few.
    fn correction(self) -> Option<Correction> {
        let cnns = self.cnns;
        let process = (self.rows.len() >= LEAST_ROWS).then(|| self.process())??;
        let mut errors = process.errors().to_vec();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        add_group(&mut errors, cnns, largest);
        Some(Correction { process, errors })
    }

    /// Fits the runs; the times of slow ones are replaced by those that the others predict.
    fn process(mut self) -> Option<GroupedProcess> {
        let first = GroupedProcess::fit(&self.rows, &self.targets, &self.groups)?;
        let mut slow: Vec<(usize, f64)> = first.high(SLOW).collect();
        slow.retain(|(row, target)| !self.settings[*row].agrees(self.targets[*row] - target));
        if slow.is_empty() {
            return Some(first);
        }
        slow.into_iter().for_each(|(row, target)| self.targets[row] = target);
        GroupedProcess::fit(&self.rows, &self.targets, &self.groups)
    }
}

/// Returns the mean of an answer and the prediction of the fit of all runs, which is less exact but
/// more robust to a single slow run. Weights are inverse squares of the intervals' widths. The
/// spread is that of their mixture.
fn mean_with(prediction: &Prediction, (log, spread): Answer) -> Answer {
    let fit = prediction.completion_time_secs.map(libm::log).zip(prediction.spread.as_ref().map(half_width_of));
    let (Some((log_of_fit, width_of_fit)), Some(width)) = (fit, spread.as_ref().map(half_width_of)) else {
        return (log, spread);
    };
    let ratio = width_of_fit / width;
    let share = 1.0 / (1.0 + ratio * ratio / WEIGHT_OF_FIT);
    if !(share.is_finite() && width.is_finite() && width_of_fit.is_finite()) {
        return (log, spread);
    }
    let mean = share * log_of_fit + (1.0 - share) * log;
    let square = |log: f64, width: f64| width * width + (log - mean) * (log - mean);
    let half_width = (share * square(log_of_fit, width_of_fit) + (1.0 - share) * square(log, width)).sqrt();
    (mean, spread_of(half_width))
}

/// Returns the names that occur in a column, sorted; empty for a numeric column.
fn names(values: &Values) -> Vec<String> {
    match values {
        Values::Category { levels, codes } => {
            distinct(codes.iter().map(|code| &levels[*code as usize])).into_iter().cloned().collect()
        }
        Values::Numeric { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    /// Two bounds of a CNN's time, arithmetic and memory traffic; machine types differ in both.
    fn bounds(machine: usize, cnn: usize) -> (f64, f64) {
        let (arithmetic, traffic) = ([1.0, 2.0, 4.0, 3.0][machine], [1.0, 1.5, 1.2, 4.0][machine]);
        (arithmetic * (1.0 + cnn as f64 % 3.0), traffic * (1.0 + cnn as f64 / 2.0))
    }

    /// Runs on three batch sizes. The pair of machine type 3 and CNN 7 is left out.
    fn table(is_left_out: bool) -> (Dataset, f64) {
        let secs = |machine: usize, cnn: usize, batch: f64| {
            let (arithmetic, traffic) = bounds(machine, cnn);
            batch * (arithmetic + traffic)
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
    fn a_configuration_may_have_further_names_and_no_number() {
        // A training step has three times the arithmetic of inference, and twice the traffic.
        let secs = |(machine, cnn, is_training): (usize, usize, bool)| {
            let (arithmetic, traffic) = bounds(machine, cnn);
            if is_training { 3.0 * arithmetic + 2.0 * traffic } else { arithmetic + traffic }
        };
        let all =
            (0..4).flat_map(|machine| (0..10).flat_map(move |cnn| [false, true].map(|mode| (machine, cnn, mode))));
        let (asked, fitted): (Vec<_>, Vec<_>) = all.partition(|(machine, cnn, _)| (*machine, *cnn) == (3, 7));
        let features = |rows: &[(usize, usize, bool)]| {
            let columns = vec![
                Column::category("machine", rows.iter().map(|row| format!("machine {}", row.0))),
                Column::category(
                    "mode",
                    rows.iter().map(|row| if row.2 { "training" } else { "inference" }.to_owned()),
                ),
                Column::category("cnn", rows.iter().map(|row| format!("cnn {}", row.1))),
            ];
            Features::new(columns).unwrap()
        };
        let times = fitted.iter().copied().map(secs).collect();
        let runs = Dataset::new(features(&fitted), times, vec![false; fitted.len()]).unwrap();
        let answers = Pairs::of(&runs).unwrap().predict(&features(&asked)).unwrap();
        for (row, answer) in asked.iter().zip(answers) {
            let error = answer.unwrap().0 - libm::log(secs(*row));
            assert!(error.abs() < 0.1, "{row:?}: {error}");
        }
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

    #[test]
    fn an_answer_and_the_fit_of_all_runs_count_by_their_intervals() {
        let fit = |log: f64, width: f64| Prediction::of_log(log, spread_of(width)).unwrap();
        let mean = |own: f64, of_fit: f64| mean_with(&fit(2.0, of_fit), (1.0, spread_of(own)));
        let width = |answer: &Answer| half_width_of(answer.1.as_ref().unwrap());
        let equal = mean(0.2, 0.2);
        assert!((equal.0 - 1.2).abs() < 1e-9, "{}", equal.0);
        assert!(width(&equal) > 0.2, "they disagree");
        let (wide, narrow) = (mean(2.0, 0.1), mean(0.1, 2.0));
        assert!(wide.0 > 1.9 && narrow.0 < 1.01, "{} {}", wide.0, narrow.0);
        let without = Prediction { spread: None, ..fit(2.0, 0.1) };
        assert_eq!(mean_with(&without, (1.0, None)).0, 1.0);
    }

    #[test]
    fn each_machine_type_has_its_own_correction() {
        let rows: Vec<(usize, usize)> = (0..4).flat_map(|machine| (0..16).map(move |cnn| (machine, cnn))).collect();
        let features = |rows: &[(usize, usize)]| {
            let machine = Column::category("machine", rows.iter().map(|row| format!("machine {}", row.0)));
            let batch = Column::numeric("batch", vec![8.0; rows.len()], None);
            Features::new(vec![
                machine,
                batch,
                Column::category("cnn", rows.iter().map(|row| format!("cnn {}", row.1))),
            ])
            .unwrap()
        };
        let asked = [(3, 7), (2, 7)];
        let secs = |(machine, cnn): &(usize, usize)| {
            let (arithmetic, traffic) = bounds(*machine, *cnn);
            arithmetic + traffic
        };
        let fitted: Vec<(usize, usize)> = rows.into_iter().filter(|row| !asked.contains(row)).collect();
        let times = fitted.iter().map(secs).collect();
        let runs = Dataset::new(features(&fitted), times, vec![false; fitted.len()]).unwrap();
        let pairs = Pairs::of(&runs).unwrap();
        // The second time, the answers come from the cached corrections.
        for _ in 0..2 {
            for row in asked {
                let answer = pairs.predict(&features(&[row])).unwrap()[0].clone().unwrap();
                assert!(
                    (answer.0 - libm::log(secs(&row))).abs() < 0.2,
                    "{row:?}: {}",
                    answer.0 - libm::log(secs(&row))
                );
            }
        }
    }
}
