//! Receipts of the collector, checked against the sent samples.

use std::collections::BTreeSet;

use foreglow_shared::{Sample, Uuid};

use crate::{Receipt, Rejection};

/// Whether a receipt accounts for each of this number of samples exactly once. A wrong receipt of
/// another program or a proxy must not make the sender drop a sample.
pub(super) fn accounts_for(receipt: &Receipt, samples: usize) -> bool {
    let named: Vec<usize> = not_stored(receipt).map(|rejection| rejection.line).collect();
    let distinct: BTreeSet<usize> = named.iter().copied().collect();
    let is_sent = |line: &usize| (1..=samples).contains(line);
    receipt.rejected_more == 0
        && distinct.len() == named.len()
        && distinct.iter().all(is_sent)
        && receipt.new.checked_add(receipt.known).and_then(|stored| stored.checked_add(named.len())) == Some(samples)
}

/// Returns the samples that the collector has stored, and the rejected ones with the reasons.
pub(super) fn verdicts(receipt: &Receipt, samples: &[Sample]) -> (Vec<Uuid>, Vec<(Uuid, String)>) {
    let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
    for (line, sample) in (1..).zip(samples) {
        match not_stored(receipt).find(|rejection| rejection.line == line) {
            None => accepted.push(sample.id),
            Some(rejection) => rejected.push((sample.id, rejection.error.clone())),
        }
    }
    (accepted, rejected)
}

/// Adds the receipt of a request that came after `sent` samples.
pub(super) fn add(total: &mut Receipt, receipt: Receipt, sent: usize) {
    let renumber = |rejection: Rejection| Rejection { line: rejection.line + sent, ..rejection };
    total.new += receipt.new;
    total.known += receipt.known;
    total.rejected.extend(receipt.rejected.into_iter().map(renumber));
    total.conflicts.extend(receipt.conflicts.into_iter().map(renumber));
}

fn not_stored(receipt: &Receipt) -> impl Iterator<Item = &Rejection> {
    receipt.rejected.iter().chain(&receipt.conflicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(json: &str) -> Receipt {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_receipt_has_to_account_for_every_sample() {
        let is_sound = |json: &str| accounts_for(&receipt(json), 3);
        assert!(is_sound(r#"{"new":1,"known":1,"rejected":[{"line":2,"error":"newer"}]}"#));
        assert!(is_sound(r#"{"new":0,"known":2,"rejected":[],"conflicts":[{"line":3,"error":"other"}]}"#));
        for wrong in [
            r#"{"new":0,"known":0,"rejected":[]}"#,
            r#"{"new":4,"known":0,"rejected":[]}"#,
            r#"{"new":18446744073709551615,"known":4,"rejected":[]}"#,
            r#"{"new":2,"known":0,"rejected":[{"line":4,"error":"not sent"}]}"#,
            r#"{"new":1,"known":0,"rejected":[{"line":1,"error":"a"},{"line":1,"error":"b"}]}"#,
            r#"{"new":2,"known":0,"rejected":[],"rejected_more":1}"#,
        ] {
            assert!(!is_sound(wrong), "{wrong}");
        }
    }
}
