//! A collector under load: the built binary, and connections that speak HTTP to it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use crate::foreglow;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A running `foreglow serve`, which is killed when dropped.
#[derive(Debug)]
pub struct Collector {
    child: Child,
    /// Address, such as `127.0.0.1:4711`.
    pub address: String,
}

impl Collector {
    /// Starts a collector of a store, a file or a URL, on a free port. `script` runs in a shell
    /// before it, for limits.
    ///
    /// # Errors
    /// The binary is missing, or does not start.
    pub fn start(store: impl AsRef<OsStr>, script: &str) -> anyhow::Result<Self> {
        let command = format!("{script} exec \"$0\" serve --listen 127.0.0.1:0 --store \"$1\"");
        let mut child = Command::new("sh")
            .args(["-c", &command])
            .args([foreglow()?.as_os_str(), store.as_ref()])
            .env_remove("FOREGLOW_TOKEN")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().context("the collector has no standard error")?);
        let mut line = String::new();
        let address = loop {
            line.clear();
            anyhow::ensure!(stderr.read_line(&mut line)? > 0, "the collector did not start");
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split('/').next().unwrap_or_default().to_owned();
            }
        };
        // A full pipe would block the collector.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Ok(Self { child, address })
    }

    /// Kills the collector without notice.
    ///
    /// # Errors
    /// The process cannot be waited for.
    pub fn kill(&mut self) -> std::io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Returns the largest memory of the process so far, MiB.
    ///
    /// # Errors
    /// The system does not say.
    pub fn peak_mib(&self) -> anyhow::Result<f64> {
        self.memory_mib("VmHWM:")
    }

    /// Returns the memory of the process now, MiB.
    ///
    /// # Errors
    /// The system does not say.
    pub fn resident_mib(&self) -> anyhow::Result<f64> {
        self.memory_mib("VmRSS:")
    }

    /// Returns the number of open files of the process, connections included.
    ///
    /// # Errors
    /// The system does not say.
    pub fn open_files(&self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))?.count())
    }

    fn memory_mib(&self, field: &str) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let value = status.lines().find_map(|line| line.strip_prefix(field));
        let kib = value.and_then(|value| value.split_whitespace().next()).context("the system tells no memory")?;
        Ok(kib.parse::<f64>()? / 1024.0)
    }

    /// Returns the processor time of the process so far, seconds.
    ///
    /// # Errors
    /// The system does not say.
    pub fn cpu_secs(&self) -> anyhow::Result<f64> {
        cpu_secs(&self.child.id().to_string())
    }
}

/// Returns the processor time of this process so far, seconds.
///
/// # Errors
/// The system does not say.
pub fn own_cpu_secs() -> anyhow::Result<f64> {
    cpu_secs("self")
}

fn cpu_secs(process: &str) -> anyhow::Result<f64> {
    /// Clock ticks of Linux.
    const TICKS_PER_SEC: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in brackets may contain spaces.
    let (_, fields) = stat.rsplit_once(')').context("the system tells no time")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS_PER_SEC)
}

impl Drop for Collector {
    fn drop(&mut self) {
        // Fails if it was killed already.
        let _ = self.kill();
    }
}

/// A connection for several requests.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
    token: Option<String>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// The collector does not answer.
    pub fn open(address: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream: BufReader::new(stream), address: address.to_owned(), token: None })
    }

    /// Returns the connection with a token for its requests.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self }
    }

    /// Sends a request, and returns the status and the body of the answer.
    ///
    /// # Errors
    /// The connection ends early.
    pub fn send(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        let (host, length) = (&self.address, body.len());
        let token = self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{token}content-length: {length}\r\n\r\n");
        // In one segment, like other clients.
        self.stream.get_mut().write_all(format!("{head}{body}").as_bytes())?;
        let mut line = String::new();
        self.line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(early)?;
        let mut length = None;
        loop {
            self.line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok();
            }
        }
        let mut bytes = Vec::new();
        match length {
            Some(length) => self.read(length, &mut bytes)?,
            None => loop {
                self.line(&mut line)?;
                let length = usize::from_str_radix(line.trim(), 16).map_err(|_| early())?;
                self.read(length, &mut bytes)?;
                self.line(&mut line)?;
                if length == 0 {
                    break;
                }
            },
        }
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn line(&mut self, line: &mut String) -> std::io::Result<()> {
        line.clear();
        if self.stream.read_line(line)? == 0 { Err(early()) } else { Ok(()) }
    }

    fn read(&mut self, length: usize, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        let start = bytes.len();
        bytes.resize(start + length, 0);
        self.stream.read_exact(&mut bytes[start..])
    }
}

fn early() -> std::io::Error {
    std::io::Error::from(std::io::ErrorKind::UnexpectedEof)
}

/// Returns the id of a sample.
pub fn id(number: u64) -> String {
    format!("01890000-0000-7000-8000-{number:012x}")
}

/// Returns a sample as a line. The samples are of 20 jobs with 40 settings each.
pub fn sample(number: u64) -> String {
    // Jobs of another image size; another number of images is the same job.
    let (images, image_px) = (1_000 * (1 + number % 20), 28 + number % 20);
    let (executors, cores) = (1 + number / 20 % 4, 1 + number / 80 % 2);
    let rate = [0.01, 0.02, 0.05, 0.1, 1.0][usize::try_from(number / 160 % 5).unwrap_or(0)];
    let secs = 1.0 + (number % 997) as f64 / 997.0;
    format!(
        "{{\"schema\":1,\"id\":\"{}\",\"workload\":{{\"model\":\"lenet5\",\"mode\":\"inference\",\"image_px\":{image_px},\
         \"images\":{images},\"epochs\":1,\"batch_size\":8}},\"configuration\":{{\"executors\":{executors},\
         \"cores_per_executor\":{cores},\"memory_per_executor_mib\":1024,\"partition_size\":8,\"accelerator\":null}},\
         \"sampling_rate\":{rate:?},\"outcome\":\"completed\",\"completion_time_secs\":{secs:?},\"engine\":\"local\",\
         \"runner_version\":\"0.1.0\",\"host\":{{\"cpu\":\"A\",\"adapter\":null}},\
         \"started_at\":\"2026-11-21T10:00:00Z\"}}\n",
        id(number)
    )
}
