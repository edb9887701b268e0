//! Tests of the state and its links.

use foreglow_shared::Devices;

use super::*;
use crate::data::candidate_list::SortBy;
use crate::data::job::jobs_of;
use crate::data::switch::Switch;

const TWO: WhatIf = WhatIf { executors: 2, cores_per_executor: 1 };

fn jobs() -> Vec<Job> {
    jobs_of(&foreglow_shared::read_samples(include_bytes!("../../../assets/example.jsonl")).unwrap())
}

/// A page with several jobs, on which a user has changed everything.
fn used() -> ViewState {
    let mut state = ViewState::default();
    state.take_jobs(jobs(), 1);
    let run = Run::Completed(state.jobs[1].observations[0]);
    state.set_left_out(run, true);
    let images = state.jobs[1].context.workload.images;
    state.ask_about(images * 2, state.jobs[1].context.workload.epochs).unwrap();
    state.limits = Limits { deadline_secs: Some(90.0), budget: Some(2.0), min_accuracy: None, probability: 0.8 };
    state.space.executors = vec![1, 2, 9];
    state.prices.core_hour = 0.7;
    state.what_if = Some(TWO);
    state.pins = vec![TWO.into()];
    state.choice.devices = Devices::Cpu;
    state.choice.pick.batch_size = Some(16);
    state.tab = Tab::Trust;
    state.switches.set(Switch::SpeedUp, 1);
    state
}

fn reload(state: &ViewState, short: bool) -> ViewState {
    let link = Link::read(&state.fragment(short)).unwrap();
    let kept = serde_json::to_string(&state.rest().unwrap()).unwrap();
    ViewState::reopened(link, serde_json::from_str(&kept).unwrap()).unwrap()
}

/// The state with its jobs in one order.
fn sorted(mut state: ViewState) -> ViewState {
    let shown = state.job().unwrap().context.clone();
    state.jobs.sort_by_key(|job| job.context.fingerprint());
    state.selected = state.jobs.iter().position(|job| job.context == shown).unwrap();
    state
}

#[test]
fn a_reload_loses_nothing_with_a_full_and_with_a_short_link() {
    for short in [false, true] {
        assert_eq!(sorted(reload(&used(), short)), sorted(used()), "{short}");
    }
}

#[test]
fn a_full_link_shows_its_job_on_any_page_and_another_page_keeps_its_other_jobs() {
    let (sent, link) = (used(), Link::read(&used().fragment(false)).unwrap());
    let mut other = ViewState::default();
    other.take_jobs(vec![jobs().remove(0)], 0);
    let kept = other.jobs[0].clone();
    other.open(link.clone()).unwrap();
    assert_eq!((other.job(), other.question()), (sent.job(), sent.question()));
    assert_eq!((&other.pins, other.tab, &other.choice), (&sent.pins, sent.tab, &sent.choice));
    assert!(other.jobs.contains(&kept));
    // Entered in a tab that kept the jobs of another page.
    let mut alone = ViewState::default();
    alone.take_jobs(vec![jobs().remove(0)], 0);
    let opened = ViewState::reopened(link, alone.rest().unwrap()).unwrap();
    assert_eq!(opened.job(), sent.job());
}

#[test]
fn a_short_link_without_its_job_is_refused_and_so_is_a_damaged_link() {
    let short = used().fragment(true);
    let error = ViewState::default().open(Link::read(&short).unwrap()).unwrap_err();
    assert!(error.contains("its job is unknown here"), "{error}");
    let full = used().fragment(false);
    assert!(Link::read(&full[..full.len() / 2]).is_err());
    assert!(matches!(Link::read("v9.AAAA"), Err(LinkError::Newer(9))));
}

