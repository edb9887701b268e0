//! `foreglow samples`: lists, shows, checks and removes samples.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use foreglow_console::answer::HindsightAnswer;
use foreglow_console::ask::Source;
use foreglow_console::outliers::outliers;
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::sample_table;
use foreglow_console::samples_file::SamplesFile;
use foreglow_console::table::{aligned, table};
use foreglow_exit::unusable;
use foreglow_machine::warnings_of;
use foreglow_model::checked_runs;
use foreglow_shared::{Outcome, Sample, Timestamp, Uuid, format_count, format_rate};
use foreglow_store::{Location, Store, user};

/// Minimum number of trailing characters of an id in a list.
const FEWEST_SHOWN: usize = 8;
/// Minimum number of characters of an id that a user must give.
const FEWEST_LETTERS: usize = 4;

/// List, show, check or remove samples
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the samples, and mark outliers and disturbed runs; also without a subcommand
    List(ListArgs),
    /// Show one sample
    Show(ShowArgs),
    /// Predict each whole job that was run from the runs before it, and compare
    Check(SampleArgs),
    /// Remove samples
    Remove(RemoveArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    samples: SampleArgs,

    /// List only the samples of this CNN
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// List only disturbed runs: other programs slowed the machine
    #[arg(long)]
    disturbed: bool,

    /// List only outliers among the repetitions of a run
    #[arg(long)]
    outliers: bool,

    /// List only the samples that the token of this name sent to the collector
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    by: Option<String>,

    /// Of these, list only those that arrived at or after this time: 2026-11-21T10:00:00Z
    #[arg(long, value_name = "TIME", requires = "by")]
    since: Option<Timestamp>,
}

/// The samples to read, and the format of the answer.
#[derive(Debug, clap::Args)]
struct SampleArgs {
    /// Sample files, JSON Lines or CSV; `-` for standard input [default: the store]
    #[arg(value_name = "FILE", conflicts_with = "store")]
    files: Vec<PathBuf>,

    /// Store to read from [default: the user's store]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<Location>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Id of the sample, or its first or last characters
    #[arg(value_name = "ID")]
    id: String,

    #[command(flatten)]
    samples: SampleArgs,
}

#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// Ids of the samples, or their first or last characters
    #[arg(value_name = "ID", required_unless_present = "by")]
    ids: Vec<String>,

    /// Remove the samples that the token of this name sent to the collector
    #[arg(long, value_name = "NAME", conflicts_with_all = ["ids", "from"])]
    by: Option<String>,

    /// Of these, remove only those that arrived at or after this time: 2026-11-21T10:00:00Z
    #[arg(long, value_name = "TIME", requires = "by")]
    since: Option<Timestamp>,

    /// Remove them from this JSON Lines file instead of the store
    #[arg(long, value_name = "FILE", conflicts_with = "store")]
    from: Option<PathBuf>,

    /// Store to remove from [default: the user's store]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<Location>,
}

impl SampleArgs {
    /// Reads the samples as they were measured.
    fn read(&self) -> anyhow::Result<Vec<Sample>> {
        Source { files: self.files.clone(), store: self.store.clone(), ..Source::default() }.measured_samples()
    }
}

/// Runs the subcommand.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.command {
        None => list(&args.list),
        Some(Command::List(args)) => list(args),
        Some(Command::Show(args)) => show(args),
        Some(Command::Check(args)) => check(args),
        Some(Command::Remove(args)) => remove(args),
    }
}

fn list(args: &ListArgs) -> anyhow::Result<()> {
    let all = args.samples.read()?;
    let outliers = outliers(&all);
    let sent = match &args.by {
        Some(by) => {
            Some(BTreeSet::from_iter(Store::open_existing(args.samples.store.as_ref())?.sent_by(by, args.since)?))
        }
        None => None,
    };
    let is_wanted = |sample: &&Sample| {
        sent.as_ref().is_none_or(|sent| sent.contains(&sample.id))
            && args.model.as_ref().is_none_or(|model| *model == sample.workload.model)
            && (!(args.disturbed || args.outliers)
                || args.disturbed && sample.is_disturbed()
                || args.outliers && outliers.contains(&sample.id))
    };
    let samples: Vec<Sample> = all.iter().filter(is_wanted).cloned().collect();
    output::print(&args.samples.format.samples(&samples, || rows(&samples, &outliers)))
}

