//! A file host with nothing of Foreglow behind it: the planner has to work from any.

use axum::Router;
use tower_http::services::ServeDir;

/// Serves the planner's static files and nothing else.
#[derive(Debug)]
pub struct FileHost {
    /// Where the planner is.
    pub url: String,
    /// Of its own, so that its connections end with it too: a page that is kept open must not reach it any more.
    runtime: Option<tokio::runtime::Runtime>,
}

impl FileHost {
    /// Serves the built planner on a free port of the loopback address.
    ///
    /// # Errors
    /// The planner is not built, or no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        let dir = crate::planner_dir();
        anyhow::ensure!(dir.join("index.html").exists(), "{} is not built; run `make test`", dir.display());
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}/", listener.local_addr()?);
        let app = Router::new().fallback_service(ServeDir::new(dir));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.spawn(async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            // It ends when the test drops it.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { url, runtime: Some(runtime) })
    }
}

impl Drop for FileHost {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
