//! Finished jobs of a cluster as timing samples: the records of Slurm and Kubernetes.

mod kubernetes;
mod slurm;

use std::collections::BTreeSet;

use foreglow_exit::unusable;
use foreglow_shared::{MachineType, Mode, Outcome, SCHEMA, Sample, Timestamp, Uuid, parse_line, printable};
use foreglow_spark_log::Labels;
use serde_json::json;

/// Values that a cluster does not record.
const NEEDED: [(&str, &str); 6] = [
    ("model", "--model"),
    ("mode", "--mode"),
    ("image_px", "--image-px"),
    ("images", "--images"),
    ("batch_size", "--batch-size"),
    ("partition_size", "--partition-size"),
];

/// Reason why a job run by Foreglow is omitted: the cluster counts its executors as one task.
const OWN_RUN: &str = "ran `foreglow collect`, which recorded its samples itself: they are in the collector, or in the \
                       store of its machine";

const BYTES_PER_MIB: f64 = 1024.0 * 1024.0;

/// A finished job.
#[derive(Clone, Debug, PartialEq)]
struct Finished {
    /// Name for messages.
    name: String,
    /// Unique identity of the job.
    identity: String,
    outcome: Outcome,
    reason: Option<String>,
    secs: f64,
    started_at: Timestamp,
    executors: u32,
    cores_per_executor: u32,
    memory_per_executor_mib: Option<u32>,
    has_gpu: bool,
    /// Whether there were fewer GPUs than executors.
    shares_gpus: bool,
    machine: Option<String>,
}

/// A file of finished jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Output of `sacct`.
    Slurm,
    /// Jobs as JSON, from `kubectl get jobs`.
    Kubernetes,
    /// Output of `sacct` or `kubectl` in another form, with the needed form.
    Other(&'static str),
}

impl Kind {
    /// Returns the kind of a file; `None` if it is another one.
    pub fn of(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with("JobID|") || text.lines().next().is_some_and(|line| line.split('|').any(|c| c == "JobID")) {
            return Some(Self::Slurm);
        }
        if text.starts_with('{') && kubernetes::is_jobs(text) {
            return Some(Self::Kubernetes);
        }
        kubernetes::other_form(text).or_else(|| slurm::other_form(text)).map(Self::Other)
    }
}

/// Returns the samples of a file, and remarks for the user. `labels` has the values that a cluster
/// does not record.
///
/// # Errors
/// The file is incomplete, or a needed value is missing.
pub fn samples(kind: Kind, text: &[u8], labels: &Labels, engine: &str) -> anyhow::Result<(Vec<Sample>, Vec<String>)> {
    let text = String::from_utf8_lossy(text);
    let (jobs, mut notes) = match kind {
        Kind::Slurm => slurm::jobs(&text)?,
        Kind::Kubernetes => kubernetes::jobs(&text)?,
        Kind::Other(needed) => return Err(unusable(needed)),
    };
    if jobs.is_empty() {
        return Err(match notes.as_slice() {
            [] => unusable("it lists no jobs; write it again after a job has finished"),
            notes => unusable(format!("no finished job can be used; {}", notes.join("; "))),
        });
    }
    check_labels(labels)?;
    if let Some(note) = without_gpu(&jobs, labels) {
        notes.push(note);
    }
    let mut samples = Vec::new();
    let mut seen = BTreeSet::new();
    for job in &jobs {
        if !seen.insert(job.id()) {
            notes.push(format!("{} is listed twice, and imported once", job.name));
            continue;
        }
        match job.sample(labels, engine) {
            Ok(sample) => samples.push(sample),
            Err(reason) => notes.push(format!("{} is left out: {reason}", job.name)),
        }
    }
    if samples.is_empty() {
        return Err(unusable(format!("no finished job can be used; {}", notes.join("; "))));
    }
    Ok((samples, notes))
}

