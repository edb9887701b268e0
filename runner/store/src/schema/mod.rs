//! Tables of the store, created when it is opened.

mod postgres;
pub(super) mod sqlite;

use super::Location;
use super::database::Database;

/// Opens the store at `location`; with `create`, missing tables are created.
pub(super) fn open(location: &Location, create: bool) -> anyhow::Result<Database> {
    match location {
        Location::File(path) => sqlite::open(path.clone(), create).map(Database::File),
        Location::Database(url) => {
            postgres::open(url, location, create).map(|session| Database::Server(Box::new(session)))
        }
    }
}
