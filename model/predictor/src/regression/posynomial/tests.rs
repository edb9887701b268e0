use super::*;
use crate::Tuning;
use crate::dataset::{Points, UNSEEN};
use crate::regression::tests::{grid, table};

/// Executors, cores and sampling rate of a run of the whole data set.
const FULL_RUN: [f64; 3] = [2.0, 4.0, 1.0];

/// Returns executors, cores and sampling rates with the times of a job with start-up, parallel work
/// and synchronisation, and 3 % noise from a small generator (Marsaglia, "Xorshift RNGs", J. Stat.
/// Softw. 8(14), 2003).
fn sampled(rates: &[f64], seed: u64) -> Training {
    let mut state = seed;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut training = Training::default();
    for e in [1.0, 2.0, 3.0] {
        for c in [2.0, 4.0, 6.0, 8.0] {
            for rate in rates {
                let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                training.points.numeric.push(vec![e, c, *rate]);
                training.points.category.push(vec![]);
                training.logs.push(libm::log(job(&[e, c, *rate])) + 0.03 * normal);
            }
        }
    }
    Training::new(training.points, training.logs)
}

fn job(x: &[f64]) -> f64 {
    5.0 + x[0] + 500.0 * x[2] / (libm::pow(x[0], 0.9) * libm::pow(x[1], 0.8))
}

/// Returns the largest relative error at sampling rate 1.
fn worst(fit: &Posynomial) -> f64 {
    let error = |point: Vec<f64>| (fit.log(&point, &[]) - libm::log(job(&point))).abs();
    let points = [1.0, 2.0, 3.0].iter().flat_map(|e| [2.0, 4.0, 6.0, 8.0].map(|c| vec![*e, c, 1.0]));
    libm::expm1(points.map(error).fold(0.0, f64::max))
}

fn objective(problem: &Problem, fit: &Posynomial) -> f64 {
    problem.least_squares(&problem.penalty, Noise::Independent(&problem.precisions)).descend(fit.terms.clone(), 0).0
}

fn fit(training: &Training, prior: &Prior) -> Vec<Posynomial> {
    Problem::new(training, prior).fit()
}

#[test]
fn a_sum_of_two_powers_is_recovered_and_extrapolated() {
    let law = |x: &[f64], _: &[u32]| 4.0 * x[1] / x[0] + 0.5 * x[1];
    let fits = fit(&grid(law), &Prior { beyond: vec![0, 1], ..Prior::default() });
    for (x, most) in [([3.0, 50.0], 0.003), ([32.0, 1000.0], 0.01)] {
        let error = fits[1].log(&x, &[]) - libm::log(law(&x, &[]));
        assert!(error.abs() < most, "{x:?}: {error}");
    }
}

#[test]
fn two_levels_extrapolate_well_only_where_their_exponents_are_tied() {
    let (mut tied, mut free): (f64, f64) = (0.0, 0.0);
    for seed in 1..=20 {
        let training = sampled(&[0.01, 0.1], seed << 40 | 12345);
        let worst_of = |tie_two_levels| {
            let prior = Prior { beyond: vec![2], tie_two_levels, ..Prior::default() };
            fit(&training, &prior)[1..].iter().map(worst).fold(0.0, f64::max)
        };
        tied = tied.max(worst_of(true));
        free = free.max(worst_of(false));
    }
    assert!(tied < 0.3 && free > 1.0, "tied {tied}, free {free}");
}

#[test]
fn every_further_term_and_every_step_lowers_the_objective() {
    let training = sampled(&[0.01, 0.03, 0.1], 7 << 40);
    let problem = Problem::new(&training, &Prior::default());
    let fits = problem.fit();
    let search = problem.least_squares(&problem.penalty, Noise::Independent(&problem.precisions));
    let start = [problem.single.as_slice(), &problem.starts().next().unwrap()].concat();
    let objectives: Vec<f64> = (0..6).map(|steps| search.descend(start.clone(), steps).0).collect();
    assert!(objectives.windows(2).all(|pair| pair[1] < pair[0]), "{objectives:?}");
    assert!(objective(&problem, &fits[1]) <= objectives[5]);
    assert!(objective(&problem, &fits[2]) < objective(&problem, &fits[1]));
}

#[test]
fn a_refit_to_independent_noise_stays_where_it_was() {
    let training = sampled(&[0.01, 0.1], 3 << 40);
    let problem = Problem::new(&training, &Prior::default());
    let fitted = &problem.fit()[1];
    let rows = training.logs.len();
    let mut inverse = Matrix::zeros(rows, rows);
    (0..rows).for_each(|i| inverse[i][i] = 1.0 / (NOISE * NOISE));
    let (before, after) = (fitted.log(&FULL_RUN, &[]), problem.refit(fitted, &inverse).log(&FULL_RUN, &[]));
    assert!((before - after).abs() < 1e-2, "{before} and {after}");
    let correlated =
        problem.least_squares(&problem.penalty, Noise::Correlated(&inverse)).descend(fitted.terms.clone(), 3);
    let white = problem
        .least_squares(&problem.penalty, Noise::Independent(&problem.precisions))
        .descend(fitted.terms.clone(), 3);
    assert!((correlated.0 - white.0).abs() < 1e-6 * white.0, "{} and {}", correlated.0, white.0);
}