fn show(args: &ShowArgs) -> anyhow::Result<()> {
    let samples = args.samples.read()?;
    let ids: Vec<Uuid> = samples.iter().map(|sample| sample.id).collect();
    let id = find(&args.id, &ids)?;
    let Some(sample) = samples.iter().find(|sample| sample.id == id) else { return Ok(()) };
    output::print(&args.samples.format.samples(std::slice::from_ref(sample), || sample_table::one(sample)))?;
    warnings_of(sample).iter().for_each(|warning| note(&format!("warning: {warning}")));
    Ok(())
}

fn check(args: &SampleArgs) -> anyhow::Result<()> {
    output::print(&HindsightAnswer::new(&checked_runs(&args.read()?)).render(args.format))
}

fn remove(args: &RemoveArgs) -> anyhow::Result<()> {
    if let Some(path) = &args.from {
        // Opening a missing file would create it.
        if !path.is_file() {
            return Err(unusable(format!("there is no file {}; check its name", path.display())));
        }
        let (mut file, samples) = SamplesFile::open_alone(path)?;
        let known: Vec<Uuid> = samples.iter().map(|sample| sample.id).collect();
        let ids = find_all(&args.ids, &known)?;
        file.remove(&ids)?;
        note(&format!("{} removed from {}", format_count(ids.len(), "sample"), path.display()));
        return Ok(());
    }
    let mut store = Store::open_existing(args.store.as_ref())?;
    let ids = match &args.by {
        Some(by) => store.sent_by(by, args.since)?,
        None => find_all(&args.ids, &store.ids()?)?,
    };
    let removed = store.remove(&ids, &user())?;
    note(&format!("{} removed from {}", format_count(removed, "sample"), store.location()));
    Ok(())
}

fn find_all<T: Copy + Ord + fmt::Display>(wanted: &[String], known: &[T]) -> anyhow::Result<Vec<T>> {
    let ids: BTreeSet<T> = wanted.iter().map(|text| find(text, known)).collect::<anyhow::Result<_>>()?;
    Ok(ids.into_iter().collect())
}

/// Returns the only item whose id begins or ends with these characters.
///
/// # Errors
/// No id matches, or several do.
fn find<T: Copy + Ord + fmt::Display>(text: &str, known: &[T]) -> anyhow::Result<T> {
    let wanted = text.trim().to_ascii_lowercase();
    if wanted.len() < FEWEST_LETTERS {
        return Err(unusable(format!("{text:?} is too short for an id; write {FEWEST_LETTERS} letters or more")));
    }
    let matches = |id: &&T| {
        let id = id.to_string().to_ascii_lowercase();
        id.starts_with(&wanted) || id.ends_with(&wanted)
    };
    let found: BTreeSet<&T> = known.iter().filter(matches).collect();
    match (found.len(), found.first()) {
        (1, Some(id)) => Ok(**id),
        (0, _) => Err(unusable(format!("no sample has the id {text}; `foreglow samples list` shows them"))),
        (several, _) => Err(unusable(format!("{several} samples have an id with {text}; give more of its characters"))),
    }
}

/// Returns how many trailing characters tell all ids apart.
fn shown_letters(samples: &[Sample]) -> usize {
    let mut ids: Vec<String> = samples.iter().map(|sample| sample.id.to_string().chars().rev().collect()).collect();
    ids.sort_unstable();
    // Of sorted texts, neighbours have the longest common beginnings.
    let common = |pair: &[String]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| common(pair) + 1).max().unwrap_or(0).max(FEWEST_SHOWN)
}

