//! A store in a PostgreSQL database, which several collectors may serve.

mod address;
mod failure;
mod listen;
mod schema;
mod session;
mod tls;
mod values;
mod writing;

use super::Location;
use address::Address;
pub(super) use failure::{Failure, sentence};
pub(crate) use listen::follow;
pub(super) use session::Session;
pub(super) use writing::Writing;

/// Channel on which writers announce new samples.
const CHANNEL: &str = "foreglow_samples";

/// Opens the store in the database at `url`; with `create`, missing tables are created.
pub(super) fn open(url: &str, location: &Location, create: bool) -> anyhow::Result<Session> {
    let mut session = Session::new(Address::parse(url)?)?;
    schema::prepare(&mut session, location, create)?;
    Ok(session)
}
