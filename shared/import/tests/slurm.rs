//! Records of Slurm.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use foreglow_import::Given;
use foreglow_shared::{Engine, Outcome, Sample, read_samples, write_jsonl};
use support::{given, read};

const HEADER: &str = "JobID|JobName|State|ElapsedRaw|Start|AllocCPUS|NTasks|AllocTRES|Constraints\n";
const BODY: &str = "12|resnet18-inference|COMPLETED|130|2026-11-21T10:00:00|8||billing=8,cpu=8,mem=16G,node=2|c5.xlarge\n\
    12.batch|batch|COMPLETED|130|2026-11-21T10:00:00|4|1|cpu=4,mem=8G,node=1|\n\
    12.0|python|COMPLETED|120|2026-11-21T10:00:05|8|4|cpu=8,mem=16G,node=2|\n\
    13|resnet18-inference|TIMEOUT|60|2026-11-21T11:00:00|8||billing=8,cpu=8,gres/gpu=1,mem=16G|\n\
    13.0|python|CANCELLED|60|2026-11-21T11:00:01|8|4|cpu=8,gres/gpu=1,mem=16G,node=2|\n\
    14|resnet18-inference|RUNNING|5|2026-11-21T12:00:00|8||cpu=8,mem=16G|\n";

/// Returns the samples of these lines of `sacct`, and the remarks.
fn of(lines: &str, given: &Given) -> (Vec<Sample>, Vec<String>) {
    let import = read(format!("{HEADER}{lines}"), given).unwrap();
    (import.samples, import.notes)
}

/// Returns the error of these lines of `sacct`.
fn refused(lines: &str, given: &Given) -> String {
    read(format!("{HEADER}{lines}"), given).unwrap_err()
}

/// Returns the description of two jobs, each with its sampling rate.
fn two(more: &[(&str, &str)]) -> Given {
    Given { sampling_rates: vec![0.1; 2], ..given(more) }
}

fn one(lines: &str) -> Sample {
    let (samples, notes) = of(lines, &given(&[]));
    let [sample] = samples.as_slice() else { panic!("{samples:?}, {notes:?}") };
    sample.clone()
}

#[test]
fn a_step_of_slurm_is_a_sample_with_its_tasks_as_executors() {
    let spark = Given { engine: Some(Engine::Spark), ..two(&[]) };
    let (found, notes) = of(BODY, &spark);
    let [whole] = found.as_slice() else { panic!("{found:?}") };
    let configuration = &whole.configuration;
    assert_eq!((configuration.executors, configuration.cores_per_executor), (4, 2));
    assert_eq!((configuration.memory_per_executor_mib, whole.engine), (4096, Engine::Spark));
    assert_eq!((whole.completion_time_secs, whole.sampling_rate), (Some(120.0), 0.1));
    assert_eq!(whole.host.machine.as_deref(), Some("c5.xlarge"));
    assert!(notes[0].contains("14 has not ended") && notes[1].contains("give --accelerator"), "{notes:?}");
    let again = of(BODY, &two(&[("accelerator", "NVIDIA A10G")])).0;
    assert_eq!((again[0].id, again.len()), (whole.id, 2), "the id is the same every time");
    assert_eq!(again[1].outcome, Outcome::TimedOut);
}

#[test]
fn a_short_first_srun_is_not_the_job() {
    let lines = "50|train|COMPLETED|700|2026-03-01T08:00:00|8||cpu=8,mem=16G,node=1|\n\
        50.batch|batch|COMPLETED|700|2026-03-01T08:00:00|8|1|cpu=8,mem=16G,node=1|\n\
        50.0|hostname|COMPLETED|1|2026-03-01T08:00:00|8|1|cpu=8,mem=16G,node=1|\n\
        50.1|python|COMPLETED|690|2026-03-01T08:00:05|8|4|cpu=8,mem=16G,node=1|\n";
    let (found, notes) = of(lines, &given(&[]));
    assert_eq!((found[0].completion_time_secs, found[0].configuration.executors), (Some(690.0), 4));
    let note = "job 50: of its 2 steps of srun, 1 (python, 11 min 30.0 s) is imported; --step chooses another";
    assert_eq!(notes, [note]);
    let first = Given { step: Some("0".to_owned()), ..given(&[]) };
    assert_eq!(of(lines, &first).0[0].completion_time_secs, Some(1.0));
    let missing = refused(lines, &Given { step: Some("7".to_owned()), ..given(&[]) });
    assert!(
        missing.contains("job 50 has no step 7; its steps are batch (batch, 11 min 40.0 s), 0 (hostname"),
        "{missing}"
    );
}

