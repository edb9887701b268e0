//! Simulation of a Spark application on other configurations from its event log.

use foreglow_model::{Interval, Predictor, Setting};
use foreglow_shared::{CoreSplit, Outcome, Resources, format_duration, spark_submit_arguments};
use foreglow_spark_log::{Ending, Run, SimulatedTime, Simulation};
use serde::Serialize;

use super::{SCHEMA, range};
use crate::output::Format;
use crate::table::{Align, aligned, csv_of, table};

/// Question to the simulation.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Numbers of executors.
    pub executors: Vec<u32>,
    /// Numbers of cores per executor.
    pub cores: Vec<u32>,
    /// Deadline.
    pub deadline_secs: Option<f64>,
    /// Share of the images that the run processed.
    pub sampling_rate: f64,
}

/// Simulated times of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulationAnswer {
    schema: u32,
    application: Option<String>,
    name: Option<String>,
    spark_version: Option<String>,
    run: usize,
    outcome: Outcome,
    reason: Option<String>,
    executors: u32,
    cores_per_executor: u32,
    stages: usize,
    tasks: u64,
    unknown_tasks: u64,
    measured_secs: f64,
    simulated_secs: Option<f64>,
    critical_path_secs: f64,
    driver_secs: f64,
    work_secs: f64,
    one_core_secs: f64,
    deadline_secs: Option<f64>,
    smallest: Option<Candidate>,
    /// `spark-submit` arguments of the smallest configuration; also `None` if the log does not have
    /// the executors' memory.
    spark_submit: Option<String>,
    candidates: Vec<Candidate>,
    notes: Vec<String>,
}

/// One configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Candidate {
    executors: u32,
    cores_per_executor: u32,
    /// `None` if the application cannot run on it.
    simulated: Option<SimulatedTime>,
    /// `None` without samples, or if they cannot predict it.
    predicted_secs: Option<f64>,
    interval: Option<Interval>,
    meets_deadline: Option<bool>,
}

impl Candidate {
    fn slots(&self) -> u64 {
        u64::from(self.executors) * u64::from(self.cores_per_executor)
    }
}

impl SimulationAnswer {
    /// Simulates a run, the `number`-th of its log, on every requested configuration.
    pub fn new(
        run: &Run<'_>,
        number: usize,
        ending: &Ending,
        simulation: &Simulation,
        predictor: Option<&Predictor>,
        asked: &Asked,
    ) -> Self {
        let configurations =
            asked.executors.iter().flat_map(|executors| asked.cores.iter().map(move |cores| (*executors, *cores)));
        let candidates: Vec<Candidate> = configurations
            .map(|(executors, cores_per_executor)| {
                let simulated = simulation.at(executors, cores_per_executor);
                let setting = Setting::even(executors, cores_per_executor, asked.sampling_rate);
                let prediction = predictor.map(|predictor| predictor.predict(setting));
                Candidate {
                    executors,
                    cores_per_executor,
                    simulated,
                    predicted_secs: prediction.as_ref().and_then(|prediction| prediction.completion_time_secs),
                    interval: prediction.and_then(|prediction| prediction.interval),
                    meets_deadline: asked
                        .deadline_secs
                        .map(|deadline| simulated.is_some_and(|time| time.completion_time_secs <= deadline)),
                }
            })
            .collect();
        let meeting = candidates.iter().filter(|candidate| candidate.meets_deadline == Some(true));
        let smallest = meeting.min_by_key(|candidate| (candidate.slots(), candidate.executors)).cloned();
        let memory = run.application.executor_memory_mib().and_then(|mib| u32::try_from(mib).ok());
        let spark_submit =
            smallest.as_ref().zip(memory).map(|(smallest, memory_per_executor_mib): (&Candidate, u32)| {
                spark_submit_arguments(Resources {
                    split: CoreSplit::even(smallest.executors, smallest.cores_per_executor),
                    memory_per_executor_mib,
                    accelerated: run.executors().any(|executor| !executor.resources.is_empty()),
                    shared_accelerators: None,
                })
            });
        let (executors, cores_per_executor) = (ending.executors, ending.cores_per_executor);
        Self {
            schema: SCHEMA,
            application: run.application.id.clone(),
            name: run.application.name.clone(),
            spark_version: run.application.spark_version.clone(),
            run: number,
            outcome: ending.outcome,
            reason: ending.reason.clone(),
            executors,
            cores_per_executor,
            stages: run.stages().len(),
            tasks: simulation.tasks(),
            unknown_tasks: simulation.unknown_tasks(),
            measured_secs: simulation.measured_secs(),
            simulated_secs: simulation.at(executors, cores_per_executor).map(|time| time.completion_time_secs),
            critical_path_secs: simulation.critical_path_secs(),
            driver_secs: simulation.driver_secs(),
            work_secs: simulation.work_secs(),
            one_core_secs: simulation.one_core_secs(),
            deadline_secs: asked.deadline_secs,
            smallest,
            spark_submit,
            candidates,
            notes: ending.notes.clone(),
        }
    }

