//! Audit log of deletions, and of created and revoked tokens.

use foreglow_shared::Timestamp;

use super::database::Transaction;
use super::failure::Outcome;
use super::row::{Value, text};
use super::{Store, moment};

/// A line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// Time of the change.
    pub at: Timestamp,
    /// Token, or user on the command line.
    pub who: String,
    /// The change.
    pub what: String,
}

/// Returns the user of a command, for the audit log.
pub fn user() -> String {
    let name = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    format!("{} on the command line", name.filter(|name| !name.is_empty()).unwrap_or_else(|| "a user".to_owned()))
}

/// Adds a line in the transaction of the change itself, so that both are stored or neither.
pub(super) fn record(transaction: &Transaction<'_>, who: &str, what: &str) -> Outcome<()> {
    let query = "INSERT INTO audit (at_us, who, what) VALUES ($1, $2, $3)";
    let at = Value::Integer(Timestamp::now().as_microsecond());
    transaction.execute(query, &[at, text(who), text(what)]).map(drop)
}

impl Store {
    /// Returns the audit log, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn audit(&self) -> anyhow::Result<Vec<AuditLine>> {
        self.read("SELECT at_us, who, what FROM audit ORDER BY seq", &[], |mut row| {
            Ok(AuditLine { at: moment(row.integer(0)?), who: row.text(1)?, what: row.text(2)? })
        })
    }
}
