//! From samples to the answers of `predict`, `plan`, `scaling` and `advise`, on one machine type
//! and over several: samples within the limits of the format are rejected, or each answer can be
//! printed in every format. The order of samples does not matter. A recommendation meets all limits
//! and is the cheapest that does.
#![no_main]

use foreglow_console::answer::{AdviceAnswer, PredictionAnswer, ScalingAnswer, fit};
use foreglow_console::ask::alone;
use foreglow_console::compare::{MachineArgs, Planned};
use foreglow_console::grammar::Counts;
use foreglow_console::output::Format;
use foreglow_console::question::{Bill, QuestionArgs};
use foreglow_console::split::TotalsOfCores;
use foreglow_model::{Decision, Limits, Setting};
use foreglow_shared::{Catalog, DEADLINE_SECS, Job, JobGroup, MONEY, Sample, group_by_definition};
use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// Machine types on which the samples ran, with the accelerator of an executor. The last is in no
/// catalog.
const MACHINES: [(&str, Option<&str>); 4] =
    [("c5.xlarge", None), ("c5.4xlarge", None), ("g4dn.xlarge", Some("Tesla T4")), ("own", None)];
/// The same without a sample.
const UNMEASURED: &str = "m5.2xlarge";
/// Length of the encodings of a question and of a sample, bytes.
const QUESTION: usize = 24;
const SAMPLE: usize = 13;
/// Largest number of samples, so that an input takes about a tenth of a second.
const MOST_SAMPLES: usize = 12;

fuzz_target!(|bytes: &[u8]| {
    let Some((command, bytes)) = bytes.split_first() else { return };
    let Some((asked, rows)) = bytes.split_at_checked(QUESTION) else { return };
    let samples: Vec<Sample> = rows
        .chunks_exact(SAMPLE)
        .take(MOST_SAMPLES)
        .filter_map(|row| sample(&mut Unstructured::new(row)).ok())
        .filter(|sample| sample.check().is_ok())
        .collect();
    let Ok((question, machines)) = question(&mut Unstructured::new(asked)) else { return };
    let groups = group_by_definition(&samples);
    let reversed: Vec<Sample> = samples.into_iter().rev().collect();
    assert_eq!(group_by_definition(&reversed), groups);
    for group in groups {
        let each = |answer: &dyn Fn(&Job)| group.jobs.iter().for_each(answer);
        // Each command alone, because `advise` takes far longer than the others.
        match command % 5 {
            0 => drop(plan(group, &question, &machines)),
            1 => drop(advise(group, &question, &machines)),
            2 => each(&|job| drop(plan(alone(job.clone()), &question, &MachineArgs::default()))),
            3 => each(&|job| drop(advise(alone(job.clone()), &question, &MachineArgs::default()))),
            _ => each(&|job| drop(predict(job, &question))),
        }
    }
});

fn plan(group: JobGroup, question: &QuestionArgs, machines: &MachineArgs) -> anyhow::Result<()> {
    let planned = machines.plan(question, &TotalsOfCores::default(), group, None)?;
    let answer = planned.answer()?;
    print(|format| answer.render(format));
    let Planned { plan, limits, .. } = planned;
    check(&plan.decide(&limits)?, question);
    // The plan keeps what it has computed.
    let other = Limits { deadline_secs: limits.budget, budget: limits.deadline_secs, ..limits };
    assert_eq!(plan.decide(&other), plan.only(|_| true).decide(&other));
    Ok(())
}

/// `advise`, with a machine type without samples.
fn advise(group: JobGroup, question: &QuestionArgs, machines: &MachineArgs) -> anyhow::Result<()> {
    let Planned { group, plan, limits, .. } = machines.plan(question, &TotalsOfCores::default(), group, None)?;
    let unmeasured = Catalog::built_in().find(UNMEASURED)?.clone();
    let advice = foreglow_model::advise(&group, &plan, &limits, &[unmeasured])?;
    let answer = AdviceAnswer::new(&plan, limits, advice, None, true);
    print(|format| answer.render(format));
    Ok(())
}

/// `predict` and `scaling`.
fn predict(job: &Job, question: &QuestionArgs) -> anyhow::Result<()> {
    let (predictor, question) = (fit(job)?, question.about(job)?);
    let answer = PredictionAnswer::new(job, &predictor, Setting::even(3, 2, 1.0), &question, None);
    print(|format| answer.render(format));
    let answer = ScalingAnswer::new(job, &std::sync::Arc::new(predictor), &question)?;
    print(|format| answer.render(format));
    Ok(())
}

/// Checks the recommendation.
fn check(decision: &Decision, question: &QuestionArgs) {
    let feasible = || decision.candidates.iter().filter(|candidate| candidate.is_feasible);
    let Some(recommended) = decision.recommended.map(|place| &decision.candidates[place]) else {
        assert_eq!(feasible().count(), 0, "{decision:?}");
        return;
    };
    assert!(recommended.is_feasible, "{decision:?}");
    if question.budget.is_none() {
        let least = feasible().filter_map(|candidate| candidate.cost).fold(f64::INFINITY, f64::min);
        // Costs that differ by up to 0.2 % count as equal, and time decides.
        assert!(recommended.cost.is_none_or(|cost| cost <= 1.002 * least), "{decision:?}");
    }
}