fn rows(samples: &[Sample], outliers: &BTreeSet<Uuid>) -> String {
    let columns = aligned(["<id", "<model", "E × C", "MiB", "P", "rate", "time", "<note"]);
    let letters = shown_letters(samples);
    let row = |sample: &Sample| {
        let id = sample.id.to_string();
        let configuration = &sample.configuration;
        let mut notes: Vec<String> = Vec::new();
        if outliers.contains(&sample.id) {
            notes.push("outlier".to_owned());
        }
        if sample.is_disturbed() {
            notes.push("disturbed".to_owned());
        }
        if sample.outcome != Outcome::Completed {
            notes.push(sample.outcome.as_str().to_owned());
        }
        vec![
            id[id.len().saturating_sub(letters)..].to_owned(),
            sample.workload.model.clone(),
            configuration.split().short(),
            configuration.memory_per_executor_mib.to_string(),
            configuration.partition_size.to_string(),
            format_rate(sample.sampling_rate),
            sample_table::completion_time(sample),
            notes.join(", "),
        ]
    };
    table(&columns, samples.iter().map(row))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use foreglow_shared::parse_line;

    use super::*;

    fn sample(number: u32, secs: f64) -> Sample {
        let line = format!(
            r#"{{"schema":1,"id":"01890000-0000-7000-8000-{number:012x}","workload":{{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8}},"configuration":{{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8}},"sampling_rate":0.1,"outcome":"completed","completion_time_secs":{secs},"engine":"local","runner_version":"0.1.0","host":{{}},"started_at":"2026-11-21T10:00:00Z"}}"#
        );
        parse_line(&line).unwrap()
    }

    /// The arguments of `foreglow samples`.
    #[derive(clap::Parser)]
    struct Parsed {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn samples_without_a_subcommand_are_listed_also_of_files() {
        let parse = |line: &str| Parsed::try_parse_from(line.split(' ')).map(|parsed| parsed.args);
        let args = parse("samples runs.jsonl --disturbed").unwrap();
        assert!(args.command.is_none() && args.list.disturbed);
        assert_eq!(args.list.samples.files, [PathBuf::from("runs.jsonl")]);
        assert!(matches!(parse("samples list runs.jsonl").unwrap().command, Some(Command::List(_))));
        assert!(matches!(parse("samples show 5f2c81aa").unwrap().command, Some(Command::Show(_))));
    }

    #[test]
    fn a_sample_is_found_by_either_end_of_its_id() {
        let ids = [sample(0xabcd1, 1.0).id, sample(0xabcd2, 1.0).id];
        assert_eq!(find("0000000abcd1", &ids).unwrap(), ids[0]);
        assert_eq!(find("ABCD2", &ids).unwrap(), ids[1]);
        assert_eq!(find(&ids[0].to_string(), &ids).unwrap(), ids[0]);
        let said = |text| find(text, &ids).unwrap_err().to_string();
        assert!(said("0189").contains("2 samples have an id with 0189"), "{}", said("0189"));
        assert!(said("ffff").contains("no sample has the id ffff"));
        assert!(said("1").contains("too short"));
    }

    #[test]
    fn listed_ids_are_as_long_as_needed_to_tell_them_apart() {
        let id = |text: &str| Sample { id: text.parse().unwrap(), ..sample(1, 1.0) };
        let ids = ["01890000-0000-7000-8000-00000000abcd", "01890000-0000-7000-8001-00000000abcd"].map(id);
        assert_eq!((shown_letters(&ids[..1]), shown_letters(&ids)), (8, 14));
        assert!(rows(&ids, &BTreeSet::new()).contains("1-00000000abcd"));
    }

    #[test]
    fn outliers_are_marked_in_the_list() {
        let samples = [sample(1, 2.0)];
        assert!(rows(&samples, &BTreeSet::from([samples[0].id])).contains("outlier"));
    }
}
