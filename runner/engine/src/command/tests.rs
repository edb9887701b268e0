use std::time::{Duration, Instant};

use foreglow_data::Kind;
use foreglow_exit::Interrupted;
use foreglow_machine::device::{self, DeviceChoice};
use foreglow_shared::{CoreSplit, ExceededMemory, Mode, Outcome, Workload};

use super::*;

fn job(words: &[&str], units: u64) -> Job {
    let command = CommandTemplate::new(words.iter().map(|word| (*word).to_owned()).collect()).unwrap();
    let workload = Workload {
        unit: Some("steps".into()),
        command: Some(command.clone()),
        ..Workload::new(command.name(), Mode::Training, 1, units)
    };
    Job {
        workload,
        source: Kind::Folder.at("."),
        device: device::choose(&DeviceChoice::Cpu).unwrap(),
        program: Some(Program::default()),
        ..crate::sweep::tests::job()
    }
}

fn run(job: &Job, sampling_rate: f64) -> Sample {
    let configuration = job.configuration(CoreSplit::even(1, 1), 512, 1);
    let sampling_rate = job.true_rate(&job.workload, &configuration, sampling_rate);
    let engine = &mut Command::default();
    engine.measure(job, &configuration, sampling_rate, &Interrupt::default(), &mut |_| {}).unwrap()
}

#[test]
fn a_run_of_a_program_is_a_sample_with_its_wall_clock() {
    let job = job(&["sh", "-c", "test $FOREGLOW_CORES = 1 && sleep 0.0{steps}"], 30);
    let sample = run(&job, 0.1);
    assert_eq!((sample.outcome, sample.reason.as_deref()), (Outcome::Completed, None));
    assert_eq!((sample.engine, sample.sampling_rate, sample.images_processed), (EngineName::Command, 0.1, Some(3)));
    assert!(sample.completion_time_secs.unwrap() >= 0.03);
    assert_eq!(sample.startup_secs, None, "without progress, start-up is unknown");
    assert_eq!(sample.host, job.host());
    assert!(sample.check().is_ok());
    assert!(Command::default().has_measured(&sample, &job));
}

#[test]
fn a_program_that_fails_or_exceeds_its_limits_is_recorded() {
    let failed = run(&job(&["echo step {steps}; echo 'no such file' >&2; exit 4"], 30), 0.1);
    let reason = "echo failed (exit status: 4); its output says: no such file";
    assert_eq!((failed.outcome, failed.reason.as_deref()), (Outcome::Failed, Some(reason)));
    let missing = run(&job(&["no-such-program", "{steps}"], 30), 0.1);
    assert_eq!(missing.reason.as_deref(), Some("there is no program no-such-program; check its name"));
    let late = Job { timeout: Some(Duration::from_millis(200)), ..job(&["sleep", "{steps}"], 300) };
    let late = run(&late, 1.0);
    assert_eq!((late.outcome, late.completion_time_secs), (Outcome::TimedOut, Some(0.2)));
    assert_eq!(late.images_processed, None);
}

#[test]
fn a_program_that_needs_more_than_its_memory_is_ended() {
    let line = "python3 -c 'import time; x = bytearray(1 << 30); time.sleep({steps})'";
    let program = Some(Program { has_limited_memory: true, ..Program::default() });
    let sample = run(&Job { program, ..job(&[line], 60) }, 1.0);
    assert_eq!(sample.outcome, Outcome::OutOfMemory, "{:?}", sample.reason);
    assert_eq!(sample.exceeded_memory, Some(ExceededMemory::Executor));
}

#[test]
fn a_missing_program_is_refused_before_the_first_run() {
    let check = |words: &[&str]| {
        let job = job(words, 30);
        let configuration = job.configuration(CoreSplit::even(1, 1), 512, 1);
        Command::default().check(&job, &[&configuration]).map_err(|error| error.to_string())
    };
    assert!(check(&["sleep", "{steps}"]).is_ok());
    let sentence = "there is no program slep; check its name, or write its path, such as ./slep";
    assert_eq!(check(&["slep", "{steps}"]), Err(sentence.to_owned()));
}

