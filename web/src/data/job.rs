//! The page's data: the measured jobs, and the question about one of them.

use foreglow_model::{extrapolated, shared_processors};
use foreglow_shared::{
    Context, Job, JobDefinition, Observation, PriceSheet, Question, Sample, UNKNOWN_SIZE, WhatIf, Workload,
    format_rate, group_by_context, sort_by_cached_key,
};

use crate::data::text::title_case;

/// The configurations to choose from: a question without its limits, prices and what-if.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// Numbers of executors, ascending.
    pub executors: Vec<u32>,
    /// Numbers of cores per executor, ascending.
    pub cores_per_executor: Vec<u32>,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
}

/// The limits of a question, and the required probability of meeting them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Deadline, seconds.
    pub deadline_secs: Option<f64>,
    /// Budget, in the price sheet's currency.
    pub budget: Option<f64>,
    /// Least accuracy of the trained CNN, in (0, 1].
    pub min_accuracy: Option<f64>,
    /// Minimum probability of meeting each limit.
    pub probability: f64,
}

/// Finds the job with this context.
pub fn same_job<'a>(jobs: &'a [Job], context: &Context) -> Option<&'a Job> {
    jobs.iter().find(|job| job.context == *context)
}

/// The jobs that a plan of a context is fitted to: those of the same mode, because other jobs show
/// how machine types differ.
pub fn related(jobs: &[Job], context: &Context) -> Vec<Job> {
    jobs.iter().filter(|job| job.context.workload.mode == context.workload.mode).cloned().collect()
}

/// Groups samples into jobs, sorted by descending number of runs. Runs of a part of the job that
/// tell their progress count as runs of the whole job, as on the command line.
pub fn jobs_of(samples: &[Sample]) -> Vec<Job> {
    most_runs_first(group_by_context(&extrapolated(samples)))
}

/// Sorts jobs by descending number of runs. The first one, with which the page opens, has the
/// largest size of its job, as in the answer of the command line.
pub fn most_runs_first(mut jobs: Vec<Job>) -> Vec<Job> {
    // The sort is stable: ties keep the order of their contexts.
    sort_by_cached_key(&mut jobs, |job| std::cmp::Reverse(job.observations.len()));
    let definitions: Vec<JobDefinition> = jobs.iter().map(|job| JobDefinition::of(&job.context)).collect();
    let alike = jobs.iter().zip(&definitions).filter(|(_, definition)| definition.is_same_job(&definitions[0]));
    let largest = Job::largest(alike.map(|(job, _)| job)).map(|job| JobDefinition::of(&job.context));
    if let Some(place) = definitions.iter().position(|definition| Some(definition) == largest.as_ref()) {
        jobs[..=place].rotate_right(1);
    }
    jobs
}

/// The model and mode of a job: `resnet18 inference`.
pub fn name(job: &Job) -> String {
    job.context.workload.describe_job()
}

/// The rest of the context's title, without the name.
pub fn circumstances(job: &Job) -> String {
    let title = job.context.title();
    title.strip_prefix(&name(job)).map_or(title.as_str(), |rest| rest.trim_start_matches([',', ' '])).to_owned()
}

/// The title of the amount of work: `Images`, `Steps`.
pub fn work_title(workload: &Workload) -> String {
    match workload.noun() {
        UNKNOWN_SIZE => "Percent of the work".to_owned(),
        noun => title_case(noun),
    }
}

/// The extent of the measurements: `12 runs on 1 %, 10 % of the images, 1–3 executors, 1–2 cores`.
pub fn extent(job: &Job) -> String {
    let runs = &job.observations;
    if runs.is_empty() {
        return "no completed run".into();
    }
    let mut rates: Vec<f64> = runs.iter().map(|run| run.sampling_rate).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup();
    // Keeps the number and its percent sign on one line.
    let rates: Vec<String> = rates.into_iter().map(|rate| format_rate(rate).replace(' ', "\u{a0}")).collect();
    let plural = |count: usize, one: &str| if count == 1 { one.to_owned() } else { format!("{one}s") };
    let range = |count: fn(&Observation) -> u32, one: &str| {
        let (lowest, highest) = runs.iter().map(count).fold((u32::MAX, 0), |(low, high), n| (low.min(n), high.max(n)));
        let word = plural(highest as usize, one);
        if lowest == highest { format!("{highest} {word}") } else { format!("{lowest}–{highest} {word}") }
    };
    format!(
        "{} {} on {} of the {}, {}, {}",
        runs.len(),
        plural(runs.len(), "run"),
        rates.join(", "),
        if job.context.workload.unit.as_deref() == Some(UNKNOWN_SIZE) { "work" } else { job.context.workload.noun() },
        range(|run| run.executors, "executor"),
        range(|run| run.cores_per_executor, "core"),
    )
}

