//! The command engine: the user's own program, run on each configuration within its resources.

mod outcome;
mod output;
mod process;
mod provenance;
mod resources;
mod stop_after;
mod tree;

use std::time::{Duration, Instant};

use foreglow_exit::{Interrupt, Interrupted, note, unusable};
use foreglow_machine::{MACHINE, Machine, Use, WARNINGS};
use foreglow_shared::{
    CommandTemplate, Configuration, Engine as EngineName, ExceededMemory, Outcome, ProgramRun, SCHEMA, Sample,
    Timestamp, Uuid,
};
use serde_json::{Map, Value, json};

use self::output::Output;
use self::process::{End, Process};
pub use self::stop_after::StopAfter;
use super::ending::{Ending, timed_out};
use super::monitor::{self, Monitor};
use super::{Engine, Job, Progress, processors};
use crate::ending::Stop;

/// Interval for checking interrupts.
const PULSE: Duration = Duration::from_millis(50);
/// Interval for reporting resource use.
const BREATH: Duration = Duration::from_millis(500);
/// Field of a sample with what Foreglow knows of its program.
const PROGRAM: &str = "program";

/// The part of a job that only the user's own program has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// When to stop it; `None` to let it end.
    pub stop_after: Option<StopAfter>,
    /// Whether the user limits its memory.
    pub has_limited_memory: bool,
}

/// Runs the user's own program.
#[derive(Default)]
pub struct Command {
    /// Versions of the code and of its software, which are read before the first run.
    provenance: Option<Map<String, Value>>,
}

