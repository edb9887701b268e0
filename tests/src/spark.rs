//! A Spark standalone cluster on the loopback address. Its workers may offer more cores than the
//! machine has.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;

const WAIT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Spark's folder, as installed by `./setup.sh spark`.
///
/// # Errors
/// Spark is not installed.
pub fn spark_home() -> anyhow::Result<PathBuf> {
    let lib = crate::workspace_dir().join("target/pyspark/lib");
    let pythons = std::fs::read_dir(&lib)
        .with_context(|| format!("{} is missing; ./setup.sh spark installs Spark", lib.display()))?;
    let mut homes = pythons.flatten().map(|python| python.path().join("site-packages/pyspark"));
    homes
        .find(|home| home.join("jars").is_dir())
        .context("target/pyspark holds no pyspark; ./setup.sh spark installs it")
}

/// Options of every JVM that the tests start: no C2 compiler, whose threads would take processors
/// from the executors, and Spark's classes from an archive (`make
/// target/spark-classes/classes.jsa`).
/// Spark's example `pi.py` on one executor takes 9 instead of 24 s of processor time with them.
pub fn java_options() -> String {
    let archive = crate::workspace_dir().join("target/spark-classes/classes.jsa");
    let shared = if archive.exists() { format!(" -XX:SharedArchiveFile={}", archive.display()) } else { String::new() };
    format!("-XX:TieredStopAtLevel=1 -XX:+UseSerialGC{shared}")
}

/// A master and its workers; dropping it ends them with all of their processes.
#[derive(Debug)]
pub struct Cluster {
    /// Master URL, `spark://127.0.0.1:…`.
    pub master: String,
    /// URL of the master's web UI.
    pub ui: String,
    folder: tempfile::TempDir,
    processes: Vec<Child>,
}

impl Cluster {
    /// Starts a master, and workers with `cores` cores and 8 GiB each. `options` are Java options
    /// of the workers (`-Dspark.worker.…`).
    ///
    /// # Errors
    /// Spark or Java is missing, or the cluster does not start in time.
    pub fn start(workers: usize, cores: u32, options: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let (port, ui_port) = (free_port()?, free_port()?);
        let mut cluster = Self {
            master: format!("spark://127.0.0.1:{port}"),
            ui: format!("http://127.0.0.1:{ui_port}"),
            folder,
            processes: Vec::new(),
        };
        let (port, ui_port, cores) = (port.to_string(), ui_port.to_string(), cores.to_string());
        cluster.spawn("master.Master", &["--port", &port, "--webui-port", &ui_port], "")?;
        for worker in 0..workers {
            let folder = cluster.folder.path().join(format!("worker-{worker}"));
            let folder = folder.to_str().context("a temporary folder has a plain name")?.to_owned();
            let master = cluster.master.clone();
            let arguments =
                ["--cores", &cores, "--memory", "8g", "--webui-port", "0", "--work-dir", &folder, master.as_str()];
            cluster.spawn("worker.Worker", &arguments, options)?;
        }
        cluster.wait_until("every worker to be there", |cluster| {
            Ok(cluster.state()?["aliveworkers"].as_u64() == Some(workers as u64))
        })?;
        Ok(cluster)
    }

    fn spawn(&mut self, class: &str, arguments: &[&str], options: &str) -> anyhow::Result<()> {
        let log = self.folder.path().join(format!("{}.log", self.processes.len()));
        let arguments = [&["--host", "127.0.0.1"], arguments].concat();
        self.processes.push(spawn(class, &arguments, ("SPARK_WORKER_OPTS", options), &log)?);
        Ok(())
    }

    /// The master's state, from its web UI.
    ///
    /// # Errors
    /// The master does not answer.
    pub fn state(&self) -> anyhow::Result<Value> {
        get(&self.ui, "/json/")
    }

    /// Kills the master.
    ///
    /// # Errors
    /// The system refuses.
    pub fn kill_master(&mut self) -> anyhow::Result<()> {
        self.kill(0)
    }

    /// Kills the worker of an executor's process, and its executors with it.
    ///
    /// # Errors
    /// The process is not on this cluster, or the system refuses.
    pub fn kill_worker_of(&mut self, process: u32) -> anyhow::Result<()> {
        let cwd = std::fs::read_link(format!("/proc/{process}/cwd"))?;
        let is_of = |worker: &usize| cwd.starts_with(self.folder.path().join(format!("worker-{worker}")));
        let worker = (0..self.processes.len()).find(is_of).context("the process runs on no worker of this cluster")?;
        self.kill(worker + 1)
    }