/// Fails with the options that are missing.
fn check_labels(labels: &Labels) -> anyhow::Result<()> {
    let missing = |(name, _): &&(&str, &str)| labels.get(name).is_none();
    let mut flags: Vec<&str> = NEEDED.iter().filter(missing).map(|(_, flag)| *flag).collect();
    let lacks_epochs = labels.get("epochs").is_none();
    let mut more = "";
    match labels.get("mode") {
        None if lacks_epochs => more = ", and --epochs too for training",
        Some(mode) if mode.trim() == Mode::Training.as_str() && lacks_epochs => flags.push("--epochs"),
        _ => {}
    }
    if flags.is_empty() {
        return Ok(());
    }
    Err(unusable(format!("a cluster does not record the job; give {}{more}", flags.join(", "))))
}

/// Returns a remark about the jobs without a GPU, if the user named one.
fn without_gpu(jobs: &[Finished], labels: &Labels) -> Option<String> {
    let accelerator = labels.get("accelerator")?;
    let names: Vec<&str> = jobs.iter().filter(|job| !job.has_gpu).map(|job| job.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "no GPU is recorded for {}, so that {accelerator} is not recorded there; Slurm records GPUs with \
             AccountingStorageTRES=gres/gpu",
            names.join(", ")
        )
    })
}

impl Finished {
    fn sample(&self, labels: &Labels, engine: &str) -> Result<Sample, String> {
        let label = |name: &str| labels.get(name).map(str::trim);
        let number = |name: &str| label(name).and_then(|text| text.parse::<u64>().ok());
        let memory = label("memory_per_executor_mib").and_then(|mib| mib.parse().ok()).or(self.memory_per_executor_mib);
        let memory = memory.ok_or("its memory is unknown; give --memory")?;
        let accelerator = label("accelerator").filter(|_| self.has_gpu);
        if self.has_gpu && accelerator.is_none() {
            return Err("it had a GPU, whose name is unknown; give --accelerator".to_owned());
        }
        let mut sample = json!({
            "schema": SCHEMA,
            "id": self.id().to_string(),
            "workload": {
                "model": label("model"),
                "mode": label("mode"),
                "image_px": number("image_px"),
                "images": number("images"),
                "epochs": number("epochs").unwrap_or(1),
                "batch_size": number("batch_size"),
            },
            "configuration": {
                "executors": self.executors,
                "cores_per_executor": self.cores_per_executor,
                "memory_per_executor_mib": memory,
                "partition_size": number("partition_size"),
                "accelerator": accelerator,
            },
            "sampling_rate": label("sampling_rate").and_then(foreglow_shared::number).unwrap_or(1.0),
            "outcome": self.outcome.as_str(),
            "completion_time_secs": self.secs,
            "engine": engine,
            "runner_version": env!("CARGO_PKG_VERSION"),
            "host": { "cpu": label("cpu"), "adapter": label("adapter") },
            "started_at": self.started_at.to_string(),
        });
        if self.shares_gpus {
            sample["configuration"]["shares_accelerators"] = true.into();
        }
        if let Some(data) = label("data") {
            sample["workload"]["data"] = data.into();
        }
        if let Some(machine) = self.machine.as_ref().filter(|machine| MachineType::is_name(machine)) {
            sample["host"]["machine"] = machine.as_str().into();
        }
        if let Some(reason) = &self.reason {
            // A file with control characters would not be read as text.
            sample["reason"] = printable(reason).into();
        }
        parse_line(&sample.to_string()).map_err(|error| error.to_string())
    }

    /// Derives a UUID (version 7) that is the same every time the job is imported.
    fn id(&self) -> Uuid {
        // FNV-1a, 64 bits (Fowler, Noll, Vo).
        let hash = self
            .identity
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let millisecond = u128::from(self.started_at.as_millisecond().unsigned_abs()) & ((1 << 48) - 1);
        Uuid::from_u128((millisecond << 80) | (7 << 76) | (2 << 62) | u128::from(hash >> 2))
    }
}

