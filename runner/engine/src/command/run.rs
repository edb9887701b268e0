//! One run of a program, from its start to its sample.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use foreglow_exit::{Interrupt, Interrupted, Temporary, note};
use foreglow_machine::{Counters, MACHINE, Machine, Use, WARNINGS};
use foreglow_shared::{
    CommandTemplate, Configuration, Curve, Engine as EngineName, Outcome, ProgramRun, SCHEMA, Sample, Timestamp, Uuid,
};
use serde_json::{Map, Value, json};

use super::output::Output;
use super::process::{End, Process, Resources};
use super::{PROGRAM, Program, StopAfter, course, outcome, resources};
use crate::monitor::{self, Monitor};
use crate::run_result::{RunResult, Stop, failed, timed_out};
use crate::{Job, Progress, processors};

/// Interval for checking interrupts and the progress.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Interval for reporting resource use.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// Time in which a program that is to be stopped at some work has to report any.
const SILENCE: Duration = Duration::from_secs(600);
/// Share of more work after which to look again whether the time of the whole is known well enough.
const MORE_WORK: f64 = 0.02;
/// Variable with the file in which a program may report its progress.
const PROGRESS_FILE: &str = "FOREGLOW_PROGRESS";

/// Runs a program and returns its sample.
///
/// # Errors
/// The run was interrupted, or a file cannot be opened.
pub fn measure(
    job: &Job,
    template: &CommandTemplate,
    run: ProgramRun<'_>,
    provenance: Map<String, Value>,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Sample> {
    let (started_at, id) = (Timestamp::now(), Uuid::now_v7());
    let monitor = match &job.monitor {
        None => Monitor::default(),
        Some(path) => Monitor::writing_to(monitor::open(path)?, monitored(id, &run)),
    };
    progress(Progress::Starting);
    let program = job.program.clone().unwrap_or_default();
    let folder = Temporary::folder()?;
    let progress_file = folder.path().join("progress");
    File::create(&progress_file)?;
    let resources = resources_of(&run, &program, &progress_file);
    let own = [resources.processors.clone()];
    let slots = run.configuration.split().slots();
    let machine = Machine::before(slots, processors::of_all(&own), &job.device.pci_bus_ids());
    let before = machine.counters();
    let output = Output::new(&program.reader, Instant::now());
    let (mut measured, machine) = match Process::start(&template.filled(&run), &resources, output) {
        Err(error) => (Measured::failed(not_started(template, &error)), machine),
        Ok(process) => {
            let progress_file = File::open(&progress_file)?;
            let watched =
                Watched { job, program: &program, run: &run, process, machine, monitor, progress_file, look_at: 0.0 };
            watched.measure(before, &template.name(), interrupt, progress)?
        }
    };
    let mut of_program = Map::from_iter([("processors".to_owned(), json!(resources.processors))]);
    of_program.extend(program.stop_after.map(|stop| ("stop_after".to_owned(), json!(stop.to_string()))));
    of_program.append(&mut measured.of_program);
    of_program.extend(provenance);
    measured.fields.insert(PROGRAM.into(), Value::Object(of_program));
    measured.fields.insert(MACHINE.into(), machine.to_json());
    let warnings = machine.warnings();
    if !warnings.is_empty() {
        measured.fields.insert(WARNINGS.into(), json!(warnings));
    }
    Ok(measured.into_sample(job, &run, started_at, id))
}

/// Returns the resources of a run, with the file in which the program may report its progress.
fn resources_of(run: &ProgramRun<'_>, program: &Program, progress_file: &Path) -> Resources {
    let is_here = run.configuration.machines.unwrap_or(1) == 1;
    let mut resources = resources::of(run, is_here, program.has_limited_memory);
    resources.variables.push((PROGRESS_FILE.to_owned(), progress_file.to_string_lossy().into_owned()));
    resources
}

/// What a run measured.
struct Measured {
    ending: RunResult,
    startup_secs: Option<f64>,
    curve: Option<Curve>,
    /// Of all processes of the program.
    peak_memory_mib: Option<u64>,
    /// Fields of the sample about the program.
    of_program: Map<String, Value>,
    /// Other fields of the sample.
    fields: Map<String, Value>,
}

impl Measured {
    fn new(ending: RunResult, startup_secs: Option<f64>, curve: Option<Curve>) -> Self {
        let (of_program, fields) = Default::default();
        Self { ending, startup_secs, curve, peak_memory_mib: None, of_program, fields }
    }

    fn failed(reason: String) -> Self {
        Self::new(RunResult::new(Outcome::Failed, None, Some(reason)), None, None)
    }

    /// A program that ended by itself. Start-up is known if the program reports its
    /// progress.
    fn ended(curve: Option<Curve>, mut ending: RunResult, program: &Program) -> Self {
        let startup_secs = curve.as_ref().and_then(Curve::startup_secs);
        if let Some(secs) = &mut ending.completion_time_secs {
            *secs -= startup_secs.unwrap_or(0.0);
        }
        if let Some(stop) = program.stop_after.filter(|_| ending.outcome == Outcome::Completed) {
            note(&format!("note: the program ended before it was to be stopped (--stop-after {stop})"));
        }
        Self::new(ending, startup_secs, curve)
    }

    /// A program that was stopped after enough work: a lower bound of its run, whose progress shows
    /// the time of the whole.
    fn stopped(curve: Option<Curve>, stop: Option<StopAfter>, secs: f64, name: &str) -> Self {
        let stop = stop.map_or_else(String::new, |stop| format!(" (--stop-after {stop})"));
        let reason = match &curve {
            Some(_) => format!("stopped{stop}"),
            None => format!("stopped{stop}; {name} reported no progress, so that only a lower bound is known"),
        };
        let startup_secs = curve.as_ref().and_then(Curve::startup_secs);
        let secs = secs - startup_secs.unwrap_or(0.0);
        Self::new(RunResult::new(Outcome::TimedOut, Some(secs), Some(reason)), startup_secs, curve)
    }

    fn into_sample(self, job: &Job, run: &ProgramRun<'_>, started_at: Timestamp, id: Uuid) -> Sample {
        let Self { ending, startup_secs, curve, peak_memory_mib, fields, .. } = self;
        let configuration = run.configuration;
        let is_completed = ending.outcome == Outcome::Completed;
        Sample {
            schema: SCHEMA,
            id,
            workload: job.workload.clone(),
            configuration: configuration.clone(),
            sampling_rate: run.sampling_rate,
            outcome: ending.outcome,
            exceeded_memory: ending.exceeded_memory(),
            completion_time_secs: ending.completion_time_secs.map(micros),
            startup_secs: startup_secs.map(|secs| (secs * 1e6).round() / 1e6),
            predicted: None,
            reason: ending.reason,
            engine: EngineName::Command,
            runner_version: env!("CARGO_PKG_VERSION").to_owned(),
            host: job.host(),
            started_at,
            seed: Some(job.seed),
            images_processed: is_completed.then(|| images_processed(run)),
            peak_memory_mib: peak_memory_mib.map(|mib| mib.div_ceil(u64::from(configuration.executors.max(1)))),
            progress: curve.filter(Curve::is_valid),
            simulated: None,
            log_error: 0.0,
            extra: fields,
        }
    }
}

/// Why a program is ended.
enum Halt {
    /// A limit, or the user.
    Stop(Stop),
    /// It has done the work after which it was to be stopped.
    Enough,
}

/// A program that is running.
struct Watched<'a> {
    job: &'a Job,
    program: &'a Program,
    run: &'a ProgramRun<'a>,
    process: Process,
    machine: Machine,
    monitor: Monitor,
    /// The file in which the program may report its progress.
    progress_file: File,
    /// Work at which to look again whether it is enough.
    look_at: f64,
}

