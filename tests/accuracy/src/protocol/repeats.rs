//! Repeated whole jobs of one configuration beside small samples of all configurations.
//!
//! The whole jobs agree with each other and contradict the samples, or one of them is slow.

use anyhow::Context as _;
use foreglow_model::Repeats;
use foreglow_shared::{Job, Observation, group_by_context, read_samples};

use crate::chance::Chance;
use crate::protocol::own_runs::cell;
use crate::protocol::simulated::{self, Law};
use crate::protocol::{Part, Places, Protocol, Set, Source};
use crate::trial::{JobTrial, Trial};

/// LeNet-5 on MNIST, trained on up to four executors: its whole jobs take a quarter less time than
/// its samples suggest. No part of the predictor was chosen on it.
const LENET: Set = Set { name: "LeNet-5 on MNIST", is_development: false, source: Source::Project };
/// Simulated jobs whose images take longer, or less time, in the whole job than in the samples.
const BENT: Set =
    Set { name: "Simulated whole jobs unlike their samples", is_development: false, source: Source::Project };

/// Fitted whole jobs.
const REPEATS: usize = 3;
/// Range of the factor by which one of them is slowed.
const SLOWER: (f64, f64) = (1.3, 3.0);
/// Draws for each configuration.
const DRAWS: u64 = 10;
/// Range of the logarithm of the factor between whole jobs and samples, slower or faster.
const BENT_BY: (f64, f64) = (0.2, 0.8);

/// Tested whole jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tested {
    /// Those of the configuration with the repeats.
    Same,
    /// Those of the other configurations.
    Others,
}

/// Returns every protocol with repeated whole jobs.
pub fn protocols() -> Vec<Protocol> {
    let mut protocols = Vec::new();
    for (set, trials) in [(LENET, lenet as Trials), (BENT, bent as Trials)] {
        for (tested, has_slow, question) in [
            (Tested::Same, false, "3 whole jobs of one configuration → it"),
            (Tested::Others, false, "3 whole jobs of one configuration → the others"),
            (Tested::Same, true, "3 whole jobs of one configuration, one slow → it"),
        ] {
            protocols.push(Protocol {
                set,
                name: question.to_owned(),
                parts: Box::new(move |places| {
                    Ok(vec![Part { command: Vec::new(), trials: trials(places, tested, has_slow)? }])
                }),
                slowed_trials: 0,
                quick_trials: usize::MAX,
                is_costly: false,
                limit_secs: None,
            });
        }
    }
    protocols
}

type Trials = fn(&Places, Tested, bool) -> anyhow::Result<Vec<Trial>>;

fn lenet(places: &Places, tested: Tested, has_slow: bool) -> anyhow::Result<Vec<Trial>> {
    let file = places.project.join("web/assets/mnist.jsonl");
    let bytes = std::fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let job = group_by_context(&read_samples(&bytes)?).into_iter().next();
    let job = job.with_context(|| format!("{} has no job", file.display()))?;
    let (samples, whole): (Vec<Observation>, Vec<Observation>) =
        job.observations.iter().partition(|run| run.sampling_rate < 1.0);
    let mut own: Vec<&Observation> = Vec::new();
    whole.iter().for_each(|run| {
        if own.iter().all(|known| cell(known) != cell(run)) {
            own.push(run)
        }
    });
    let mut trials = Vec::new();
    for configuration in own {
        for draw in 0..DRAWS {
            let mut chance = Chance::new(&[9, u64::from(configuration.executors), draw]);
            let (of_it, others): (Vec<Observation>, Vec<Observation>) =
                whole.iter().partition(|run| cell(run) == cell(configuration));
            let places = chance.places(of_it.len(), REPEATS);
            let repeats = places.iter().map(|place| of_it[*place]).collect();
            let rest = (0..of_it.len()).filter(|place| !places.contains(place)).map(|place| of_it[place]).collect();
            let test = if tested == Tested::Same { rest } else { others };
            trials.push(trial(&job, &samples, repeats, test, has_slow, &mut chance));
        }
    }
    Ok(trials)
}

fn bent(_: &Places, tested: Tested, has_slow: bool) -> anyhow::Result<Vec<Trial>> {
    let drawn = |draw: u64| {
        let mut chance = Chance::new(&[10, draw]);
        let law = if draw.is_multiple_of(2) { Law::Amdahl } else { Law::Powers };
        let job = simulated::Simulated::draw(law, &mut chance);
        let sign = if draw % 4 < 2 { 1.0 } else { -1.0 };
        let factor = libm::exp(sign * chance.between(BENT_BY.0, BENT_BY.1));
        let configurations = simulated::configurations();
        let mut samples = Vec::new();
        for configuration in &configurations {
            samples.extend([0.01, 0.1].map(|rate| job.run(*configuration, rate, &mut chance)));
        }
        let own = configurations[chance.place(configurations.len())];
        let mut whole = |configuration| {
            let run = job.run(configuration, 1.0, &mut chance);
            Observation { completion_time_secs: factor * run.completion_time_secs, ..run }
        };
        let repeats = (0..REPEATS).map(|_| whole(own)).collect();
        let test = match tested {
            Tested::Same => (0..REPEATS).map(|_| whole(own)).collect(),
            Tested::Others => configurations.iter().filter(|other| **other != own).map(|other| whole(*other)).collect(),
        };
        trial(&simulated::runs(Vec::new()), &samples, repeats, test, has_slow, &mut chance)
    };
    Ok((0..4 * DRAWS).map(drawn).collect())
}

/// Fits the samples and the repeats, one of them slowed if `has_slow`.
fn trial(
    job: &Job,
    samples: &[Observation],
    mut repeats: Vec<Observation>,
    test: Vec<Observation>,
    has_slow: bool,
    chance: &mut Chance,
) -> Trial {
    if has_slow {
        let place = chance.place(repeats.len());
        repeats[place].completion_time_secs *= chance.between(SLOWER.0, SLOWER.1);
    }
    let observations = [samples, &repeats].concat();
    Trial::Job(JobTrial { job: Job { observations, ..job.clone() }, test, repeats: Repeats::Median })
}

#[cfg(test)]
mod tests {
    use foreglow_model::median;

    use super::*;
    use crate::contestant::Constants;

    fn errors(trial: &Trial, secs: f64) -> (f64, f64) {
        let outcome = trial.foreglow(&Constants::default()).unwrap()[0];
        let error = |secs: f64| (secs / outcome.measured_secs - 1.0).abs();
        (error(outcome.answer.secs.unwrap()), error(secs))
    }

    /// The simplest rule for a measured configuration.
    #[test]
    fn of_a_repeated_whole_job_the_median_of_its_repeats_is_no_better() {
        let places = Places::new(None);
        for (trials, has_slow) in [(lenet as Trials, false), (lenet, true), (bent, false), (bent, true)] {
            let (mut own, mut of_median) = (0.0, 0.0);
            for trial in trials(&places, Tested::Same, has_slow).unwrap() {
                let Trial::Job(JobTrial { job, .. }) = &trial else { panic!("a job gives trials of jobs") };
                let whole = job.observations.iter().filter(|run| run.sampling_rate >= 1.0);
                let secs: Vec<f64> = whole.map(|run| run.completion_time_secs).collect();
                assert_eq!(secs.len(), REPEATS);
                let errors = errors(&trial, median(&secs));
                (own, of_median) = (own + errors.0, of_median + errors.1);
            }
            assert!(own < 1.01 * of_median, "{has_slow}: {own} {of_median}");
        }
    }
}
