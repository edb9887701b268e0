//! A headless Chromium with a fresh profile.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};
use thirtyfour::{ChromiumLikeCapabilities as _, DesiredCapabilities, WebDriver, prelude::*};
use tokio::net::TcpStream;

const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1600",
];
// Time limit against hanging tests; long, because a fit takes half a minute on a machine busy with
// other tests.
const WAIT: Duration = Duration::from_secs(120);
/// Time limit of the start of a browser, and the number of starts.
const STARTED: Duration = Duration::from_secs(60);
const STARTS: usize = 3;
/// Several times the delay before the page writes the address.
const SETTLED: Duration = Duration::from_millis(600);

/// A browser with a fresh profile.
#[derive(Debug)]
pub struct Browser {
    /// The open page.
    pub page: WebDriver,
    // Drop order: the page closes its session before the driver ends.
    _driver: Driver,
    _profile: tempfile::TempDir,
}

/// A chromedriver process in a process group of its own, to which its browser belongs too; all are
/// killed on drop.
#[derive(Debug)]
struct Driver {
    process: Child,
    port: u16,
}

impl Browser {
    /// Starts chromedriver on a free port, and a browser.
    ///
    /// # Errors
    /// chromedriver or Chromium is not installed (`./setup.sh test` installs both).
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(serde_json::json!({})).await
    }

    /// As [`Browser::start`], with Chromium preferences.
    ///
    /// # Errors
    /// As [`Browser::start`].
    pub async fn start_with(preferences: serde_json::Value) -> anyhow::Result<Self> {
        let mut failure = None;
        for _ in 0..STARTS {
            // A new profile each time, because a browser that hung keeps the locks of its own.
            let profile = tempfile::tempdir()?;
            let driver = Driver::start()?;
            let started = tokio::time::timeout(STARTED, driver.open(profile.path(), preferences.clone())).await;
            match started.context("Chromium hung while it started").flatten() {
                Ok(page) => return Ok(Self { page, _driver: driver, _profile: profile }),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.context("the loop ran")?).context("Chromium cannot be started; ./setup.sh test installs it")
    }

    /// The element with this `data-testid`, once it exists.
    ///
    /// # Errors
    /// The element does not appear in time.
    pub async fn element(&self, test_id: &str) -> anyhow::Result<WebElement> {
        self.find(By::Testid(test_id)).await.with_context(|| format!("the page shows no {test_id}"))
    }

    /// The file input, once it exists.
    ///
    /// # Errors
    /// The element does not appear in time.
    pub async fn file_input(&self) -> anyhow::Result<WebElement> {
        self.find(By::Css("input[type=file]")).await.context("the page takes no file")
    }

    async fn find(&self, by: By) -> WebDriverResult<WebElement> {
        self.page.query(by).wait(WAIT, Duration::from_millis(50)).first().await
    }

    /// Waits until the page has an answer from samples and its view is complete: the charts and
    /// tables follow piece by piece.
    ///
    /// # Errors
    /// There is no answer in time.
    pub async fn answered(&self) -> anyhow::Result<()> {
        let complete = By::Css("[data-testid=complete]:not([data-view=unmeasured])");
        self.find(complete).await.context("the page shows no samples")?;
        self.element("recommended-time").await?;
        Ok(())
    }

    /// Waits until the page has an answer without samples and is complete.
    ///
    /// # Errors
    /// There is no answer in time.
    pub async fn answered_without_samples(&self) -> anyhow::Result<()> {
        let complete = By::Css("[data-testid=complete][data-view=unmeasured]");
        self.find(complete).await.context("the page shows samples")?;
        self.element("recommended-time").await?;
        Ok(())
    }

    /// Selects a tab and waits until its view is complete.
    ///
    /// # Errors
    /// The view does not appear in time.
    pub async fn show(&self, view: &str) -> anyhow::Result<()> {
        let tab = self.element(&format!("tab-{view}")).await?.to_json()?;
        self.page.execute("arguments[0].click()", vec![tab]).await?;
        let complete = By::Css(format!("[data-testid=complete][data-view={view}]"));
        self.find(complete).await.with_context(|| format!("the view {view} is not complete"))?;
        Ok(())
    }

    /// The page's address, once it has stayed the same for [`SETTLED`]: the page writes it shortly
    /// after each change.
    ///
    /// # Errors
    /// The driver does not answer, or the address keeps changing.
    pub async fn address(&self) -> anyhow::Result<String> {
        let deadline = tokio::time::Instant::now() + WAIT;
        let mut last = self.page.current_url().await?;
        while tokio::time::Instant::now() < deadline {
            tokio::time::sleep(SETTLED).await;
            let now = self.page.current_url().await?;
            if now == last {
                return Ok(now.to_string());
            }
            last = now;
        }
        anyhow::bail!("the address still changes after {WAIT:?}: {last}")
    }

    /// The text of an element.
    ///
    /// # Errors
    /// The element does not appear in time.
    pub async fn text(&self, test_id: &str) -> anyhow::Result<String> {
        Ok(self.element(test_id).await?.text().await?)
    }

    /// The number in an element's `data-secs`, with all digits.
    ///
    /// # Errors
    /// The element does not appear in time or has no `data-secs`.
    pub async fn secs(&self, test_id: &str) -> anyhow::Result<String> {
        let element = self.element(test_id).await?;
        element.attr("data-secs").await?.with_context(|| format!("{test_id} has no data-secs"))
    }

    /// Waits until `check` holds.
    ///
    /// # Errors
    /// It does not hold in time.
    pub async fn wait_until<F>(&self, what: &str, check: F) -> anyhow::Result<()>
    where
        F: AsyncFn(&Self) -> anyhow::Result<bool>,
    {
        let deadline = tokio::time::Instant::now() + WAIT;
        let mut failure = None;
        while tokio::time::Instant::now() < deadline {
            match check(self).await {
                Ok(true) => return Ok(()),
                Ok(false) => failure = None,
                Err(error) => failure = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let waited = format!("waited {WAIT:?} for {what}");
        Err(failure.map_or_else(|| anyhow::anyhow!("{waited}"), |error| error.context(waited.clone())))
    }

    /// Sets an input as a user would: dispatches `input` and `change`.
    ///
    /// # Errors
    /// The element does not appear in time.
    pub async fn set(&self, test_id: &str, value: &str) -> anyhow::Result<()> {
        let element = self.element(test_id).await?.to_json()?;
        let script = "const [element, value] = arguments; element.focus(); element.value = value;
            for (const name of ['input', 'change']) element.dispatchEvent(new Event(name, { bubbles: true }));";
        self.page.execute(script, vec![element, serde_json::json!(value)]).await?;
        Ok(())
    }

    /// Errors in the browser's console, such as a panic or a blocked script.
    ///
    /// # Errors
    /// The driver does not answer.
    pub async fn console_errors(&self) -> anyhow::Result<Vec<String>> {
        let log = self.page.browser_log().await?;
        Ok(log.into_iter().filter(|entry| entry.level == "SEVERE").map(|entry| entry.message).collect())
    }

    /// Closes the browser.
    ///
    /// # Errors
    /// The driver does not answer.
    pub async fn close(self) -> anyhow::Result<()> {
        Ok(self.page.clone().quit().await?)
    }
}

impl Driver {
    /// Starts chromedriver on a free port.
    fn start() -> anyhow::Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new("chromedriver");
        command.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let process = command.spawn().context("chromedriver cannot be started; ./setup.sh test installs it")?;
        Ok(Self { process, port })
    }

    /// Opens a browser with this profile, once chromedriver listens.
    async fn open(&self, profile: &Path, preferences: serde_json::Value) -> anyhow::Result<WebDriver> {
        let mut capabilities = DesiredCapabilities::chrome();
        for flag in FLAGS {
            capabilities.add_arg(flag)?;
        }
        capabilities.add_arg(&format!("--user-data-dir={}", profile.display()))?;
        capabilities.add_experimental_option("prefs", preferences)?;
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(WebDriver::new(&format!("http://127.0.0.1:{}", self.port), capabilities).await?)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.process.wait();
    }
}
