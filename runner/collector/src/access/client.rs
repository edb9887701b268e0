//! Identity and rights of the sender of a request.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_shared::Timestamp;

use super::Access;
use super::origin::Hosts;
use super::rate::Rates;
use super::unknown::Unknown;
use foreglow_store::token::Hash;
use foreglow_store::{Roles, Store};

/// Name of the token of `--token` in logs.
const OWN_TOKEN: &str = "--token";
/// Lifetime of a cached lookup that listeners with the same token share.
const SHARED_FOR: Duration = Duration::from_millis(500);
/// Limit on the cached lookups of listeners' tokens.
const MOST_LISTENING: usize = 10_000;

/// State of the access control.
pub(crate) struct Gate {
    own: Option<Hash>,
    open: bool,
    /// Whether requests need a token. Never reset to false, so that revoking the last token does
    /// not open the collector.
    is_protected: AtomicBool,
    /// Connection that looks up tokens.
    tokens: Mutex<Store>,
    /// Last use of each token that is not stored yet.
    used: Mutex<BTreeMap<String, Timestamp>>,
    /// Cached lookups of listeners' tokens, by hash.
    listening: Mutex<HashMap<Option<Secret>, MayRead>>,
    pub(super) hosts: Hosts,
    pub(super) rates: Rates,
    pub(super) unknown: Unknown,
}

/// Hash of what a request proves its sender with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, std::hash::Hash)]
pub(crate) enum Secret {
    /// A token.
    Token(Hash),
    /// The id of a browser's session.
    Session(Hash),
}

/// Cached lookup of a listener's token, with its time.
#[derive(Clone, Copy, Debug)]
struct MayRead {
    at: Instant,
    answer: bool,
}

/// Sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// No token is required.
    Open,
    /// The request has a valid token.
    Token { name: String, roles: Roles, per_minute: Option<u32> },
    /// A token is required, and the request has none.
    Missing,
    /// The token is unknown, revoked or expired.
    Unknown,
}

impl Gate {
    pub(crate) fn new(access: &Access, address: SocketAddr, tokens: Store) -> Self {
        let is_public = !address.ip().is_loopback() && !access.open;
        Self {
            own: access.token.as_deref().map(Hash::of),
            open: access.open,
            is_protected: AtomicBool::new(is_public || access.token.is_some() || access.has_tokens),
            tokens: Mutex::new(tokens),
            used: Mutex::default(),
            listening: Mutex::default(),
            hosts: Hosts::new(&access.hosts, !access.is_local(address)),
            rates: Rates::default(),
            unknown: Unknown::default(),
        }
    }

    /// Returns the client of the sender of a request.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) async fn client(self: &Arc<Self>, sent: Option<Secret>) -> anyhow::Result<Client> {
        if let Some(Secret::Token(sent)) = &sent
            && self.own.is_some_and(|own| own.is(sent))
        {
            return Ok(own_token());
        }
        if self.open && self.own.is_none() && sent.is_none() {
            return Ok(Client::Open);
        }
        let gate = Arc::clone(self);
        tokio::task::spawn_blocking(move || gate.look_up(sent)).await.context("a token could not be looked up")?
    }

    fn look_up(&self, sent: Option<Secret>) -> anyhow::Result<Client> {
        let store = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_protected.load(Ordering::Relaxed) && !self.open && store.has_tokens()? {
            self.is_protected.store(true, Ordering::Relaxed);
        }
        let Some(sent) = sent else {
            let is_protected = self.is_protected.load(Ordering::Relaxed);
            return Ok(if is_protected { Client::Missing } else { Client::Open });
        };
        let now = Timestamp::now();
        let (sent, is_session) = match sent {
            Secret::Token(hash) => (Some(hash), false),
            Secret::Session(hash) => (store.token_of_session(hash, now)?, true),
        };
        if is_session && sent.zip(self.own).is_some_and(|(sent, own)| own.is(&sent)) {
            return Ok(own_token().of_session());
        }
        let found = sent.map(|sent| store.token(sent)).transpose()?.flatten();
        drop(store);
        match found.filter(|token| !token.is_expired(now)) {
            Some(token) => {
                let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                used.insert(token.name.clone(), now);
                let client = Client::Token { name: token.name, roles: token.roles, per_minute: Some(token.per_minute) };
                Ok(if is_session { client.of_session() } else { client })
            }
            // Without protection an unknown token is ignored; it may be from the environment, for
            // another collector.
            None if !self.is_protected.load(Ordering::Relaxed) => Ok(Client::Open),
            None => Ok(Client::Unknown),
        }
    }

    /// Returns whether a sender may still read, for open event streams.
    pub(crate) async fn may_read(self: &Arc<Self>, sent: Option<Secret>) -> bool {
        let known = self.listening.lock().unwrap_or_else(PoisonError::into_inner).get(&sent).copied();
        if let Some(known) = known.filter(|known| known.at.elapsed() < SHARED_FOR) {
            return known.answer;
        }
        // A temporary failure of the store does not end streams.
        let answer = self.client(sent).await.map_or(true, |client| client.may(|roles| roles.read));
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        if listening.len() >= MOST_LISTENING {
            listening.clear();
        }
        listening.insert(sent, MayRead { at: Instant::now(), answer });
        answer
    }

    /// Returns the last use of each token since the last call.
    pub(crate) fn take_used(&self) -> Vec<(String, Timestamp)> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *used).into_iter().collect()
    }
}

fn own_token() -> Client {
    let roles = Roles { admin: true, ..Roles::default() };
    Client::Token { name: OWN_TOKEN.to_owned(), roles, per_minute: None }
}

impl Client {
    /// Returns the client of a browser's session, which only reads.
    fn of_session(self) -> Self {
        match self {
            Self::Token { name, roles, per_minute } => {
                let roles = Roles { read: roles.read || roles.admin, ..Roles::default() };
                Self::Token { name, roles, per_minute }
            }
            other => other,
        }
    }

    /// Whether the sender has a role; true without protection.
    pub(super) fn may(&self, has: impl Fn(&Roles) -> bool) -> bool {
        match self {
            Self::Open => true,
            Self::Token { roles, .. } => roles.admin || has(roles),
            Self::Missing | Self::Unknown => false,
        }
    }

    /// Name for logs.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Token { name, .. } => Some(name),
            _ => None,
        }
    }
}
