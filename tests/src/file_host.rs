//! A file host with nothing of Foreglow behind it: the planner has to work from any.

use axum::Router;
use tower_http::services::ServeDir;

/// Serves the planner's static files and nothing else.
#[derive(Debug)]
pub struct FileHost {
    /// Where the planner is.
    pub url: String,
    server: tokio::task::JoinHandle<()>,
}

impl FileHost {
    /// Serves the built planner on a free port of the loopback address.
    ///
    /// # Errors
    /// The planner is not built, or no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        let dir = crate::planner_dir();
        anyhow::ensure!(dir.join("index.html").exists(), "{} is not built; run `make test`", dir.display());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let app = Router::new().fallback_service(ServeDir::new(dir));
        let server = tokio::spawn(async move {
            // It ends when the test drops it.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { url, server })
    }
}

impl Drop for FileHost {
    fn drop(&mut self) {
        self.server.abort();
    }
}
