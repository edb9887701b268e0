//! A fit of a table in which some names of a category, such as machine types, have few rows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use foreglow_numeric::median;

use foreglow_shared::{distinct, sort_by_cached_key};

use super::transfer::{OnPeers, Transfer, TransferRow, half_width_of, slow_runs, spread_of};
use crate::ensemble::{Group, describe, measured};
use crate::{Column, Dataset, DatasetError, Ensemble, Features, Meaning, Prediction, Tuning, Values, Warning};

/// Distinct settings below which a name has few rows.
const ENOUGH_SETTINGS: usize = 6;
/// Share of the settings of all names from which on a name counts as fully measured. With less, the
/// fits of two names hardly overlap.
const FULL_SHARE: f64 = 0.25;
/// Limit on the peers of a name with few rows; those with the most rows are used.
const MOST_PEERS: usize = 12;
/// Limit on the rows of a peer for measuring errors.
const MOST_ROWS: usize = 400;

/// Limit on the rows of all fits that leave out the slow runs of one name each. Above it, one fit
/// leaves out those of all names.
const MOST_REFITTED: usize = 1_000;

/// Predicts the names of a category with few rows by a regression on the fits of the fully measured
/// names.
#[derive(Debug)]
pub(super) struct Borrowing {
    dataset: Dataset,
    known: Vec<(String, Meaning)>,
    category: String,
    /// Rows of each name with few of them.
    few: BTreeMap<String, Vec<usize>>,
    /// Rows of the peers: the fully measured names, those with the most rows first.
    full: Vec<Vec<usize>>,
    /// Numeric columns with one value for each name, such as the processors of a machine type; they
    /// are constant in the fit of a single name.
    determined: Vec<String>,
    peers: OnceLock<Vec<Peer>>,
    /// Regressions for names with few rows; `None` if the peers do not suffice.
    borrowed: OnceLock<BTreeMap<String, Option<Borrowed>>>,
    /// The fits without the slow runs of a name, by name; that of all names has none.
    without_slow: Mutex<BTreeMap<Option<String>, Option<Arc<Ensemble>>>>,
    tuning: Tuning,
}

/// The regression on the peers for a name with few rows.
#[derive(Debug)]
struct Borrowed {
    transfer: Transfer,
    slow: Vec<Slow>,
}

/// A setting of a name whose runs took much longer than its others.
#[derive(Debug)]
struct Slow {
    rows: Vec<usize>,
    log: f64,
    expected_log: f64,
}

/// A fully measured name, fitted by itself.
#[derive(Debug)]
struct Peer {
    ensemble: Ensemble,
    /// Its rows, without the category.
    features: Features,
    settings: Vec<Group>,
    /// Median half-width of its 90 % intervals at its own rows, in ln t.
    half_width: f64,
}

impl Clone for Borrowing {
    fn clone(&self) -> Self {
        Self {
            dataset: self.dataset.clone(),
            known: self.known.clone(),
            category: self.category.clone(),
            few: self.few.clone(),
            full: self.full.clone(),
            determined: self.determined.clone(),
            peers: OnceLock::new(),
            borrowed: OnceLock::new(),
            without_slow: Mutex::default(),
            tuning: self.tuning,
        }
    }
}

