//! Tokens of the collector that serves a store. Only their hashes are stored.

use std::fmt;
use std::str::FromStr;

use foreglow_exit::unusable;
use foreglow_shared::Timestamp;

use super::audit::record;
use super::failure::Outcome;
use super::row::{Row, Value, text};
use super::{Store, moment};
use crate::token::Hash;

/// Requests per minute of a token, unless its owner chooses another number.
pub const DEFAULT_PER_MINUTE: u32 = 6_000;
/// Maximum length of a name.
const MAX_NAME: usize = 64;

/// Rights of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Send samples.
    pub write: bool,
    /// Read samples and metrics, and open the planner.
    pub read: bool,
    /// Everything, deletion included.
    pub admin: bool,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Name of the user or machine.
    pub name: String,
    /// Its rights.
    pub roles: Roles,
    /// Limit on its requests per minute.
    pub per_minute: u32,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of its expiry; `None` without one.
    pub expires_at: Option<Timestamp>,
    /// When a request last used it, to a minute.
    pub last_used_at: Option<Timestamp>,
}

impl Token {
    /// Whether the token has expired.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

impl FromStr for Roles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut roles = Self::default();
        for role in text.split(',') {
            match role.trim() {
                "write" => roles.write = true,
                "read" => roles.read = true,
                "admin" => roles.admin = true,
                _ => return Err("write a role: write, read, admin, or several such as read,write".to_owned()),
            }
        }
        Ok(roles)
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = [("read", self.read), ("write", self.write), ("admin", self.admin)];
        let names: Vec<&str> = roles.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
        f.write_str(&names.join(","))
    }
}

const COLUMNS: &str = "name, roles, per_minute, created_at_us, expires_at_us, last_used_at_us";

fn token(mut row: Row) -> Outcome<Token> {
    Ok(Token {
        // An unknown role of a later version grants nothing.
        roles: row.text(1)?.parse().unwrap_or_default(),
        per_minute: u32::try_from(row.integer(2)?).unwrap_or(u32::MAX),
        created_at: moment(row.integer(3)?),
        expires_at: row.maybe_integer(4)?.map(moment),
        last_used_at: row.maybe_integer(5)?.map(moment),
        name: row.text(0)?,
    })
}

impl Store {
    /// Adds a token.
    ///
    /// # Errors
    /// The name is in use or invalid, or the store cannot be written.
    pub fn add_token(&mut self, token: &Token, hash: Hash, who: &str) -> anyhow::Result<()> {
        let name = &token.name;
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_valid) {
            return Err(unusable(format!(
                "{name:?} is not a name for a token; write letters, digits and -_.@, at most {MAX_NAME}"
            )));
        }
        let added = self.write(|transaction| {
            let added = transaction.execute(
                "INSERT INTO tokens (name, hash, roles, per_minute, created_at_us, expires_at_us)
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
                &[
                    text(name),
                    Value::Blob(hash.0.to_vec()),
                    text(token.roles.to_string()),
                    Value::Integer(token.per_minute.into()),
                    Value::Integer(token.created_at.as_microsecond()),
                    token.expires_at.map(Timestamp::as_microsecond).into(),
                ],
            )?;
            if added == 1 {
                record(transaction, who, &format!("made the token {name} ({})", token.roles))?;
            }
            Ok(added)
        })?;
        if added == 0 {
            return Err(unusable(format!("there is a token {name} already; revoke it first, or choose another name")));
        }
        Ok(())
    }

    /// Removes a token and its sessions; returns whether it existed.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn revoke_token(&mut self, name: &str, who: &str) -> anyhow::Result<bool> {
        self.write(|transaction| {
            let sessions = "DELETE FROM sessions WHERE token IN (SELECT hash FROM tokens WHERE name = $1)";
            transaction.execute(sessions, &[text(name)])?;
            let revoked = transaction.execute("DELETE FROM tokens WHERE name = $1", &[text(name)])? == 1;
            if revoked {
                record(transaction, who, &format!("revoked the token {name}"))?;
            }
            Ok(revoked)
        })
    }

    /// Returns all tokens in the order of their names.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn tokens(&self) -> anyhow::Result<Vec<Token>> {
        self.read(&format!("SELECT {COLUMNS} FROM tokens ORDER BY name"), &[], token)
    }

    /// Returns the token with this hash, expired or not.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn token(&self, hash: Hash) -> anyhow::Result<Option<Token>> {
        let query = format!("SELECT {COLUMNS} FROM tokens WHERE hash = $1");
        Ok(self.read(&query, &[Value::Blob(hash.0.to_vec())], token)?.pop())
    }

    /// Returns whether there are tokens, or were some. A store whose last token was revoked stays
    /// closed to those without one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn has_tokens(&self) -> anyhow::Result<bool> {
        let query = "SELECT count(*) FROM (SELECT name FROM tokens
             UNION ALL SELECT what FROM audit WHERE what LIKE 'made the token %' LIMIT 1) AS found";
        Ok(self.integer(query)? > 0)
    }

    /// Records when tokens were last used, by name.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn mark_used(&mut self, used: &[(String, Timestamp)]) -> anyhow::Result<()> {
        self.write(|transaction| {
            let mark = "UPDATE tokens SET last_used_at_us = $2 WHERE name = $1";
            used.iter().try_for_each(|(name, time)| {
                transaction.execute(mark, &[text(name), Value::Integer(time.as_microsecond())]).map(drop)
            })
        })
    }
}