#[test]
fn work_never_takes_less_time_against_a_slope_within_the_noise() {
    let training = table(&[(&[1.0], &[]), (&[2.0], &[])], |x, _| 1.0 - 0.02 * x[0]);
    let rise = |meaning| {
        let fits = fit(&training, &Prior { meanings: vec![meaning], ..Prior::default() });
        fits[1].log(&[2.0], &[]) - fits[1].log(&[1.0], &[])
    };
    let (work, unknown) = (rise(Some(Meaning::Work)), rise(None));
    assert!(unknown < 0.0 && work > 0.6 * unknown, "{work}, {unknown}");
}

#[test]
fn a_combination_of_names_may_differ_from_the_product_of_their_factors() {
    let law = |_: &[f64], c: &[u32]| if c == [1, 1] { 5.0 } else { 1.0 + f64::from(c[0] + c[1]) };
    let rows = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]];
    let training = table(&rows.iter().map(|c| ([].as_slice(), c.as_slice())).collect::<Vec<_>>(), law);
    let one = &fit(&training, &Prior::default())[0];
    for codes in &rows {
        assert!((one.log(&[], codes) - libm::log(law(&[], codes))).abs() < 0.02, "{codes:?}");
    }
    let others: Vec<f64> = [[0, 1], [1, 1], [2, 1]].iter().map(|codes| one.log(&[], codes)).collect();
    let unseen = one.log(&[], &[UNSEEN, 1]);
    assert!(others.iter().any(|log| *log < unseen) && others.iter().any(|log| *log > unseen), "{unseen}");
}

#[test]
fn what_is_written_reads_back_as_the_same_function() {
    let points = Points { numeric: vec![vec![1.0], vec![2.0], vec![4.0]], category: vec![vec![0], vec![1], vec![1]] };
    let training = Training::new(points, vec![0.3, 0.1, 0.7]);
    for fitted in fit(&training, &Prior::default()) {
        let read: Posynomial = serde_json::from_str(&serde_json::to_string(&fitted).unwrap()).unwrap();
        assert_eq!(read, fitted);
    }
}

#[test]
fn the_tenth_percentile_is_interpolated() {
    assert_eq!(low(vec![3.0]), 3.0);
    assert_eq!(low(vec![10.0, 0.0]), 1.0);
    assert!((low((0..=20).rev().map(f64::from).collect()) - 2.0).abs() < 1e-12);
}

#[test]
fn one_slow_run_of_seven_is_found_wherever_it_is() {
    let settings = [(1.0, 1.0), (1.0, 2.0), (1.0, 4.0), (2.0, 1.0), (2.0, 4.0), (4.0, 2.0), (4.0, 4.0)];
    let time = |x: &[f64], _: &[u32]| 5.0 + 100.0 * (0.05 + 0.95 / (x[0] * x[1]));
    let points: Vec<[f64; 2]> = settings.iter().map(|(e, c)| [*e, *c]).collect();
    let rows: Vec<(&[f64], &[u32])> = points.iter().map(|x| (x.as_slice(), [].as_slice())).collect();
    let meanings = vec![Some(Meaning::Workers); 2];
    let terms = law::terms(&table(&rows, time).points, &meanings, law::Costs::All, Tuning::default()).unwrap();
    let prior = Prior { meanings, ..Prior::default() };
    let fits = |slow: usize| {
        let mut training = table(&rows, time);
        training.logs[slow] += libm::log(2.0);
        let problem = Problem::new(&training, &prior);
        let (few, one) = (problem.fit_law_of_few(&terms), problem.fit_law(&terms));
        (few.weights[slow], one.weights[slow])
    };
    let found = (0..rows.len()).filter(|slow| fits(*slow).0 < 0.25).count();
    let found_from_one_start = (0..rows.len()).filter(|slow| fits(*slow).1 < 0.25).count();
    assert!(found >= found_from_one_start && found >= 6, "{found} of 7, {found_from_one_start} from one start");
}

#[test]
fn replicas_synchronise_from_the_second_on_and_a_grid_has_the_times_of_its_points() {
    let time = |x: &[f64], _: &[u32]| 100.0 * (1.0 + 0.4 * (x[0] - 1.0) / x[0]) / x[0];
    let training = table(&[(&[1.0], &[]), (&[2.0], &[]), (&[4.0], &[])], time);
    let meanings = vec![Some(Meaning::Replicas)];
    let terms = law::terms(&training.points, &meanings, law::Costs::Synchronised, Tuning::default()).unwrap();
    let law = Problem::synchronised(&training, &Prior { meanings, ..Prior::default() }).fit_law(&terms).law;
    let replicas = [1.0, 2.0, 8.0, 64.0];
    for count in replicas {
        let error = law.log(&[count], &[]) - libm::log(time(&[count], &[]));
        assert!(error.abs() < 0.05, "{count}: {error}");
    }
    let along = |term: &[f64], x: f64| law.design.along(0, term)(x) - law.design.along(0, term)(1.0);
    for term in law.terms.chunks_exact(law.design.width()) {
        let at = |x: f64| law.design.row(&[x], &[]).dot(term);
        assert!(replicas.iter().all(|x| (along(term, *x) - (at(*x) - at(1.0))).abs() < 1e-12));
    }
}
