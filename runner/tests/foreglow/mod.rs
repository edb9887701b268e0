//! The built binary with a separate data folder.
#![allow(dead_code, reason = "each test file uses a part")]

mod terminal;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

/// Samples of two jobs, written by `make_samples.py` in the same folder.
pub const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/samples.jsonl");

/// A token of 128 bits.
pub const TOKEN: &str = "7b1f0c2e9d5a4836b0e1f2a3c4d5e6f7";

/// The binary with a temporary data folder.
pub struct Foreglow {
    data: tempfile::TempDir,
    /// URL of the store in place of a file.
    store: Option<String>,
}

/// Output and exit code of a command.
#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Foreglow {
    pub fn new() -> Self {
        Self { data: tempfile::tempdir().unwrap(), store: None }
    }

    /// With a store in a PostgreSQL database.
    pub fn with_store(url: String) -> Self {
        Self { store: Some(url), ..Self::new() }
    }

    pub fn path(&self, name: &str) -> String {
        self.data.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foreglow"));
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        command
            .env("FOREGLOW_DATA", self.data.path().join("data"))
            .env_remove("FOREGLOW_TOKEN")
            .env_remove("FOREGLOW_TOKEN_FILE")
            .env_remove("FOREGLOW_CA")
            .env_remove("FOREGLOW_STORE")
            .env("COLUMNS", "100");
        if let Some(store) = &self.store {
            command.env("FOREGLOW_STORE", store);
        }
    }

    pub fn run(&self, arguments: &[&str]) -> Answer {
        self.run_with_input(arguments, "")
    }

    /// Runs with a bound on the address space, MiB.
    pub fn run_within(&self, arguments: &[&str], mib: u32) -> Answer {
        let mut command = Command::new("sh");
        self.prepare(&mut command);
        let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", mib * 1024);
        command.args(["-c", &script, env!("CARGO_BIN_EXE_foreglow")]).args(arguments);
        Self::finish(command, "")
    }

    /// Runs a command without its output, and returns its exit code and its peak memory, KiB.
    pub fn peak_kib(&self, arguments: &[&str]) -> (Option<i32>, u64) {
        let mut child = self.command().args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0_u64;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return (status.code(), peak);
            }
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(peak);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Answer {
        let mut command = self.command();
        command.args(arguments);
        Self::finish(command, input)
    }

    fn finish(mut command: Command, input: &str) -> Answer {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input may exit before the input is written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Answer { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A running `foreglow serve`.
pub struct Serving {
    child: Child,
    pub url: String,
    /// Kept open, so that the collector can write to it.
    stderr: BufReader<std::process::ChildStderr>,
}

impl Serving {
    pub fn start(home: &Foreglow) -> Self {
        Self::start_with(home, &["--listen", "127.0.0.1:0"])
    }

    pub fn start_with(home: &Foreglow, arguments: &[&str]) -> Self {
        let mut command = home.command();
        command.arg("serve").args(arguments);
        Self::spawn(command)
    }

    /// Starts with a limit on the size of files, in blocks of 512 bytes.
    pub fn start_in_little_space(home: &Foreglow, blocks: u32) -> Self {
        let mut command = Command::new("sh");
        home.prepare(&mut command);
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" serve --listen 127.0.0.1:0");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_foreglow")]);
        Self::spawn(command)
    }

    /// Starts with a limit on file descriptors.
    pub fn start_with_few_descriptors(home: &Foreglow, descriptors: u32) -> Self {
        let mut command = Command::new("sh");
        home.prepare(&mut command);
        let script = format!("ulimit -n {descriptors}; exec \"$0\" serve --listen 127.0.0.1:0");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_foreglow")]);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        // Warnings may come first.
        let mut said = String::new();
        while !said.contains("http") {
            assert!(stderr.read_line(&mut said).unwrap() > 0, "no address in {said:?}");
        }
        let url = said.split_whitespace().find(|word| word.starts_with("http")).unwrap().to_owned();
        Self { child, url, stderr }
    }

    /// Sends SIGKILL, so that the collector cannot clean up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM and returns the exit code.
    pub fn stop(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        self.child.wait().unwrap().code()
    }

    /// Sends SIGKILL and returns what was written to standard error since the address.
    pub fn said(mut self) -> String {
        self.child.kill().unwrap();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn get(url: &str, path: &str) -> (u16, String) {
    let url = format!("{}{path}", url.trim_end_matches('/'));
    let mut response = agent().get(url).call().unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

/// Returns the status of an answer, or `None` if it breaks off.
pub fn try_get(url: &str, path: &str) -> Option<u16> {
    let url = format!("{}{path}", url.trim_end_matches('/'));
    let mut response = agent().get(url).call().ok()?;
    response.body_mut().read_to_string().ok()?;
    Some(response.status().as_u16())
}

pub fn delete(url: &str, path: &str) -> (u16, String) {
    let url = format!("{}{path}", url.trim_end_matches('/'));
    let mut response = agent().delete(url).call().unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

pub fn post(url: &str, body: &str) -> (u16, String) {
    let url = format!("{}/api/v1/samples", url.trim_end_matches('/'));
    let mut response = agent().post(url).send(body).unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

/// Posts samples and returns the status, or `None` if the collector does not answer.
pub fn try_post(url: &str, body: &str) -> Option<u16> {
    let url = format!("{}/api/v1/samples", url.trim_end_matches('/'));
    Some(agent().post(url).send(body).ok()?.status().as_u16())
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().new_agent()
}

pub fn id(number: u32) -> String {
    format!("01890000-0000-7000-8000-{number:012x}")
}

/// Returns one sample in the format of the store.
pub fn line(number: u32) -> String {
    format!(
        r#"{{"schema":1,"id":"{}","workload":{{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8}},"configuration":{{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8,"accelerator":null}},"sampling_rate":0.1,"outcome":"completed","completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{{"cpu":"A","adapter":null}},"started_at":"2026-11-21T10:00:00Z"}}"#,
        id(number)
    )
}
