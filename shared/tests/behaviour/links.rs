//! Share links.

use foreglow_shared::{
    FRAGMENT_PREFIX, IncompleteOutcome, IncompleteRun, LeftOut, LinkError, Observation, PeakMemory, ShortLink, View,
    WhatIf,
};
use proptest::prelude::*;

use crate::words::{observation, view};

fn measured() -> View {
    view(vec![observation(1, 1, 0.01, 12.4), observation(1, 1, 0.1, 101.25), observation(2, 1, 0.1, 55.5)])
}

/// `measured()` as a link of the first version, which stored only completed runs.
const FIRST_VERSION: &str = concat!(
    "v1.eNptUUFOwzAQ_Erks1sc44SSGxLixK1CHKoqcp1tY5HYwXZoShWJ1_AwXsK6tCpU5BB5Zry7s-M9UdYEGAIp9mRr3UtjZRXPr",
    "a2gIQVx4A2EjBF6oJDRZg0OjAKkdCs3UHYDKTgXR-gRsPhRAp1VNeKUkpUMqi69fscW13xEzWy0if0aq2SDvWrrDy5U1yP79fGJn",
    "KxkF8CRwvRNM2KVXXlwbzJoa7DvYpHSlAp2m-OPsilDyKeCplOeLemFiIhF4aTyCzXLpkdtSclrDz4OiYYqkFWDXksPCofmDAeh_",
    "wFUH6yLNlLKqcAqZTGusgNXntQfEaUWWut2f7Sy1StSHCyQzmkVk9sTI9uYyt3zPHmQbiMDJI_a9MPVMMuT3k9A-jBJaWJNUkErT",
    "YUxVXgLazjj-YTlk_QGOdW7-Eo75J_m9-RsuKxtj74OS0TDZyyYmFGy0aszxYQQGea-rWUo9Toa_LU4_3_ldBzHb1qNuis",
);

/// `measured()` with a budget, a probability and excluded runs, as a link of November 2026.
const WITH_LEFT_OUT: &str = concat!(
    "v1.eNqVUcFunDAQ_RXks5ca19CEW6Wop96iKIdthIw9C1aMTY2dsF3tv3dMs9o06qUcEO89ZubNmxNR3kVYI2lP5NWHZ-ulzt-T1",
    "2BJSwIsDmLNCN0oZIw7QACnACkzyQG6eSUt5-INLghYfiiB2asRcUVJL6Mau8X8whaf-Rk1NxiX-1mvpMVeo182F2pOyP5InPEGa",
    "anlHCGQ1iVrz1jo-wXCi4zGO2y931e0ooLdNviirGQIeSloVfL6iX4QEbEsXFT-Qa3r8k17ouRngiUPyZ40SG3RbreAwqENw0G4w",
    "goqRR-yjYpyKrBKeUysmyF0F_WPiNIEkw_Hv7RuMj1pNwtkDkbl8E7EySkH8_XxvvgmwyAjFN-NS-un9aYp0rIDucRdRQvvCg2Td",
    "Bpj0vgX1uTQdqzZVV-QUynkQx2Rf7i_I1fD3egT-tqWyIavWDBxQ8lg-ivFhBA15v46ytiZQzb4bnH-75UrLOiTHgBPyjFU3M73s",
    "jfWxGPueou6hUPsfNqO_h9HxSSNU36aLeSV93hFQeuKX45IoplAb41pw0osOJ9_A2zA4nA",
);

fn out_of_memory() -> IncompleteRun {
    IncompleteRun {
        executors: 2,
        cores_per_executor: 4,
        total_cores: None,
        memory_per_executor_mib: 512,
        partition_size: 40,
        sampling_rate: 0.1,
        outcome: IncompleteOutcome::OutOfMemory,
        at_least_secs: None,
    }
}

#[test]
fn a_link_of_the_first_version_opens_with_probability_one_half() {
    let mut expected = measured();
    expected.question.probability = 0.5;
    assert_eq!(View::from_link(FIRST_VERSION), Ok(expected));
}

