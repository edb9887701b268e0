//! The accuracy of a trained CNN in the answers.

use foreglow_model::{Accuracy, AccuracyUnknown};
use foreglow_shared::format_rate;

/// Data for the explanation why no configuration meets a question with a minimum accuracy.
pub(super) struct Inaccuracy {
    /// The minimum.
    pub(super) least: f64,
    /// The other limits, such as `done within 15.00 s`.
    pub(super) limits: Option<String>,
    /// The fastest configuration that is accurate enough, and its time.
    pub(super) fastest: Option<(String, String)>,
    /// The configurations whose accuracy was measured.
    pub(super) measured: Vec<(String, Accuracy)>,
    /// Why the accuracy is unknown.
    pub(super) unknown: Option<AccuracyUnknown>,
}

impl Inaccuracy {
    /// Returns the reason in one sentence.
    pub(super) fn describe(self) -> String {
        let least = format_rate(self.least);
        if let Some((fastest, time)) = self.fastest {
            let limits = self.limits.unwrap_or_else(|| "possible".to_owned());
            return format!(
                "no configuration with an accuracy of at least {least} is {limits} with the required probability: the fastest \
                 of them, {fastest}, takes {time}; relax the limits or lower --min-accuracy"
            );
        }
        let most = self.measured.into_iter().max_by(|(_, a), (_, b)| a.bound().total_cmp(&b.bound()));
        match (most, self.unknown) {
            (Some((configuration, accuracy)), _) => format!(
                "no configuration is known to have an accuracy of at least {least}: the most accurate, {configuration}, has \
                 {accuracy}; lower --min-accuracy, or measure with more epochs or other learning rates"
            ),
            (None, Some(unknown)) => {
                format!("no configuration is known to have an accuracy of at least {least}: {unknown}")
            }
            (None, None) => format!(
                "no configuration is known to have an accuracy of at least {least}: it was measured on none of those to \
                 choose from; offer others with --executors"
            ),
        }
    }
}

/// Formats an accuracy: `97.64 % (97.37–97.91 %)`, `not measured`.
pub(super) fn accuracy_cell(accuracy: Option<&Accuracy>) -> String {
    accuracy.map_or_else(|| "not measured".to_owned(), Accuracy::to_string)
}

/// Returns a minimum accuracy for a sentence: ` with an accuracy of at least 97 %`; empty without a
/// minimum.
pub(super) fn with_accuracy(least: Option<f64>) -> String {
    least.map_or_else(String::new, |least| format!(" with an accuracy of at least {}", format_rate(least)))
}

/// Returns the notes on accuracies, one line each, after an empty line: the tested images, the
/// meaning of the interval, and whether the recommended configuration has a single run. Empty if no
/// accuracy was measured.
pub(super) fn accuracy_notes<'a>(
    measured: impl Iterator<Item = &'a Accuracy>,
    recommended: Option<&Accuracy>,
) -> String {
    let mut conditions: Vec<&str> = measured.map(|accuracy| accuracy.conditions.as_str()).collect();
    conditions.sort_unstable();
    conditions.dedup();
    if conditions.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\nAccuracy: mean over the seeds of runs on all images, with its 95 % interval; {}.\n",
        conditions.join("; or ")
    );
    if recommended.is_some_and(|accuracy| accuracy.runs == 1) {
        text.push_str(
            "Note: the accuracy of the recommended configuration is that of a single run, which may be lucky; repeat it with \
             another --seed.\n",
        );
    }
    text
}
