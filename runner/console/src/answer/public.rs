//! Sentences on the public measurements on which predictions are based.

use foreglow_model::PublicBasis;

/// Describes the basis in sentences, and what narrows the intervals.
pub(super) fn describe(basis: &PublicBasis) -> String {
    let own_numbers = basis.known + basis.own_runs.as_ref().map_or(0, Vec::len);
    let next = match (own_numbers, basis.software) {
        (0, None) => {
            " One number of your own narrows the intervals most (--known 'RTX 3090=812/s'), then the kind of your \
             software (--software plain)."
        }
        (0, Some(_)) => " One number of your own narrows the intervals most (--known 'RTX 3090=812/s').",
        _ => "",
    };
    format!("{basis}{next}")
}

/// Returns the notes below the answer.
pub(super) fn notes(basis: &PublicBasis) -> String {
    let order = basis.describe_order().map(|order| format!("{order}\n"));
    let left_out = basis.left_out.iter().map(|(machine, reason)| format!("Left out: {machine}, because {reason}.\n"));
    let may_not_fit = doubts(&basis.may_not_fit).map(|(machines, reason)| format!("Note: on {machines}, {reason}.\n"));
    let notes = basis.notes.iter().map(|note| format!("Note: {note}.\n"));
    let lines: String = order.into_iter().chain(left_out).chain(may_not_fit).chain(notes).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// Returns the machine types with the same reason in one line each.
fn doubts(may_not_fit: &[(String, String)]) -> impl Iterator<Item = (String, &str)> {
    let mut by_reason: Vec<(Vec<&str>, &str)> = Vec::new();
    for (machine, reason) in may_not_fit {
        match by_reason.iter_mut().find(|(_, known)| known == reason) {
            Some((machines, _)) => machines.push(machine),
            None => by_reason.push((vec![machine], reason)),
        }
    }
    by_reason.into_iter().map(|(machines, reason)| (machines.join(", "), reason))
}
