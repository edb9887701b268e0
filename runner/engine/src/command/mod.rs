//! The command engine: the user's own program, run on each configuration within its resources.

mod course;
mod outcome;
mod output;
mod process;
mod provenance;
mod resources;
mod run;
mod stop_after;
mod tree;

use foreglow_exit::{Interrupt, unusable};
use foreglow_progress::Reader;
use foreglow_shared::{CommandTemplate, Configuration, Engine as EngineName, Outcome, ProgramRun, Sample};
use serde_json::{Map, Value};

pub use self::stop_after::StopAfter;
use super::{Engine, Job, Progress};

/// Field of a sample with what Foreglow knows of its program.
const PROGRAM: &str = "program";

/// The part of a job that only the user's own program has.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// When to stop it; `None` to let it end.
    pub stop_after: Option<StopAfter>,
    /// Whether the user limits its memory.
    pub has_limited_memory: bool,
    /// Reader of its progress.
    pub reader: Reader,
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
        run::measure(job, template, run, provenance, interrupt, progress)
    }

    fn has_measured(&self, sample: &Sample, job: &Job) -> bool {
        let asked = job.program.as_ref().and_then(|program| program.stop_after).map(|stop| stop.to_string());
        sample.engine == EngineName::Command && sample.host == job.host() && stop_after(sample) == asked.as_deref()
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

/// Whether a program was stopped after enough work, so that its run is finished.
pub fn is_stopped(sample: &Sample) -> bool {
    sample.outcome == Outcome::TimedOut && stop_after(sample).is_some() && sample.progress.is_some()
}

fn stop_after(sample: &Sample) -> Option<&str> {
    sample.extra.get(PROGRAM)?.get("stop_after")?.as_str()
}

#[cfg(test)]
mod tests;