impl Watched<'_> {
    /// Waits for the end of the program, or ends it. `before` are the machine's counters before the
    /// start.
    ///
    /// # Errors
    /// The run was interrupted.
    fn measure(
        mut self,
        before: Counters,
        name: &str,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<(Measured, Machine)> {
        let stop = self.wait(interrupt, progress);
        let Self { program, run, mut process, mut machine, monitor, mut progress_file, .. } = self;
        // What a program reports while it ends is not part of the measured work.
        let stopped_at = process.output().curve();
        let secs = process.elapsed().as_secs_f64();
        process.look();
        let (own_secs, peak_memory_mib) = (process.tree().processor_secs(), process.tree().peak_memory_mib());
        machine.note_since(before, own_secs);
        let memory_bound = process.memory_bound().map(|bound| json!(bound));
        let output = process.output().clone();
        let end = process.end();
        output.read_file(&mut progress_file);
        output.finish();
        note_left_behind(&end, name);
        let mut measured = match stop {
            Some(Halt::Stop(Stop::Interrupted)) => return Err(Interrupted::default().into()),
            Some(Halt::Stop(Stop::Ended(ending))) => Measured::new(ending, None, stopped_at),
            Some(Halt::Enough) => Measured::stopped(stopped_at, program.stop_after, secs, name),
            None => Measured::ended(output.curve(), outcome::of(&end, name, run.configuration, secs), program),
        };
        measured.peak_memory_mib = peak_memory_mib;
        measured.of_program.extend(memory_bound.map(|bound| ("memory_bound".to_owned(), bound)));
        measured.of_program.insert("processor_secs".to_owned(), json!(micros(own_secs)));
        measured.fields.extend(monitor.summary().map(|summary| ("usage".to_owned(), summary)));
        Ok((measured, machine))
    }

    /// Waits for the end of the program. Returns the reason to end it; `None` if it ended by
    /// itself.
    fn wait(&mut self, interrupt: &Interrupt, progress: &mut dyn FnMut(Progress)) -> Option<Halt> {
        let mut said = Instant::now();
        loop {
            if interrupt.is_raised() {
                return Some(Halt::Stop(Stop::Interrupted));
            }
            let elapsed = self.process.elapsed();
            self.process.output().read_file(&mut self.progress_file);
            let done = self.process.output().done();
            if let Some(halt) = self.halt(elapsed, done) {
                return Some(halt);
            }
            let poll = (elapsed / 200).clamp(POLL_INTERVAL, 2 * POLL_INTERVAL);
            let until = |limit: Option<Duration>| limit.map_or(poll, |limit| limit.saturating_sub(elapsed));
            let of_stop = match self.program.stop_after {
                Some(StopAfter::Time(time)) => Some(time),
                _ => None,
            };
            if self.process.wait(poll.min(until(of_stop)).min(until(self.job.timeout))) {
                return None;
            }
            let (tree, machine) = (self.process.tree(), &self.machine);
            if said.elapsed() >= REPORT_INTERVAL {
                said = Instant::now();
                if let Some(done) = done {
                    let curve = self.process.output().curve();
                    let whole = curve.and_then(|curve| course::whole(&curve, self.run)).unwrap_or(done).max(done);
                    progress(Progress::Images(done as u64, whole as u64));
                }
                let processors = tree.processors_in_use();
                progress(Progress::Using(Use { processors, accelerator: machine.accelerators_now() }));
            }
            let look = || (tree.processors_in_use(), tree.memory_mib(), machine.each_accelerator_now());
            self.monitor.tick(self.process.started(), done.unwrap_or(0.0) as u64, look);
        }
    }

    /// Returns the reason to end the program now.
    fn halt(&mut self, elapsed: Duration, done: Option<f64>) -> Option<Halt> {
        if self.process.exceeds_memory() {
            let Configuration { executors, memory_per_executor_mib, .. } = self.run.configuration;
            let reason = format!("the program needs more than its {executors} × {memory_per_executor_mib} MiB");
            return Some(Halt::Stop(Stop::Ended(RunResult::new(Outcome::OutOfMemory, None, Some(reason)))));
        }
        if let Some(timeout) = self.job.timeout.filter(|timeout| elapsed >= *timeout) {
            return Some(Halt::Stop(timed_out(timeout)));
        }
        match (self.program.stop_after?, done) {
            (StopAfter::Time(time), _) => (elapsed >= time).then_some(Halt::Enough),
            (_, None) if elapsed >= SILENCE => Some(Halt::Stop(failed(format!(
                "the program reported no progress in {} min, so that it could not be stopped after its work; describe its \
                 lines with --progress, or stop it after a time, such as --stop-after 5m",
                SILENCE.as_secs() / 60
            )))),
            (_, None) => None,
            (_, Some(done)) if done < self.look_at => None,
            (stop, Some(done)) => {
                if let StopAfter::Precision(_) = stop {
                    self.look_at = done * (1.0 + MORE_WORK);
                }
                let curve = || self.process.output().curve();
                course::is_reached(stop, done, curve, self.run).then_some(Halt::Enough)
            }
        }
    }
}