#[test]
fn a_job_whose_work_is_unclear_is_left_out_and_the_steps_are_named() {
    let job = "51|train|COMPLETED|700|2026-03-01T08:00:00|8||cpu=8,mem=16G,node=1|\n\
        51.batch|batch|COMPLETED|700|2026-03-01T08:00:00|8|1|cpu=8,mem=16G,node=1|\n";
    let step = |number: u32, name: &str, secs: u32| {
        format!("51.{number}|{name}|COMPLETED|{secs}|2026-03-01T08:00:05|8|4|cpu=8,mem=16G,node=1|\n")
    };
    let prepare = |secs: u32| format!("51.0|prepare|COMPLETED|{secs}|2026-03-01T08:00:05|1|1|cpu=1,mem=2G,node=1|\n");
    // The script itself did the work; two steps that ran at the same time, or one after the other;
    // a longer one on fewer processors, and one on so few that its time tells little.
    for steps in [
        step(0, "hostname", 1),
        prepare(410) + &step(1, "python", 280),
        prepare(640) + &step(1, "python", 50),
        step(0, "python", 360) + &step(1, "python", 340),
        step(0, "python", 690) + &step(1, "python", 680),
        step(0, "python", 300) + &step(1, "python", 310),
    ] {
        let error = refused(&format!("{job}{steps}"), &given(&[]));
        assert!(error.contains("which step of srun did its work is unclear: 0 ("), "{error}");
        assert!(error.contains("choose one with --step"), "{error}");
    }
    let (found, notes) = of(&format!("{job}{}", step(0, "python", 400)), &given(&[]));
    let note = "job 51: its step 0 (python, 6 min 40.0 s) is imported, without the 5 min of the job outside of it; \
                --step batch imports the whole script";
    assert_eq!((found[0].completion_time_secs, notes), (Some(400.0), vec![note.to_owned()]));
    let batch = Given { step: Some("batch".to_owned()), ..given(&[]) };
    let (found, _) = of(&format!("{job}{}", step(0, "hostname", 1)), &batch);
    assert_eq!((found[0].completion_time_secs, found[0].configuration.cores_per_executor), (Some(700.0), 8));
}

#[test]
fn a_duration_in_another_form_is_named_with_its_field() {
    for text in ["00:11:40", "1-02:00:00", "11.5 min", "-3"] {
        let error = refused(&BODY.replace("|120|", &format!("|{text}|")), &given(&[]));
        assert!(error.contains(&format!("job 12 has {text:?} for ElapsedRaw, which must be whole seconds")), "{error}");
    }
}

#[test]
fn a_script_without_srun_is_one_executor_on_one_node() {
    let script = |nodes: u32| {
        format!(
            "52|train|COMPLETED|700|2026-03-01T08:00:00|16||cpu=16,mem=32G,node={nodes},gres/gpu=1|\n\
             52.batch|batch|COMPLETED|700|2026-03-01T08:00:00|8|1|cpu=8,mem=16G,node=1|\n\
             52.extern|extern|COMPLETED|700|2026-03-01T08:00:00|16|1|cpu=16,mem=32G,node={nodes}|\n"
        )
    };
    let (found, notes) = of(&script(1), &given(&[("accelerator", "NVIDIA A10G")]));
    let configuration = &found[0].configuration;
    assert_eq!(
        (found[0].completion_time_secs, configuration.executors, configuration.cores_per_executor),
        (Some(700.0), 1, 8)
    );
    assert_eq!(configuration.accelerator.as_deref(), Some("NVIDIA A10G"));
    assert!(notes[0].starts_with("job 52: it has no step of srun, so that its batch script"), "{notes:?}");
    let allocation = script(1).lines().next().unwrap().to_owned();
    assert!(
        refused(&allocation, &given(&[])).contains("job 52 has no steps in the file; write it without the option -X")
    );
    let (found, notes) = of(&script(2).replace("gpu=1", "gpu=2"), &given(&[("accelerator", "NVIDIA A10G")]));
    let configuration = &found[0].configuration;
    assert_eq!((configuration.executors, configuration.cores_per_executor, configuration.machines), (2, 8, Some(2)));
    assert!(notes[0].contains("one executor on each of its 2 nodes"), "{notes:?}");
}

