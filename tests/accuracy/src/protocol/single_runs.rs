//! All repeats fitted and each run tested: how often an interval contains one run.

use foreglow_model::Repeats;
use foreglow_shared::Observation;

use crate::chance::Chance;
use crate::protocol::own_runs::{self, JOBS};
use crate::protocol::simulated::{self, Law, Simulated};
use crate::protocol::{Part, Places, Protocol, Set, Source};
use crate::trial::{JobTrial, Trial};

/// Simulated jobs whose runs differ as much as those of a busy machine.
const NOISY: Set = Set { name: "Simulated 3 × 3 grids with repeats", is_development: false, source: Source::Project };

/// Simulated jobs.
const DRAWS: u64 = 40;
/// Range of the logarithm of the standard deviation of ln t: 3 to 20 %.
const NOISE: (f64, f64) = (-3.5, -1.6);
/// Fitted repeats of each setting.
const REPEATS: [usize; 3] = [2, 3, 8];
/// Sampling rates of the samples.
const RATES: [f64; 2] = [0.01, 0.1];

/// Returns every protocol that tests each run.
pub fn protocols() -> Vec<Protocol> {
    let protocol = |set, name: String, trials: Trials, quick_trials| Protocol {
        set,
        name,
        parts: Box::new(move |places| Ok(vec![Part { command: Vec::new(), trials: trials(places)? }])),
        slowed_trials: 0,
        quick_trials,
        is_costly: false,
        limit_secs: None,
    };
    let own = JOBS.map(|(model, mode)| {
        let trials: Trials = Box::new(move |places| of_own(places, model, mode));
        protocol(own_runs::SET, format!("{model} {mode}, all repeats of 1 % and 10 % → each whole job"), trials, 1)
    });
    let noisy = REPEATS.map(|repeats| {
        let trials: Trials = Box::new(move |_| Ok((0..DRAWS).map(|draw| simulated(repeats, draw)).collect()));
        protocol(NOISY, format!("{repeats} repeats of 1 and 10 % → each whole job"), trials, 10)
    });
    own.into_iter().chain(noisy).collect()
}

type Trials = Box<dyn Fn(&Places) -> anyhow::Result<Vec<Trial>> + Sync>;

fn of_own(places: &Places, model: &str, mode: &str) -> anyhow::Result<Vec<Trial>> {
    let mut job = own_runs::job(places, model, mode)?;
    let (samples, test): (Vec<Observation>, Vec<Observation>) =
        job.observations.iter().partition(|run| run.sampling_rate < 1.0);
    job.observations = samples;
    Ok(vec![Trial::Job(JobTrial { job, test, repeats: Repeats::Each })])
}

fn simulated(repeats: usize, draw: u64) -> Trial {
    let mut chance = Chance::new(&[11, repeats as u64, draw]);
    let law = if draw.is_multiple_of(2) { Law::Amdahl } else { Law::Powers };
    let job = Simulated::draw(law, &mut chance);
    let noise = libm::exp(chance.between(NOISE.0, NOISE.1));
    let mut runs = |rate: f64| -> Vec<Observation> {
        let configurations = simulated::configurations();
        let repeated = configurations.into_iter().flat_map(|configuration| vec![configuration; repeats]);
        let noisy = |configuration| {
            let run = job.run(configuration, rate, &mut chance);
            Observation { completion_time_secs: run.completion_time_secs * libm::exp(noise * chance.normal()), ..run }
        };
        repeated.map(noisy).collect()
    };
    let samples = RATES.map(&mut runs).concat();
    Trial::Job(JobTrial { job: simulated::runs(samples), test: runs(1.0), repeats: Repeats::Each })
}
