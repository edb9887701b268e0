//! Access control of the collector: roles, origins and rate limits.

mod client;
mod guard;
mod limits;
mod origin;
mod rate;
mod shares;
pub(super) mod sign_in;
mod unknown;

use std::net::SocketAddr;

use foreglow_exit::unusable;

pub(super) use self::client::Gate;
pub(super) use self::guard::{Credential, guard};
pub(super) use self::shares::{Share, Shares, Turns};
use foreglow_store::token::{Hash, LEAST_BITS, strength_bits};
use foreglow_store::{Store, Token};

/// Access rules of a collector, in addition to the tokens in its store.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// A token with all roles; `None` if only the store has tokens.
    pub token: Option<String>,
    /// Whether other machines have access without a token.
    pub open: bool,
    /// Whether the store has tokens.
    pub has_tokens: bool,
    /// Names under which browsers reach the collector, besides addresses and this machine's name.
    pub hosts: Vec<String>,
}

impl Access {
    /// Returns the rules of a collector for a store, and optionally a token of the collector.
    ///
    /// # Errors
    /// The token can be guessed. The store cannot be read, or has the same token for a user or
    /// machine, which would then keep every right even after the token was revoked.
    pub fn of_store(store: &Store, token: Option<String>) -> anyhow::Result<Self> {
        if let Some(bits) = token.as_deref().map(strength_bits).filter(|bits| *bits < LEAST_BITS) {
            return Err(unusable(format!(
                "the token for this collector (--token, --token-file, FOREGLOW_TOKEN or FOREGLOW_TOKEN_FILE) can be guessed: \
                 it has at most {bits} bits; give a random one of {LEAST_BITS} bits, such as that of `openssl rand -hex 16`, \
                 or make tokens with `foreglow tokens create NAME`"
            )));
        }
        let same = token.as_deref().map(|token| store.token(Hash::of(token))).transpose()?.flatten();
        if let Some(Token { name, .. }) = same {
            return Err(unusable(format!(
                "the token for this collector (--token, --token-file, FOREGLOW_TOKEN or FOREGLOW_TOKEN_FILE) is that of \
                 {name}, who could then do everything; start it without that token"
            )));
        }
        Ok(Self { token, has_tokens: store.has_tokens()?, ..Self::default() })
    }

    /// Returns a warning about a collector at a loopback address that a proxy opens to others, or
    /// about tokens that reach it unencrypted.
    pub fn warning(&self, listen: SocketAddr, is_encrypted: bool) -> Option<String> {
        if self.is_local(listen) && !self.hosts.is_empty() {
            return Some(format!(
                "foreglow: warning: the store has no tokens, so that a proxy which passes requests on to {listen} gives \
                 everyone access; make tokens with `foreglow tokens create NAME`, or write --allow-open"
            ));
        }
        let is_readable = !is_encrypted && !listen.ip().is_loopback() && (self.token.is_some() || self.has_tokens);
        is_readable.then(|| {
            format!(
                "foreglow: warning: others in the network can read the tokens that are sent to {listen}; give --tls-cert \
                 and --tls-key, or listen on 127.0.0.1 behind a proxy with TLS"
            )
        })
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_that_only_a_proxy_opens_to_others_warns() {
        let behind_proxy = Access { hosts: vec!["timing.example.org".to_owned()], ..Access::default() };
        let listen = |text: &str| text.parse::<SocketAddr>().unwrap();
        let warning = behind_proxy.warning(listen("127.0.0.1:8787"), false).unwrap();
        assert!(warning.contains("127.0.0.1:8787") && warning.contains("foreglow tokens create"), "{warning}");
        assert_eq!(Access::default().warning(listen("127.0.0.1:8787"), false), None);
        let token = Some("secret".to_owned());
        for protected in [
            Access { has_tokens: true, ..behind_proxy.clone() },
            Access { token, ..behind_proxy.clone() },
            Access { open: true, ..behind_proxy },
        ] {
            assert_eq!(protected.warning(listen("127.0.0.1:8787"), false), None);
        }
    }

    #[test]
    fn a_collector_whose_tokens_are_sent_unencrypted_warns() {
        let public = "0.0.0.0:8787".parse().unwrap();
        let access = Access { has_tokens: true, ..Access::default() };
        assert!(access.warning(public, false).is_some_and(|warning| warning.contains("--tls-cert")));
        assert_eq!(access.warning(public, true), None);
        assert_eq!(Access { open: true, ..Access::default() }.warning(public, false), None, "there is no token");
    }
}