#[test]
fn the_steps_of_a_requeued_job_are_numbered_on() {
    let last = "71|infer|COMPLETED|2153|2026-03-01T12:10:00|1||cpu=1,mem=5000M,node=1|\n\
        71.batch|batch|COMPLETED|2153|2026-03-01T12:10:00|1|1|cpu=1,mem=5000M,node=1|\n\
        71.3|python|COMPLETED|2151|2026-03-01T12:10:01|1|1|cpu=1,mem=5000M,node=1|\n";
    assert_eq!(one(last).completion_time_secs, Some(2151.0));
    // The steps of earlier starts may be listed with the last one.
    let earlier = "71.1|python|FAILED|3000|2026-03-01T10:10:01|1|1|cpu=1,mem=5000M,node=1|\n";
    assert_eq!(one(&format!("{last}{earlier}")).completion_time_secs, Some(2151.0));
}

#[test]
fn each_start_of_a_requeued_job_has_its_own_steps() {
    let lines = "72|infer|REQUEUED|3889|2026-03-01T08:00:00|1||cpu=1,mem=5000M,node=1|\n\
        72.0|python|FAILED|3887|2026-03-01T08:00:02|1|1|cpu=1,mem=5000M,node=1|\n\
        72|infer|COMPLETED|4473|2026-03-01T09:10:00|1||cpu=1,mem=5000M,node=1|\n\
        72.1|python|COMPLETED|4472|2026-03-01T09:10:01|1|1|cpu=1,mem=5000M,node=1|\n";
    let (found, notes) = of(lines, &given(&[]));
    assert_eq!(found.iter().map(|sample| sample.completion_time_secs).collect::<Vec<_>>(), [Some(4472.0)]);
    assert_eq!(notes, ["job 72 has not ended"]);
}

#[test]
fn a_requeued_job_is_a_sample_for_each_start_and_a_repeated_line_is_ignored() {
    let started = |hour: u32, state: &str, secs: u32| {
        format!(
            "40|infer|{state}|130|2026-11-21T{hour}:00:00|8||cpu=8,mem=16G,node=2|c5.xlarge\n\
             40.0|python|{state}|{secs}|2026-11-21T{hour}:00:05|8|4|cpu=8,mem=16G,node=2|\n"
        )
    };
    let lines = format!("{}{}", started(10, "NODE_FAIL", 70), started(11, "COMPLETED", 120));
    let (found, _) = of(&lines, &given(&[]));
    let ends: Vec<_> = found.iter().map(|sample| (sample.outcome, sample.completion_time_secs)).collect();
    assert_eq!(ends, [(Outcome::Failed, Some(70.0)), (Outcome::Completed, Some(120.0))]);
    let (found, notes) = of(&lines.repeat(2), &given(&[]));
    assert_eq!(read_samples(write_jsonl(&found).as_bytes()), Ok(found));
    assert_eq!(notes[..2], ["job 40 is listed twice, and imported once"; 2]);
}

#[test]
fn tasks_of_an_array_are_jobs_and_a_heterogeneous_job_is_left_out() {
    let job = |id: &str, start: u32| {
        format!(
            "{id}|infer|COMPLETED|130|2026-11-21T10:{start}:00|8||cpu=8,mem=16G,node=1|\n\
             {id}.0|python|COMPLETED|120|2026-11-21T10:{start}:05|8|4|cpu=8,mem=16G,node=1|\n"
        )
    };
    let lines = format!(
        "{}{}90_[3-9]|infer|PENDING|0|Unknown|8|||\n{}{}",
        job("90_1", 10),
        job("90_2", 11),
        job("91+0", 12),
        job("91+1", 12)
    );
    let (found, notes) = of(&lines, &two(&[]));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(notes[0].starts_with("job 91 is heterogeneous"), "{notes:?}");
    assert_eq!(notes[1], "job 90_[3-9] has not ended");
}

