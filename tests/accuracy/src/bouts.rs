//! Runs every predictor on every trial of a protocol, on all processors.

use std::time::Instant;

use anyhow::Context as _;
use foreglow_model::{Outcome, RIVALS, Rival};
use rayon::prelude::*;
use serde_json::Value;

use crate::calibration::Calibration;
use crate::child;
use crate::contestant::{Constants, FOREGLOW};
use crate::figures::{Figures, PartOutcomes};
use crate::options::{Bout, Options};
use crate::protocol::{Part, Protocol, Source};
use crate::slowed::Slowed;
use crate::trial::Trial;

/// The changes to the fitted runs, besides the unchanged runs.
pub const SLOWED: [Slowed; 4] = [Slowed::Runs(5), Slowed::Runs(10), Slowed::Settings(10), Slowed::Largest];

#[derive(Clone, Copy)]
enum Contestant<'a> {
    Foreglow(&'a Constants),
    Rival(&'static dyn Rival),
}

impl<'a> Contestant<'a> {
    fn all(options: &Options, constants: &'a Constants) -> Vec<Self> {
        let all = std::iter::once(Self::Foreglow(constants)).chain(RIVALS.iter().map(|rival| Self::Rival(*rival)));
        all.filter(|contestant| options.wants_predictor(contestant.name())).collect()
    }

    fn answer(self, trial: &Trial) -> Result<Vec<Outcome>, String> {
        match self {
            Self::Foreglow(constants) => trial.foreglow(constants),
            Self::Rival(rival) => trial.rival(rival),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Foreglow(_) => FOREGLOW,
            Self::Rival(rival) => rival.name(),
        }
    }
}

/// The change in a quick or limited run of a costly protocol.
const COSTLY: [Slowed; 1] = [Slowed::Runs(10)];

/// A trial with the change to its runs.
struct Slot {
    slowed: Slowed,
    part: usize,
    number: usize,
    trial: Trial,
}

struct Answered {
    secs: f64,
    outcomes: Result<Vec<Outcome>, String>,
}

/// Returns the figures of every predictor in a protocol, clean and with slow runs: the default
/// predictor first, the others in order of their error.
pub fn rows(protocol: &Protocol, parts: &[Part], options: &Options) -> Vec<Figures> {
    rows_of(protocol, parts, options, &Contestant::all(options, &Constants::default()))
}

/// Returns the figures of the default predictor with the given constants.
pub fn own_rows(protocol: &Protocol, parts: &[Part], options: &Options, constants: &Constants) -> Vec<Figures> {
    rows_of(protocol, parts, options, &[Contestant::Foreglow(constants)])
}

fn rows_of(protocol: &Protocol, parts: &[Part], options: &Options, contestants: &[Contestant]) -> Vec<Figures> {
    let slots = slots(protocol, parts, options);
    let answered = |item: usize| {
        let (place, contestant) = (item / contestants.len(), contestants[item % contestants.len()]);
        let start = Instant::now();
        let outcomes = match protocol.limit_secs {
            None => contestant.answer(&slots[place].trial),
            Some(limit_secs) => {
                let bout = Bout { protocol: protocol.title(), slot: place, predictor: contestant.name().into() };
                child::outcomes(options, &bout, limit_secs)
            }
        };
        Answered { secs: start.elapsed().as_secs_f64(), outcomes }
    };
    let items = 0..slots.len() * contestants.len();
    // With a time limit, bouts run one at a time, because their time is measured too.
    let bouts: Vec<Answered> = match protocol.limit_secs {
        Some(_) => items.map(answered).collect(),
        None => items.into_par_iter().with_max_len(1).map(answered).collect(),
    };
    let mut rows = Vec::new();
    for slowed in std::iter::once(Slowed::None).chain(SLOWED) {
        if !slots.iter().any(|slot| slot.slowed == slowed) {
            continue;
        }
        let mut own: Vec<Figures> = contestants
            .iter()
            .enumerate()
            .map(|(place, contestant)| {
                let of = |slot: usize| &bouts[slot * contestants.len() + place];
                // A part without repeats or without a data size cannot be slowed in this way; it is
                // omitted from both figures.
                let has = |part: &usize| slots.iter().any(|slot| (slot.part, slot.slowed) == (*part, slowed));
                let parts: Vec<PartOutcomes> =
                    (0..parts.len()).filter(has).map(|part| part_outcomes(&slots, slowed, part, &of)).collect();
                Figures {
                    is_development: protocol.set.is_development,
                    ..Figures::new(protocol.set.name, protocol.name.clone(), slowed, contestant.name(), &parts)
                }
            })
            .collect();
        let key = |row: &Figures| (row.predictor != FOREGLOW, row.mape_percent.unwrap_or(f64::INFINITY));
        own.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
        rows.extend(own);
    }
    rows
}

/// Returns the answer of one predictor on one trial, in the format for the parent process.
///
/// # Errors
/// The trial or the predictor does not exist.
pub fn answer(protocol: &Protocol, parts: &[Part], options: &Options, bout: &Bout) -> anyhow::Result<Value> {
    let slots = slots(protocol, parts, options);
    let slot = slots.get(bout.slot).context("the protocol has no such trial")?;
    let constants = Constants::default();
    let contestant =
        Contestant::all(options, &constants).into_iter().find(|contestant| contestant.name() == bout.predictor);
    Ok(child::print(&contestant.context("there is no such predictor")?.answer(&slot.trial)))
}

/// Returns the trials of a protocol, clean and with slow runs.
fn slots(protocol: &Protocol, parts: &[Part], options: &Options) -> Vec<Slot> {
    let mut slots = Vec::new();
    let limit = options.trials.filter(|_| protocol.set.source != Source::Project);
    let is_limited = options.is_quick || limit.is_some();
    let changes: &[Slowed] = if is_limited && protocol.is_costly { &COSTLY } else { &SLOWED };
    let most = if options.is_quick { protocol.quick_trials } else { usize::MAX };
    for (part, Part { trials, .. }) in parts.iter().enumerate() {
        for (number, place) in spread(trials.len(), limit).into_iter().enumerate().take(most) {
            let trial = &trials[place];
            slots.push(Slot { slowed: Slowed::None, part, number, trial: trial.clone() });
            for slowed in changes.iter().copied().filter(|_| !options.is_clean && number < protocol.slowed_trials) {
                let differs = match slowed {
                    Slowed::Settings(_) => trial.has_repeats(),
                    Slowed::Largest => trial.has_largest(),
                    _ => true,
                };
                if differs {
                    let seed = (part * 1_000 + number) as u64;
                    slots.push(Slot { slowed, part, number, trial: trial.slowed(slowed, seed) });
                }
            }
        }
    }
    slots
}

/// Returns `most` indices below `count`, evenly spread, or all of them.
fn spread(count: usize, most: Option<usize>) -> Vec<usize> {
    let most = most.unwrap_or(count).min(count);
    (0..most).map(|number| number * count / most).collect()
}

fn part_outcomes<'a>(slots: &[Slot], slowed: Slowed, part: usize, of: &impl Fn(usize) -> &'a Answered) -> PartOutcomes {
    let places = |slowed: Slowed| {
        (0..slots.len()).filter(move |place| slots[*place].part == part && slots[*place].slowed == slowed)
    };
    let numbers: Vec<usize> = places(slowed).map(|place| slots[place].number).collect();
    let outcomes = |place: usize| of(place).outcomes.iter().flatten().copied();
    let is_clean_twin = |place: &usize| slowed != Slowed::None && numbers.contains(&slots[*place].number);
    PartOutcomes {
        outcomes: places(slowed).flat_map(outcomes).collect(),
        failed: places(slowed)
            .filter(|place| of(*place).outcomes.is_err())
            .map(|place| slots[place].trial.tested())
            .sum(),
        calibration: places(slowed).filter_map(|place| of(place).outcomes.as_deref().ok().map(Calibration::of)).sum(),
        clean: places(Slowed::None).filter(is_clean_twin).flat_map(outcomes).collect(),
        secs: places(slowed).filter(|place| of(*place).outcomes.is_ok()).map(|place| of(place).secs).collect(),
        reason: places(slowed).find_map(|place| of(place).outcomes.as_ref().err().cloned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_trials_are_spread_over_all() {
        assert_eq!(spread(10, Some(4)), [0, 2, 5, 7]);
        assert_eq!(spread(3, Some(20)), [0, 1, 2]);
        assert_eq!(spread(2, None), [0, 1]);
    }
}
