use foreglow_shared::{Devices, read_samples};

use super::*;
use crate::data::job::jobs_of;
use crate::data::machine_choice::Selection;
use crate::worker::messages::{PlanRequest, Subject};
use crate::worker::plan::view::Row;
use crate::worker::wire::{decode, encode};

/// The first job of the example, as if two machine types of the catalog had run it.
fn jobs() -> Vec<Job> {
    let job = jobs_of(&read_samples(include_bytes!("../../../../assets/example.jsonl")).unwrap()).remove(0);
    let on = |(machine, factor): (&str, f64)| {
        let mut job = job.clone();
        job.context.host.machine = Some(machine.to_owned());
        job.observations.iter_mut().for_each(|run| run.completion_time_secs *= factor);
        job
    };
    [("c5.xlarge", 1.0), ("c5.4xlarge", 0.7)].map(on).to_vec()
}

fn answer(jobs: &[Job], question: &PlanQuestion) -> PlanAnswer {
    Session::new(jobs.to_vec(), question.context.as_ref()).unwrap().answer(question.clone())
}

fn recommended(answer: &PlanAnswer) -> Option<Row> {
    let plan = answer.plan.as_ref()?.as_ref().ok()?;
    plan.row(plan.recommended).cloned()
}

#[test]
fn a_kept_fit_answers_every_question_as_a_new_one_does() {
    let jobs = jobs();
    let mut asked = PlanQuestion::about(&jobs[0]);
    let mut kept = Session::new(jobs.clone(), asked.context.as_ref()).unwrap();
    kept.answer(asked.clone());
    let choices = [
        MachineChoice { prices: vec![("c5.4xlarge".into(), 0.001)], ..MachineChoice::default() },
        MachineChoice { without: vec!["c5.xlarge".into()], ..MachineChoice::default() },
        MachineChoice { devices: Devices::Gpu, ..MachineChoice::default() },
        MachineChoice::default(),
    ];
    let mut names = Vec::new();
    for choice in choices {
        for deadline_secs in [Some(5.0), Some(500.0)] {
            asked.choice = choice.clone();
            asked.question.deadline_secs = deadline_secs;
            let shown = kept.answer(asked.clone());
            let alone = answer(&jobs, &asked);
            assert_eq!((&shown.plan, &shown.what_if), (&alone.plan, &alone.what_if), "{choice:?}");
            names.push(recommended(&shown).map(|row| row.name).unwrap_or_default());
        }
    }
    assert!(names[1].contains("c5.4xlarge") && names[5].is_empty(), "{names:?}");
    assert_ne!(names[1], names[7], "the edited price is taken back");
}

#[test]
fn the_what_if_opens_at_the_recommendation_and_is_neutral_until_it_is_moved() {
    let jobs = jobs();
    let mut asked = PlanQuestion::about(&jobs[0]);
    asked.question.deadline_secs = Some(500.0);
    let mut session = Session::new(jobs, asked.context.as_ref()).unwrap();
    let first = session.answer(asked.clone());
    let (best, view) = (recommended(&first).unwrap(), first.what_if.unwrap());
    assert!(view.is_neutral && view.verdict.is_none());
    let row = view.outcome.unwrap();
    assert_eq!((row.secs, row.cost, row.arm, row.counts), (best.secs, best.cost, best.arm, best.counts));
    asked.chosen = Some(WhatIf { executors: 1, cores_per_executor: 1 });
    let moved = session.answer(asked);
    assert!(moved.plan.is_none(), "another what-if leaves the plan in place");
    let view = moved.what_if.unwrap();
    assert!(!view.is_neutral && view.verdict.is_some());
}

#[test]
fn every_row_can_be_selected_and_has_the_figures_of_its_own_plan() {
    for jobs in [jobs(), jobs()[..1].to_vec()] {
        let mut asked = PlanQuestion::about(&jobs[0]);
        let mut session = Session::new(jobs, asked.context.as_ref()).unwrap();
        let plan = session.answer(asked.clone()).plan.unwrap().unwrap();
        assert_eq!(plan.compares(), plan.types.len() == 2);
        for row in plan.rows.iter().filter(|row| row.exclusion.is_none()) {
            let Selection { counts, pick } = plan.selection(row);
            (asked.chosen, asked.choice.pick) = (Some(counts), pick);
            let view = session.answer(asked.clone()).what_if.unwrap();
            let own = view.outcome.unwrap();
            assert_eq!((own.secs, own.cost, own.arm, own.name), (row.secs, row.cost, row.arm, row.name.clone()));
        }
    }
}

#[test]
fn a_machine_type_that_only_another_cnn_ran_on_is_compared() {
    let mut all = jobs();
    for job in jobs() {
        let mut other = job;
        other.context.workload.model = "vgg16".into();
        all.push(other);
    }
    let asked = PlanQuestion::about(&all[0]);
    let slow = all.remove(1);
    assert_eq!(slow.context.host.machine.as_deref(), Some("c5.4xlarge"));
    let plan = answer(&all, &asked).plan.unwrap().unwrap();
    assert!(plan.arms.iter().any(|arm| arm.machine == "c5.4xlarge"), "{:?}", plan.arms);
}

#[test]
fn a_machine_type_without_runs_can_be_picked_and_gets_no_time() {
    let jobs = jobs();
    let mut asked = PlanQuestion::about(&jobs[0]);
    asked.choice.pick.machine = Some("m7i.2xlarge".into());
    let answer = answer(&jobs, &asked);
    assert!(answer.plan.unwrap().unwrap().unmeasured.contains(&"m7i.2xlarge".to_owned()));
    assert!(answer.what_if.unwrap().outcome.unwrap_err().contains("not measured"));
}

#[test]
fn runs_of_another_size_count_and_are_shown_as_shares_of_the_job() {
    let mut jobs = jobs();
    jobs.truncate(1);
    let mut twice = jobs[0].clone();
    twice.context.workload.images *= 2;
    let asked = PlanQuestion::about(&jobs[0]);
    let alone = answer(&jobs, &asked);
    jobs.push(twice);
    let both = answer(&jobs, &asked);
    let times = |answer: &PlanAnswer| -> Vec<Option<f64>> {
        answer.plan.as_ref().unwrap().as_ref().unwrap().rows.iter().map(|row| row.secs).collect()
    };
    assert_ne!(times(&alone), times(&both));
    let runs = &both.charts.as_ref().unwrap().runs;
    assert_eq!(runs.len(), 2 * jobs[0].observations.len());
    let most = |runs: &[foreglow_shared::Observation]| runs.iter().map(|run| run.sampling_rate).fold(0.0, f64::max);
    let shown: Vec<foreglow_shared::Observation> = runs.iter().map(|run| run.run).collect();
    assert_eq!(most(&shown), 2.0 * most(&jobs[0].observations));
}

#[test]
fn an_answer_survives_the_way_to_the_page() {
    let jobs = jobs();
    let mut asked = PlanQuestion::about(&jobs[0]);
    asked.pins = vec![Selection::default()];
    asked.explained = Some(Selection::default());
    let answer = answer(&jobs, &asked);
    assert_eq!(decode::<PlanAnswer>(&encode(&answer).unwrap()).unwrap(), answer);
    let request = PlanRequest { fit: 7, subject: Some(Subject::Jobs(jobs)), question: asked };
    assert_eq!(decode::<PlanRequest>(&encode(&request).unwrap()).unwrap(), request);
}