#[test]
fn one_sampling_rate_for_several_jobs_is_refused_and_each_may_have_its_own() {
    let lines = BODY.replace(",gres/gpu=1", "");
    let error = refused(&lines, &given(&[]));
    assert!(error.starts_with("--sampling-rate gives one rate for 2 runs, whose work differs or is not"), "{error}");
    let (found, notes) = of(&lines, &Given { sampling_rates: vec![0.5, 1.0], ..given(&[]) });
    assert_eq!(found.iter().map(|sample| sample.sampling_rate).collect::<Vec<_>>(), [0.5, 1.0]);
    assert_eq!(notes.len(), 1, "{notes:?}");
    let error = refused(&lines, &Given { sampling_rates: vec![0.1, 0.5, 1.0], ..given(&[]) });
    assert_eq!(
        error,
        "--sampling-rate gives 3 rates, and the file has 2 finished jobs: job 12, job 13; give one rate per run, in \
         their order"
    );
    let (found, notes) = of(&lines, &Given { sampling_rates: Vec::new(), ..given(&[]) });
    assert_eq!((found[0].sampling_rate, notes[1].contains("sampling rate 1")), (1.0, true), "{notes:?}");
}

#[test]
fn what_the_user_says_must_agree_with_the_records() {
    let memory = refused(BODY, &given(&[("memory_per_executor_mib", "1024")]));
    let sentence =
        "job 12 is left out: each executor has 4096 MiB (mem in AllocTRES), but --memory says 1024 MiB; omit --memory";
    assert!(memory.contains(sentence), "{memory}");
    assert_eq!(of(BODY, &given(&[("memory_per_executor_mib", "4096")])).0.len(), 1);
    let gpu = BODY.replace("gres/gpu=1,", "gres/gpu=4,gres/gpu:a100=4,");
    let (found, notes) = of(&gpu, &two(&[("accelerator", "NVIDIA A10G")]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        notes
            .iter()
            .any(|note| note
                == "job 13 is left out: its GPU is recorded as a100, but --accelerator says \"NVIDIA A10G\""),
        "{notes:?}"
    );
    assert_eq!(of(&gpu, &two(&[("accelerator", "NVIDIA A100 40GB")])).0.len(), 2);
}

#[test]
fn processors_that_do_not_divide_among_the_tasks_are_not_rounded() {
    for (cpus, tasks) in [("8", "3"), ("2", "4")] {
        let lines = BODY.replace("|8|4|", &format!("|{cpus}|{tasks}|"));
        let error = refused(&lines, &given(&[]));
        assert!(
            error.contains(&format!("job 12 has {cpus} processors (AllocCPUS) for {tasks} tasks (NTasks)")),
            "{error}"
        );
    }
    let without = refused(&BODY.replace("mem=16G", "x=1"), &given(&[]));
    assert!(without.contains("job 12 is left out: it has no memory (mem in AllocTRES); give --memory"), "{without}");
}

#[test]
fn the_encodings_of_powershell_are_read() {
    let text = format!("{HEADER}{BODY}").replace('\n', "\r\n");
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let expected = read(&text, &given(&[])).unwrap();
    assert_eq!(expected.samples.len(), 1);
    for bytes in [utf16, format!("\u{feff}{text}").into_bytes(), text.replace('\r', "").into_bytes()] {
        assert_eq!(read(bytes, &given(&[])), Ok(expected.clone()));
    }
}

#[test]
fn executors_share_gpus_if_there_are_fewer() {
    let given = given(&[("accelerator", "NVIDIA A10G / A100")]);
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
        assert_eq!(of(&lines, &given).0[0].configuration.shares_accelerators, shares, "{gpus}");
    }
}

#[test]
fn other_forms_of_the_output_are_refused_with_the_form_that_is_read() {
    for text in [
        "JobID           JobName  Partition\n------------ ---------- ----------\n12  infer  gpu\n",
        "       JobID    JobName  Partition \n------------ ---------- ---------- \n",
        "JobID,JobName,State\n12,infer,COMPLETED\n",
        r#"{"meta":{"plugin":{"name":"Slurm"}},"jobs":[{"job_id":12,"steps":[]}]}"#,
        "12|infer|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n",
    ] {
        let error = read(text, &given(&[])).unwrap_err();
        assert!(
            error.contains("write it with `sacct --parsable2 --format=JobID,JobName,State,ElapsedRaw,Start,"),
            "{text}: {error}"
        );
    }
    let error = read("JobID|JobName|State\n1|a|COMPLETED\n", &given(&[])).unwrap_err();
    assert!(error.contains("lacks ElapsedRaw"), "{error}");
    for other in ["{\"schema\":1}", "model,secs\n1,2\n"] {
        let error = read(other, &given(&[])).unwrap_err();
        assert!(error.starts_with("line 1"), "{error}");
    }
}