/// Checks that an answer has a text in every format, without numbers that are not finite.
fn print(render: impl Fn(Format) -> String) {
    for format in [Format::Table, Format::Json, Format::Csv] {
        let text = render(format);
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        assert!(!words.any(|word| matches!(word, "NaN" | "inf")), "{text}");
        if format == Format::Json {
            serde_json::from_str::<Value>(&text).expect("the answer is JSON");
        }
    }
}

fn question(source: &mut Unstructured<'_>) -> Result<(QuestionArgs, MachineArgs)> {
    let question = QuestionArgs {
        deadline: limit(source)?,
        with_startup: false,
        budget: limit(source)?,
        min_accuracy: source.ratio(1, 8)?.then_some(0.9),
        probability: Some(f64::from(source.int_in_range(1..=255)?) / 256.0),
        executors: Some(Counts(vec![1, 2, source.int_in_range(3..=20)?])),
        cores: Some(Counts(vec![1, source.int_in_range(2..=9)?])),
        bill: Bill { memory: source.ratio(1, 4)?.then_some(4096), prices: None },
    };
    let machines: Vec<&str> = MACHINES.iter().map(|(name, _)| *name).chain([UNMEASURED]).collect();
    let is_given = |source: &mut Unstructured<'_>| source.ratio(1, 4);
    let machines = MachineArgs {
        machines: if is_given(source)? { vec![(*source.choose(&machines)?).to_owned()] } else { Vec::new() },
        spot: is_given(source)?,
        max_hourly_cost: if is_given(source)? { limit(source)? } else { None },
        batch_size: is_given(source)?.then(|| Counts(vec![8, 16])),
        partition_size: if is_given(source)? { Some(source.int_in_range(1..=100)?) } else { None },
        images: if is_given(source)? { Some(source.int_in_range(1..=1_000_000)?) } else { None },
        epochs: if is_given(source)? { Some(source.int_in_range(1..=10)?) } else { None },
        ..MachineArgs::default()
    };
    Ok((question, machines))
}

/// Returns a limit above 0, if any.
fn limit(source: &mut Unstructured<'_>) -> Result<Option<f64>> {
    let limit = f64::from(f32::arbitrary(source)?);
    Ok((DEADLINE_SECS.contains(&limit) && MONEY.contains(&limit)).then_some(limit))
}

fn sample(source: &mut Unstructured<'_>) -> Result<Sample> {
    let kind = u8::arbitrary(source)?;
    let (machine, accelerator) = MACHINES[usize::from(kind % 4)];
    let mode = ["inference", "training"][usize::from(kind >> 2 & 1)];
    let model = ["resnet18", "vgg16"][usize::from(kind >> 3 & 1)];
    let engine = ["local", "spark"][usize::from(kind >> 4 & 1)];
    let batch_size = [8, 32, 128, 1][usize::from(kind >> 5 & 3)];
    let cores = count(source, 1_000)?;
    let executors = count(source, 10_000)?;
    let partition_size = source.int_in_range(1..=64)?;
    let rate = *source.choose(&[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1e-12])?;
    // Almost all within the limits of samples, from 2⁻²⁹ to 2³⁰ s.
    let secs = f64::from(f32::from_bits(source.int_in_range(98 << 23..=157 << 23)?));
    let ending = u8::arbitrary(source)?;
    let outcome = match ending % 16 {
        0 => "timed_out",
        1 => "out_of_memory",
        2 => "failed",
        _ => "completed",
    };
    let startup = u8::arbitrary(source)?;
    let mut sample = json!({
        "schema": 1, "id": "018f0000-0000-7000-8000-000000000000", "sampling_rate": rate, "outcome": outcome,
        "workload": {"model": model, "mode": mode, "image_px": 64, "images": 3200, "epochs": 2,
            "batch_size": batch_size},
        "configuration": {"executors": executors, "cores_per_executor": cores, "memory_per_executor_mib": 2048,
            "partition_size": partition_size, "accelerator": accelerator},
        "completion_time_secs": secs, "engine": engine, "runner_version": "0.1.0",
        "host": {"machine": machine, "processors": 4},
        "startup_secs": (startup % 2 == 1).then(|| f64::from(startup) / 16.0),
        "started_at": "2026-11-28T00:00:00Z", "peak_memory_mib": u32::from(u8::arbitrary(source)?) * 16,
    });
    if kind >> 7 == 1 {
        sample["configuration"]["total_cores"] = json!((executors * cores).saturating_sub(1));
    }
    if ending % 16 == 3 {
        sample["warnings"] = json!([{"kind": "busy_machine"}]);
    }
    if mode == "training" {
        sample["workload"]["average_every"] = json!([1, 8][usize::from(ending >> 4 & 1)]);
        sample["training"] = json!({"held_out": {"accuracy": f64::from(u8::arbitrary(source)?) / 250.0}});
    }
    serde_json::from_value(sample).map_err(|_| libfuzzer_sys::arbitrary::Error::IncorrectFormat)
}

/// Returns a count. Most bytes give small ones, as in real sweeps; a few give the largest that the
/// readers of samples accept.
fn count(source: &mut Unstructured<'_>, most: u32) -> Result<u32> {
    let byte = u8::arbitrary(source)?;
    Ok(if byte < 250 { u32::from(byte % 16) } else { most >> (255 - byte) })
}