/// Returns a quantity such as `4G` in MiB, rounded down; `unit_bytes` gives the bytes of a unit,
/// which differ between Slurm and Kubernetes.
fn mebibytes(text: &str, unit_bytes: fn(&str) -> Option<f64>) -> Option<u32> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (value, unit) = text.split_at(split);
    let mib = value.parse::<f64>().ok()? * unit_bytes(unit)? / BYTES_PER_MIB;
    (1.0..=f64::from(u32::MAX)).contains(&mib).then_some(mib as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        let mut labels = Labels::default();
        for (name, value) in [
            ("model", "resnet18"),
            ("mode", "inference"),
            ("image_px", "64"),
            ("images", "20000"),
            ("batch_size", "32"),
            ("partition_size", "64"),
        ] {
            labels.set(name, value);
        }
        labels
    }

    const SACCT: &str = "JobID|JobName|State|ElapsedRaw|Start|AllocCPUS|NTasks|AllocTRES|Constraints\n\
        12|resnet18-inference|COMPLETED|130|2026-11-21T10:00:00|8||billing=8,cpu=8,mem=16G,node=2|c5.xlarge\n\
        12.batch|batch|COMPLETED|130|2026-11-21T10:00:00|4|1|cpu=4,mem=8G,node=1|\n\
        12.0|python|COMPLETED|120|2026-11-21T10:00:05|8|4|cpu=8,mem=16G,node=2|\n\
        13|resnet18-inference|TIMEOUT|60|2026-11-21T11:00:00|8||billing=8,cpu=8,gres/gpu=1,mem=16G|\n\
        13.0|python|CANCELLED|60|2026-11-21T11:00:01|8|4|cpu=8,gres/gpu=1,mem=16G,node=2|\n\
        14|resnet18-inference|RUNNING|5|2026-11-21T12:00:00|8||cpu=8,mem=16G|\n";

    #[test]
    fn a_step_of_slurm_is_a_sample_with_its_tasks_as_executors() {
        assert_eq!(Kind::of(SACCT.as_bytes()), Some(Kind::Slurm));
        let (found, notes) = samples(Kind::Slurm, SACCT.as_bytes(), &labels(), "spark").unwrap();
        let [whole] = found.as_slice() else { panic!("{found:?}") };
        let configuration = &whole.configuration;
        assert_eq!((configuration.executors, configuration.cores_per_executor), (4, 2));
        assert_eq!(configuration.memory_per_executor_mib, 4096);
        assert_eq!((whole.completion_time_secs, whole.sampling_rate), (Some(120.0), 1.0));
        assert_eq!(whole.host.machine.as_deref(), Some("c5.xlarge"));
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].contains("14 has not ended") && notes[1].contains("give --accelerator"), "{notes:?}");
        let mut with_gpu = labels();
        with_gpu.set("accelerator", "NVIDIA A10G");
        let again = samples(Kind::Slurm, SACCT.as_bytes(), &with_gpu, "spark").unwrap().0;
        assert_eq!((again[0].id, again.len()), (whole.id, 2), "the id is the same every time");
        assert_eq!(again[1].outcome, Outcome::TimedOut);
    }

    #[test]
    fn executors_share_gpus_if_there_are_fewer() {
        let mut given = labels();
        given.set("accelerator", "NVIDIA A10G");
        for (gpus, shares) in [
            ("gres/gpu=1", true),
            ("gres/gpu:a10g=3", true),
            ("gres/gpu:a10g=2,gres/gpu:a100=2", false),
            ("gres/gpu=4,gres/gpu:a10g=4", false),
            ("gres/gpu=8", false),
            ("gres/gpu=4,gres/shard=4", true),
            ("gres/mps=200", true),
        ] {
            let lines = format!(
                "70|infer|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n\
                 70.0|python|COMPLETED|120|2026-11-21T10:00:05|8|4|cpu=8,{gpus},mem=16G|\n"
            );
            let (found, _) = of_slurm(&lines, &given);
            assert_eq!(found[0].configuration.shares_accelerators, shares, "{gpus}");
        }
    }

    #[test]
    fn other_forms_of_the_output_are_refused_with_the_form_that_is_read() {
        let yaml = "write it as JSON, with `kubectl get job -o json`";
        let sacct = "write it with `sacct --parsable2 --format=JobID,JobName,State,ElapsedRaw,Start,";
        for (text, advice) in [
            ("apiVersion: v1\nitems:\n- apiVersion: batch/v1\n  kind: Job\n", yaml),
            ("---\napiVersion: batch/v1\nkind: Job\n", yaml),
            ("NAME   STATUS     COMPLETIONS   DURATION   AGE\na      Complete   1/1           5s         1m\n", yaml),
            ("JobID           JobName  Partition\n------------ ---------- ----------\n12  infer  gpu\n", sacct),
            ("       JobID    JobName  Partition \n------------ ---------- ---------- \n", sacct),
            (r#"{"meta":{"plugin":{"name":"Slurm"}},"jobs":[{"job_id":12,"steps":[]}]}"#, sacct),
            ("12|infer|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n", sacct),
        ] {
            let kind = Kind::of(text.as_bytes()).unwrap();
            let error = samples(kind, text.as_bytes(), &labels(), "local").unwrap_err().to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
    }

    #[test]
    fn a_name_with_the_separator_is_told_and_the_other_jobs_are_read() {
        let lines = "60|a|b|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n\
            60.0|python|COMPLETED|120|2026-11-21T10:00:05|8|4|cpu=8,mem=16G|\n";
        let body = SACCT.split_once('\n').unwrap().1;
        let (found, notes) = of_slurm(&format!("{lines}{body}"), &labels());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(notes.iter().any(|note| note == "job 60 has a `|` in its name or another column"), "{notes:?}");
        // `sacct --parsable` also ends every line with the separator.
        let parsable = SACCT.replace('\n', "|\n");
        assert_eq!(samples(Kind::Slurm, parsable.as_bytes(), &labels(), "local").unwrap().0.len(), 1);
    }

    #[test]
    fn a_start_may_have_a_time_zone() {
        let zoned = SACCT.replace("T10:00:05", "T10:00:05+0100");
        let (found, _) = samples(Kind::Slurm, zoned.as_bytes(), &labels(), "local").unwrap();
        assert_eq!(found[0].started_at.to_string(), "2026-11-21T09:00:05Z");
    }

    /// Returns the samples of these lines of `sacct`, and the remarks.
    fn of_slurm(lines: &str, labels: &Labels) -> (Vec<Sample>, Vec<String>) {
        let header = SACCT.lines().next().unwrap();
        samples(Kind::Slurm, format!("{header}\n{lines}").as_bytes(), labels, "local").unwrap()
    }

    #[test]
    fn a_step_ends_as_its_own_state_says_and_a_cancelled_one_as_that_of_the_job() {
        for (job, step, outcome, reason) in [
            ("COMPLETED", "COMPLETED", Outcome::Completed, None),
            ("FAILED", "COMPLETED", Outcome::Completed, None),
            ("COMPLETED", "FAILED", Outcome::Failed, Some("FAILED")),
            ("COMPLETED", "OUT_OF_MEMORY", Outcome::OutOfMemory, Some("OUT_OF_MEMORY")),
            ("FAILED", "OUT_OF_MEMORY", Outcome::OutOfMemory, Some("OUT_OF_MEMORY")),
            ("COMPLETED", "TIMEOUT", Outcome::TimedOut, Some("TIMEOUT")),
            ("TIMEOUT", "CANCELLED", Outcome::TimedOut, Some("TIMEOUT")),
            ("DEADLINE", "CANCELLED by 0", Outcome::TimedOut, Some("DEADLINE")),
            ("PREEMPTED", "CANCELLED by 0", Outcome::Failed, Some("PREEMPTED")),
            ("CANCELLED by 1000", "CANCELLED by 1000", Outcome::Failed, Some("CANCELLED by 1000")),
            ("COMPLETED", "CANCELLED by 1000", Outcome::Failed, Some("CANCELLED by 1000")),
        ] {
            let lines = format!(
                "30|infer|{job}|130|2026-11-21T10:00:00|8||cpu=8,mem=16G,node=2|\n\
                 30.0|python|{step}|9|2026-11-21T10:00:05|8|4|cpu=8,mem=16G,node=2|\n"
            );
            let (found, _) = of_slurm(&lines, &labels());
            let reason = reason.map(|state| format!("state in Slurm: {state}"));
            assert_eq!((found[0].outcome, &found[0].reason), (outcome, &reason), "{job}, {step}");
        }
    }

    #[test]
    fn a_requeued_job_is_a_sample_for_each_start_and_a_repeated_line_is_ignored() {
        let started = |hour: u32, state: &str, secs: u32| {
            format!(
                "40|infer|{state}|130|2026-11-21T{hour}:00:00|8||cpu=8,mem=16G,node=2|c5.xlarge\n\
                 40.0|python|{state}|{secs}|2026-11-21T{hour}:00:05|8|4|cpu=8,mem=16G,node=2|\n"
            )
        };
        let lines = format!("{}{}", started(10, "NODE_FAIL", 50), started(11, "COMPLETED", 120));
        let (found, notes) = of_slurm(&lines, &labels());
        let ends: Vec<_> = found.iter().map(|sample| (sample.outcome, sample.completion_time_secs)).collect();
        assert_eq!(ends, [(Outcome::Failed, Some(50.0)), (Outcome::Completed, Some(120.0))]);
        assert_eq!(notes, Vec::<String>::new());
        let (found, notes) = of_slurm(&lines.repeat(2), &labels());
        assert_eq!(foreglow_shared::read_samples(foreglow_shared::write_jsonl(&found).as_bytes()), Ok(found));
        assert_eq!(notes, ["job 40 is listed twice, and imported once"; 2]);
    }

    #[test]
    fn control_characters_of_a_record_do_not_spoil_the_file_of_samples() {
        let lines = "50|infer|CANCELLED by \u{7f}|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|c5\u{7f}\u{8}\n\
            50.0|python|CANCELLED by \u{7f}|9|2026-11-21T10:00:05|8|4|cpu=8,mem=16G|\n";
        let (found, _) = of_slurm(lines, &labels());
        assert_eq!(found[0].host.machine, None);
        assert_eq!(foreglow_shared::read_samples(foreglow_shared::write_jsonl(&found).as_bytes()), Ok(found));
    }

    #[test]
    fn only_jobs_with_a_gpu_have_the_accelerator_and_training_has_epochs() {
        let mut given = labels();
        given.set("accelerator", "NVIDIA A10G");
        let (found, notes) = samples(Kind::Slurm, SACCT.as_bytes(), &given, "local").unwrap();
        let accelerators: Vec<_> = found.iter().map(|sample| sample.configuration.accelerator.as_deref()).collect();
        assert_eq!(accelerators, [None, Some("NVIDIA A10G")]);
        assert!(notes.iter().any(|note| note.starts_with("no GPU is recorded for job 12, so that")), "{notes:?}");
        for shared in ["gres/mps=50", "gres/shard=1", "gres/gpu:a100=1"] {
            let records = SACCT.replace("gres/gpu=1", shared);
            let (_, notes) = samples(Kind::Slurm, records.as_bytes(), &labels(), "local").unwrap();
            assert!(notes.iter().any(|note| note.contains("give --accelerator")), "{shared}: {notes:?}");
        }
        given.set("mode", "training");
        let error = samples(Kind::Slurm, SACCT.as_bytes(), &given, "local").unwrap_err().to_string();
        assert_eq!(error, "a cluster does not record the job; give --epochs");
        given.set("epochs", "3");
        let (found, _) = samples(Kind::Slurm, SACCT.as_bytes(), &given, "local").unwrap();
        assert_eq!(found[0].workload.epochs, 3);
    }

    #[test]
    fn jobs_that_foreglow_ran_itself_are_left_out() {
        let own = "20|foreglow-resnet18-inference|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n\
            20.0|sh|COMPLETED|120|2026-11-21T10:00:05|8|1|cpu=8,mem=16G,node=1|\n\
            21|mine|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n\
            21.0|foreglow|COMPLETED|120|2026-11-21T10:00:05|8|1|cpu=8,mem=16G,node=1|\n";
        let (found, notes) = samples(Kind::Slurm, format!("{SACCT}{own}").as_bytes(), &labels(), "local").unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        for job in ["job 20", "job 21"] {
            let said = format!("{job} ran `foreglow collect`, which recorded its samples itself");
            assert!(notes.iter().any(|note| note.starts_with(&said)), "{notes:?}");
        }
        let header = SACCT.lines().next().unwrap();
        let error = samples(Kind::Slurm, format!("{header}\n{own}").as_bytes(), &Labels::default(), "local");
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("no finished job can be used; job 20 ran `foreglow collect`"), "{error}");
        let job = r#"{"kind":"Job","metadata":{"name":"j","uid":"u1","labels":{"app.kubernetes.io/name":"foreglow"}},
            "spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"2","memory":"4Gi"}}}]}}},
            "status":{"startTime":"2026-11-21T10:00:00Z","completionTime":"2026-11-21T10:02:00Z",
            "conditions":[{"type":"Complete","status":"True"}]}}"#;
        let error = samples(Kind::Kubernetes, job.as_bytes(), &labels(), "local").unwrap_err().to_string();
        assert!(error.starts_with("no finished job can be used; j ran `foreglow collect`"), "{error}");
    }

    #[test]
    fn jobs_of_kubernetes_are_samples() {
        let jobs = r#"{"kind":"List","items":[
            {"kind":"Job","metadata":{"name":"resnet18-inference-x1","uid":"u1"},
             "spec":{"parallelism":2,"template":{"spec":{"nodeSelector":{"node.kubernetes.io/instance-type":"m5.large"},
             "containers":[{"resources":{"limits":{"cpu":"2","memory":"4Gi"}}}]}}},
             "status":{"startTime":"2026-11-21T10:00:00Z","completionTime":"2026-11-21T10:02:00Z","succeeded":2,
             "conditions":[{"type":"Complete","status":"True"}]}},
            {"kind":"Job","metadata":{"name":"late","uid":"u2"},"spec":{"template":{"spec":{"containers":[{"resources":
             {"limits":{"cpu":"500m","memory":"512Mi"}}}]}}},"status":{"startTime":"2026-11-21T10:00:00Z",
             "conditions":[{"type":"Failed","status":"True","reason":"DeadlineExceeded","message":"was active longer",
             "lastTransitionTime":"2026-11-21T10:05:00Z"}]}},
            {"kind":"Job","metadata":{"name":"running","uid":"u3"},"status":{"startTime":"2026-11-21T10:00:00Z"}}]}"#;
        assert_eq!(Kind::of(jobs.as_bytes()), Some(Kind::Kubernetes));
        let (found, notes) = samples(Kind::Kubernetes, jobs.as_bytes(), &labels(), "local").unwrap();
        let [first] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.configuration.executors, first.configuration.cores_per_executor), (2, 2));
        assert_eq!((first.completion_time_secs, first.configuration.memory_per_executor_mib), (Some(120.0), 4096));
        assert_eq!(first.host.machine.as_deref(), Some("m5.large"));
        assert!(notes.iter().any(|note| note.contains("late has no whole number of processors")), "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("running has not ended")), "{notes:?}");
    }

    #[test]
    fn what_a_cluster_does_not_record_has_to_be_given() {
        let error = samples(Kind::Slurm, SACCT.as_bytes(), &Labels::default(), "local").unwrap_err().to_string();
        assert!(error.contains("give --model, --mode, --image-px, --images"), "{error}");
        assert!(error.ends_with("--partition-size, and --epochs too for training"), "{error}");
        let header = SACCT.lines().next().unwrap_or_default();
        for (kind, empty) in [
            (Kind::Slurm, header),
            (Kind::Kubernetes, r#"{"apiVersion":"v1","kind":"List","items":[]}"#),
            (Kind::Kubernetes, r#"{"kind":"JobList","items":[]}"#),
        ] {
            assert_eq!(Kind::of(empty.as_bytes()), Some(kind));
            let error = samples(kind, empty.as_bytes(), &Labels::default(), "local").unwrap_err().to_string();
            assert_eq!(error, "it lists no jobs; write it again after a job has finished");
        }
        let error =
            samples(Kind::Slurm, b"JobID|JobName|State\n1|a|COMPLETED\n", &labels(), "local").unwrap_err().to_string();
        assert!(error.contains("lacks ElapsedRaw"), "{error}");
        assert_eq!(Kind::of(b"{\"schema\":1}"), None);
        assert_eq!(Kind::of(b"model,secs\n"), None);
    }
}
