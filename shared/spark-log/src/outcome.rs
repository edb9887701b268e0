//! Outcome of a run: a run that did not get the requested configuration is not a valid measurement
//! of it.

use crate::application::SparkJob;
use crate::run::Run;
use foreglow_shared::Outcome;

/// Actual configuration and outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Executors, E: the largest number at one time.
    pub executors: u32,
    /// Cores per executor, C.
    pub cores_per_executor: u32,
    /// Completed unless there is a reason against it.
    pub outcome: Outcome,
    /// Why the run does not count as completed.
    pub reason: Option<String>,
    /// Remarks for the user about a completed run.
    pub notes: Vec<String>,
}

/// Phrases in the messages of executors and tasks that ran out of memory: those of Java, Kubernetes
/// and YARN, and Spark's exit code for it. Exit code 137 is not included, because it only means
/// that the process was killed.
const OUT_OF_MEMORY: [&str; 6] = [
    "OutOfMemoryError",
    "OOMKilled",
    "exceeding memory limits",
    "exceeding physical memory limits",
    "exceeding virtual memory limits",
    "Command exited with code 52",
];

impl Run<'_> {
    /// Returns the configuration and outcome; `None` if the log has no executors.
    pub fn ending(&self) -> Option<Ending> {
        let executors = self.most_executors();
        let cores_per_executor = self.executors().map(|executor| executor.cores).max().filter(|cores| *cores > 0)?;
        let reason = self.failure().or_else(|| self.unlike(executors, cores_per_executor));
        let outcome = match &reason {
            None => Outcome::Completed,
            Some(reason) if OUT_OF_MEMORY.iter().any(|words| reason.contains(words)) => Outcome::OutOfMemory,
            Some(_) => Outcome::Failed,
        };
        Some(Ending { executors, cores_per_executor, outcome, reason, notes: self.notes() })
    }

    pub(crate) fn most_executors(&self) -> u32 {
        let moments = self.executors().map(|executor| executor.added_ms.max(self.submitted_ms));
        let counts = moments.map(|moment| self.application.executors_at(moment).count());
        u32::try_from(counts.max().unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// Describes why the run did not do all of its work: a job failed, or a part of it is not in
    /// the log. `None` if it did.
    pub fn shortfall(&self) -> Option<String> {
        let failed = self.jobs.iter().find_map(|(id, job)| Some((id, job.end.as_ref()?.failure.as_ref()?)));
        match failed {
            Some((id, message)) => Some(format!("job {id} failed: {}", first_line(message))),
            None => self.missing_part(),
        }
    }

    /// Describes executors with different numbers of cores; `None` if all have the same.
    pub fn unequal_executors(&self) -> Option<String> {
        let cores = || self.executors().map(|executor| executor.cores);
        let (least, most) = (cores().min()?, cores().max()?);
        (least != most).then(|| format!("its executors have different numbers of cores, from {least} to {most}"))
    }

    /// Describes failed jobs, failed tasks and lost executors.
    fn failure(&self) -> Option<String> {
        let lost: Vec<(&str, &str)> = self
            .executors()
            .filter_map(|executor| Some((executor.id.as_str(), executor.loss.as_ref()?)))
            .filter(|(_, loss)| loss.at_ms <= self.ended_ms)
            .map(|(id, loss)| (id, loss.reason.as_str()))
            .collect();
        let stages = self.stages();
        let failed: u64 = stages.values().map(|stage| u64::from(stage.totals.failed)).sum();
        let task = stages.values().find_map(|stage| stage.totals.failure.as_ref());
        let mut parts: Vec<String> = self.shortfall().into_iter().collect();
        if let [(id, reason), ..] = lost.as_slice() {
            let others = lost.len() - 1;
            let others = if others == 0 { String::new() } else { format!(" and {others} more") };
            parts.push(format!("executor {id}{others} was lost during the run: {}", first_line(reason)));
        }
        let is_failed = |(_, job): &(u32, &SparkJob)| job.end.as_ref().is_some_and(|end| end.failure.is_some());
        // The message of a failed job tells the failure of its task.
        if let Some(task) = task.filter(|_| !self.jobs.iter().any(is_failed)) {
            let (index, executor, reason) = (task.index, &task.executor, &task.reason);
            parts.push(format!(
                "{failed} task attempts failed, the first of task {index} on executor {executor}: {reason}"
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Describes how the executors differ from the request or from each other.
    fn unlike(&self, executors: u32, cores_per_executor: u32) -> Option<String> {
        if let Some(sentence) = self.unequal_executors() {
            return Some(sentence);
        }
        let at_first = self.application.executors_at(self.submitted_ms).count() as u64;
        if self.application.has_dynamic_allocation() && at_first != u64::from(executors) {
            return Some(format!(
                "dynamic allocation changed the number of executors, from {at_first} at first to {executors} at most; set spark.dynamicAllocation.enabled=false"
            ));
        }
        let asked = self.asked();
        let differs = |asked: Option<u32>, ran: u32| asked.is_some_and(|asked| asked != ran);
        if differs(asked.0, executors) || differs(asked.1, cores_per_executor) {
            let say = |count: Option<u32>, ran: u32| count.unwrap_or(ran);
            return Some(format!(
                "{} executors with {} cores each were requested, and {executors} with {cores_per_executor} ran",
                say(asked.0, executors),
                say(asked.1, cores_per_executor)
            ));
        }
        (self.ended_ms == self.submitted_ms).then(|| "it took less than 1 ms, the resolution of the log".to_owned())
    }

    /// Returns the requested E and C: from Foreglow's labels or from Spark's properties, which
    /// depend on the cluster manager.
    pub(crate) fn asked(&self) -> (Option<u32>, Option<u32>) {
        let labels = self.labels();
        let label = |name: &str| labels.get(name).and_then(|text| text.trim().parse::<u32>().ok());
        let properties = &self.application.properties;
        let property = |name: &str| properties.get(name).and_then(|text| text.trim().parse::<u32>().ok());
        let cores = label("cores_per_executor").or_else(|| property("spark.executor.cores"));
        let master = properties.get("spark.master").map_or("", String::as_str);
        let executors = label("executors").or_else(|| match master {
            _ if self.application.has_dynamic_allocation() => None,
            _ if master.starts_with("spark:") => property("spark.cores.max")?.checked_div(cores?),
            _ if master.starts_with("yarn") || master.starts_with("k8s") => property("spark.executor.instances"),
            _ => None,
        });
        (executors, cores)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let late = self.executors().filter(|executor| executor.added_ms > self.submitted_ms);
        if let Some(latest) = late.map(|executor| executor.added_ms).max() {
            let secs = latest.saturating_sub(self.submitted_ms) as f64 / 1000.0;
            notes.push(format!(
                "the last executor started {secs} s after the first job, and the time includes that wait"
            ));
        }
        notes
    }
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("the log gives no reason")
}
