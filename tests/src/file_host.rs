//! A static file host without a collector, from which the planner must work.

use axum::Router;
use tower_http::services::ServeDir;

/// A server of the planner's static files.
#[derive(Debug)]
pub struct FileHost {
    /// URL of the planner.
    pub url: String,
    /// A separate runtime, whose shutdown also closes open connections, so that an open page cannot
    /// reach the host afterwards.
    runtime: Option<tokio::runtime::Runtime>,
}

impl FileHost {
    /// Serves the built planner on a free port of the loopback address.
    ///
    /// # Errors
    /// The planner is not built, or no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        Self::with(Router::new())
    }

    /// Serves further routes beside the planner.
    ///
    /// # Errors
    /// As [`FileHost::start`].
    pub fn with(routes: Router) -> anyhow::Result<Self> {
        let dir = crate::planner_dir();
        anyhow::ensure!(dir.join("index.html").exists(), "{} is not built; run `make test`", dir.display());
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}/", listener.local_addr()?);
        let app = routes.fallback_service(ServeDir::new(dir));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.spawn(async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            // Serves until the runtime is shut down.
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
