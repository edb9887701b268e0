//! Coverage of the 90 % intervals for a name with few runs and for a pair of names that never ran
//! together. The error of all their runs is one shared offset.

use foreglow_model::{Column, Dataset, Ensemble, Features};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::simulated::Random;

/// Populations; each answers one question, so that the answers are independent.
const POPULATIONS: u32 = if cfg!(target_arch = "wasm32") { 20 } else { 80 };

/// Returns the least number of covered answers: three standard deviations of the binomial
/// distribution below its mean.
fn least_covered() -> u32 {
    let populations = f64::from(POPULATIONS);
    (0.9 * populations - 3.0 * (0.09 * populations).sqrt()).ceil() as u32
}

/// Standard deviation of the noise, and of the offsets that the runs of a group share, in ln t.
const NOISE: f64 = 0.02;
const OFFSET: f64 = 0.2;

const MACHINES: usize = 5;
const CNNS: usize = 5;
const MODES: usize = 2;

/// Indices of a machine type, a mode and a CNN.
type Row = [usize; 3];

/// ln t of every machine type, mode and CNN.
struct Population {
    logs: Vec<(Row, f64)>,
}

impl Population {
    /// Draws a population in which `group` numbers the rows that share an offset.
    fn draw(random: &mut Random, group: impl Fn(Row) -> usize) -> Self {
        let mut draw =
            |deviation: f64, count: usize| -> Vec<f64> { (0..count).map(|_| deviation * random.normal()).collect() };
        let (machines, modes, cnns) = (draw(0.5, MACHINES), draw(0.5, MODES), draw(0.5, CNNS));
        let offsets = draw(OFFSET, MACHINES * CNNS * MODES);
        let noises = draw(NOISE, MACHINES * CNNS * MODES);
        let rows = (0..MACHINES)
            .flat_map(|machine| (0..MODES).flat_map(move |mode| (0..CNNS).map(move |cnn| [machine, mode, cnn])));
        let log = |(place, row): (usize, Row)| {
            let [machine, mode, cnn] = row;
            (row, machines[machine] + modes[mode] + cnns[cnn] + offsets[group(row)] + noises[place])
        };
        Self { logs: rows.enumerate().map(log).collect() }
    }

    /// Fits some rows and asks for one. Returns whether its time is in the interval.
    fn is_covered(&self, is_fitted: impl Fn(Row) -> bool, asked: Row) -> bool {
        let fitted: Vec<(Row, f64)> = self.logs.iter().filter(|(row, _)| is_fitted(*row)).copied().collect();
        let secs = fitted.iter().map(|(_, log)| libm::exp(*log)).collect();
        let rows: Vec<Row> = fitted.iter().map(|(row, _)| *row).collect();
        let dataset = Dataset::new(features(&rows), secs, vec![false; rows.len()]).unwrap();
        let prediction = &Ensemble::fit(&dataset).unwrap().predict(&features(&[asked])).unwrap()[0];
        let interval = prediction.interval.unwrap();
        let (_, log) = self.logs.iter().find(|(row, _)| *row == asked).unwrap();
        (interval.lower_secs..=interval.upper_secs).contains(&libm::exp(*log))
    }
}

fn features(rows: &[Row]) -> Features {
    let column =
        |place: usize, name: &str| Column::category(name, rows.iter().map(|row| format!("{name} {}", row[place])));
    Features::new(vec![column(0, "machine"), column(1, "mode"), column(2, "cnn")]).unwrap()
}

#[test]
fn intervals_for_a_machine_type_with_three_runs_cover_what_its_runs_share() {
    let mut random = Random(20_261_127);
    let mut covered = 0;
    for _ in 0..POPULATIONS {
        // A machine type favours one mode over the other.
        let population = Population::draw(&mut random, |[machine, mode, _]| machine * MODES + mode);
        // Three runs of the new machine type, and a question about a fourth.
        let mut own: Vec<Row> = Vec::new();
        while own.len() < 4 {
            let row = [0, random.below(MODES), random.below(CNNS)];
            if !own.contains(&row) {
                own.push(row);
            }
        }
        covered += u32::from(population.is_covered(|row| row[0] > 0 || own[..3].contains(&row), own[3]));
    }
    eprintln!("{covered} of {POPULATIONS}");
    assert!(covered >= least_covered(), "{covered} of {POPULATIONS}");
}

#[test]
fn intervals_for_a_machine_type_and_a_cnn_that_never_ran_together_cover_what_their_runs_share() {
    let mut random = Random(20_261_128);
    let mut covered = 0;
    for _ in 0..POPULATIONS {
        let population = Population::draw(&mut random, |[machine, _, cnn]| machine * CNNS + cnn);
        let is_fitted = |[machine, _, cnn]: Row| machine > 0 || cnn > 0;
        covered += u32::from(population.is_covered(is_fitted, [0, 1, 0]));
    }
    eprintln!("{covered} of {POPULATIONS}");
    assert!(covered >= least_covered(), "{covered} of {POPULATIONS}");
}
