//! Names of runs, from the paths of their files.

/// Names of files and folders that many runs have.
const COMMON: [&str; 23] = [
    "",
    ".",
    "..",
    "all_results",
    "events",
    "files",
    "history",
    "lightning_logs",
    "log",
    "logs",
    "metrics",
    "nohup",
    "out",
    "output",
    "results",
    "run",
    "runs",
    "stderr",
    "stdout",
    "tensorboard",
    "train",
    "train_results",
    "trainer_state",
];

/// Returns the name of a run from the path of its file or folder: that of the file, or of the
/// nearest folder whose name not all runs have.
///
/// ```
/// use foreglow_import::run_name;
///
/// let state = "/data/bert-base/checkpoint-500/trainer_state.json";
/// assert_eq!(run_name(state, false).as_deref(), Some("bert-base"));
/// assert_eq!(run_name("mnist.log", false).as_deref(), Some("mnist"));
/// assert_eq!(run_name("results.csv", false), None);
/// assert_eq!(run_name("/data/vit-b.16/train", true).as_deref(), Some("vit-b.16"));
/// ```
pub fn run_name(path: &str, is_folder: bool) -> Option<String> {
    let mut parts = path.trim_end_matches('/').rsplit(['/', '\\']);
    if is_folder {
        return parts.find(|part| !is_common(part)).map(str::to_owned);
    }
    let file = parts.next()?;
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    let of_file = Some(stem).filter(|_| !file.contains("tfevents"));
    of_file.into_iter().chain(parts).find(|part| !is_common(part)).map(str::to_owned)
}

fn is_common(part: &str) -> bool {
    let is_numbered = |start: &str| {
        part.strip_prefix(start)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|letter| letter.is_ascii_digit()))
    };
    COMMON.contains(&part.to_lowercase().as_str()) || ["checkpoint-", "version_", ""].into_iter().any(is_numbered)
}
