//! Intervals hold as often as they say, on simulated runs.

#![allow(clippy::print_stdout, reason = "the table in docs/progress.md")]

use foreglow_curve::WholeJob;
use foreglow_shared::Curve;

/// A generator of normal numbers (xorshift and the sum of twelve uniform ones).
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A kind of simulated job of 0.1 s a step.
#[derive(Clone, Copy, Default)]
struct Kind {
    steps: u32,
    /// Share of the job that is seen.
    seen: f64,
    /// Standard deviation of a step, relative.
    noise: f64,
    /// Autocorrelation of the noise from one step to the next.
    memory: f64,
    /// Share of steps that take five times as long.
    hiccups: f64,
    /// Steps from one evaluation to the next, and its length in steps; 0 for none.
    evaluation: (u32, f64),
    /// Slow-down at the end of heating up, and the share of the job in which most of it happens.
    heat: (f64, f64),
    /// Standard deviation of a slow random change of the speed over the whole job.
    wander: f64,
    /// A sudden change of the time of a step, relative, and the share of the part that is seen
    /// before it.
    jump: (f64, f64),
    /// Steps from one report to the next; 0 for one after each step.
    report: u32,
}

/// Simulates one run: the points that are seen, and the time of the whole job.
fn run(kind: &Kind, seed: u64) -> (Vec<(f64, f64)>, f64) {
    let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..20).for_each(|_| {
        noise.uniform();
    });
    let steps = f64::from(kind.steps);
    let (mut secs, mut error, mut wander) = (3.0, noise.normal(), 0.0);
    let mut points = vec![(secs, 0.0)];
    let seen = (steps * kind.seen) as u32;
    // The speed of a virtual machine changes during a run.
    let change = 1.0 + 0.03 * noise.normal();
    let innovation = (1.0 - kind.memory * kind.memory).sqrt();
    for step in 1..=kind.steps {
        error = kind.memory * error + innovation * noise.normal();
        wander += noise.normal() / steps.sqrt();
        let share = f64::from(step) / steps;
        let warm = if step <= 3 { 10.0 } else { 1.0 };
        let jump = if f64::from(step) > kind.jump.1 * f64::from(seen) { 1.0 + kind.jump.0 } else { 1.0 };
        let heat = 1.0 + kind.heat.0 * share / (share + kind.heat.1.max(1e-9) / 2.0);
        let hiccup = if noise.uniform() < kind.hiccups { 5.0 } else { 1.0 };
        let relative = (1.0 + kind.noise * error).max(0.1) * (1.0 + kind.wander * wander).max(0.2);
        secs += 0.1 * warm * heat * jump * hiccup * relative * if step > seen { change } else { 1.0 };
        if step % kind.report.max(1) == 0 {
            points.push((secs, f64::from(step)));
        }
        if kind.evaluation.0 > 0 && step % kind.evaluation.0 == 0 {
            secs += 0.1 * kind.evaluation.1 * (1.0 + 0.05 * noise.normal());
        }
    }
    points.retain(|point| point.1 <= f64::from(seen));
    // The end of the program: up to half of the start-up.
    (points, secs + 0.5 * 3.0 * noise.uniform())
}

/// Returns the share of intervals that hold, the median error and the median half-width.
fn tried(kind: &Kind) -> (f64, f64, f64) {
    let (mut held, mut errors, mut widths) = (0, Vec::new(), Vec::new());
    let runs = 400;
    for seed in 1..=runs {
        let (points, actual) = run(kind, seed);
        let per_epoch = (kind.evaluation.0 > 0).then_some(f64::from(kind.evaluation.0));
        let curve = Curve { unit: "steps".into(), of: None, per_epoch, points };
        let job = WholeJob::from_curve(&curve, f64::from(kind.steps)).expect("enough steps were seen");
        held += i32::from(job.lower_secs <= actual && actual <= job.upper_secs);
        errors.push((job.secs / actual - 1.0).abs());
        widths.push((job.upper_secs - job.lower_secs) / 2.0 / actual);
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    (f64::from(held) / runs as f64, median(errors), median(widths))
}

#[test]
fn another_run_of_the_job_has_the_same_time_and_a_wider_interval() {
    let points = (0..=100).map(|step| (3.0 + 0.1 * f64::from(step), f64::from(step))).collect();
    let curve = Curve { unit: "steps".into(), of: None, per_epoch: None, points };
    let job = WholeJob::from_curve(&curve, 1000.0).expect("enough steps were seen");
    let other = job.clone().of_another_run();
    assert_eq!(other.secs, job.secs);
    let half_width = |job: &WholeJob| (job.upper_secs - job.lower_secs) / 2.0 / job.secs;
    assert!(half_width(&job) < 0.06 && (0.11..0.16).contains(&half_width(&other)), "{}", half_width(&other));
}

#[test]
fn intervals_hold_as_often_as_the_documentation_says() {
    let plain = Kind { steps: 2000, seen: 0.1, noise: 0.1, ..Kind::default() };
    let kinds = [
        ("independent", plain),
        ("few steps", Kind { steps: 300, ..plain }),
        ("four reports", Kind { report: 50, ..plain }),
        ("half seen", Kind { seen: 0.5, ..plain }),
        ("memory 0.5", Kind { memory: 0.5, ..plain }),
        ("memory 0.9", Kind { memory: 0.9, ..plain }),
        ("memory 0.97", Kind { memory: 0.97, ..plain }),
        ("hiccups", Kind { hiccups: 0.02, ..plain }),
        ("evaluation", Kind { evaluation: (50, 20.0), ..plain }),
        ("no end of an epoch seen", Kind { evaluation: (500, 25.0), ..plain }),
        ("evaluation, memory", Kind { evaluation: (50, 20.0), memory: 0.8, ..plain }),
        ("heat at once", Kind { heat: (0.1, 0.02), ..plain }),
        ("heat", Kind { heat: (0.1, 0.1), ..plain }),
        ("a sudden change", Kind { jump: (0.2, 0.6), noise: 0.02, ..plain }),
        ("wander", Kind { wander: 0.05, ..plain }),
        ("wander, little noise", Kind { wander: 0.05, noise: 0.02, ..plain }),
    ];
    let mut all = Vec::new();
    for (name, kind) in kinds {
        let (held, error, width) = tried(&kind);
        println!("{name:24} {:5.1} % {:5.2} % {:5.2} %", 100.0 * held, 100.0 * error, 100.0 * width);
        // Correlations over a sixth of the part that was seen, a speed that changes slowly and by
        // more than its noise, and heating that goes on later cannot be known from that part.
        let least = match name {
            "wander, little noise" => 0.5,
            "wander" | "memory 0.97" | "heat" => 0.75,
            _ => 0.85,
        };
        assert!(held >= least, "{name}: {held}");
        all.push(held);
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!((0.85..=0.96).contains(&mean), "{mean}");
}