    fn kill(&mut self, process: usize) -> anyhow::Result<()> {
        self.processes[process].kill()?;
        self.processes[process].wait()?;
        Ok(())
    }

    /// Process ids of the `foreglow executor`s on this cluster, identified by their working
    /// directory in the cluster's folder.
    pub fn executor_processes(&self) -> Vec<u32> {
        self.processes_with(|command| command.iter().any(|word| word == "executor"))
    }

    /// Process ids of the executors' JVMs.
    pub fn executor_jvms(&self) -> Vec<u32> {
        self.processes_with(|command| command.iter().any(|word| word.contains("CoarseGrainedExecutorBackend")))
    }

    fn processes_with(&self, is_meant: impl Fn(&[String]) -> bool) -> Vec<u32> {
        let folder = self.folder.path();
        let is_here = |pid: &u32| {
            let proc = Path::new("/proc").join(pid.to_string());
            let works_here = std::fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
            let command = std::fs::read_to_string(proc.join("cmdline")).unwrap_or_default();
            let command: Vec<String> = command.split('\0').map(str::to_owned).collect();
            works_here && is_meant(&command)
        };
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_here).collect()
    }

    /// Waits until `check` holds.
    ///
    /// # Errors
    /// It does not hold in time.
    pub fn wait_until(&self, what: &str, check: impl Fn(&Self) -> anyhow::Result<bool>) -> anyhow::Result<()> {
        wait_until(what, || check(self))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Spark's history server, killed on drop.
#[derive(Debug)]
pub struct HistoryServer {
    /// URL, `http://127.0.0.1:…`.
    pub address: String,
    process: Child,
}

impl HistoryServer {
    /// Starts a history server on a folder of event logs, and waits until it lists all
    /// `applications`.
    ///
    /// # Errors
    /// Spark or Java is missing, or the applications are not listed in time.
    pub fn start(logs: &Path, applications: usize) -> anyhow::Result<Self> {
        let port = free_port()?;
        let options =
            format!("-Dspark.history.fs.logDirectory=file://{} -Dspark.history.ui.port={port}", logs.display());
        let log = tempfile::NamedTempFile::new()?;
        let process = spawn("history.HistoryServer", &[], ("SPARK_HISTORY_OPTS", &options), log.path())?;
        let server = Self { address: format!("http://127.0.0.1:{port}"), process };
        wait_until("the history server's list", || {
            let list = get(&server.address, "/api/v1/applications?status=completed")?;
            Ok(list.as_array().map(Vec::len) == Some(applications))
        })?;
        Ok(server)
    }
}

impl Drop for HistoryServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts one of Spark's daemons, with Java options in an environment variable, and its output in a
/// log file.
fn spawn(class: &str, arguments: &[&str], (variable, options): (&str, &str), log: &Path) -> anyhow::Result<Child> {
    let home = spark_home()?;
    let log = std::fs::File::create(log)?;
    Command::new(home.join("bin/spark-class"))
        .arg(format!("org.apache.spark.deploy.{class}"))
        .args(arguments)
        .envs([("SPARK_HOME", home.as_os_str()), ("SPARK_LOCAL_IP", "127.0.0.1".as_ref())])
        .env(variable, options)
        // Executors inherit the options of their worker.
        .env("JAVA_TOOL_OPTIONS", java_options())
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("Spark cannot be started; ./setup.sh spark installs it")
}

/// Fetches JSON from one of Spark's web servers.
fn get(server: &str, page: &str) -> anyhow::Result<Value> {
    let address = server.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {page} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_head, body) = answer.split_once("\r\n\r\n").context("an answer has a body")?;
    Ok(serde_json::from_str(body)?)
}

fn wait_until(what: &str, check: impl Fn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let deadline = Instant::now() + WAIT;
    while Instant::now() < deadline {
        if check().unwrap_or(false) {
            return Ok(());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    anyhow::bail!("waited {WAIT:?} for {what}")
}

/// A free port.
///
/// # Errors
/// The system has none.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
