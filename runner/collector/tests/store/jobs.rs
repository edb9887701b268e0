//! Jobs, and the runs of one job that a predictor is fitted to.

use std::io::{BufRead as _, BufReader};

use foreglow_shared::{Context, Job, Mode, Outcome, Sample, group_by_context, parse_line};
use foreglow_store::{Arrived, Filter, MOST_EQUAL, RunsFilter, Store};

use crate::faults::{agent, get, post, serve};
use crate::{Place, sample};

over_both! {
    a_job_below_the_bound_has_all_of_its_runs
    equal_runs_above_the_bound_are_the_newest_ones_through_every_change
    jobs_are_listed_with_the_newest_first_in_pages
    runs_and_samples_are_those_of_one_job
    samples_that_arrive_are_counted_by_job
    runs_of_a_context_with_the_fingerprint_of_another_have_a_job_of_their_own
    a_job_that_trains_has_the_accuracies_of_its_runs
    the_collector_lists_jobs_answers_with_one_and_announces_their_new_samples
}

fn fingerprint(sample: &Sample) -> String {
    Context::of(sample).fingerprint()
}

fn job(store: &Store, sample: &Sample) -> Job {
    store.job(&fingerprint(sample)).unwrap().unwrap().job
}

/// A run of a setting, with a distinct time.
fn run(number: u128, executors: u32, outcome: Outcome) -> Sample {
    let mut sample = Sample { outcome, completion_time_secs: Some(1.0 + number as f64 / 7.0), ..sample(number) };
    sample.configuration.executors = executors;
    sample.startup_secs = Some(number as f64 / 3.0);
    sample.peak_memory_mib = Some(100 + number as u64);
    if number.is_multiple_of(3) {
        sample.extra.insert("warnings".into(), serde_json::json!([{ "kind": "busy_machine" }]));
    }
    sample
}

fn of_model(number: u128, model: &str) -> Sample {
    let mut sample = sample(number);
    sample.workload.model = model.into();
    sample
}

fn a_job_below_the_bound_has_all_of_its_runs(place: &Place) {
    let mut store = place.open();
    let outcomes = [Outcome::Completed, Outcome::OutOfMemory, Outcome::TimedOut, Outcome::Failed];
    let samples: Vec<Sample> = (1..=60).map(|n| run(n, 1 + n as u32 % 3, outcomes[n as usize / 4 % 4])).collect();
    for part in samples.chunks(7) {
        store.insert(part).unwrap();
    }
    store.insert(&[of_model(99, "vgg16")]).unwrap();
    let found = store.job(&fingerprint(&samples[0])).unwrap().unwrap();
    assert_eq!(found.job, group_by_context(&samples)[0]);
    assert_eq!(found.runs, found.job.runs() as u64);
    assert!(found.job.observations.iter().any(|run| run.disturbed) && !found.job.peaks.is_empty());
    assert_eq!(store.job("0000000000000000").unwrap(), None);
}

fn equal_runs_above_the_bound_are_the_newest_ones_through_every_change(place: &Place) {
    let mut store = place.open();
    let samples: Vec<Sample> = (1..=40).map(|number| run(number, 1, Outcome::Completed)).collect();
    store.insert(&samples[..5]).unwrap();
    store.insert(&samples[5..30]).unwrap();
    store.insert(&samples[30..]).unwrap();
    let newest = |samples: &[Sample]| group_by_context(&samples[samples.len() - MOST_EQUAL..]).remove(0);
    let found = store.job(&fingerprint(&samples[0])).unwrap().unwrap();
    assert_eq!((found.job, found.runs), (newest(&samples), 40));
    store.remove(&[samples[39].id, samples[10].id], "me").unwrap();
    assert_eq!(job(&store, &samples[0]), newest(&samples[..39]), "an earlier one moves up");
    store.insert(&[run(50, 1, Outcome::Completed)]).unwrap();
    let kept = [&samples[..39], &[run(50, 1, Outcome::Completed)]].concat();
    assert_eq!(job(&store, &samples[0]), newest(&kept));
    let ids: Vec<_> = kept.iter().map(|sample| sample.id).collect();
    store.remove(&ids, "me").unwrap();
    assert!(store.job(&fingerprint(&samples[0])).unwrap().is_none() && store.jobs(None, 9).unwrap().jobs.is_empty());
    store.insert(&samples[..1]).unwrap();
    assert_eq!(job(&store, &samples[0]), group_by_context(&samples[..1])[0]);
}

