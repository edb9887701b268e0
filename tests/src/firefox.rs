//! A headless Firefox, driven by its built-in Marionette protocol, so that no driver is needed.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

const PROGRAMS: [&str; 2] = ["firefox-esr", "firefox"];
/// The profile's file to which Firefox writes its Marionette port.
const PORT_FILE: &str = "MarionetteActivePort";
/// Preferences: a free Marionette port, and no connections to Mozilla.
const SETTINGS: &str = r#"user_pref("marionette.port", 0);
user_pref("app.update.disabledForTesting", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
"#;
/// Generous, because a first start is slow on a busy machine.
const WAIT: Duration = Duration::from_secs(180);

/// A Firefox with a fresh profile.
#[derive(Debug)]
pub struct Firefox {
    wire: TcpStream,
    asked: u64,
    // Drop order: the browser ends before its profile is deleted.
    _program: Running,
    _profile: tempfile::TempDir,
}

/// The browser's process, killed on drop.
#[derive(Debug)]
struct Running(Child);

impl Firefox {
    /// Starts Firefox; returns `None` if it is not installed.
    ///
    /// # Errors
    /// Firefox is installed but does not start.
    pub fn start() -> anyhow::Result<Option<Self>> {
        let profile = tempfile::tempdir()?;
        std::fs::write(profile.path().join("user.js"), SETTINGS)?;
        let Some(program) = PROGRAMS.iter().find_map(|program| spawn(program, profile.path())) else {
            return Ok(None);
        };
        let program = Running(program);
        let port = wait_for("Firefox to listen", || {
            std::fs::read_to_string(profile.path().join(PORT_FILE)).ok()?.trim().parse::<u16>().ok()
        })?;
        let wire = TcpStream::connect(("127.0.0.1", port))?;
        wire.set_read_timeout(Some(WAIT))?;
        let mut firefox = Self { wire, asked: 0, _program: program, _profile: profile };
        firefox.hear().context("Firefox does not greet")?;
        firefox.ask("WebDriver:NewSession", &json!({}))?;
        Ok(Some(firefox))
    }

    /// Opens a URL and waits until it has loaded.
    ///
    /// # Errors
    /// The page cannot be loaded.
    pub fn goto(&mut self, url: &str) -> anyhow::Result<()> {
        self.ask("WebDriver:Navigate", &json!({ "url": url })).map(|_| ())
    }

    /// Runs a script on the page and returns its result.
    ///
    /// # Errors
    /// The script throws.
    pub fn evaluate(&mut self, script: &str, arguments: &[Value]) -> anyhow::Result<Value> {
        let answer = self.ask("WebDriver:ExecuteScript", &json!({ "script": script, "args": arguments }))?;
        Ok(answer["value"].clone())
    }

    /// Runs a script repeatedly until its result is not `null`.
    ///
    /// # Errors
    /// The result stays `null`.
    pub fn wait_for(&mut self, what: &str, script: &str, arguments: &[Value]) -> anyhow::Result<Value> {
        wait_for(what, || self.evaluate(script, arguments).ok().filter(|value| !value.is_null()))
    }

    fn ask(&mut self, command: &str, parameters: &Value) -> anyhow::Result<Value> {
        self.asked += 1;
        let message = json!([0, self.asked, command, parameters]).to_string();
        write!(self.wire, "{}:{message}", message.len())?;
        let answer = self.hear()?;
        if !answer[2].is_null() {
            bail!("Firefox refuses {command}: {}", answer[2]);
        }
        Ok(answer[3].clone())
    }

    /// Receives a message: its length in bytes, a colon, JSON.
    fn hear(&mut self) -> anyhow::Result<Value> {
        let mut length = String::new();
        loop {
            let mut byte = [0];
            self.wire.read_exact(&mut byte)?;
            match byte[0] {
                b':' => break,
                digit => length.push(char::from(digit)),
            }
        }
        let mut message = vec![0; length.parse().with_context(|| format!("{length:?} is not a length"))?];
        self.wire.read_exact(&mut message)?;
        Ok(serde_json::from_slice(&message)?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn(program: &str, profile: &Path) -> Option<Child> {
    Command::new(program)
        .args(["--headless", "--marionette", "--no-remote", "--profile"])
        .arg(profile)
        // Keeps caches and crash reports out of the user's home directory.
        .env("HOME", profile)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let deadline = Instant::now() + WAIT;
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("waited {WAIT:?} for {what}")
}