impl Borrowing {
    /// Prepares for a category; `None` if no name has few rows, or none is fully measured.
    pub(super) fn of(dataset: &Dataset, known: &[(&str, Meaning)], tuning: Tuning, category: &str) -> Option<Self> {
        let rows = rows_of(dataset.features(), category).ok()?;
        let mut borrowing = Self {
            dataset: dataset.clone(),
            known: known.iter().map(|(name, meaning)| ((*name).to_owned(), *meaning)).collect(),
            category: category.to_owned(),
            few: BTreeMap::new(),
            full: Vec::new(),
            determined: determined(dataset.features(), &rows),
            peers: OnceLock::new(),
            borrowed: OnceLock::new(),
            without_slow: Mutex::default(),
            tuning,
        };
        let compared = borrowing.for_peers(dataset.features()).ok()?;
        let all = count_settings(&compared, &(0..compared.rows()).collect::<Vec<usize>>());
        let mut full = Vec::new();
        for (name, rows) in rows {
            let settings = count_settings(&compared, &rows);
            if settings < ENOUGH_SETTINGS {
                borrowing.few.insert(name, rows);
            } else if settings as f64 >= FULL_SHARE * all as f64 {
                full.push((std::cmp::Reverse(settings), rows));
            }
        }
        sort_by_cached_key(&mut full, |(settings, _)| *settings);
        borrowing.full = full.into_iter().map(|(_, rows)| rows).take(MOST_PEERS).collect();
        (!borrowing.few.is_empty() && !borrowing.full.is_empty()).then_some(borrowing)
    }

    /// Replaces the predictions of names with few rows by their mean with the regression's.
    ///
    /// # Errors
    /// A column is missing, or is a category on one side alone.
    pub(super) fn improve(&self, questions: &Features, predictions: &mut [Prediction]) -> Result<(), DatasetError> {
        for (name, places) in rows_of(questions, &self.category)? {
            let Some(Some(borrowed)) = self.borrowed().get(&name) else { continue };
            let asked = questions.select(&places);
            if let Some(ensemble) = self.without_slow(&name, &borrowed.slow) {
                for (place, mut prediction) in places.iter().zip(ensemble.predict(&asked)?) {
                    prediction.warnings.extend(borrowed.slow.iter().map(|slow| self.warning(slow)));
                    predictions[*place] = prediction;
                }
            }
            let answers = self.on_peers(&self.for_peers(&asked)?)?;
            for (place, answer) in places.into_iter().zip(answers) {
                if let Some((on_peers, beyond)) = answer {
                    combine(&mut predictions[place], &borrowed.transfer, &on_peers, beyond);
                }
            }
        }
        Ok(())
    }

    /// Returns features without the category and the columns that it determines. Determined numbers
    /// of workers, such as the processors of a machine type, multiply the other number of workers,
    /// so that names are compared at equal numbers of workers in total.
    fn for_peers(&self, features: &Features) -> Result<Features, DatasetError> {
        let is_workers = |name: &str| self.known.iter().any(|(known, meaning)| known == name && meaning.is_workers());
        let is_determined = |name: &str| self.determined.iter().any(|column| column == name);
        let mut factors = vec![1.0; features.rows()];
        for column in features.columns().iter().filter(|column| is_determined(&column.name) && is_workers(&column.name))
        {
            if let Values::Numeric { values, .. } = &column.values {
                factors.iter_mut().zip(values).for_each(|(factor, value)| *factor *= value);
            }
        }
        let kept =
            features.columns().iter().filter(|column| column.name != self.category && !is_determined(&column.name));
        let mut kept: Vec<Column> = kept.cloned().collect();
        if let Some(Column { values: Values::Numeric { values, .. }, .. }) =
            kept.iter_mut().find(|column| is_workers(&column.name))
        {
            values.iter_mut().zip(&factors).for_each(|(value, factor)| *value *= factor);
        }
        Features::new(kept)
    }

    /// Returns the regressions on the peers for the names with few rows.
    fn borrowed(&self) -> &BTreeMap<String, Option<Borrowed>> {
        self.borrowed.get_or_init(|| {
            let mut all = BTreeMap::new();
            all.extend(self.few.iter().map(|(name, rows)| (name.clone(), self.borrow(rows))));
            all
        })
    }