#[test]
fn a_stored_link_with_excluded_runs_still_opens() {
    let mut expected = measured();
    expected.question.probability = 0.9;
    expected.question.budget = Some(2.5);
    let timed_out = IncompleteOutcome::TimedOut;
    expected.left_out = LeftOut {
        observations: vec![expected.job.observations[0]],
        incomplete: vec![IncompleteRun { outcome: timed_out, at_least_secs: Some(60.5), ..out_of_memory() }],
    };
    assert_eq!(View::from_link(WITH_LEFT_OUT), Ok(expected));
}

#[test]
fn empty_fields_are_omitted_from_a_link() {
    let json = serde_json::to_value(measured()).unwrap();
    let names = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<String>>();
    assert_eq!(names(&json), ["context", "observations", "question"]);
    assert!(!names(&json["question"]).contains(&"budget".to_owned()));
    assert_eq!(
        names(&json["question"]["prices"]),
        ["name", "date", "currency", "executor_hour", "core_hour", "gib_hour"]
    );
}

#[test]
fn peak_memory_round_trips_through_a_link() {
    let mut view = measured();
    view.job.peaks = vec![PeakMemory { cores_per_executor: 2, partition_size: 40, peak_mib: 517 }];
    assert_eq!(View::from_link(&view.to_fragment()), Ok(view.clone()));
    view.job.peaks[0].peak_mib = 0;
    let error = View::from_link(&view.to_fragment()).unwrap_err();
    assert!(error.to_string().contains("a peak memory entry contains a zero"), "{error}");
}

#[test]
fn incomplete_runs_round_trip_through_a_link() {
    let mut view = measured();
    let timed_out = IncompleteOutcome::TimedOut;
    view.job.incomplete = vec![
        out_of_memory(),
        IncompleteRun { outcome: timed_out, at_least_secs: Some(60.5), executors: 1, ..out_of_memory() },
    ];
    assert_eq!(View::from_link(&view.to_fragment()), Ok(view));
}

#[test]
fn pinned_configurations_round_trip_through_a_link_and_must_not_be_empty() {
    let mut view = measured();
    view.pins = vec![WhatIf { executors: 3, cores_per_executor: 2 }, WhatIf { executors: 1, cores_per_executor: 1 }];
    assert_eq!(View::from_link(&view.to_fragment()), Ok(view.clone()));
    view.pins[1].cores_per_executor = 0;
    assert!(matches!(View::from_link(&view.to_fragment()), Err(LinkError::Form(_))));
}

#[test]
fn excluded_runs_are_stored_outside_the_job() {
    let mut view = measured();
    let left_out = view.job.observations.remove(1);
    view.left_out = LeftOut { observations: vec![left_out], incomplete: vec![out_of_memory()] };
    assert_eq!(View::from_link(&view.to_fragment()), Ok(view.clone()));
    // A version that ignores `left_out` answers from the same runs.
    let mut json = serde_json::to_value(&view).unwrap();
    json.as_object_mut().unwrap().remove("left_out");
    assert_eq!(serde_json::from_value::<View>(json).unwrap().job, view.job);
    view.left_out.observations[0].completion_time_secs = -1.0;
    assert!(matches!(View::from_link(&view.to_fragment()), Err(LinkError::Form(_))));
}

#[test]
fn a_short_link_round_trips_and_names_its_job() {
    let view = measured();
    let short = ShortLink::new(&view.job.context, view.question.clone());
    let fragment = short.to_fragment();
    assert!(fragment.starts_with("q1.") && fragment.len() < view.to_fragment().len());
    assert_eq!(ShortLink::from_fragment(&fragment), Ok(short.clone()));
    assert_eq!(View::from_link(&short.to_link("http://collector:8787/")), Err(LinkError::Short));
    assert_eq!(View::from_link(&fragment), Err(LinkError::Short), "it holds no runs");
    let mut other = view.job.context;
    other.workload.batch_size += 1;
    assert_ne!(other.fingerprint(), short.job);
    assert!((0..fragment.len()).all(|end| ShortLink::from_fragment(&fragment[..end]).is_err()));
}

/// The largest number of runs that a demo measures, with times of realistic precision.
fn sixty() -> View {
    let time = |index: u32| 3.0 + 97.123_456 * f64::from(index * index % 61) / 7.0;
    let run = |index: u32| Observation {
        startup_secs: Some(time(index + 7) / 50.0),
        ..observation(1 + index % 4, 1 + index / 4 % 3, [0.01, 0.02, 0.05, 0.1, 1.0][index as usize % 5], time(index))
    };
    view((0..60).map(run).collect())
}

