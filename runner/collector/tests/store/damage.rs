//! Damaged samples: replaced when they are sent again, and found while they are served.

use foreglow_collector::store::{Filter, Inserted, Location};
use foreglow_shared::Sample;

use crate::faults::{agent, get, lines, post, serve, wait_for};
use crate::{Place, inserted, sample};

over_both! {
    a_damaged_sample_is_replaced_at_its_place_when_it_is_sent_again
    pages_go_on_after_a_damaged_id
    damage_that_arises_while_the_store_is_served_is_reported_until_the_sample_is_sent_again
}

fn a_damaged_sample_is_replaced_at_its_place_when_it_is_sent_again(place: &Place) {
    let mut store = place.open();
    let other = Sample { completion_time_secs: Some(0.5), ..sample(2) };
    store.insert(&[sample(1), other.clone(), sample(3)]).unwrap();
    let altered = "line = replace(line, '2.5', '2.4')";
    let mut damages = vec![altered, "checksum = 7", "secs = 2.4", "model = 'a'", "outcome = 'failed'"];
    if matches!(place.location, Location::File(_)) {
        damages.extend(["line = CAST(x'ff7b' AS TEXT)", "line = 5", "run = 99, checksum = 7"]);
    }
    for (round, damage) in damages.iter().enumerate() {
        place.alter(&format!("UPDATE samples SET {damage} WHERE id = '{}'", sample(1).id));
        assert_eq!(store.check().unwrap().damaged.len(), 1, "{damage}");
        // New samples of the same run are counted in addition.
        let new = sample(10 + round as u128);
        assert_eq!(store.insert(&[new.clone(), sample(1), sample(1), sample(3)]).unwrap(), inserted(2, 2), "{damage}");
        let findings = store.check().unwrap();
        assert!(findings.is_sound(), "{damage}: {findings:?}");
        assert_eq!(store.samples(&Filter::default()).unwrap()[..3], [sample(1), other.clone(), sample(3)]);
        assert_eq!(store.remove(&[new.id], "me").unwrap(), 1);
    }
    let record = store.audit().unwrap();
    let replaced = record.iter().filter(|line| line.what.starts_with("replaced the damaged sample")).count();
    assert_eq!(replaced, damages.len());
    // A sound sample is kept; a valid sample replaces a damaged one with any content.
    let late = Sample { completion_time_secs: Some(9.0), ..sample(1) };
    let kept = Inserted { new: 0, known: 0, conflicts: vec![0] };
    assert_eq!(store.insert(std::slice::from_ref(&late)).unwrap(), kept);
    place.alter(&format!("UPDATE samples SET {altered} WHERE id = '{}'", sample(1).id));
    assert_eq!(store.insert(std::slice::from_ref(&late)).unwrap(), inserted(1, 0));
    assert_eq!(store.samples(&Filter::default()).unwrap(), [late, other, sample(3)]);
    assert!(store.check().unwrap().is_sound());
}

fn damage_that_arises_while_the_store_is_served_is_reported_until_the_sample_is_sent_again(place: &Place) {
    let url = serve(&place.location);
    assert_eq!(post(&agent(), &url, &lines(1..4)).0, 200);
    assert_eq!(get(&url, "healthz"), (200, "ok\n".to_owned()));
    place.alter("UPDATE samples SET line = replace(line, '2.5', '2.4') WHERE seq = 2");
    assert_eq!(get(&url, "api/v1/samples").1, lines([1, 3].into_iter()));
    let sentence = wait_for(&url, "healthz", 503);
    assert!(sentence.contains("damaged sample") && sentence.contains("foreglow serve --check"), "{sentence}");
    let counted = |name: &str| {
        let metrics = get(&url, "metrics").1;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.unwrap_or_else(|| panic!("{name} in {metrics}"))
    };
    let started = std::time::Instant::now();
    while counted("foreglow_damaged_samples") != "1" {
        assert!(started.elapsed().as_secs() < 60, "the check in the background has not found it");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!((counted("foreglow_checked_samples"), counted("foreglow_store_damaged")), ("3".into(), "1".into()));
    assert!(counted("foreglow_checked_seconds").parse::<u64>().unwrap() > 1_700_000_000);
    let (status, sentence) = get(&url, &format!("api/v1/samples/{}", sample(2).id));
    assert!(status == 500 && sentence.contains("differs from what was stored"), "{status} {sentence}");
    let (status, sentence) = get(&url, "readyz");
    assert!(status == 200 && sentence.starts_with("ready, but the store has 1 damaged sample; "), "{sentence}");

    let (status, receipt) = post(&agent(), &url, &lines(1..4));
    assert_eq!((status, receipt.as_str()), (200, r#"{"new":1,"known":2,"rejected":[]}"#));
    assert_eq!(get(&url, "api/v1/samples").1, lines(1..4));
    assert_eq!(wait_for(&url, "healthz", 200), "ok\n");
    assert_eq!(counted("foreglow_damaged_samples"), "0");
}

fn pages_go_on_after_a_damaged_id(place: &Place) {
    let url = serve(&place.location);
    assert_eq!(post(&agent(), &url, &lines(1..6)).0, 200);
    let mut damages = vec!["id = 'x'", "id = '01890000-0000-7000-8000-00000000ffff'"];
    if matches!(place.location, Location::File(_)) {
        damages.push("id = CAST(x'ff' AS TEXT)");
    }
    for damage in damages {
        place.alter(&format!("UPDATE samples SET {damage} WHERE seq = 2"));
        for limit in [1, 2, 3, 5] {
            let mut next = Some(format!("api/v1/samples?limit={limit}&model=lenet5"));
            let mut served = String::new();
            while let Some(page) = next {
                let mut answer = agent().get(format!("{url}{page}")).call().unwrap();
                served += &answer.body_mut().read_to_string().unwrap();
                let link = answer.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
                next = link.map(|link| link[2..].strip_suffix(">; rel=\"next\"").unwrap().to_owned());
            }
            assert_eq!(served, lines([1, 3, 4, 5].into_iter()), "{damage}, {limit}");
        }
    }
    let (status, answer) = get(&url, "api/v1/samples?after=x");
    assert!(status == 400 && answer.contains("is neither the id of a sample, a UUID, nor a position"), "{answer}");
}
