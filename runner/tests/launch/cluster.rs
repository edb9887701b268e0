//! A Slurm of one node, from the system's packages, with an accounting database if that is
//! installed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::foreglow::Foreglow;

/// A cluster on this machine, in a separate folder.
pub struct Slurm {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
    /// Whether finished jobs are recorded.
    pub has_accounting: bool,
}

impl Slurm {
    /// Starts a cluster; `None` without Slurm.
    pub fn start() -> Option<Self> {
        let is_installed = |program: &str| Command::new(program).arg("-V").output().is_ok();
        is_installed("slurmctld").then_some(())?;
        let has_accounting = is_installed("slurmdbd") && is_installed("mariadbd");
        let mut slurm = Self { folder: tempfile::tempdir().unwrap(), daemons: Vec::new(), has_accounting };
        let at = |name: &str| slurm.folder.path().join(name).to_str().unwrap().to_owned();
        for folder in ["state", "spool", "munge"] {
            fs::create_dir(at(folder)).unwrap();
        }
        let key: String = (0..64).map(|_| foreglow_shared::Uuid::from_u128(rand()).simple().to_string()).collect();
        fs::write(at("munge/key"), key).unwrap();
        fs::set_permissions(at("munge/key"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(slurm.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let output = |program: &str, argument: &str| {
            String::from_utf8(Command::new(program).arg(argument).output().unwrap().stdout).unwrap().trim().to_owned()
        };
        let (host, user) = (output("hostname", "-s"), output("id", "-un"));
        let folder = slurm.folder.path().display();
        let records = port();
        let accounting = if has_accounting {
            format!(
                "slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort={records}\n\
                 AccountingStoragePass={folder}/munge/socket\nJobAcctGatherType=jobacct_gather/linux"
            )
        } else {
            "none".to_owned()
        };
        let configuration = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nAuthType=auth/munge\nAuthInfo=socket={folder}/munge/socket\n\
             CryptoType=crypto/munge\nSlurmUser={user}\nSlurmdUser={user}\nSlurmctldPort={}\nSlurmdPort={}\n\
             SlurmctldPidFile={folder}/ctld.pid\nSlurmdPidFile={folder}/d.pid\nStateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n\
             AccountingStorageType=accounting_storage/{accounting}\nJobCompType=jobcomp/none\nMpiDefault=none\n\
             SlurmctldLogFile={folder}/ctld.log\nSlurmdLogFile={folder}/d.log\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2500 Feature=c5.xlarge State=UNKNOWN\n\
             PartitionName=night Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            port(),
            port()
        );
        fs::write(at("slurm.conf"), configuration).unwrap();
        let munge = |name: &str| format!("{folder}/munge/{name}");
        let files = ["--key-file", "--socket", "--pid-file", "--log-file", "--seed-file"];
        let names = ["key", "socket", "pid", "log", "seed"].map(munge);
        let mut arguments = vec!["--foreground".to_owned()];
        arguments.extend(files.iter().zip(names).flat_map(|(option, file)| [(*option).to_owned(), file]));
        let socket = munge("socket");
        slurm.daemon("munged", &arguments);
        wait("munged", || fs::exists(&socket).unwrap());
        if has_accounting {
            slurm.start_accounting(&host, &user, records);
        }
        slurm.daemon("slurmctld", &["-D".to_owned()]);
        slurm.daemon("slurmd", &["-D".to_owned()]);
        wait("an idle node", || slurm.say("sinfo", &["-h", "-o", "%T"]).contains("idle"));
        Some(slurm)
    }

    /// Starts MariaDB and Slurm's database daemon.
    fn start_accounting(&mut self, host: &str, user: &str, records: u16) {
        let folder = self.folder.path().to_str().unwrap().to_owned();
        let data = ["--no-defaults".to_owned(), format!("--datadir={folder}/db"), format!("--user={user}")];
        let install = Command::new("mariadb-install-db")
            .args(&data)
            .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
            .output()
            .unwrap();
        assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
        let at = port();
        let listening = ["--bind-address=127.0.0.1".to_owned(), format!("--port={at}")];
        let place = [format!("--socket={folder}/db.sock"), "--skip-grant-tables".to_owned()];
        let server: Vec<String> = data.into_iter().chain(listening).chain(place).collect();
        self.daemon("mariadbd", &server);
        wait("MariaDB", || std::net::TcpStream::connect(("127.0.0.1", at)).is_ok());
        let configuration = format!(
            "AuthType=auth/munge\nAuthInfo=socket={folder}/munge/socket\nDbdHost={host}\nDbdAddr=127.0.0.1\n\
             DbdPort={records}\nSlurmUser={user}\nStorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\n\
             StoragePort={at}\nStorageUser=root\nLogFile={folder}/dbd.log\nPidFile={folder}/dbd.pid\n"
        );
        let file = format!("{folder}/slurmdbd.conf");
        fs::write(&file, configuration).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        self.daemon("slurmdbd", &["-D".to_owned()]);
        wait("slurmdbd", || {
            self.command("sacctmgr").args(["-n", "list", "cluster"]).output().unwrap().status.success()
        });
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }

    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let mut command = self.command(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap());
    }

    pub fn say(&self, program: &str, arguments: &[&str]) -> String {
        String::from_utf8(self.command(program).args(arguments).output().unwrap().stdout).unwrap()
    }

    /// Submits a script, waits for its end, and returns its exit code and output.
    pub fn submit(&self, home: &Foreglow, script: &str) -> (i32, String) {
        let out = home.path("job.out");
        let mut command = self.command("sbatch");
        // The job finds the binary on its path and has a separate store.
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_foreglow")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("FOREGLOW_DATA", home.path("data")).env("FOREGLOW_CACHE", home.path("cache"));
        command.args(["--wait", "--output", &out, script]);
        let submitted = command.output().unwrap();
        let said = String::from_utf8_lossy(&submitted.stderr).into_owned();
        (submitted.status.code().unwrap(), fs::read_to_string(out).unwrap_or_default() + &said)
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // `munged` last, because the others need it to end.
        for daemon in self.daemons.iter_mut().rev() {
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
            let _ = daemon.wait();
        }
    }
}

fn rand() -> u128 {
    use std::hash::{BuildHasher as _, RandomState};
    u128::from(RandomState::new().hash_one(0))
}

fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub fn wait(what: &str, check: impl Fn() -> bool) {
    let started = Instant::now();
    while !check() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