#[test]
fn the_what_if_is_the_recommended_configuration_until_the_user_chooses_one() {
    let mut state = ViewState::default();
    state.take_jobs(jobs(), 0);
    for what_if in [None, Some(TWO), Some(UNCHOSEN)] {
        state.what_if = what_if;
        assert_eq!(reload(&state, false).what_if, what_if);
    }
    // Links of earlier versions have no suffix for it.
    let earlier = |what_if| {
        let mut view = state.view().unwrap();
        view.question.what_if = what_if;
        let mut opened = ViewState::default();
        opened.open(Link::read(&view.to_fragment()).unwrap()).unwrap();
        opened.what_if
    };
    assert_eq!((earlier(UNCHOSEN), earlier(TWO)), (None, Some(TWO)));
}

#[test]
fn another_job_keeps_the_question_and_a_file_asks_a_new_one() {
    let mut state = used();
    let (limits, prices) = (state.limits, state.prices.clone());
    state.limits.min_accuracy = Some(0.9);
    state.select(0);
    assert_eq!((state.limits, &state.prices), (limits, &prices), "no accuracy was measured");
    assert_eq!((state.what_if, state.pins.len()), (None, 0));
    state.take_jobs(jobs(), 0);
    let asked = Limits { probability: 0.8, ..Limits::of(&Question::about(&[])) };
    assert_eq!((state.limits, &state.prices), (asked, &prices));
}

#[test]
fn a_page_without_samples_is_its_question_and_samples_replace_it() {
    let mut state = ViewState::default();
    state.unmeasured.images = 5_000_000;
    state.choice.spot = true;
    state.list = CandidateList { by: SortBy::Time, descending: true, filter: "A100".into() };
    let link = Link::read(&state.fragment(false)).unwrap();
    assert_eq!(ViewState::reopened(link.clone(), Rest::default()), Ok(state.clone()));
    assert_eq!((state.rest(), state.step().unmeasured.as_ref()), (None, Some(&state.unmeasured)));
    let mut used = used();
    used.open(link).unwrap();
    assert_eq!((used.jobs.len(), &used.unmeasured, used.limits), (0, &state.unmeasured, state.limits));
    used.take_jobs(jobs(), 0);
    assert_eq!((used.limits.deadline_secs, used.step().unmeasured), (None, None));
    assert!(Link::read("network=resnet50&images=0").is_err());
}

#[test]
fn each_change_of_the_question_is_a_step_of_the_history_and_a_slider_is_none() {
    let state = used();
    let is_step = |change: fn(&mut ViewState)| {
        let mut changed = state.clone();
        change(&mut changed);
        assert_ne!(changed, state);
        changed.step() != state.step()
    };
    assert!(is_step(|state| state.limits.deadline_secs = None));
    assert!(is_step(|state| state.limits.budget = Some(3.0)));
    assert!(is_step(|state| state.limits.probability = 0.5));
    assert!(is_step(|state| state.prices.core_hour = 1.0));
    assert!(is_step(|state| state.space.memory_per_executor_mib = 1));
    assert!(is_step(|state| state.choice.spot = true));
    assert!(is_step(|state| state.tab = Tab::Runs));
    assert!(is_step(|state| state.select(0)));
    assert!(is_step(|state| state.ask_about(1_000_000, 1).unwrap()));
    assert!(!is_step(|state| state.what_if = None));
    assert!(!is_step(|state| state.pins.clear()));
    assert!(!is_step(|state| state.choice.pick.batch_size = None));
    assert!(!is_step(|state| state.switches = Switches::default()));
    assert!(!is_step(|state| state.space.executors.push(10)));
}

#[test]
fn runs_that_arrive_keep_the_question_and_extend_the_default_choice_of_configurations() {
    let mut state = ViewState::default();
    state.renew_jobs(jobs());
    state.limits.deadline_secs = Some(90.0);
    let mut renewed = state.job().unwrap().clone();
    renewed.observations[0].executors = 50;
    state.renew_jobs(vec![renewed.clone()]);
    assert_eq!((state.job(), state.limits.deadline_secs), (Some(&renewed), Some(90.0)));
    assert_eq!(state.space.executors.last(), Some(&50));
    state.space.executors = vec![3];
    renewed.observations[0].executors = 60;
    state.renew_jobs(vec![renewed]);
    assert_eq!(state.space.executors, [3]);
}