/// The largest numbers of executors and of cores that were measured.
pub fn measured_up_to(job: &Job) -> (u32, u32) {
    let largest = |count: fn(&Observation) -> u32| job.observations.iter().map(count).max().unwrap_or(1);
    (largest(|run| run.executors), largest(|run| run.cores_per_executor))
}

impl Limits {
    /// Extracts the limits of a question.
    pub fn of(question: &Question) -> Self {
        let Question { deadline_secs, budget, min_accuracy, probability, .. } = *question;
        Self { deadline_secs, budget, min_accuracy, probability }
    }
}

impl Space {
    /// Extracts the configuration space of a question.
    pub fn of(question: &Question) -> Self {
        Self {
            executors: question.executors.clone(),
            cores_per_executor: question.cores_per_executor.clone(),
            memory_per_executor_mib: question.memory_per_executor_mib,
        }
    }

    /// Reassembles the question.
    pub fn ask(&self, limits: Limits, prices: PriceSheet, what_if: WhatIf) -> Question {
        let Limits { deadline_secs, budget, min_accuracy, probability } = limits;
        Question {
            deadline_secs,
            budget,
            min_accuracy,
            probability,
            executors: self.executors.clone(),
            cores_per_executor: self.cores_per_executor.clone(),
            memory_per_executor_mib: self.memory_per_executor_mib,
            prices,
            what_if,
        }
    }
}

/// The upper end of a slider's range.
pub fn highest(counts: &[u32]) -> u32 {
    counts.iter().copied().max().unwrap_or(1)
}

/// The upper bound on executors, and on cores, to choose from: 512 × 512 is a quarter of a million
/// configurations, which the page can evaluate at once. On a single machine, counts above its
/// processors are useless.
pub fn most_counts(job: &Job) -> u32 {
    const MOST: u32 = 512;
    let (executors, cores) = measured_up_to(job);
    shared_processors(&job.context).map_or(MOST, |processors| processors.max(executors).max(cores).min(MOST))
}

/// All counts from 1 to `upper`, at most `most`.
pub fn counts_up_to(upper: u32, most: u32) -> Vec<u32> {
    (1..=upper.clamp(1, most.max(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(runs: &[(u32, u32, f64)]) -> Job {
        let context = serde_json::from_str(
            r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},
                "engine":"local","host":{"cpu":"Some CPU"}}"#,
        )
        .unwrap();
        let observations = runs
            .iter()
            .map(|&(executors, cores_per_executor, sampling_rate)| Observation {
                executors,
                cores_per_executor,
                total_cores: None,
                memory_per_executor_mib: 1024,
                partition_size: 8,
                sampling_rate,
                completion_time_secs: 2.5,
                startup_secs: None,
                disturbed: false,
                log_error: 0.0,
            })
            .collect();
        Job::of_runs(context, observations)
    }

    #[test]
    fn a_job_says_what_it_is_and_how_much_was_measured() {
        let job = job(&[(1, 1, 0.1), (3, 1, 0.01), (2, 1, 0.1)]);
        assert_eq!(name(&job), "lenet5 inference");
        assert_eq!(circumstances(&job), "1000 images of 28 px, batch 8, local, Some CPU");
        assert_eq!(extent(&job), "3 runs on 1\u{a0}%, 10\u{a0}% of the images, 1–3 executors, 1 core");
        assert_eq!(measured_up_to(&job), (3, 1));
    }

    #[test]
    fn a_job_without_a_completed_run_says_so() {
        assert_eq!(extent(&job(&[])), "no completed run");
        assert_eq!(measured_up_to(&job(&[])), (1, 1));
    }

    #[test]
    fn a_question_survives_being_split_and_reassembled() {
        let job = job(&[(1, 1, 0.1), (2, 2, 1.0)]);
        let mut question = Question::about(&job.observations);
        question.deadline_secs = Some(12.5);
        question.what_if = WhatIf { executors: 2, cores_per_executor: 1 };
        question.budget = Some(2.0);
        let again = Space::of(&question).ask(Limits::of(&question), question.prices.clone(), question.what_if);
        assert_eq!(again, question);
    }

    #[test]
    fn counts_stay_in_a_range_that_can_be_drawn() {
        assert_eq!(counts_up_to(0, 512), [1]);
        assert_eq!(counts_up_to(3, 512), [1, 2, 3]);
        assert_eq!(counts_up_to(u32::MAX, 512).len(), 512);
        let mut job = job(&[(1, 1, 0.1), (3, 1, 0.01)]);
        assert_eq!(most_counts(&job), 512);
        job.context.host.processors = Some(2);
        assert_eq!(most_counts(&job), 3);
        job.context.host.processors = Some(8);
        assert_eq!(most_counts(&job), 8);
        assert_eq!(highest(&[]), 1);
    }
}