fn jobs_are_listed_with_the_newest_first_in_pages(place: &Place) {
    let mut store = place.open();
    store.insert(&[of_model(1, "a"), of_model(2, "b"), of_model(3, "c"), of_model(4, "a")]).unwrap();
    let listed = |before, limit| {
        let page = store.jobs(before, limit).unwrap();
        let model = |context: &str| serde_json::from_str::<Context>(context).unwrap().workload.model;
        let jobs: Vec<_> = page.jobs.iter().map(|job| (model(&job.context), job.samples)).collect();
        (jobs, page.has_more, page.jobs.last().map(|job| job.latest))
    };
    let (first, has_more, last) = listed(None, 2);
    assert_eq!((first, has_more), (vec![("a".to_owned(), 2), ("c".to_owned(), 1)], true));
    assert_eq!(listed(last, 2), (vec![("b".to_owned(), 1)], false, Some(2)));
    assert_eq!(store.last_id().unwrap(), Some(sample(4).id.to_string()));
}

fn runs_and_samples_are_those_of_one_job(place: &Place) {
    let mut store = place.open();
    store.insert(&[of_model(1, "a"), of_model(2, "b"), run(3, 2, Outcome::Failed), of_model(4, "a")]).unwrap();
    let of_job = Some(fingerprint(&of_model(1, "a")));
    let page = store.runs(&RunsFilter { job: of_job.clone(), limit: 9, ..RunsFilter::default() }).unwrap();
    assert_eq!((page.runs.len(), page.runs[0].samples, page.has_more), (1, 2, false));
    let samples = store.samples(&Filter { job: of_job, ..Filter::default() }).unwrap();
    assert_eq!(samples, [of_model(1, "a"), of_model(4, "a")]);
    let page = store.runs(&RunsFilter { limit: 2, ..RunsFilter::default() }).unwrap();
    assert_eq!((page.runs.len(), page.has_more), (2, true));
}

fn samples_that_arrive_are_counted_by_job(place: &Place) {
    let mut store = place.open();
    store.insert(&[of_model(1, "a")]).unwrap();
    let start = store.end().unwrap();
    assert_eq!(store.arrived_after(start, i64::MAX, 9).unwrap().0, []);
    store.insert(&[of_model(2, "b"), of_model(3, "a"), of_model(4, "b")]).unwrap();
    let (mut arrived, end, last_id) = store.arrived_after(start, i64::MAX, 9).unwrap();
    arrived.sort_by_key(|arrived| arrived.samples);
    let expected =
        [("a", 1), ("b", 2)].map(|(model, samples)| Arrived { job: fingerprint(&of_model(1, model)), samples });
    assert_eq!((arrived.as_slice(), end), (&expected[..], store.end().unwrap()));
    assert_eq!(last_id, Some(sample(4).id));
    assert_eq!(store.arrived_after(start, i64::MAX, 2).unwrap().2, Some(sample(3).id));
    assert_eq!(store.arrived_after(start, end - 1, 9).unwrap().2, Some(sample(3).id));
    let ids = |lines: Vec<String>| lines.iter().map(|line| parse_line(line).unwrap().id).collect::<Vec<_>>();
    let (lines, last) = store.lines_after(start, end - 1, 9).unwrap();
    assert_eq!((ids(lines), last), (vec![sample(2).id, sample(3).id], end - 1));
}

/// Contexts with one fingerprint can be made on purpose. Here the stored context is replaced.
fn runs_of_a_context_with_the_fingerprint_of_another_have_a_job_of_their_own(place: &Place) {
    let (victim, attacker) = (run(1, 1, Outcome::Completed), of_model(2, "attacker"));
    let short = fingerprint(&victim);
    place.open().insert(&[attacker]).unwrap();
    let forged = fingerprint(&of_model(2, "attacker"));
    place.alter(&format!("UPDATE jobs SET job = '{short}' WHERE job = '{forged}'"));
    place.alter(&format!("UPDATE runs SET job = '{short}' WHERE job = '{forged}'"));
    for mut store in [place.open(), place.open()] {
        store.insert(&[victim.clone(), run(3, 2, Outcome::Completed), run(4, 1, Outcome::Completed)]).unwrap();
        let jobs = store.jobs(None, 9).unwrap().jobs;
        let of = |model: &str| jobs.iter().find(|job| job.context.contains(&format!("\"model\":\"{model}\""))).unwrap();
        assert_eq!((jobs.len(), &of("attacker").job, of("attacker").samples), (2, &short, 1));
        let own = of("lenet5");
        assert!(own.job.starts_with(&format!("{short}-")) && own.job.len() == 16 + 1 + 64, "{}", own.job);
        assert_eq!(own.samples, 3);
        let samples = [victim.clone(), run(3, 2, Outcome::Completed), run(4, 1, Outcome::Completed)];
        assert_eq!(store.job(&own.job).unwrap().unwrap().job, group_by_context(&samples)[0]);
        assert_eq!(store.job(&short).unwrap().unwrap().job.context.workload.model, "attacker");
    }
}

