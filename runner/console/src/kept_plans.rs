//! Plans that were acted on, in a file of the user's data folder.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::Temporary;
use foreglow_shared::{KeptPlan, Sample, shell_word};
use foreglow_store::data_folder;

use crate::progress::note;

const FILE_NAME: &str = "plans.jsonl";
/// Environment variable with the plan that an exported task follows, JSON: the file stays on the
/// machine of the plan.
const OF_TASK: &str = "FOREGLOW_PLAN";
/// Most plans that are kept, the newest ones.
const MOST_KEPT: usize = 1_000;

/// The plans that were kept on this machine, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptPlans(Vec<KeptPlan>);

impl KeptPlans {
    /// Reads the user's plans, and that of an exported task; none if there is no file.
    pub fn of_user() -> Self {
        let Self(mut plans) = path().map(|path| Self::read(&path)).unwrap_or_default();
        if let Ok(text) = std::env::var(OF_TASK) {
            let Self(of_task) = Self::of(text.as_bytes());
            if of_task.is_empty() {
                note(&format!(
                    "{OF_TASK} holds no plan, so that the run is not compared with it; export the task again"
                ));
            }
            plans.extend(of_task);
        }
        Self(plans)
    }

    fn read(path: &Path) -> Self {
        Self::of(&fs::read(path).unwrap_or_default())
    }

    /// Returns the plans of a text, without lines that are not plans, such as one that a crash cut.
    fn of(bytes: &[u8]) -> Self {
        let plans = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<KeptPlan>(line).ok());
        let mut plans: Vec<KeptPlan> = plans.filter(|plan| plan.predicted.check().is_ok()).collect();
        plans.drain(..plans.len().saturating_sub(MOST_KEPT));
        Self(plans)
    }

    /// Adds to a run of a whole job what its newest plan predicted.
    pub fn attach(&self, sample: &mut Sample) {
        if sample.predicted.is_none() {
            let of_run = self.0.iter().filter(|plan| plan.is_of(sample));
            sample.predicted = of_run.max_by_key(|plan| plan.predicted.planned_at).map(|plan| plan.predicted);
        }
    }
}

/// Returns the command of a task that follows a plan, which passes the plan on.
///
/// # Errors
/// The plan cannot be written as JSON.
pub fn following(plan: &KeptPlan, command: &str) -> anyhow::Result<String> {
    Ok(format!("env {OF_TASK}={} {command}", shell_word(&serde_json::to_string(plan)?)))
}

/// Keeps a plan for the run that follows it, and returns the file. A plan that cannot be kept is a
/// note, because the user's command did what it was asked for.
pub fn keep(plan: &KeptPlan) -> Option<PathBuf> {
    let kept = path().and_then(|path| append(&path, plan).map(|()| path));
    let failed = |error: &anyhow::Error| {
        note(&format!(
            "the plan is not kept, so that no run will be compared with it: {error:#}; set FOREGLOW_DATA to a folder that \
             can be written"
        ));
    };
    kept.inspect_err(failed).ok()
}

fn path() -> anyhow::Result<PathBuf> {
    Ok(data_folder()?.join(FILE_NAME))
}

/// Appends a plan as a line. A full file is replaced by one with the newest plans.
fn append(path: &Path, plan: &KeptPlan) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    let text = fs::read(path).unwrap_or_default();
    let line = serde_json::to_string(plan)?;
    let count = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    if count < MOST_KEPT {
        // The rest of a line that a crash cut stays a line of its own.
        let end = if text.last().is_none_or(|last| *last == b'\n') { "" } else { "\n" };
        let mut file = OpenOptions::new().create(true).append(true).open(path).with_context(failed)?;
        return file.write_all(format!("{end}{line}\n").as_bytes()).with_context(failed);
    }
    let KeptPlans(plans) = KeptPlans::read(path);
    let newest = &plans[(plans.len() + 1).saturating_sub(MOST_KEPT)..];
    let lines: Vec<String> = newest.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    let beside = Temporary::at(path.with_extension(format!("new-{}", std::process::id())));
    let all = lines.iter().chain([&line]).flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
    fs::write(beside.path(), all).with_context(failed)?;
    fs::rename(beside.path(), path).with_context(failed)?;
    beside.keep();
    Ok(())
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{Context, JobDefinition, PlannedTime, parse_line};

    use super::*;

    fn run() -> Sample {
        parse_line(
            r#"{"schema":1,"id":"01890000-0000-7000-8000-000000000001","workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},"configuration":{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8},"sampling_rate":1.0,"outcome":"completed","completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{"cpu":"Some CPU"},"started_at":"2026-11-21T10:00:00Z"}"#,
        )
        .unwrap()
    }

    /// A plan of this many minutes before the run, which predicts as many seconds.
    fn plan(minutes: u32) -> KeptPlan {
        let context = Context::of(&run());
        KeptPlan {
            job: JobDefinition::of(&context),
            engine: context.engine,
            machine: context.machine_name(),
            accelerated: false,
            split: run().configuration.split(),
            batch_size: 8,
            average_every: None,
            partition_size: 8,
            is_of_gpus: false,
            predicted: PlannedTime {
                planned_at: run().started_at - std::time::Duration::from_mins(minutes.into()),
                median_secs: minutes.into(),
                lower_secs: None,
                upper_secs: None,
                deadline_secs: None,
                success_probability: None,
            },
        }
    }

    fn attached(plans: &KeptPlans, mut run: Sample) -> Option<f64> {
        plans.attach(&mut run);
        run.predicted.map(|predicted| predicted.median_secs)
    }

    #[test]
    fn the_newest_plan_of_a_run_is_attached_and_one_of_another_size_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join(FILE_NAME);
        let mut larger = plan(1);
        larger.job.images = 2000;
        for plan in [plan(30), plan(20), larger, plan(60)] {
            append(&path, &plan).unwrap();
        }
        let plans = KeptPlans::read(&path);
        assert_eq!(plans.0.len(), 4);
        assert_eq!(attached(&plans, run()), Some(20.0));
        let mut before = run();
        before.started_at = plan(25).predicted.planned_at;
        assert_eq!(attached(&plans, before), Some(30.0), "the run did not know of later plans");
        let mut larger = run();
        larger.workload.images = 2000;
        assert_eq!(attached(&plans, larger), Some(1.0));
        let mut known = run();
        known.predicted = Some(plan(5).predicted);
        assert_eq!(attached(&plans, known), Some(5.0));
        assert_eq!(KeptPlans::read(&folder.path().join("missing")), KeptPlans::default());
    }

    #[test]
    fn a_line_that_is_not_a_plan_is_left_out_and_the_next_plan_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        append(&path, &plan(30)).unwrap();
        let line = fs::read_to_string(&path).unwrap();
        let mut invalid = plan(4);
        invalid.predicted.median_secs = -1.0;
        let invalid = serde_json::to_string(&invalid).unwrap();
        fs::write(&path, format!("{line}\u{feff}no plan\n{invalid}\n{}", &line[..40])).unwrap();
        append(&path, &plan(20)).unwrap();
        assert_eq!(KeptPlans::read(&path), KeptPlans(vec![plan(30), plan(20)]));
    }

    #[test]
    fn the_newest_thousand_plans_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let lines: Vec<String> =
            (2..=1001).rev().map(|minutes| serde_json::to_string(&plan(minutes)).unwrap()).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        append(&path, &plan(1)).unwrap();
        let KeptPlans(plans) = KeptPlans::read(&path);
        assert_eq!((plans.len(), &plans[0], &plans[999]), (1000, &plan(1000), &plan(1)));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1000);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
