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

/// The index is on the three texts together: each may be longer than an entry of a B-tree.
pub(super) const NUMBER_OF_RUN: &str = "SELECT number FROM runs
    WHERE workload || configuration || host = $1 || $2 || $6 AND workload = $1 AND configuration = $2
        AND sampling_rate = $3 AND engine = $4 AND outcome = $5 AND host = $6";

/// Channel on which writers announce new samples.
const CHANNEL: &str = "foreglow_samples";

/// Opens the store in the database at `url`; with `create`, missing tables are created.
pub(super) fn open(url: &str, location: &Location, create: bool) -> anyhow::Result<Session> {
    let mut session = Session::new(Address::parse(url)?)?;
    schema::prepare(&mut session, location, create)?;
    Ok(session)
}