#[test]
fn a_name_with_the_separator_is_told_and_the_other_jobs_are_read() {
    let lines = "60|a|b|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n\
        60.0|python|COMPLETED|120|2026-11-21T10:00:05|8|4|cpu=8,mem=16G|\n";
    let (found, notes) = of(&format!("{lines}{BODY}"), &given(&[]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(notes.iter().any(|note| note == "job 60 has a `|` in its name or another column"), "{notes:?}");
    // `sacct --parsable` also ends every line with the separator.
    let parsable = format!("{HEADER}{BODY}").replace('\n', "|\n");
    assert_eq!(read(parsable, &given(&[])).unwrap().samples.len(), 1);
}

#[test]
fn a_start_may_have_a_time_zone() {
    let zoned = BODY.replace("10:00:05|8", "10:00:05+0100|8").replace("10:00:00|8||", "10:00:00+0100|8||");
    assert_eq!(one(&zoned).started_at.to_string(), "2026-11-21T09:00:05Z");
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
             30.0|python|{step}|90|2026-11-21T10:00:05|8|4|cpu=8,mem=16G,node=2|\n"
        );
        let found = one(&lines);
        let reason = reason.map(|state| format!("state in Slurm: {state}"));
        assert_eq!((found.outcome, &found.reason), (outcome, &reason), "{job}, {step}");
    }
}

#[test]
fn control_characters_of_a_record_do_not_spoil_the_file_of_samples() {
    let lines = "50|infer|CANCELLED by \u{7f}|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|c5\u{7f}\u{8}\n\
        50.0|python|CANCELLED by \u{7f}|90|2026-11-21T10:00:05|8|4|cpu=8,mem=16G|\n";
    let found = vec![one(lines)];
    assert_eq!(found[0].host.machine, None);
    assert_eq!(read_samples(write_jsonl(&found).as_bytes()), Ok(found));
}

#[test]
fn only_jobs_with_a_gpu_have_the_accelerator_and_training_has_epochs() {
    let (found, notes) = of(BODY, &two(&[("accelerator", "NVIDIA A10G")]));
    let accelerators: Vec<_> = found.iter().map(|sample| sample.configuration.accelerator.as_deref()).collect();
    assert_eq!(accelerators, [None, Some("NVIDIA A10G")]);
    assert!(notes.iter().any(|note| note.starts_with("no GPU is recorded for job 12, so that")), "{notes:?}");
    for shared in ["gres/mps=50", "gres/shard=1", "gres/gpu:a100=1"] {
        let (_, notes) = of(&BODY.replace("gres/gpu=1", shared), &two(&[]));
        assert!(notes.iter().any(|note| note.contains("give --accelerator")), "{shared}: {notes:?}");
    }
    assert_eq!(refused(BODY, &given(&[("mode", "training")])), "a cluster does not record the job; give --epochs");
    let trained = of(BODY, &two(&[("mode", "training"), ("epochs", "3")])).0;
    assert_eq!(trained[0].workload.epochs, 3);
}

#[test]
fn jobs_that_foreglow_ran_itself_are_left_out() {
    let own = "20|foreglow-resnet18-inference|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n\
        20.0|sh|COMPLETED|120|2026-11-21T10:00:05|8|1|cpu=8,mem=16G,node=1|\n\
        21|mine|COMPLETED|130|2026-11-21T10:00:00|8||cpu=8,mem=16G|\n\
        21.0|foreglow|COMPLETED|120|2026-11-21T10:00:05|8|1|cpu=8,mem=16G,node=1|\n";
    let (found, notes) = of(&format!("{BODY}{own}"), &given(&[]));
    assert_eq!(found.len(), 1, "{found:?}");
    for job in ["job 20", "job 21"] {
        let said = format!("{job} ran `foreglow collect`, which recorded its samples itself");
        assert!(notes.iter().any(|note| note.starts_with(&said)), "{notes:?}");
    }
    let error = refused(own, &Given::default());
    assert!(error.starts_with("no finished job can be used; job 20 ran `foreglow collect`"), "{error}");
}

