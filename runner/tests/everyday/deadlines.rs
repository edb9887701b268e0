//! Deadlines that are far beyond every measured run.

use crate::foreglow::{Answer, Foreglow, line};

/// Writes runs of the whole job: executors, cores and seconds.
fn whole_jobs(home: &Foreglow, runs: &[(u32, u32, f64)]) -> String {
    let run = |(number, (executors, cores, secs)): (u32, &(u32, u32, f64))| {
        line(number)
            .replace(r#""executors":1"#, &format!(r#""executors":{executors}"#))
            .replace(r#""cores_per_executor":1"#, &format!(r#""cores_per_executor":{cores}"#))
            .replace(r#""sampling_rate":0.1"#, r#""sampling_rate":1.0"#)
            .replace(r#""completion_time_secs":2.5"#, &format!(r#""completion_time_secs":{secs}"#))
            + "\n"
    };
    home.write("whole.jsonl", &(1..).zip(runs).map(run).collect::<String>())
}

fn plan(runs: &[(u32, u32, f64)], deadline: &str) -> Answer {
    let home = Foreglow::new();
    let file = whole_jobs(&home, runs);
    home.run(&["plan", &file, "--deadline", deadline])
}

/// Six runs of three configurations, from 6.6 s to 9.7 s.
const THREE: [(u32, u32, f64); 6] = [(1, 1, 9.7), (1, 1, 9.5), (1, 2, 7.9), (1, 2, 8.1), (2, 1, 6.6), (2, 1, 6.8)];
/// Six runs of two configurations.
const TWO: [(u32, u32, f64); 6] = [(1, 1, 9.7), (1, 1, 9.5), (1, 1, 9.6), (1, 2, 7.9), (1, 2, 8.1), (1, 2, 6.6)];

#[test]
fn jobs_of_seconds_are_sure_to_be_done_within_ten_minutes() {
    for runs in [THREE, TWO] {
        let answer = plan(&runs, "10m");
        assert_eq!(answer.code, 0, "{}{}", answer.stdout, answer.stderr);
        assert!(answer.stdout.contains("RECOMMENDED   1 executor of 1 core"), "{}", answer.stdout);
        assert!(answer.stdout.contains("> 99 %   recommended"), "{}", answer.stdout);
    }
}

#[test]
fn a_deadline_near_the_measured_times_stays_uncertain() {
    for runs in [THREE, TWO] {
        let answer = plan(&runs, "6.9s");
        assert!(!answer.stdout.contains("> 99 %"), "{}", answer.stdout);
    }
    // Above the median of the slower configuration, and within its noise.
    let answer = plan(&TWO, "9.65s");
    assert!(!answer.stdout.contains("RECOMMENDED   1 executor of 1 core"), "{}", answer.stdout);
}

#[test]
fn a_configuration_that_was_not_measured_is_no_surer_for_repeats_of_others() {
    let home = Foreglow::new();
    let file = whole_jobs(&home, &TWO);
    let answer = home.run(&["plan", &file, "--deadline", "10m", "--executors", "1", "--cores", "4"]);
    assert_eq!(answer.code, 1, "{}", answer.stdout);
    assert!(answer.stderr.contains("there are too few samples for the probability"), "{}", answer.stderr);
}

#[test]
fn single_runs_of_two_configurations_say_nothing_of_the_noise_and_the_reason_is_given() {
    let answer = plan(&[(1, 1, 9.7), (1, 2, 6.6)], "10m");
    assert_eq!(answer.code, 1, "{}", answer.stdout);
    assert!(answer.stderr.contains("there are too few samples for the probability"), "{}", answer.stderr);
    assert!(answer.stderr.contains("`foreglow advise` says which"), "{}", answer.stderr);
}
