//! The command that collects a suggested sample.

use std::path::Path;

use foreglow_architectures::{Architecture, Input};
use foreglow_model::Suggestion;
use foreglow_shared::{Context, CoreSplit, collect_command};

/// Advice for jobs of the user's own Spark program, for which the command does not apply.
pub(super) const OWN_PROGRAM: &str = "\nIf the samples are from your own program, run it with this configuration \
                                      instead, and import its event log.\n";

/// Returns a note on where to run the command of a context whose data set has no path; `None` if it
/// can run anywhere.
pub(super) fn data_note(context: &Context) -> Option<String> {
    let folder = context.workload.data_path().filter(|path| !Path::new(path).is_absolute())?;
    Some(format!(
        "\nThe samples have no path for the data set {folder}: run the command in its parent folder, or give the path \
         with --data.\n"
    ))
}

/// Returns the command that collects a sample; `None` if `foreglow collect` cannot measure the job.
pub(super) fn command(context: &Context, suggestion: &Suggestion, place: Option<(&str, &str)>) -> Option<String> {
    let workload = &context.workload;
    let is_taken = match (Architecture::named(&workload.model).map(|it| &it.input), &workload.text) {
        (Some(Input::Images { px, .. }), None) => px.contains(&workload.image_px),
        (Some(Input::Texts { words, .. }), Some(text)) => words.contains(&text.words),
        (None, None) => workload.network.is_some(),
        _ => false,
    };
    if !is_taken && workload.command.is_none() {
        return None;
    }
    let &Suggestion { executors, cores_per_executor, memory_per_executor_mib, partition_size, .. } = suggestion;
    let split = CoreSplit::even(executors, cores_per_executor);
    let configuration = context.configuration(split, memory_per_executor_mib, partition_size);
    collect_command(context, &configuration, suggestion.sampling_rate, place)
}