    /// Fails with the reason if there is no answer.
    pub fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.candidates.iter().any(|candidate| candidate.simulated.is_some()),
            "the application cannot run on any of these configurations: a stage needs all of its tasks at the same \
            time, or a task needs more cores than an executor has"
        );
        match self.deadline_secs {
            Some(secs) if self.smallest.is_none() => {
                anyhow::bail!("none of these configurations meets the deadline of {}", format_duration(secs))
            }
            _ => Ok(()),
        }
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
        let mut text =
            format!("{}, {}, Spark {}\n\n", known(&self.application), known(&self.name), known(&self.spark_version));
        let mut line = |name: &str, value: String| text.push_str(&format!("{name:<15} {value}\n"));
        let own = CoreSplit::even(self.executors, self.cores_per_executor);
        line("measured", format!("{} on {own}", format_duration(self.measured_secs)));
        if let Some(simulated) = self.simulated_secs {
            let off = if self.measured_secs > 0.0 {
                format!(", {:.1} % off", (simulated / self.measured_secs - 1.0).abs() * 100.0)
            } else {
                String::new()
            };
            line("simulated", format!("{} on the same{off}", format_duration(simulated)));
        }
        line("critical path", format!("{} with a slot for every task", format_duration(self.critical_path_secs)));
        line("driver alone", format_duration(self.driver_secs));
        let stages = if self.stages == 1 { "1 stage".to_owned() } else { format!("{} stages", self.stages) };
        line("tasks", format!("{} in {stages}, {} of work", self.tasks, format_duration(self.work_secs)));
        line("one core", format_duration(self.one_core_secs));
        text.push('\n');
        text += &self.candidates_table();
        if let (Some(smallest), Some(deadline)) = (&self.smallest, self.deadline_secs) {
            let (what, time) =
                (CoreSplit::even(smallest.executors, smallest.cores_per_executor), format_duration(deadline));
            text += &format!("\nThe fewest cores that meet the deadline of {time}: {what}.\n");
        }
        if let Some(arguments) = &self.spark_submit {
            text += &format!("For spark-submit:\n  {arguments}\n");
        }
        if let Some(reason) = &self.reason {
            text += &format!("\nNote: the run ended as {}: {reason}.\n", self.outcome.as_str());
        }
        if self.unknown_tasks > 0 {
            text += &format!(
                "\nNote: the log does not have the times of {} tasks; the median of their stage is used instead.\n",
                self.unknown_tasks
            );
        }
        text + &self.notes.iter().map(|note| format!("\nNote: {note}.\n")).collect::<String>()
    }

    fn candidates_table(&self) -> String {
        let is_predicted = self.candidates.iter().any(|candidate| candidate.predicted_secs.is_some());
        let mut columns =
            aligned(["executors", "cores", "simulated", "ideal", "driver", "skew", "slots busy"]).to_vec();
        if is_predicted {
            columns.extend([("predicted", Align::Right), ("90 % interval", Align::Left)]);
        }
        let deadline = self.deadline_secs.map(|secs| format!("in {}", format_duration(secs)));
        if let Some(deadline) = &deadline {
            columns.push((deadline, Align::Left));
        }
        let unknown = || "unknown".to_owned();
        let rows = self.candidates.iter().map(|candidate| {
            let secs = |of: fn(&SimulatedTime) -> f64| {
                candidate.simulated.as_ref().map_or_else(|| "impossible".to_owned(), |time| format_duration(of(time)))
            };
            let share = |of: fn(&SimulatedTime) -> f64| {
                candidate.simulated.as_ref().map_or_else(String::new, |time| format!("{:.0} %", of(time) * 100.0))
            };
            let mut row = vec![
                candidate.executors.to_string(),
                candidate.cores_per_executor.to_string(),
                secs(|time| time.completion_time_secs),
                secs(|time| time.ideal_secs),
                share(|time| time.driver_share),
                share(|time| time.skew_share),
                share(|time| time.busy_share),
            ];
            if is_predicted {
                row.push(candidate.predicted_secs.map_or_else(unknown, format_duration));
                row.push(candidate.interval.as_ref().map_or_else(unknown, range));
            }
            if let Some(meets) = candidate.meets_deadline {
                row.push(if meets { "yes" } else { "no" }.to_owned());
            }
            row
        });
        table(&columns, rows)
    }

    fn csv(&self) -> String {
        let columns = "executors,cores_per_executor,simulated_secs=simulated.completion_time_secs,\
            ideal_secs=simulated.ideal_secs,driver_share=simulated.driver_share,skew_share=simulated.skew_share,\
            busy_share=simulated.busy_share,predicted_secs,lower_secs=interval.lower_secs,\
            upper_secs=interval.upper_secs,probability=interval.probability,meets_deadline";
        csv_of(columns, &self.candidates)
    }
}
