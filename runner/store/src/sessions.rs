//! Sessions of browsers that have signed in with a token. Only hashes of their ids are stored.

use foreglow_shared::Timestamp;

use super::Store;
use super::row::Value;
use crate::token::Hash;

/// Sessions of a token; the oldest makes room.
pub const MOST_SESSIONS: i64 = 100;

fn blob(hash: Hash) -> Value {
    Value::Blob(hash.0.to_vec())
}

impl Store {
    /// Begins a session of a token, and removes those that have ended.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin_session(&mut self, session: Hash, token: Hash, now: Timestamp, end: Timestamp) -> anyhow::Result<()> {
        self.write(|transaction| {
            let now = Value::Integer(now.as_microsecond());
            transaction.execute("DELETE FROM sessions WHERE expires_at_us <= $1", &[now])?;
            let end = Value::Integer(end.as_microsecond());
            let begin = "INSERT INTO sessions (hash, token, expires_at_us) VALUES ($1, $2, $3)";
            transaction.execute(begin, &[blob(session), blob(token), end])?;
            let remove = "DELETE FROM sessions WHERE token = $1 AND hash NOT IN
                 (SELECT hash FROM sessions WHERE token = $1 ORDER BY expires_at_us DESC, hash LIMIT $2)";
            transaction.execute(remove, &[blob(token), Value::Integer(MOST_SESSIONS)]).map(drop)
        })
    }

    /// Ends a session.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn end_session(&mut self, session: Hash) -> anyhow::Result<()> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM sessions WHERE hash = $1", &[blob(session)]).map(drop)
        })
    }

    /// Returns the hash of the token with which a session was begun; `None` if it is unknown or has
    /// ended.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn token_of_session(&self, session: Hash, now: Timestamp) -> anyhow::Result<Option<Hash>> {
        let query = "SELECT token FROM sessions WHERE hash = $1 AND expires_at_us > $2";
        let parameters = [blob(session), Value::Integer(now.as_microsecond())];
        let tokens = self.read(query, &parameters, |mut row| row.blob(0))?;
        Ok(tokens.into_iter().next().and_then(|bytes| bytes.try_into().ok()).map(Hash))
    }
}
