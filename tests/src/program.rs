//! The built `foreglow` as a process.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use anyhow::{Context as _, bail};

/// The root of the workspace.
pub fn workspace_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The folder of the planner's static files, built by `make planner`.
pub fn planner_dir() -> PathBuf {
    workspace_dir().join("target/planner")
}

/// Path of the binary that was built together with this test.
///
/// # Errors
/// The binary is not built.
pub fn foreglow() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let binary = test.ancestors().nth(2).context("a test lies in target/PROFILE/deps")?.join("foreglow");
    if !binary.exists() {
        bail!("{} is not built; run `make test`", binary.display());
    }
    Ok(binary)
}

/// Exit status and output of a finished run.
#[derive(Debug)]
pub struct Answer {
    /// Exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Answer {
    /// Runs `foreglow` with these arguments until it exits, with its data folder in `home`.
    ///
    /// # Errors
    /// The binary cannot be started.
    pub fn of(home: &Path, args: &[&str]) -> anyhow::Result<Self> {
        Self::with(home, args, &[])
    }

    /// Runs like [`Answer::of`], with environment variables.
    ///
    /// # Errors
    /// The binary cannot be started.
    pub fn with(home: &Path, args: &[&str], variables: &[(&str, String)]) -> anyhow::Result<Self> {
        let variables = variables.iter().map(|(name, value)| (*name, value));
        let output = command(home, args)?.envs(variables).output()?;
        Ok(Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Parses standard output as JSON.
    ///
    /// # Errors
    /// The exit code is not 0, or the output is not JSON.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        if self.code != Some(0) {
            bail!("exit code {:?}: {}", self.code, self.stderr);
        }
        serde_json::from_str(&self.stdout).with_context(|| format!("not JSON: {}", self.stdout))
    }
}

fn command(home: &Path, args: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(foreglow()?);
    command.args(args).env("FOREGLOW_DATA", home.join("data"));
    // Read by `spark-submit`, for the driver.
    command.env("SPARK_SUBMIT_OPTS", crate::spark::java_options());
    // A shared cache, because generated images are the same for all tests.
    command.env("FOREGLOW_CACHE", workspace_dir().join("target/test-cache")).stdin(Stdio::null());
    Ok(command)
}

/// A running `foreglow`, killed on drop.
#[derive(Debug)]
pub struct Program {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Program {
    /// Starts `foreglow` with these arguments, with its data folder in `home`.
    ///
    /// # Errors
    /// The binary cannot be started.
    pub fn start(home: &Path, args: &[&str]) -> anyhow::Result<Self> {
        Self::start_with(home, args, &[])
    }

    /// Starts like [`Program::start`], with environment variables.
    ///
    /// # Errors
    /// The binary cannot be started.
    pub fn start_with(home: &Path, args: &[&str], variables: &[(&str, String)]) -> anyhow::Result<Self> {
        let variables = variables.iter().map(|(name, value)| (*name, value));
        let mut child = command(home, args)?.envs(variables).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (sender, lines) = mpsc::channel();
        let stdout = child.stdout.take().context("standard output is piped")?;
        let stderr = child.stderr.take().context("standard error is piped")?;
        for reader in [Box::new(stdout) as Box<dyn std::io::Read + Send>, Box::new(stderr)] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(reader).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, lines })
    }

    /// Waits for a line that contains `text`, on either output.
    ///
    /// # Errors
    /// No such line arrived in time; the message quotes the lines that did.
    pub fn wait_for_line(&self, text: &str, within: Duration) -> anyhow::Result<String> {
        let deadline = std::time::Instant::now() + within;
        let mut seen = String::new();
        loop {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(text) => return Ok(line),
                Ok(line) => seen = format!("{seen}{line}\n"),
                Err(_) => bail!("no line with {text:?} within {within:?}; the output was:\n{seen}"),
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails if it has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Splits a line at its spaces, but not within double quotes, in which paths are.
pub fn words(line: &str) -> Vec<String> {
    let quoted = |(place, part): (usize, &str)| match place % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    };
    line.split('"').enumerate().flat_map(quoted).collect()
}
