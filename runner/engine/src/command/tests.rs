use foreglow_data::Kind;
use foreglow_machine::device::{self, Wish};
use foreglow_shared::{CoreSplit, Mode, Workload};

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
        device: device::choose(&Wish::Cpu).unwrap(),
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
    assert_eq!(sample.startup_secs, None, "without progress, start-up is not told apart");
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
