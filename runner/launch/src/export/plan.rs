//! The recommended configuration of `foreglow plan --format json`.

use foreglow_exit::unusable;
use foreglow_shared::{
    CommandTemplate, Configuration, Context, CoreSplit, Engine, JobDefinition, KeptPlan, MOST_CORES, MOST_EXECUTORS,
    MOST_MEMORY_MIB, MachineType, Mode, Placeholder, PlannedTime, ProgramRun, Resources, Timestamp, collect_command,
    shell_word,
};
use serde::Deserialize;
use serde_json::json;

use super::{ENGINE_MIB, Needs, Share, SparkForm, Task, name, sending, shell};

/// Images per task of plans that lack it, from earlier versions.
const PARTITION_SIZE: u32 = 8;
/// [`Choice::basis`] of a time from public measurements.
const PUBLIC: &str = "public";

/// A plan, of one configuration or of several machine types.
#[derive(Clone, Debug, Deserialize)]
pub struct Plan {
    context: Option<Context>,
    job: Option<JobDefinition>,
    recommended: Option<Choice>,
    startup: Option<Startup>,
    limits: Option<Limits>,
    /// Present in a prediction of one configuration, which is no plan.
    sampling_rate: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
struct Choice {
    machine: Option<String>,
    /// Absent in plans of earlier versions.
    is_named: Option<bool>,
    machines: Option<u32>,
    #[serde(flatten)]
    split: CoreSplit,
    executors_per_machine: Option<u32>,
    memory_per_executor_mib: u32,
    batch_size: Option<u32>,
    average_every: Option<u32>,
    partition_size: Option<u32>,
    accelerator: Option<String>,
    #[serde(default)]
    shares_accelerators: bool,
    /// Accelerators of a machine.
    accelerators: Option<u32>,
    engine: Option<Engine>,
    /// Where the predicted time comes from.
    basis: Option<String>,
    completion_time_secs: Option<f64>,
    interval: Option<Interval>,
    /// Absent in plans of earlier versions, and if the runs are too few to tell it.
    limit_secs: Option<f64>,
    success_probability: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Interval {
    lower_secs: Option<f64>,
    upper_secs: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Limits {
    #[serde(default)]
    spot: bool,
    deadline_secs: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Startup {
    longest_secs: f64,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// The text is not a plan, nothing is recommended, or a count is out of range.
    pub fn read(text: &[u8]) -> anyhow::Result<Self> {
        let unlike =
            |why: &str| unusable(format!("that is not a plan ({why}); write one with `foreglow plan … --format json`"));
        if text.trim_ascii().is_empty() {
            return Err(unlike("it is empty"));
        }
        let plan: Self = serde_json::from_slice(text).map_err(|error| unlike(&error.to_string()))?;
        match (&plan.recommended, plan.context.is_some() || plan.job.is_some()) {
            (Some(choice), true) => {
                choice.check_counts().map_err(|why| unlike(&why))?;
                Ok(plan)
            }
            (None, true) if plan.sampling_rate.is_some() => Err(unusable(
                "that is a prediction of one configuration, not a plan; write one with `foreglow plan … --format json`, \
                 such as with its --executors and --cores",
            )),
            (None, true) => Err(unusable("the plan recommends nothing; change its deadline or budget")),
            (_, false) => Err(unusable("that is not a plan: the job is missing")),
        }
    }

    /// Returns the recommended machine type if it was never measured.
    pub fn unmeasured_machine(&self) -> Option<&str> {
        let choice = self.recommended.as_ref()?;
        choice.machine.as_deref().filter(|_| choice.basis.as_deref() == Some(PUBLIC))
    }

    /// Gives each process its part of a machine with these resources, of whose memory a tenth is
    /// left to the system. A plan from public measurements knows the GPUs alone.
    pub fn filling(mut self, machine: Needs) -> Self {
        if let Some(choice) = &mut self.recommended {
            let processes = choice.executors_per_machine.unwrap_or(choice.split.executors).max(1);
            choice.split = CoreSplit::even(choice.split.executors, (machine.cores / processes).max(1));
            choice.memory_per_executor_mib = (machine.memory_mib - machine.memory_mib / 10) / processes;
        }
        self
    }

    /// Returns the task: the user's command, given or that of the samples, with a process for each
    /// executor or, if it starts those itself, for each machine; otherwise the whole job as
    /// Foreglow runs it.
    ///
    /// # Errors
    /// Foreglow cannot run the job, a placeholder has no value, or its time has no upper bound and
    /// no limit is given.
    pub fn task(
        &self,
        command: Option<CommandTemplate>,
        upload: Option<&str>,
        limit_secs: Option<f64>,
    ) -> anyhow::Result<Task> {
        let (context, choice) = self.choice()?;
        let command = command.or_else(|| context.workload.command.clone());
        let upper_secs = choice.limit_secs.or(choice.interval.as_ref().map(|interval| interval.upper_secs));
        let startup_secs = self.startup.map_or(0.0, |startup| startup.longest_secs);
        let limit_secs = limit_secs.or(upper_secs.map(|secs| secs + startup_secs)).ok_or_else(|| {
            unusable("the plan has no upper bound of the time; measure more, or give a limit with --time")
        })?;
        let machine = machine(&context);
        let is_local = context.engine.is_on_one_machine();
        // The local engine has all executors on one machine, unless the plan says otherwise.
        let nodes = choice.machines.or(context.machines).or(is_local.then_some(1));
        let together = match choice.executors_per_machine {
            Some(count) => count.clamp(1, choice.split.executors.max(1)),
            None if is_local => choice.split.executors.div_ceil(nodes.unwrap_or(1).max(1)),
            None => 1,
        };
        let gpus = u32::from(context.accelerator.is_some()) * context.accelerators_per_executor.unwrap_or(1);
        let shared_gpus = if context.shares_accelerators { gpus * choice.shared_gpus(&context, together) } else { 0 };
        let runs_foreglow = command.is_none();
        let mut is_launcher = false;
        let mut reads = command.as_ref().map_or_else(Vec::new, paths);
        reads.extend(context.workload.data.clone().filter(|_| runs_foreglow));
        let (processes, needs, command) = match command {
            Some(command) => {
                choice.check_even(
                    "a task gives every process equally many; plan with --cores, or leave the command out",
                )?;
                let (cores, memory_mib) = (choice.split.cores_per_executor, choice.memory_per_executor_mib);
                let gpus = if shared_gpus > 0 { 0 } else { gpus };
                // A launcher starts the executors of a machine itself.
                let (processes, each) = match command.starts_processes() {
                    true => (nodes.unwrap_or(1), together),
                    false => (choice.split.executors, 1),
                };
                let needs = Needs {
                    cores: cores.saturating_mul(each),
                    memory_mib: memory_mib.saturating_mul(each),
                    gpus: gpus.saturating_mul(each),
                };
                is_launcher = command.starts_processes();
                (processes, needs, filled(&command, &context, choice, nodes)?)
            }
            None => {
                if !is_local || nodes != Some(1) {
                    return Err(unusable(
                        "Foreglow itself runs a job on one machine; give your job's command after `--`, or use \
                         `foreglow export spark-submit`",
                    ));
                }
                let needs = Needs {
                    cores: choice.split.slots(),
                    memory_mib: choice
                        .split
                        .executors
                        .saturating_mul(choice.memory_per_executor_mib)
                        .saturating_add(ENGINE_MIB),
                    gpus: if shared_gpus > 0 { shared_gpus } else { gpus * choice.split.executors },
                };
                let command = whole_job(&context, choice)?;
                (1, needs, upload.map_or_else(|| command.clone(), |upload| sending(&command, upload)))
            }
        };
        let mode = context.workload.mode.as_str();
        Ok(Task {
            name: name(&[&context.workload.model, mode]),
            machine,
            capacity: None,
            nodes,
            processes,
            processes_per_machine: if runs_foreglow || is_launcher { 1 } else { together },
            share: Share::Each(needs),
            gpu: context.accelerator,
            shared_gpus: if runs_foreglow { 0 } else { shared_gpus },
            spot: self.limits.is_some_and(|limits| limits.spot),
            limit_secs: Some(limit_secs),
            reads,
            command,
            runs_foreglow,
        })
    }

    /// Returns the executors of the recommended configuration for a Spark application.
    ///
    /// # Errors
    /// The plan is inconsistent, or divides the cores unevenly.
    pub fn for_spark(&self, form: SparkForm<'_>) -> anyhow::Result<String> {
        let (context, choice) = self.choice()?;
        choice.check_even("Spark gives every executor equally many; plan with --cores")?;
        let resources = Resources {
            split: choice.split,
            memory_per_executor_mib: choice.memory_per_executor_mib,
            accelerated: context.accelerator.is_some(),
            shared_accelerators: None,
        };
        Ok(form.text(resources, &context.workload.model))
    }

    /// Returns what the plan predicts for its recommended configuration, to compare it with the run
    /// that follows the plan; `None` without a predicted time.
    pub fn kept(&self, planned_at: Timestamp) -> Option<KeptPlan> {
        let (context, choice) = self.choice().ok()?;
        let workload = &context.workload;
        let deadline_secs = self.limits.and_then(|limits| limits.deadline_secs);
        let predicted = PlannedTime {
            planned_at,
            median_secs: choice.completion_time_secs?,
            lower_secs: choice.interval.and_then(|interval| interval.lower_secs),
            upper_secs: choice.interval.map(|interval| interval.upper_secs),
            deadline_secs,
            success_probability: choice.success_probability.filter(|_| deadline_secs.is_some()),
        };
        predicted.check().ok()?;
        Some(KeptPlan {
            job: JobDefinition::of(&context),
            engine: context.engine,
            machine: choice.machine.clone().unwrap_or_else(|| context.machine_name()),
            accelerated: context.accelerator.is_some(),
            split: choice.split,
            batch_size: workload.batch_size,
            average_every: workload.average_every,
            partition_size: configuration(&context, choice, None).partition_size,
            is_of_gpus: choice.basis.as_deref() == Some(PUBLIC) && context.accelerator.is_some(),
            predicted,
        })
    }

    /// Returns the job and the recommended configuration, in the form of a plan over one machine
    /// type.
    fn choice(&self) -> anyhow::Result<(Context, &Choice)> {
        let choice = self.recommended.as_ref().ok_or_else(|| unusable("the plan recommends nothing"))?;
        if let Some(context) = &self.context {
            return Ok((context.clone(), choice));
        }
        let job = self.job.clone().ok_or_else(|| unusable("that is not a plan: the job is missing"))?;
        let batch_size = choice.batch_size.ok_or_else(|| unusable("that is not a plan: the batch size is missing"))?;
        let workload = job.workload(batch_size, choice.average_every);
        let machine = choice.machine.as_ref().filter(|_| choice.is_named != Some(false));
        let context = serde_json::from_value(json!({
            "workload": workload,
            "engine": choice.engine.unwrap_or(Engine::Local),
            "host": { "machine": machine },
            "accelerator": choice.accelerator,
            "shares_accelerators": choice.shares_accelerators,
        }))?;
        Ok((context, choice))
    }
}

impl Choice {
    /// Checks that every count is from 1 to its limit: a cluster reads 0 as the whole machine, as
    /// no limit, or as no job.
    ///
    /// # Errors
    /// The first count that is out of range.
    fn check_counts(&self) -> Result<(), String> {
        let counts = [
            ("executors", Some(self.split.executors), MOST_EXECUTORS),
            ("cores_per_executor", Some(self.split.cores_per_executor), MOST_CORES),
            ("memory_per_executor_mib", Some(self.memory_per_executor_mib), MOST_MEMORY_MIB),
            ("machines", self.machines, MOST_EXECUTORS),
            ("executors_per_machine", self.executors_per_machine, MOST_EXECUTORS),
            ("batch_size", self.batch_size, u32::MAX),
            ("partition_size", self.partition_size, u32::MAX),
        ];
        let wrong = counts.into_iter().find(|(_, count, most)| count.is_some_and(|count| count == 0 || count > *most));
        if let Some((field, Some(count), most)) = wrong {
            return Err(format!("{field} is {count}, and must be from 1 to {most}"));
        }
        self.split.check().map_err(|error| error.to_string())
    }

    /// Returns the number of GPUs of a machine that its executors share.
    fn shared_gpus(&self, context: &Context, together: u32) -> u32 {
        let measured = u32::try_from(context.host.accelerators.len()).ok().filter(|count| *count > 0);
        self.accelerators.or(measured).unwrap_or(1).min(together)
    }

    /// Refuses an uneven split of cores if the target does not support it.
    fn check_even(&self, why: &str) -> anyhow::Result<()> {
        match self.split.equal_counts() {
            Some(_) => Ok(()),
            None => Err(unusable(format!("the plan recommends {}, and {why}", self.split))),
        }
    }
}

/// Returns the machine type of a job; `None` if it is unknown or the samples only describe the
/// hardware, because a cluster needs the name.
fn machine(context: &Context) -> Option<String> {
    context.host.machine.clone().filter(|machine| MachineType::is_name(machine))
}

/// Returns the command that runs the whole job and records its time.
fn whole_job(context: &Context, choice: &Choice) -> anyhow::Result<String> {
    let command = collect_command(context, &configuration(context, choice, None), 1.0, None);
    command.ok_or_else(|| unusable("Foreglow does not run such a job; give its command after `--`"))
}

/// Returns the user's command, quoted for a shell, with the values of the plan for the whole job.
fn filled(
    command: &CommandTemplate,
    context: &Context,
    choice: &Choice,
    machines: Option<u32>,
) -> anyhow::Result<String> {
    let configuration = configuration(context, choice, machines);
    let run = ProgramRun { workload: &context.workload, configuration: &configuration, sampling_rate: 1.0, seed: 0 };
    let is_open = |placeholder: &Placeholder| command.has(*placeholder) && run.value(*placeholder).is_none();
    if let Some(placeholder) = Placeholder::ALL.into_iter().find(is_open) {
        let name = placeholder.name();
        return Err(unusable(format!(
            "the command has {{{name}}}, and the plan has no {name}; write the value itself"
        )));
    }
    let words = command.filled(&run);
    Ok(match command.shell_line() {
        Some(_) => shell(&words[2]),
        None => words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
    })
}

/// Returns the arguments of a command that may be paths.
fn paths(command: &CommandTemplate) -> Vec<String> {
    let line = command.line();
    let words = line.split_whitespace().skip(1);
    let values = words.map(|word| word.rsplit('=').next().unwrap_or(word).trim_matches(['\'', '"']));
    values.filter(|value| value.contains('/')).map(str::to_owned).collect()
}

fn configuration(context: &Context, choice: &Choice, machines: Option<u32>) -> Configuration {
    let usual = match context.workload.mode {
        Mode::Inference => PARTITION_SIZE,
        Mode::Training => context.workload.batch_size,
    };
    let partition_size = choice.partition_size.unwrap_or(usual);
    let configuration = context.configuration(choice.split, choice.memory_per_executor_mib, partition_size);
    Configuration { machines: machines.or(context.machines), ..configuration }
}

#[cfg(test)]
mod tests;