#[test]
fn a_link_opens_from_any_of_its_forms() {
    let view = measured();
    let link = view.to_link("http://127.0.0.1:8080/index.html#v1.old");
    assert!(link.starts_with("http://127.0.0.1:8080/index.html#v1.") && link.matches('#').count() == 1);
    for form in [link.clone(), format!("  {link}\n"), format!("#{}", view.to_fragment()), view.to_fragment()] {
        assert_eq!(View::from_link(&form), Ok(measured()));
    }
}

#[test]
fn a_link_of_sixty_samples_is_shorter_than_two_thousand_characters() {
    let link = sixty().to_link("https://foreglow.example/planner/");
    assert!(link.len() < 2_000, "{}", link.len());
    assert_eq!(View::from_link(&link).unwrap(), sixty());
}

#[test]
fn a_link_cut_anywhere_is_an_error_and_never_a_panic() {
    let link = measured().to_link("https://foreglow.example/");
    for end in 0..link.len() {
        let error = View::from_link(&link[..end]).unwrap_err();
        assert!(matches!(error, LinkError::NotALink | LinkError::Damaged(_)), "cut at {end}: {error}");
    }
}

#[test]
fn a_link_with_any_character_changed_is_an_error_or_the_same_view() {
    let view = measured();
    let fragment = view.to_fragment();
    for at in 0..fragment.len() {
        for other in ['A', 'z', '9', '-', '_', '.', '%', ' '] {
            let mut changed: Vec<char> = fragment.chars().collect();
            changed[at] = other;
            let changed: String = changed.into_iter().collect();
            // Some bits of the zlib header do not change the content.
            if let Ok(opened) = View::from_link(&changed) {
                assert_eq!(opened, view, "{other:?} at {at}");
            }
        }
    }
}

#[test]
fn a_link_from_a_newer_version_names_it() {
    assert_eq!(View::from_link("https://foreglow.example/#v2.AAAA"), Err(LinkError::Newer(2)));
    assert!(LinkError::Newer(2).to_string().contains("newer Foreglow (format v2)"));
}

#[test]
fn text_that_is_not_a_link_is_rejected() {
    for text in ["", "#", "https://foreglow.example/", "#v0.AAAA", "#v.AAAA", "v1", "#V1.AAAA", "ünïcode#é"] {
        assert_eq!(View::from_link(text), Err(LinkError::NotALink), "{text}");
    }
    assert!(matches!(View::from_link("#v1."), Err(LinkError::Damaged(_))));
}

