//! The exported scripts on a real Slurm of one node, from the system's packages. The tests are
//! skipped where Slurm is not installed.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::foreglow::{Foreglow, Serving, get};

/// A cluster of this machine, in a folder of its own.
struct Slurm {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts a cluster; `None` without Slurm.
    fn start() -> Option<Self> {
        Command::new("slurmctld").arg("-V").output().ok()?;
        let mut slurm = Self { folder: tempfile::tempdir().unwrap(), daemons: Vec::new() };
        let at = |name: &str| slurm.folder.path().join(name).to_str().unwrap().to_owned();
        for folder in ["state", "spool", "munge"] {
            fs::create_dir(at(folder)).unwrap();
        }
        let key: String = (0..64).map(|_| foreglow_shared::Uuid::from_u128(rand()).simple().to_string()).collect();
        fs::write(at("munge/key"), key).unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(at("munge/key"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(slurm.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let output = |program: &str, argument: &str| {
            String::from_utf8(Command::new(program).arg(argument).output().unwrap().stdout).unwrap().trim().to_owned()
        };
        let (host, user) = (output("hostname", "-s"), output("id", "-un"));
        let folder = slurm.folder.path().display();
        let configuration = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nAuthType=auth/munge\nAuthInfo=socket={folder}/munge/socket\n\
             CryptoType=crypto/munge\nSlurmUser={user}\nSlurmdUser={user}\nSlurmctldPort={}\nSlurmdPort={}\n\
             SlurmctldPidFile={folder}/ctld.pid\nSlurmdPidFile={folder}/d.pid\nStateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n\
             AccountingStorageType=accounting_storage/none\nJobCompType=jobcomp/none\nMpiDefault=none\n\
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
        slurm.daemon("slurmctld", &["-D".to_owned()]);
        slurm.daemon("slurmd", &["-D".to_owned()]);
        wait("an idle node", || slurm.say("sinfo", &["-h", "-o", "%T"]).contains("idle"));
        Some(slurm)
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

    fn say(&self, program: &str, arguments: &[&str]) -> String {
        String::from_utf8(self.command(program).args(arguments).output().unwrap().stdout).unwrap()
    }

    /// Submits a script, waits for its end, and returns its exit code and output.
    fn submit(&self, home: &Foreglow, script: &str) -> (i32, String) {
        let out = home.path("job.out");
        let mut command = self.command("sbatch");
        // The job finds the binary on its path, and has a store of its own.
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

fn wait(what: &str, check: impl Fn() -> bool) {
    let started = Instant::now();
    while !check() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn slurm_runs_the_planned_job_and_the_measurements_and_the_collector_has_the_samples() {
    let Some(slurm) = Slurm::start() else {
        eprintln!("skipped: Slurm is not installed");
        return;
    };
    let (collector, home) = (Foreglow::new(), Foreglow::new());
    let server = Serving::start(&collector);
    let secret = collector.run(&["tokens", "create", "node1", "--role", "write"]).stdout;
    let token = home.write("token", &secret);
    let site = ["--queue", "night", "--upload", &server.url, "--token-from", &token];
    let plan = r#"{"schema":1,"job":{"model":"lenet5","mode":"inference","image_px":32,"images":400,"epochs":1},
        "recommended":{"machine":"c5.xlarge","machines":1,"executors":1,"cores_per_executor":2,
        "memory_per_executor_mib":512,"batch_size":8,"partition_size":8,"engine":"local",
        "interval":{"upper_secs":100.0}}}"#;
    let planned = home.run(&[&["export", "slurm", &home.write("plan.json", plan)], &site[..]].concat());
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    let (code, output) = slurm.submit(&home, &home.write("job.sh", &planned.stdout));
    assert_eq!(code, 0, "{output}");

    let measure =
        ["--measure", "c5.xlarge", "--", "--model", "lenet5", "--images", "400", "--device", "cpu", "-E", "1"];
    let measured = home.run(&[&["export", "slurm"], &site[..], &measure].concat());
    assert_eq!(measured.code, 0, "{}", measured.stderr);
    let (code, output) = slurm.submit(&home, &home.write("measure.sh", &measured.stdout));
    assert_eq!(code, 0, "{output}");

    let admin = collector.run(&["tokens", "create", "root", "--role", "admin"]).stdout;
    let request =
        ureq::get(format!("{}api/v1/samples", server.url)).header("authorization", format!("Bearer {}", admin.trim()));
    let stored = request.call().unwrap().body_mut().read_to_string().unwrap();
    // The whole job, and two sampling rates on one and two cores.
    assert_eq!(stored.lines().count(), 5, "{stored}");
    assert!(stored.contains(r#""sampling_rate":1.0"#) || stored.contains(r#""sampling_rate":1,"#), "{stored}");
    assert!(stored.lines().all(|line| line.contains(r#""machine":"c5.xlarge""#)), "{stored}");
    assert_eq!(get(&server.url, "/api/v1/samples").0, 401);

    let limited = planned.stdout.replace("--time=0-00:02:00", "--time=0-00:01:00");
    assert_ne!(limited, planned.stdout, "the limit comes from the upper bound of the interval");
    let failing = slurm.submit(&home, &home.write("fail.sh", &limited.replace("lenet5", "no-such-cnn")));
    assert_ne!(failing.0, 0, "{}", failing.1);
}