    fn borrow(&self, rows: &[usize]) -> Option<Borrowed> {
        let own = self.dataset.select(rows);
        // Copies and repeats of a run are one row: their median.
        let settings = measured(&own);
        let own = self.transfer_rows(&self.for_peers(own.features()).ok()?, &settings)?;
        let peers: Option<Vec<Vec<TransferRow>>> =
            self.peers().iter().map(|peer| self.transfer_rows(&peer.features, &peer.settings)).collect();
        let peers = peers?;
        // A setting that a peer cannot predict has no place among these.
        let mut slow = if own.len() == settings.len() { slow_runs(&own, &peers) } else { Vec::new() };
        slow.retain(|(setting, log)| !settings[*setting].agrees(own[*setting].log - log));
        let is_slow = |setting: usize| slow.iter().any(|(slow, _)| *slow == setting);
        let kept = own.iter().enumerate().filter(|(setting, _)| !is_slow(*setting)).map(|(_, row)| row.clone());
        let transfer = Transfer::fit(&kept.collect::<Vec<TransferRow>>(), &peers)?;
        let slow: Vec<Slow> = slow
            .iter()
            .map(|(setting, log)| Slow {
                rows: settings[*setting].rows.iter().map(|row| rows[*row]).collect(),
                log: own[*setting].log,
                expected_log: *log,
            })
            .collect();
        Some(Borrowed { transfer, slow })
    }

    /// Returns the fit of all rows but the slow ones of a name, or of all names if these have so
    /// many that each fit of its own would take long; `None` without a slow run.
    fn without_slow(&self, name: &str, own: &[Slow]) -> Option<Arc<Ensemble>> {
        if own.is_empty() {
            return None;
        }
        let all = || self.borrowed().values().flatten().filter(|borrowed| !borrowed.slow.is_empty());
        let is_shared = all().count() * self.dataset.secs().len() > MOST_REFITTED;
        let slow = match is_shared {
            true => distinct(all().flat_map(|borrowed| &borrowed.slow).flat_map(|slow| &slow.rows).copied()),
            false => distinct(own.iter().flat_map(|slow| &slow.rows).copied()),
        };
        let fit = || {
            let rows: Vec<usize> =
                (0..self.dataset.secs().len()).filter(|row| slow.binary_search(row).is_err()).collect();
            Ensemble::fit_tuned(&self.dataset.select(&rows), &self.known(), self.tuning).ok().map(Arc::new)
        };
        let mut known = self.without_slow.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry((!is_shared).then(|| name.to_owned())).or_insert_with(fit).clone()
    }

    fn warning(&self, slow: &Slow) -> Warning {
        Warning::SamplesDisagree {
            at: describe(self.dataset.features(), slow.rows[0]),
            runs: slow.rows.len(),
            secs: libm::exp(slow.log),
            expected_secs: libm::exp(slow.expected_log),
        }
    }

    fn known(&self) -> Vec<(&str, Meaning)> {
        self.known.iter().map(|(name, meaning)| (name.as_str(), *meaning)).collect()
    }

    /// Returns settings with what each peer takes for them, without those that a peer cannot
    /// predict.
    fn transfer_rows(&self, features: &Features, settings: &[Group]) -> Option<Vec<TransferRow>> {
        let rows: Vec<usize> = settings.iter().map(|setting| setting.rows[0]).collect();
        let answers = self.on_peers(&features.select(&rows)).ok()?;
        let row = |(answer, setting): (Option<(OnPeers, f64)>, &Group)| {
            answer.zip(setting.log_median()).map(|((on_peers, _), log)| TransferRow { on_peers, log })
        };
        Some(answers.into_iter().zip(settings).filter_map(row).collect())
    }

    /// Returns ln t of each question on each peer, and the increase of the peers' squared interval
    /// width in ln t over that at their own rows; `None` if a peer has no prediction.
    fn on_peers(&self, asked: &Features) -> Result<Vec<Option<(OnPeers, f64)>>, DatasetError> {
        let peers = self.peers();
        let mut answers: Vec<Option<(OnPeers, f64)>> = vec![Some((Vec::new(), 0.0)); asked.rows()];
        for peer in peers {
            for (answer, prediction) in answers.iter_mut().zip(peer.ensemble.predict(asked)?) {
                let half_width = prediction.spread.as_ref().map_or(peer.half_width, half_width_of);
                let excess = (half_width * half_width - peer.half_width * peer.half_width).max(0.0);
                *answer = answer.take().zip(prediction.completion_time_secs).map(|((mut logs, beyond), secs)| {
                    logs.push(libm::log(secs));
                    (logs, beyond + excess / peers.len() as f64)
                });
            }
        }
        Ok(answers)
    }

