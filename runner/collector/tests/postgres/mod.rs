//! A PostgreSQL server for tests: of the system's packages, with a cluster in a temporary folder.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;

/// User of the server. As root, the server runs under this system user of Debian's package, because
/// PostgreSQL refuses to run as root.
const USER: &str = "postgres";
/// Fast settings, safe against killed processes but not against a power failure.
const FAST: &str = "-c fsync=off -c full_page_writes=off";
const TLS: &str = "runner/tests/fixtures/tls";
/// Time limit for the start of a server, seconds; long, because test machines are often busy.
const START_SECS: &str = "120";
/// Number of ports that are tried.
const STARTS: usize = 3;
/// Time limit for the end of a killed client's sessions.
const SESSIONS_END: Duration = Duration::from_secs(120);

/// A running server, which ends with this process.
#[derive(Debug)]
pub struct Server {
    /// Folder with the cluster and the socket.
    folder: PathBuf,
    port: u16,
    is_durable: bool,
    /// Stops the server when its standard input is closed, such as by the end of this process.
    _guard: Child,
    databases: AtomicU32,
}

/// Returns the server of this process; `None`, with a note, if PostgreSQL is not installed.
pub fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(own).as_ref();
    if server.is_none() {
        eprintln!("skipped: PostgreSQL is not installed; `./setup.sh test` installs it");
    }
    server
}

/// Starts another server; `None` if PostgreSQL is not installed.
#[allow(clippy::panic, reason = "a server that is installed has to start")]
pub fn own() -> Option<Server> {
    let server = Server::start(&programs()?, false);
    Some(server.unwrap_or_else(|error| panic!("PostgreSQL did not start: {error:#}")))
}

/// Starts a server with the settings of a real one, for benchmarks.
///
/// # Errors
/// PostgreSQL is not installed, or does not start.
pub fn durable() -> anyhow::Result<Server> {
    Server::start(&programs().context("PostgreSQL is not installed; `./setup.sh test` installs it")?, true)
}

/// Returns the folder of the newest installed server's programs.
fn programs() -> Option<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|version| version.path().join("bin")).collect();
    folders.sort_by_key(|folder| {
        let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        version.and_then(|version| version.parse::<u32>().ok())
    });
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut folders = folders.into_iter().rev().chain(on_path.unwrap_or_default());
    folders.find(|folder| ["initdb", "pg_ctl", "createdb", "psql"].iter().all(|name| folder.join(name).exists()))
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// Returns a command that runs as a user that PostgreSQL accepts.
fn as_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"]).arg(program);
    command
}

fn succeed(command: &mut Command) -> anyhow::Result<String> {
    // A file instead of pipes, because the server would hold pipes open.
    let output = tempfile::tempfile()?;
    let status = command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?).status()?;
    let mut text = String::new();
    let mut output = output;
    std::io::Seek::rewind(&mut output)?;
    std::io::Read::read_to_string(&mut output, &mut text)?;
    anyhow::ensure!(status.success(), "{command:?}: {text}");
    Ok(text)
}

fn workspace() -> anyhow::Result<&'static Path> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(|folder| folder.join("Cargo.lock").exists());
    workspace.context("the tests run in the repository")
}

/// Makes a cluster in a folder that does not exist, in one that the server's user can write.
fn initialise(programs: &Path, data: &Path, options: &[&str]) -> anyhow::Result<()> {
    let mut initdb = as_user(&programs.join("initdb"));
    initdb.current_dir(data.parent().context("a cluster is in a folder")?);
    initdb.args(["--no-sync", "--username", USER, "--encoding=UTF8", "--locale=C"]).args(options);
    succeed(initdb.args(["--auth-local=trust", "--auth-host=scram-sha-256", "--pgdata"]).arg(data)).map(drop)
}

/// Makes a cluster as a copy of one that is made once, because that takes longer than most tests.
fn copy_cluster(programs: &Path, data: &Path) -> anyhow::Result<()> {
    let copy = |from: &Path, to: &Path| succeed(Command::new("cp").arg("-Rp").arg(from).arg(to));
    let server = programs.display().to_string().replace('/', "-");
    let cache = workspace()?.join("target/test-cache");
    let made = cache.join(format!("postgres{server}"));
    if made.is_dir() {
        return copy(&made, data).map(drop);
    }
    initialise(programs, data, &["--wal-segsize=1"])?;
    std::fs::create_dir_all(&cache)?;
    let new = tempfile::Builder::new().prefix("postgres-").tempdir_in(&cache)?;
    copy(data, &new.path().join("data"))?;
    // Another process may have made it meanwhile.
    drop(std::fs::rename(new.path().join("data"), made));
    Ok(())
}

fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Server {
    fn start(programs: &Path, is_durable: bool) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("foreglow-postgres-").tempdir()?.keep();
        let data = folder.join("data");
        let tls = workspace()?.join(TLS);
        for (from, to) in [("first.pem", "server.pem"), ("first.key", "server.key")] {
            std::fs::copy(tls.join(from), folder.join(to))?;
        }
        succeed(Command::new("chmod").arg("600").arg(folder.join("server.key")))?;
        if is_root() {
            succeed(Command::new("chown").args(["-R", USER]).arg(&folder))?;
        }
        if is_durable {
            initialise(programs, &data, &[])?;
        } else {
            copy_cluster(programs, &data)?;
        }
        let stop = "read -r _; shift; \"$@\" stop -m immediate >/dev/null 2>&1; rm -rf \"$0\"";
        let stop_server = as_user(&programs.join("pg_ctl"));
        let guard = Command::new("sh")
            .args(["-c", stop])
            .arg(&folder)
            .arg("-")
            .arg(stop_server.get_program())
            .args(stop_server.get_args())
            .arg("--pgdata")
            .arg(&data)
            .stdin(Stdio::piped())
            .spawn()?;
        let databases = AtomicU32::new(0);
        let mut server = Self { folder, port: free_port()?, is_durable, _guard: guard, databases };
        // Another test may take the port before the server does.
        let mut starts = 1;
        while let Err(error) = server.start_again() {
            anyhow::ensure!(starts < STARTS, error);
            starts += 1;
            server.port = free_port()?;
        }
        server.sql("postgres", &format!("ALTER USER {USER} PASSWORD '{}'", server.password()))?;
        Ok(server)
    }

    /// Starts the server again after [`Server::crash`].
    ///
    /// # Errors
    /// It does not start.
    pub fn start_again(&self) -> anyhow::Result<()> {
        let folder = self.folder.display();
        let fast = if self.is_durable { "" } else { FAST };
        let options = format!(
            "{fast} -c max_connections=200 -c port={} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} \
             -c ssl=on -c ssl_cert_file={folder}/server.pem -c ssl_key_file={folder}/server.key",
            self.port
        );
        let log = self.folder.join("log");
        let mut start = self.control()?;
        succeed(start.args(["start", "-w", "-t", START_SECS, "-o", &options, "-l"]).arg(log)).map(drop)
    }

    /// Ends the server at once. Its next start recovers what was committed, as after a crash.
    ///
    /// # Errors
    /// It does not run.
    pub fn crash(&self) -> anyhow::Result<()> {
        succeed(self.control()?.args(["stop", "-m", "immediate"])).map(drop)
    }

    fn control(&self) -> anyhow::Result<Command> {
        let programs = programs().context("PostgreSQL was removed")?;
        let mut control = as_user(&programs.join("pg_ctl"));
        control.current_dir(&self.folder).arg("--pgdata").arg(self.folder.join("data"));
        Ok(control)
    }

    /// Makes an empty database and returns its URL.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn database(&self) -> anyhow::Result<String> {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        let folder = self.folder.display().to_string().replace('/', "%2F");
        Ok(format!("postgres://{USER}@{folder}:{}/{name}", self.port))
    }

    /// Removes a database.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn remove(&self, url: &str) -> anyhow::Result<()> {
        self.sql("postgres", &format!("DROP DATABASE {} WITH (FORCE)", name_of(url))).map(drop)
    }

    /// Waits until a database has no session left: the server completes what a client sent before
    /// it was killed.
    ///
    /// # Errors
    /// The server does not answer, or a session stays.
    pub fn settle(&self, url: &str) -> anyhow::Result<()> {
        let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'", name_of(url));
        let end = Instant::now() + SESSIONS_END;
        while self.sql("postgres", &sessions)?.trim() != "0" {
            anyhow::ensure!(Instant::now() < end, "{} still has sessions", name_of(url));
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Returns the URL of a database by TCP, with the password.
    pub fn by_tcp(&self, url: &str) -> String {
        let name = name_of(url);
        format!("postgres://{USER}:{}@127.0.0.1:{}/{name}", self.password(), self.port)
    }

    /// Runs a statement in a database and returns what it prints.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn sql(&self, database: &str, statement: &str) -> anyhow::Result<String> {
        let programs = programs().context("PostgreSQL was removed")?;
        let mut psql = as_user(&programs.join("psql"));
        psql.current_dir(&self.folder).args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-p"]);
        psql.arg(self.port.to_string()).arg("-h").arg(&self.folder);
        succeed(psql.args(["-d", name_of(database), "-c", statement]))
    }

    /// Random, as the name of the folder.
    fn password(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn name_of(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}
