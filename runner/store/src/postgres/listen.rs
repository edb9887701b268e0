//! New samples of other collectors that serve the same database.

use std::future::{pending, poll_fn};
use std::time::Duration;

use tokio_postgres::AsyncMessage;

use super::CHANNEL;
use super::address::Address;
use crate::Location;

/// Delay before reconnecting.
const RETRY: Duration = Duration::from_secs(2);

/// Calls `news` whenever a collector has stored samples, and after each reconnection, because
/// notifications may have been missed. Returns at once for a store that is a file.
pub async fn follow(location: Location, news: impl Fn()) {
    let Location::Database(url) = location else { return };
    // Cannot fail, because the store was opened with this URL.
    let Ok(address) = Address::parse(&url) else { return };
    loop {
        // Readers also poll the store, so an error only delays them.
        let _ = listen(&address, &news).await;
        tokio::time::sleep(RETRY).await;
    }
}

/// Listens until the connection is lost.
async fn listen(address: &Address, news: &impl Fn()) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = address.connect().await?;
    let heard = async {
        while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(_) = message? {
                news();
            }
        }
        Ok(())
    };
    let asked = async {
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        news();
        pending().await
    };
    tokio::select! {
        lost = heard => lost,
        refused = asked => refused,
    }
}