    fn peers(&self) -> &[Peer] {
        self.peers.get_or_init(|| self.full.iter().filter_map(|rows| self.peer(rows)).collect())
    }

    fn peer(&self, rows: &[usize]) -> Option<Peer> {
        let own = self.dataset.select(rows);
        let features = self.for_peers(own.features()).ok()?;
        let own = own.with_features(features);
        let ensemble = Ensemble::fit_known(&own, &self.known()).ok()?;
        let settings = measured(&own);
        let step = settings.len().div_ceil(MOST_ROWS);
        let settings: Vec<Group> = settings.into_iter().step_by(step).collect();
        let some: Vec<usize> = settings.iter().map(|setting| setting.rows[0]).collect();
        let predictions = ensemble.predict(&own.features().select(&some)).ok()?;
        let half_width =
            median(predictions.iter().filter_map(|prediction| prediction.spread.as_ref().map(half_width_of)));
        Some(Peer { ensemble, features: own.features().clone(), settings, half_width })
    }
}

/// Replaces a prediction by its mean with that of the regression on the peers.
fn combine(prediction: &mut Prediction, transfer: &Transfer, on_peers: &OnPeers, beyond: f64) {
    // The errors of the regression were measured between peers, whose runs cover the whole range.
    // Only the fit of all names accounts for the smaller range of this name.
    let own = transfer.half_width();
    let of_all = prediction.spread.as_ref().map_or(0.0, half_width_of);
    let half_width = (own * own + beyond).sqrt().max(of_all);
    let log = transfer.log(on_peers);
    let log = prediction.completion_time_secs.map_or(log, |secs| f64::midpoint(log, libm::log(secs)));
    let Some(combined) = spread_of(half_width).and_then(|spread| Prediction::of_log(log, Some(spread))) else { return };
    *prediction = Prediction { warnings: std::mem::take(&mut prediction.warnings), ..combined };
}

/// Returns the rows of each name of a category.
fn rows_of(features: &Features, category: &str) -> Result<BTreeMap<String, Vec<usize>>, DatasetError> {
    let column = features.columns().iter().find(|column| column.name == category);
    let column = column.ok_or_else(|| DatasetError::NoColumn { name: category.to_owned() })?;
    let Values::Category { levels, codes } = &column.values else {
        return Err(DatasetError::Kind { name: category.to_owned(), numeric: false });
    };
    let mut rows: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (row, code) in codes.iter().enumerate() {
        rows.entry(levels[*code as usize].clone()).or_default().push(row);
    }
    Ok(rows)
}

/// Returns the numeric columns with one value for each name of the category.
fn determined(features: &Features, rows: &BTreeMap<String, Vec<usize>>) -> Vec<String> {
    let is_determined = |column: &&Column| match &column.values {
        Values::Numeric { values, .. } => {
            rows.values().all(|rows| rows.iter().all(|row| values[*row] == values[rows[0]]))
        }
        Values::Category { .. } => false,
    };
    features.columns().iter().filter(is_determined).map(|column| column.name.clone()).collect()
}

/// Returns the number of distinct settings among some rows.
fn count_settings(features: &Features, rows: &[usize]) -> usize {
    let key = |row: usize| -> Vec<u64> {
        let value = |column: &Column| match &column.values {
            Values::Numeric { values, .. } => (values[row] + 0.0).to_bits(),
            Values::Category { codes, .. } => u64::from(codes[row]),
        };
        features.columns().iter().map(value).collect()
    };
    distinct(rows.iter().map(|row| key(*row))).len()
}
