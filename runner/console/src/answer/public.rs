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
    let notes = basis.notes.iter().map(|note| format!("Note: {note}.\n"));
    let lines: String = order.into_iter().chain(left_out).chain(notes).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}