#[test]
fn a_link_with_an_invalid_question_is_rejected() {
    let refused = |change: fn(&mut View)| {
        let mut view = measured();
        change(&mut view);
        match View::from_link(&view.to_fragment()) {
            Err(LinkError::Form(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(|view| view.question.executors.clear()).contains("no configurations"));
    assert!(refused(|view| view.question.cores_per_executor.push(0)).contains("zero executors, cores or memory"));
    assert!(refused(|view| view.question.memory_per_executor_mib = 0).contains("zero executors, cores or memory"));
    assert!(
        refused(|view| view.question.what_if = WhatIf { executors: 0, cores_per_executor: 1 })
            .contains("zero executors")
    );
    assert!(refused(|view| view.job.observations[0].completion_time_secs = -1.0).contains("a run has an invalid time"));
    assert!(refused(|view| view.job.observations[0].sampling_rate = 1.5).contains("a run has an invalid time"));
    assert!(
        refused(|view| view.job.incomplete.push(IncompleteRun { at_least_secs: Some(-1.0), ..out_of_memory() }))
            .contains("an incomplete run has an invalid time")
    );
    assert!(
        refused(|view| view.job.incomplete.push(IncompleteRun { executors: 0, ..out_of_memory() }))
            .contains("zero executors, cores or memory")
    );
    assert!(refused(|view| view.question.deadline_secs = Some(0.0)).contains("deadline"));
    assert!(refused(|view| view.job.observations[0].executors = u32::MAX).contains("more executors"));
    assert!(refused(|view| view.question.budget = Some(-1.0)).contains("budget"));
    assert!(refused(|view| view.question.probability = 1.0).contains("probability"));
    assert!(refused(|view| view.question.probability = 1.0 - 1e-9).contains("probability"));
    assert!(refused(|view| view.question.deadline_secs = Some(5e-324)).contains("deadline"));
    assert!(refused(|view| view.question.budget = Some(1e300)).contains("budget"));
    assert!(refused(|view| view.question.prices.core_hour = 5e-324).contains("core_hour"));
    assert!(refused(|view| view.job.observations[0].sampling_rate = 5e-324).contains("a run has an invalid time"));
    assert!(
        refused(|view| view.job.observations[0].completion_time_secs = 1e300).contains("a run has an invalid time")
    );
    assert!(refused(|view| view.job.observations[0].memory_per_executor_mib = 0).contains("a run has an invalid time"));
    assert!(refused(|view| view.job.context.workload.images = 0).contains("workload.images is 0"));
    assert!(refused(|view| view.question.prices.core_hour = -1.0).contains("core_hour"));
}

#[test]
fn a_link_with_more_than_a_written_one_is_refused_by_number() {
    let refused = |change: fn(&mut View)| {
        let mut view = measured();
        change(&mut view);
        View::from_link(&view.to_fragment()).unwrap_err().to_string()
    };
    let jobs =
        refused(|view| view.compared = vec![foreglow_shared::Job { observations: vec![], ..view.job.clone() }; 8_000]);
    assert!(jobs.contains("it has 8001 jobs, and a link holds at most 500"), "{jobs}");
    let runs = refused(|view| view.job.observations = vec![view.job.observations[0]; 2_001]);
    assert!(runs.contains("it has 2001 runs, and a link holds at most 2000"), "{runs}");
    let excluded = refused(|view| view.left_out.observations = vec![view.job.observations[0]; 2_001]);
    assert!(excluded.contains("it has 2001 excluded runs"), "{excluded}");
    let counts = refused(|view| view.question.executors = (1..=9_999).chain([9_999; 2]).collect());
    assert!(counts.contains("it has 10001 numbers of executors"), "{counts}");
    let cores = refused(|view| view.question.cores_per_executor.push(1_001));
    assert!(cores.contains("up to 1000 are possible"), "{cores}");
    let name = refused(|view| view.job.context.host.cpu = Some("x".repeat(1_001)));
    assert!(name.contains("host.cpu is a text of 1001 letters"), "{name}");
}

#[test]
fn a_comparison_with_more_jobs_than_a_link_holds_is_left_out_of_it() {
    let view = measured();
    let on = |number: u32| {
        let mut job = view.job.clone();
        job.context.host.machine = Some(format!("m{number}"));
        job.observations.truncate(1);
        job
    };
    let count = |jobs: u32| view.clone().comparing(&(0..jobs).map(on).collect::<Vec<_>>()).compared.len();
    assert_eq!([count(499), count(500)], [499, 0]);
}

#[test]
fn only_a_disturbed_or_extrapolated_run_is_longer_than_the_row_of_earlier_versions() {
    let run = observation(1, 2, 0.5, 3.0);
    let row = |run: &Observation| serde_json::to_string(run).unwrap();
    assert_eq!(row(&run), "[1,2,4096,40,0.5,3.0,1.25]");
    let disturbed = Observation { disturbed: true, ..run };
    assert_eq!(row(&disturbed), "[1,2,4096,40,0.5,3.0,1.25,true]");
    let extrapolated = Observation { log_error: 0.25, ..run };
    assert_eq!(row(&extrapolated), "[1,2,4096,40,0.5,3.0,1.25,false,null,0.25]");
    for run in [run, disturbed, extrapolated] {
        assert_eq!(serde_json::from_str::<Observation>(&row(&run)).unwrap(), run);
    }
    assert!(serde_json::from_str::<Observation>("[1,2,4096]").is_err());
    let uneven = serde_json::from_str::<Observation>("[3,3,4096,40,0.5,3.0,1.25,false,8]").unwrap();
    assert_eq!(uneven.total_cores, Some(8));
    assert!(serde_json::from_str::<Observation>("[3,3,4096,40,0.5,3.0,1.25,true,8,0.25,1]").is_err());
}

fn any_view() -> impl Strategy<Value = View> {
    let run = (1u32..1000, 1u32..1000, 1e-6f64..=1.0, 1e-6f64..1e9, prop::option::of(0.0f64..1e4), any::<bool>());
    (prop::collection::vec(run, 0..40), prop::option::of(1e-3f64..1e9), "\\PC{0,20}").prop_map(
        |(runs, deadline_secs, cpu)| {
            let run = |(e, c, s, t, startup_secs, disturbed)| Observation {
                startup_secs,
                disturbed,
                ..observation(e, c, s, t)
            };
            let mut view = view(runs.into_iter().map(run).collect());
            view.question.deadline_secs = deadline_secs;
            view.job.context.host.cpu = Some(cpu);
            view
        },
    )
}

proptest! {
    #[test]
    fn every_view_round_trips_through_its_link(view in any_view()) {
        let fragment = view.to_fragment();
        prop_assert!(fragment.starts_with(FRAGMENT_PREFIX));
        prop_assert!(fragment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)));
        prop_assert_eq!(View::from_link(&fragment), Ok(view));
    }

    #[test]
    fn no_text_makes_opening_a_link_panic(text in "\\PC{0,60}") {
        let _ = View::from_link(&text);
        let _ = View::from_link(&format!("#v1.{text}"));
    }
}

#[test]
fn a_link_holds_the_jobs_that_its_job_is_compared_with_and_damage_to_them_is_found() {
    let view = measured();
    let on = |machine: &str| {
        let mut job = view.job.clone();
        job.context.host.machine = Some(machine.to_owned());
        job
    };
    let mut other_cnn = on("c5.xlarge");
    other_cnn.context.workload.model = "resnet18".to_owned();
    let mut training = on("c5.xlarge");
    training.context.workload.mode = foreglow_shared::Mode::Training;
    let alone = view.clone().comparing(&[view.job.clone(), other_cnn.clone(), training.clone()]);
    assert_eq!(alone, view, "one machine type is compared with nothing");

    let jobs = [view.job.clone(), on("c5.xlarge"), other_cnn.clone(), training];
    let compared = view.clone().comparing(&jobs);
    assert_eq!(compared.compared, [on("c5.xlarge"), other_cnn.clone()]);
    assert_eq!(View::from_link(&compared.to_fragment()), Ok(compared.clone()));

    // Other CNNs are omitted before other machine types are.
    let many = |job: &foreglow_shared::Job, runs: usize| {
        let mut job = job.clone();
        job.observations = vec![job.observations[0]; runs];
        job
    };
    let compared_of = |runs: usize, lent: usize| {
        let jobs = [view.job.clone(), many(&on("c5.xlarge"), runs), many(&other_cnn, lent)];
        view.clone().comparing(&jobs).compared.len()
    };
    assert_eq!([compared_of(1000, 900), compared_of(1000, 1100), compared_of(2100, 1)], [2, 1, 0]);

    let mut damaged = compared;
    damaged.compared[0].observations[0].completion_time_secs = -1.0;
    assert!(matches!(View::from_link(&damaged.to_fragment()), Err(LinkError::Form(_))));
}

#[test]
fn runs_of_an_uneven_split_round_trip_through_a_link() {
    let mut uneven = measured();
    let even = uneven.job.observations[0];
    let split = Observation { executors: 3, cores_per_executor: 3, total_cores: Some(8), ..even };
    uneven.job.observations.extend([split, Observation { disturbed: true, ..split }]);
    uneven.job.incomplete =
        vec![IncompleteRun { executors: 3, cores_per_executor: 2, total_cores: Some(4), ..out_of_memory() }];
    assert_eq!(View::from_link(&uneven.to_fragment()), Ok(uneven.clone()));
    let rows = serde_json::to_value(&uneven).unwrap();
    assert_eq!(rows["observations"][0].as_array().unwrap().len(), 7, "equal executors are stored as before");
    assert_eq!(rows["observations"][3][8], 8);
    assert_eq!(rows["incomplete"][0][7], 4);

    uneven.job.observations[3].total_cores = Some(6);
    assert!(matches!(View::from_link(&uneven.to_fragment()), Err(LinkError::Form(_))), "six are two each");
}