fn a_job_that_trains_has_the_accuracies_of_its_runs(place: &Place) {
    let trained = |number: u128, executors: u32, accuracy: f64| {
        let mut sample = run(number, executors, Outcome::Completed);
        sample.workload.mode = Mode::Training;
        let training = serde_json::json!({ "held_out": { "accuracy": accuracy }, "learning_rate": 0.02 });
        sample.seed = Some(number as u64);
        sample.extra.insert("training".into(), training);
        sample
    };
    let samples = [trained(1, 1, 0.97), trained(2, 1, 0.96), trained(3, 2, 0.91), trained(4, 2, 0.93)];
    place.open().insert(&samples).unwrap();
    let url = serve(&place.location);
    let (status, answer) = get(&url, &format!("api/v1/jobs/{}", fingerprint(&samples[0])));
    assert_eq!(status, 200, "{answer}");
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let job: Job = serde_json::from_value(answer["job"].clone()).unwrap();
    let accuracies: Vec<(u32, f64)> = job.accuracies.iter().map(|run| (run.executors, run.accuracy)).collect();
    assert_eq!(accuracies, [(1, 0.97), (1, 0.96), (2, 0.91), (2, 0.93)]);
    assert_eq!(job, group_by_context(&samples)[0], "the same as from the samples");
}

fn the_collector_lists_jobs_answers_with_one_and_announces_their_new_samples(place: &Place) {
    let url = serve(&place.location);
    let json = |path: &str| -> serde_json::Value {
        let (status, answer) = get(&url, path);
        assert_eq!(status, 200, "{path}: {answer}");
        serde_json::from_str(&answer).unwrap()
    };
    assert_eq!(json("api/v1/jobs"), serde_json::json!({ "schema": 1, "last_id": null, "jobs": [] }));
    let line = |sample: Sample| serde_json::to_string(&sample).unwrap() + "\n";
    let samples = [sample(1), sample(2), of_model(3, "vgg16")].map(line);
    assert_eq!(post(&agent(), &url, &samples.concat()).0, 200);
    let jobs = json("api/v1/jobs");
    let [newest, second] = [0, 1].map(|place: usize| jobs["jobs"][place].clone());
    let models = [&newest, &second].map(|job| job["context"]["workload"]["model"].clone());
    assert_eq!((models, &second["samples"]), (["vgg16".into(), "lenet5".into()], &2.into()));
    assert_eq!(jobs["last_id"], sample(3).id.to_string());
    assert_eq!(json(&format!("api/v1/jobs?before={}", newest["latest"]))["jobs"], serde_json::json!([second]));
    let first = agent().get(format!("{url}api/v1/jobs?limit=1")).call().unwrap();
    let next = format!("</api/v1/jobs?limit=1&before={}>; rel=\"next\"", newest["latest"]);
    assert_eq!(first.headers()["link"].to_str().unwrap(), next);

    let job = second["job"].as_str().unwrap();
    let of_job = json(&format!("api/v1/jobs/{job}"));
    assert_eq!(
        serde_json::from_value::<Job>(of_job["job"].clone()).unwrap(),
        group_by_context(&[sample(1), sample(2)])[0]
    );
    assert_eq!(of_job["runs"], 2);
    assert_eq!(json(&format!("api/v1/runs?job={job}"))["runs"][0]["samples"], 2);
    assert_eq!(get(&url, &format!("api/v1/samples?job={job}&limit=1")).1, samples[0]);
    assert_eq!(get(&url, "api/v1/jobs/0").0, 404);
    assert_eq!(get(&url, "api/v1/jobs?limit=0").0, 400);

    let events = agent().get(format!("{url}api/v1/events?of=jobs&after={}", sample(2).id)).call().unwrap();
    let mut lines = BufReader::new(events.into_body().into_reader()).lines().map(Result::unwrap);
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
    let expected = serde_json::json!({ "job": newest["job"], "samples": 1 });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&data).unwrap(), expected);
    assert_eq!(lines.next().unwrap(), format!("id: {}", sample(3).id));
}
