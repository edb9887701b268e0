//! `foreglow store`: copies of a store, old samples, and the audit log.

use std::path::PathBuf;

use foreglow_console::grammar::duration_secs;
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::table::{aligned, table};
use foreglow_exit::unusable;
use foreglow_shared::{Timestamp, format_count};
use foreglow_store::{AuditLine, Location, Store, restore, user};
use jiff::SignedDuration;
use serde_json::json;

/// Samples removed by one write, so that a collector waits only milliseconds.
const BATCH: usize = 1_000;

/// Back up, restore or thin out a store of samples
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Copy the store to a new file, and check the copy. A collector may serve the store meanwhile
    Backup(BackupArgs),
    /// Put a copy in the place of the store. No program may have the store open
    Restore(RestoreArgs),
    /// Remove the samples of old runs
    Prune(PruneArgs),
    /// List what was removed, and the tokens that were made and revoked
    Audit(AuditArgs),
}

#[derive(Debug, clap::Args)]
struct BackupArgs {
    /// File for the copy
    #[arg(value_name = "COPY")]
    copy: PathBuf,

    #[command(flatten)]
    place: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct RestoreArgs {
    /// Copy of a store
    #[arg(value_name = "COPY")]
    copy: PathBuf,

    #[command(flatten)]
    place: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct PruneArgs {
    /// Remove the runs that were submitted longer ago than this: 365d
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    older_than: f64,

    #[command(flatten)]
    place: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct AuditArgs {
    #[command(flatten)]
    place: StoreArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct StoreArgs {
    /// Store [default: the user's store]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<Location>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.command {
        Command::Backup(args) => {
            let samples = Store::open_existing(args.place.store.as_ref())?.back_up(&args.copy)?;
            note(&format!("{} copied to {}", format_count(samples as usize, "sample"), args.copy.display()));
            Ok(())
        }
        Command::Restore(args) => {
            let store = args.place.store.clone().map_or_else(Location::of_user, Ok)?;
            let (samples, kept) = restore(&args.copy, &store, &user())?;
            note(&format!("{} restored to {store}", format_count(samples as usize, "sample")));
            if let Some(kept) = kept {
                note(&format!("what was there before is kept in {}", kept.display()));
            }
            Ok(())
        }
        Command::Prune(args) => prune(args),
        Command::Audit(args) => {
            let lines = Store::open_existing(args.place.store.as_ref())?.audit()?;
            output::print(&audit(&lines, args.format))
        }
    }
}

fn prune(args: &PruneArgs) -> anyhow::Result<()> {
    let age = SignedDuration::try_from_secs_f64(args.older_than).ok();
    let before = age.and_then(|age| Timestamp::now().checked_sub(age).ok());
    let before = before.ok_or_else(|| unusable("that is before any date; write a time such as 365d"))?;
    let mut store = Store::open_existing(args.place.store.as_ref())?;
    let mut removed = 0;
    loop {
        let of_batch = store.remove_before(before, BATCH, &user())?;
        removed += of_batch;
        if of_batch < BATCH {
            break;
        }
    }
    note(&format!("{} from before {before:.0} removed from {}", format_count(removed, "sample"), store.location()));
    Ok(())
}

fn audit(lines: &[AuditLine], format: Format) -> String {
    let row = |line: &AuditLine| json!({ "at": format!("{:.0}", line.at), "who": line.who, "what": line.what });
    let rows: Vec<_> = lines.iter().map(row).collect();
    format.list("audit", &rows, "at,who,what", || {
        if lines.is_empty() {
            return "nothing was removed, and no token was made\n".to_owned();
        }
        let cells = |line: &AuditLine| vec![format!("{:.0}", line.at), line.who.clone(), line.what.clone()];
        table(&aligned(["<time", "<who", "<what"]), lines.iter().map(cells))
    })
}
