//! Access control of the collector: who may do what, from where, and how often.

mod guard;
mod origin;
mod rate;
pub(super) mod sign_in;
mod standing;

use std::net::SocketAddr;

use foreglow_exit::unusable;

pub(super) use self::guard::{Credential, guard};
pub(super) use self::standing::Gate;

/// Access rules of a collector. Tokens that are kept in its store come on top.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// A token that may do everything; `None` if there is only the store's.
    pub token: Option<String>,
    /// Whether other machines have access without a token.
    pub open: bool,
    /// Whether the store has tokens.
    pub has_tokens: bool,
    /// Names under which browsers reach the collector, besides addresses and this machine's name.
    pub hosts: Vec<String>,
}

impl Access {
    /// Rejects an address that other machines can reach, unless a token protects it or open access
    /// is allowed.
    pub(super) fn check(&self, listen: SocketAddr) -> anyhow::Result<()> {
        if listen.ip().is_loopback() || self.open || self.token.is_some() || self.has_tokens {
            return Ok(());
        }
        Err(unusable(format!(
            "other machines can reach {listen}; make tokens with `foreglow tokens create NAME`, set one that all send \
            (--token TOKEN, --token-file FILE or FOREGLOW_TOKEN), or allow access without a token with --allow-open"
        )))
    }

    /// Returns whether a collector at `address` is for programs of this machine only.
    fn is_local(&self, address: SocketAddr) -> bool {
        address.ip().is_loopback() && !self.open && self.token.is_none() && !self.has_tokens
    }
}