/// Returns the fields of a run in each line of a monitor.
fn monitored(id: Uuid, run: &ProgramRun<'_>) -> Value {
    let Configuration { executors, cores_per_executor, .. } = *run.configuration;
    json!({
        "sample": id,
        "executors": executors,
        "cores_per_executor": cores_per_executor,
        "sampling_rate": run.sampling_rate,
    })
}

fn images_processed(run: &ProgramRun<'_>) -> u64 {
    let whole = run.workload.images_processed();
    ((whole * run.sampling_rate).round() as u64).max(1)
}

fn not_started(template: &CommandTemplate, error: &std::io::Error) -> String {
    let program = template.words().first().map_or("", String::as_str);
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no program {program}; check its name"),
        std::io::ErrorKind::PermissionDenied => format!("{program} is no program that may be run; try chmod +x"),
        _ => format!("{program} could not be started: {error}"),
    }
}

fn note_left_behind(end: &End, name: &str) {
    if end.left_behind > 0 {
        let processes = if end.left_behind == 1 { "process" } else { "processes" };
        note(&format!("note: {name} left {} {processes} behind, which Foreglow ended", end.left_behind));
    }
}

fn micros(secs: f64) -> f64 {
    // The system's clock may have a coarse resolution, and a completion time must not be zero.
    ((secs * 1e6).round() / 1e6).max(1e-6)
}
