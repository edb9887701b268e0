//! Damaged samples: replaced when they are sent again.

use foreglow_collector::store::{Filter, Inserted, Location};
use foreglow_shared::Sample;

use crate::{Place, inserted, sample};

over_both! {
    a_damaged_sample_is_replaced_at_its_place_when_it_is_sent_again
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
        // New samples of the same run are counted beside it.
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
    // A sound sample is kept, and a valid sample replaces a damaged one whatever its content was.
    let late = Sample { completion_time_secs: Some(9.0), ..sample(1) };
    let kept = Inserted { new: 0, known: 0, conflicts: vec![0] };
    assert_eq!(store.insert(std::slice::from_ref(&late)).unwrap(), kept);
    place.alter(&format!("UPDATE samples SET {altered} WHERE id = '{}'", sample(1).id));
    assert_eq!(store.insert(std::slice::from_ref(&late)).unwrap(), inserted(1, 0));
    assert_eq!(store.samples(&Filter::default()).unwrap(), [late, other, sample(3)]);
    assert!(store.check().unwrap().is_sound());
}