#[test]
fn what_slurm_does_not_record_has_to_be_given() {
    let error = refused(BODY, &Given::default());
    assert!(error.contains("give --model, --mode, --image-px, --images"), "{error}");
    assert!(error.ends_with("--partition-size, and --epochs too for training"), "{error}");
    assert_eq!(refused("", &Given::default()), "it lists no jobs; write it again after a job has finished");
}

#[test]
fn gpus_processes_and_nodes_are_those_of_the_record() {
    // Name, job (processors, GPUs, nodes), step (tasks, processors, GPUs, nodes), and the expected
    // processes, GPUs per process and nodes.
    type Job = Option<(u32, u32, u32, u32)>;
    type Expected = (u32, Option<u32>, Option<u32>);
    type Case = (&'static str, Job, (u32, u32, u32), Expected);
    let cases: [Case; 12] = [
        ("one GPU", Some((1, 8, 1, 1)), (8, 1, 1), (1, None, None)),
        ("torchrun of four GPUs in srun", Some((1, 32, 4, 1)), (32, 4, 1), (1, Some(4), None)),
        ("torchrun of eight GPUs in srun", Some((1, 32, 8, 1)), (32, 8, 1), (1, Some(8), None)),
        ("a process for each of four GPUs", Some((4, 32, 4, 1)), (32, 4, 1), (4, None, None)),
        ("a process for each of eight GPUs", Some((8, 32, 8, 1)), (32, 8, 1), (8, None, None)),
        ("two GPUs for each of four processes", Some((4, 32, 8, 1)), (32, 8, 1), (4, Some(2), None)),
        ("torchrun on two nodes", Some((2, 64, 8, 2)), (64, 8, 2), (2, Some(4), Some(2))),
        ("torchrun on four nodes", Some((4, 128, 16, 4)), (128, 16, 4), (4, Some(4), Some(4))),
        ("a process for each GPU of two nodes", Some((8, 64, 8, 2)), (64, 8, 2), (8, None, Some(2))),
        ("sbatch alone with four GPUs", None, (32, 4, 1), (1, Some(4), None)),
        ("sbatch alone with eight GPUs", None, (32, 8, 1), (1, Some(8), None)),
        ("sbatch alone on two nodes", None, (64, 8, 2), (2, Some(4), Some(2))),
    ];
    for (name, step, (cores, gpus, nodes), expected) in cases {
        let tres = |cores: u32, gpus: u32, nodes: u32| {
            format!("billing={cores},cpu={cores},gres/gpu={gpus},gres/gpu:a100={gpus},mem=64G,node={nodes}")
        };
        let mut lines = format!("90|train|COMPLETED|3600|2026-03-01T08:00:00|{cores}||{}|\n", tres(cores, gpus, nodes));
        let (of_node, gpus_of_node) = (cores / nodes, gpus / nodes);
        lines.push_str(&format!(
            "90.batch|batch|COMPLETED|3600|2026-03-01T08:00:00|{of_node}|1|{}|\n",
            tres(of_node, gpus_of_node, 1)
        ));
        if let Some((tasks, cores, gpus, nodes)) = step {
            let tres = tres(cores, gpus, nodes);
            lines.push_str(&format!("90.0|python|COMPLETED|3590|2026-03-01T08:00:05|{cores}|{tasks}|{tres}|\n"));
        }
        let (found, notes) = of(&lines, &given(&[("accelerator", "NVIDIA A100-SXM4-40GB")]));
        let configuration = &found.first().unwrap_or_else(|| panic!("{name}: {notes:?}")).configuration;
        let counted = (configuration.executors, configuration.accelerators_per_executor, configuration.machines);
        assert_eq!(counted, expected, "{name}");
        assert_eq!(configuration.accelerator.as_deref(), Some("NVIDIA A100-SXM4-40GB"), "{name}");
    }
}

#[test]
fn gpus_that_cannot_be_divided_among_the_processes_are_told() {
    let lines = "91|train|COMPLETED|3600|2026-03-01T08:00:00|8||cpu=8,gres/gpu=3,mem=64G,node=1|\n\
        91.0|python|COMPLETED|3590|2026-03-01T08:00:05|8|2|cpu=8,gres/gpu=3,mem=64G,node=1|\n";
    let error = refused(lines, &given(&[("accelerator", "A100")]));
    assert!(error.contains("has 3 GPUs (gres/gpu in AllocTRES) for 2 processes, which is no whole number"), "{error}");
}