#[test]
fn an_interrupted_run_ends_its_program_and_gives_no_sample() {
    let job = job(&["sleep", "{steps}"], 300);
    let configuration = job.configuration(CoreSplit::even(1, 1), 512, 1);
    let interrupt = Interrupt::default();
    interrupt.raise();
    let begun = Instant::now();
    let result = Command::default().measure(&job, &configuration, 1.0, &interrupt, &mut |_| {});
    assert!(result.unwrap_err().is::<Interrupted>() && begun.elapsed() < Duration::from_secs(60));
}

/// A program that starts for 0.3 s and then takes 20 ms a step, and tells each.
const TRAINING: &str = "import sys, time\ntime.sleep(0.3)\nfor step in range(1, int(sys.argv[1]) + 1):\n    \
                        time.sleep(0.02)\n    print('step %d/%s loss 1.0' % (step, sys.argv[1]))";

#[test]
fn progress_tells_start_up_apart_and_its_curve_is_in_the_sample() {
    let sample = run(&job(&["python3", "-c", TRAINING, "{steps}"], 100), 0.3);
    assert_eq!(sample.outcome, Outcome::Completed, "{:?}", sample.reason);
    let (startup, secs) = (sample.startup_secs.unwrap(), sample.completion_time_secs.unwrap());
    assert!(startup >= 0.25 && secs >= 0.5, "{startup} {secs}");
    let curve = sample.progress.as_ref().unwrap();
    assert_eq!((curve.unit.as_str(), curve.of, curve.points.len()), ("steps", Some(30.0), 30));
    assert!(sample.check().is_ok());
}

#[test]
fn a_program_is_stopped_after_its_steps_with_its_progress_in_the_sample() {
    let words = ["python3", "-c", TRAINING, "10000"];
    let stop = |text: &str| Some(Program { stop_after: text.parse().ok(), ..Program::default() });
    for text in ["20steps", "0.2%", "8s"] {
        let job = Job { program: stop(text), ..job(&words, 10_000) };
        let sample = run(&job, 1.0);
        assert_eq!((sample.outcome, sample.sampling_rate), (Outcome::TimedOut, 1.0), "{text}: {:?}", sample.reason);
        let (_, done) = sample.progress.as_ref().unwrap().last().unwrap();
        assert!((1.0..500.0).contains(&done) && (text == "8s" || done >= 20.0), "{text}: {done}");
        assert!(sample.startup_secs.unwrap() >= 0.25, "{text}");
        assert_eq!(sample.whole_units(), Some(10_000.0), "{text}");
        // The same command does not run it again, and one that stops elsewhere does.
        let engine = Command::default();
        assert!(
            engine.has_measured(&sample, &job)
                && !engine.has_measured(&sample, &Job { program: stop("7s"), ..job.clone() })
        );
        let run = crate::sweep::Run::of(&sample);
        assert_eq!(crate::sweep::left(vec![run], &engine, &job, &[sample]), [], "{text}");
    }
}

#[test]
fn a_stopped_program_without_progress_gives_a_lower_bound() {
    let program = Some(Program { stop_after: "0.3s".parse().ok(), ..Program::default() });
    let sample = run(&Job { program, ..job(&["sleep", "1000"], 10) }, 1.0);
    assert_eq!((sample.outcome, sample.sampling_rate), (Outcome::TimedOut, 1.0));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("; sleep reported no progress"), "{reason}");
    assert!((0.3..10.0).contains(&sample.completion_time_secs.unwrap()));
}

#[test]
fn a_program_may_tell_its_progress_in_a_file_or_in_a_form_of_its_own() {
    let line = "for i in 1 2 3 4; do sleep 0.1; echo \"{\\\"foreglow\\\":{\\\"done\\\":$i,\\\"of\\\":4}}\" >> \
                $FOREGLOW_PROGRESS; done; true {steps}";
    let sample = run(&job(&[line], 4), 1.0);
    let curve = sample.progress.unwrap_or_else(|| panic!("{:?}", sample.reason));
    assert_eq!((curve.of, curve.last().map(|(_, done)| done)), (Some(4.0), Some(4.0)));
    let reader = Reader::with_pattern("teil (?<step>[0-9]+) von (?<of>[0-9]+)").unwrap();
    let program = Some(Program { reader, ..Program::default() });
    let line = "for i in 1 2 3; do sleep 0.1; echo teil $i von {steps}; done";
    let sample = run(&Job { program, ..job(&[line], 3) }, 1.0);
    assert_eq!(sample.progress.and_then(|curve| curve.of), Some(3.0));
}
