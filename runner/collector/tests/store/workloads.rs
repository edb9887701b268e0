//! The list of workloads in pages.

use foreglow_shared::{Context, Sample, Workload};
use foreglow_store::Store;

use crate::faults::{agent, get, serve};
use crate::{Place, sample};

over_both! {
    workloads_are_listed_in_pages_that_name_the_next_one
    a_page_of_large_workloads_ends_before_its_limit
    runs_of_a_cnn_with_any_name_are_listed_in_pages
}

fn of_model(number: u128, model: &str, cpu: &str) -> Sample {
    let mut sample = sample(number);
    sample.workload.model = model.into();
    sample.host.cpu = Some(cpu.into());
    sample
}

/// Returns the CNNs of a page with their numbers of samples.
fn page(store: &Store, after: Option<&str>, limit: usize) -> (Vec<(String, u64)>, Option<String>) {
    let page = store.workloads(after, limit).unwrap();
    let model = |workload: &str| serde_json::from_str::<Workload>(workload).unwrap().model;
    (page.workloads.iter().map(|counted| (model(&counted.workload), counted.samples)).collect(), page.next)
}

fn workloads_are_listed_in_pages_that_name_the_next_one(place: &Place) {
    let mut store = place.open();
    // Jobs on several machines have the same workload.
    let names = ["c", "a", "b", "e", "a", "d", "a"];
    let samples: Vec<Sample> =
        (1..).zip(names).map(|(number, name)| of_model(number, name, if number < 5 { "A" } else { "B" })).collect();
    store.insert(&samples).unwrap();
    let counted = |names: &[(&str, u64)]| -> Vec<(String, u64)> {
        names.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    let (first, next) = page(&store, None, 2);
    assert_eq!(first, counted(&[("a", 3), ("b", 1)]));
    let (second, next) = page(&store, next.as_deref(), 2);
    assert_eq!(second, counted(&[("c", 1), ("d", 1)]));
    assert_eq!(page(&store, next.as_deref(), 2), (counted(&[("e", 1)]), None));
    assert_eq!(page(&store, None, 5).1, None, "a page that ends with the list names no other");
    let error = store.workloads(Some("0"), 2).unwrap_err();
    assert!(error.to_string().contains("there is no job \"0\""), "{error}");

    let url = serve(&place.location);
    let answer = agent().get(format!("{url}api/v1/workloads?limit=4")).call().unwrap();
    let link = answer.headers()["link"].to_str().unwrap().to_owned();
    let next = link.strip_prefix("</").and_then(|link| link.strip_suffix(">; rel=\"next\"")).unwrap();
    assert_eq!(next, format!("api/v1/workloads?limit=4&after={}", Context::of(&samples[5]).fingerprint()));
    let (status, answer) = get(&url, next);
    let rest: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, &rest["schema"], rest["workloads"].as_array().unwrap().len()), (200, &1.into(), 1));
    assert_eq!(
        (&rest["workloads"][0]["workload"]["model"], &rest["workloads"][0]["samples"]),
        (&"e".into(), &1.into())
    );
    for wrong in ["limit=0", "limit=10001", "after=0", "colour=red"] {
        assert_eq!(get(&url, &format!("api/v1/workloads?{wrong}")).0, 400, "{wrong}");
    }
}

fn a_page_of_large_workloads_ends_before_its_limit(place: &Place) {
    let large = |number: u128| {
        let mut sample = of_model(number, &format!("{number:03}"), "A");
        sample.workload.extra.insert("note".into(), "a".repeat(50_000).into());
        sample
    };
    let mut store = place.open();
    store.insert(&(0..400).map(large).collect::<Vec<_>>()).unwrap();
    let (mut found, mut sizes, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let (listed, next) = page(&store, after.as_deref(), 10_000);
        sizes.push(listed.len());
        found.extend(listed);
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, (0..400).map(|number| (format!("{number:03}"), 1)).collect::<Vec<_>>());
    assert!(sizes.iter().all(|size| size * 50_000 <= 8 << 20) && sizes.len() == 3, "{sizes:?}");
}

fn runs_of_a_cnn_with_any_name_are_listed_in_pages(place: &Place) {
    let mut store = place.open();
    for (round, name) in (0..).zip(["a+b", "a b", "a&b=c", "100%", "é"]) {
        let first = of_model(10 * round, name, "A");
        let mut second = of_model(10 * round + 1, name, "A");
        second.configuration.executors = 2;
        store.insert(&[first, second, of_model(10 * round + 2, "other", "A")]).unwrap();
    }
    let url = serve(&place.location);
    for name in ["a+b", "a b", "a&b=c", "100%", "é"] {
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let mut next = Some(format!("api/v1/runs?model={encoded}&limit=1"));
        let mut found = Vec::new();
        while let Some(page) = next {
            let mut answer = agent().get(format!("{url}{page}")).call().unwrap();
            let runs: serde_json::Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
            let model = |runs: &serde_json::Value| runs["workload"]["model"].as_str().unwrap().to_owned();
            found.extend(runs["runs"].as_array().unwrap().iter().map(model));
            let link = answer.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
            next = link.map(|link| link[2..].strip_suffix(">; rel=\"next\"").unwrap().to_owned());
        }
        assert_eq!(found, [name, name]);
    }
}
