//! A store in a PostgreSQL database, which several collectors may serve.

mod address;
mod listen;
mod session;
mod tls;
mod values;
mod writing;

use address::Address;
pub use listen::follow;
pub(super) use session::Session;
pub(super) use writing::Writing;

/// Channel on which writers announce new samples.
const CHANNEL: &str = "foreglow_samples";

/// Prepares a session with the database at `url`; the first query connects.
pub(super) fn session(url: &str) -> anyhow::Result<Session> {
    Session::new(Address::parse(url)?)
}
