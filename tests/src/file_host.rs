//! A static file host without a collector, from which the planner must work.

use axum::Router;
use tower_http::services::ServeDir;

/// Folder of the planner on its host, as on that of a project's site: every address in the page is
/// relative.
const FOLDER: &str = "/foreglow";

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
    /// Serves the built planner, in a folder, on a free port of the loopback address.
    ///
    /// # Errors
    /// The planner is not built, or no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        Self::serve(Router::new().nest_service(FOLDER, planner()?), FOLDER)
    }

    /// Serves the planner and further routes.
    ///
    /// # Errors
    /// As [`FileHost::start`].
    pub fn with(routes: Router) -> anyhow::Result<Self> {
        Self::serve(routes.fallback_service(planner()?), "")
    }

    fn serve(app: Router, folder: &str) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}{folder}/", listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.spawn(async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            // Serves until the runtime is shut down.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { url, runtime: Some(runtime) })
    }
}

/// Returns the files of the planner.
fn planner() -> anyhow::Result<ServeDir> {
    let dir = crate::planner_dir();
    anyhow::ensure!(dir.join("index.html").exists(), "{} is not built; run `make test`", dir.display());
    Ok(ServeDir::new(dir))
}

impl Drop for FileHost {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