impl Engine for Command {
    fn measure(
        &mut self,
        job: &Job,
        configuration: &Configuration,
        sampling_rate: f64,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Sample> {
        let template = template(job)?;
        let provenance = self.provenance.get_or_insert_with(|| provenance::of(template)).clone();
        let run = ProgramRun { workload: &job.workload, configuration, sampling_rate, seed: job.seed };
        measure(job, template, run, provenance, interrupt, progress)
    }

    fn has_measured(&self, sample: &Sample, job: &Job) -> bool {
        let stopped = sample.extra.get(PROGRAM).and_then(|program| program.get("stop_after")?.as_str());
        let asked = job.program.as_ref().and_then(|program| program.stop_after).map(|stop| stop.to_string());
        sample.engine == EngineName::Command && sample.host == job.host() && stopped == asked.as_deref()
    }

    fn processors(&self, job: &Job) -> Option<u32> {
        job.host().processors
    }

    fn is_cluster(&self) -> bool {
        false
    }

    fn check(&self, job: &Job, configurations: &[&Configuration]) -> anyhow::Result<()> {
        let template = template(job)?;
        for configuration in configurations {
            let run = ProgramRun { workload: &job.workload, configuration, sampling_rate: 1.0, seed: job.seed };
            // The shell itself says which command of a line is missing.
            let words = template.filled(&run);
            let Some(program) = words.first().filter(|_| template.shell_line().is_none()) else { continue };
            if provenance::found(program).is_none() {
                return Err(unusable(format!(
                    "there is no program {program}; check its name, or write its path, such as ./{program}"
                )));
            }
        }
        Ok(())
    }
}

fn template(job: &Job) -> anyhow::Result<&CommandTemplate> {
    job.workload.command.as_ref().ok_or_else(|| unusable("the job has no command; write it after `--`"))
}

/// Returns the sampling rate that a run was to have, if its program was stopped before.
pub fn planned_rate(sample: &Sample) -> Option<f64> {
    sample.extra.get(PROGRAM)?.get("planned_rate")?.as_f64()
}

fn measure(
    job: &Job,
    template: &CommandTemplate,
    run: ProgramRun<'_>,
    provenance: Map<String, Value>,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Sample> {
    let (started_at, id) = (Timestamp::now(), Uuid::now_v7());
    let configuration = run.configuration;
    let monitor = match &job.monitor {
        None => Monitor::default(),
        Some(path) => Monitor::writing_to(monitor::open(path)?, monitored(id, &run)),
    };
    progress(Progress::Starting);
    let program = job.program.clone().unwrap_or_default();
    let is_here = configuration.machines.unwrap_or(1) == 1;
    let resources = resources::of(&run, is_here, program.has_limited_memory);
    let slots = configuration.split().slots();
    let own = [resources.processors.clone()];
    let mut machine = Machine::before(slots, processors::of_all(&own), &job.device.pci_bus_ids());
    let (load, periods) = (machine.load(), machine.quota_periods());
    let mut fields = Map::new();
    let (ending, memory_mib) = match Process::start(&template.filled(&run), &resources, Output::default()) {
        Err(error) => (Ending::new(Outcome::Failed, None, Some(not_started(template, &error))), None),
        Ok(process) => {
            let mut watched = Watched { job, program: &program, run: &run, process, machine: &machine, monitor };
            let stop = watched.wait(interrupt, progress);
            let Watched { mut process, monitor, .. } = watched;
            let secs = process.elapsed().as_secs_f64();
            let is_ended = process.wait(Duration::ZERO);
            process.look();
            let bound = process.memory_bound();
            let (processor_secs, peak) = (process.tree().processor_secs(), process.tree().peak_memory_mib());
            machine.note(load.zip(machine.load()).map(|(before, now)| now.since(before, processor_secs)), periods);
            let end = process.end();
            let ending = match stop {
                Some(Stop::Interrupted) => return Err(Interrupted::default().into()),
                Some(Stop::Ended(ending)) => ending,
                None if is_ended => outcome::of(&end, &template.name(), configuration, micros(secs)),
                None => Ending::new(Outcome::Failed, None, Some("the program was stopped".to_owned())),
            };
            say_left_behind(&end, &template.name());
            fields.extend(bound.map(|bound| ("memory_bound".to_owned(), json!(bound))));
            fields.extend([("processor_secs".to_owned(), json!(micros(processor_secs)))]);
            fields.extend(monitor.summary().map(|summary| ("usage".to_owned(), summary)));
            (ending, peak)
        }
    };
    let is_completed = ending.outcome == Outcome::Completed;
    let mut of_program = Map::from_iter([("processors".to_owned(), json!(resources.processors))]);
    of_program.extend(fields.remove("memory_bound").map(|bound| ("memory_bound".to_owned(), bound)));
    of_program.extend(fields.remove("processor_secs").map(|secs| ("processor_secs".to_owned(), secs)));
    of_program.extend(program.stop_after.map(|stop| ("stop_after".to_owned(), json!(stop.to_string()))));
    of_program.extend(provenance);
    fields.insert(PROGRAM.into(), Value::Object(of_program));
    fields.insert(MACHINE.into(), machine.to_json());
    let warnings = machine.warnings();
    if !warnings.is_empty() {
        fields.insert(WARNINGS.into(), json!(warnings));
    }
    Ok(Sample {
        schema: SCHEMA,
        id,
        workload: job.workload.clone(),
        configuration: configuration.clone(),
        sampling_rate: run.sampling_rate,
        outcome: ending.outcome,
        exceeded_memory: ending
            .exceeded_memory()
            .map(|whose| if ending.is_of_accelerator { ExceededMemory::Accelerator } else { whose }),
        completion_time_secs: ending.completion_time_secs,
        startup_secs: None,
        reason: ending.reason,
        engine: EngineName::Command,
        runner_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: job.host(),
        started_at,
        seed: Some(job.seed),
        images_processed: is_completed.then(|| images_processed(&run)),
        peak_memory_mib: memory_mib.map(|mib| mib.div_ceil(u64::from(configuration.executors.max(1)))),
        extra: fields,
    })
}

/// A program that is running.
struct Watched<'a> {
    job: &'a Job,
    program: &'a Program,
    run: &'a ProgramRun<'a>,
    process: Process,
    machine: &'a Machine,
    monitor: Monitor,
}

impl Watched<'_> {
    /// Waits for the end of the program. Returns the reason to stop it before; `None` if it ended
    /// by itself.
    fn wait(&mut self, interrupt: &Interrupt, progress: &mut dyn FnMut(Progress)) -> Option<Stop> {
        let mut said = Instant::now();
        loop {
            if interrupt.is_raised() {
                return Some(Stop::Interrupted);
            }
            let (elapsed, clock) = (self.process.elapsed(), self.process.started());
            if self.process.exceeds_memory() {
                return Some(Stop::Ended(self.out_of_memory()));
            }
            if let Some(StopAfter::Time(time)) =
                self.program.stop_after.filter(|stop| matches!(stop, StopAfter::Time(time) if elapsed >= *time))
            {
                let reason =
                    format!("stopped after {} s, as asked, without any progress in its output", time.as_secs_f64());
                return Some(Stop::Ended(Ending::new(Outcome::TimedOut, Some(elapsed.as_secs_f64()), Some(reason))));
            }
            let until_stop = match self.program.stop_after {
                Some(StopAfter::Time(time)) => time.saturating_sub(elapsed),
                _ => PULSE,
            };
            let longest = match self.job.timeout.map(|timeout| (timeout, timeout.saturating_sub(elapsed))) {
                Some((timeout, Duration::ZERO)) => return Some(timed_out(timeout)),
                Some((_, rest)) => rest.min(PULSE),
                None => PULSE,
            };
            if self.process.wait(longest.min(until_stop.max(Duration::from_millis(1)))) {
                return None;
            }
            let (tree, machine) = (self.process.tree(), self.machine);
            if said.elapsed() >= BREATH {
                said = Instant::now();
                let processors = tree.processors_in_use();
                progress(Progress::Using(Use { processors, accelerator: machine.accelerators_now() }));
            }
            self.monitor
                .tick(clock, 0, || (tree.processors_in_use(), tree.memory_mib(), machine.each_accelerator_now()));
        }
    }

    fn out_of_memory(&self) -> Ending {
        let configuration = self.run.configuration;
        let reason = format!(
            "the program needs more than its {} × {} MiB",
            configuration.executors, configuration.memory_per_executor_mib
        );
        Ending::new(Outcome::OutOfMemory, None, Some(reason))
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
    let whole = run.workload.images as f64 * f64::from(run.workload.epochs);
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

fn say_left_behind(end: &End, name: &str) {
    if end.left_behind > 0 {
        let processes = if end.left_behind == 1 { "process" } else { "processes" };
        note(&format!("note: {name} left {} {processes} behind, which Foreglow ended", end.left_behind));
    }
}

fn micros(secs: f64) -> f64 {
    // The system's clock may have a coarse resolution, and a completion time must not be zero.
    ((secs * 1e6).round() / 1e6).max(1e-6)
}

#[cfg(test)]
mod tests;
