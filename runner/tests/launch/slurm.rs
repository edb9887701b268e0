//! The exported scripts on a real Slurm. The tests are skipped if Slurm is not installed.

use crate::cluster::{Slurm, wait};
use crate::foreglow::{Foreglow, Serving, get};

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

    finished_jobs_come_back_as_samples(&slurm, &home, plan);
}

/// Runs a command of the user with two executors, and imports the records of all jobs.
fn finished_jobs_come_back_as_samples(slurm: &Slurm, home: &Foreglow, plan: &str) {
    if !slurm.has_accounting {
        eprintln!("skipped: slurmdbd and MariaDB, which record finished jobs, are not installed");
        return;
    }
    let two = plan.replace(r#""executors":1,"cores_per_executor":2"#, r#""executors":2,"cores_per_executor":1"#);
    let line = "sleep 2; echo executor $SLURM_PROCID";
    let own = home.run(&["export", "slurm", &home.write("two.json", &two), "--", line]);
    assert_eq!(own.code, 0, "{}", own.stderr);
    let (code, output) = slurm.submit(home, &home.write("own.sh", &own.stdout));
    assert!(code == 0 && ["executor 0", "executor 1"].iter().all(|line| output.contains(line)), "{output}");

    let format = "--format=JobID,JobName,State,ElapsedRaw,Start,AllocCPUS,NTasks,AllocTRES,Constraints";
    let records = || slurm.say("sacct", &["--parsable2", format]);
    // slurmctld sends its records within seconds.
    wait("the records", || records().lines().any(|line| line.starts_with("4.0|") && line.contains("|COMPLETED|")));
    let file = home.write("jobs.txt", &records());
    let labels = "--model lenet5 --mode inference --image-px 32 --images 400 --batch-size 8 --partition-size 8";
    let labels: Vec<&str> = labels.split(' ').collect();
    let imported = home.run(&[&["import", &file, "--format", "json"], &labels[..]].concat());
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    let [sample] = &imported.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{}", imported.stdout) };
    let sample = foreglow_shared::parse_line(sample).unwrap();
    let configuration = &sample.configuration;
    let size = (configuration.executors, configuration.cores_per_executor, configuration.memory_per_executor_mib);
    assert_eq!(size, (2, 1, 512));
    assert!((2.0..60.0).contains(&sample.completion_time_secs.unwrap()), "{sample:?}");
    assert_eq!(sample.host.machine.as_deref(), Some("c5.xlarge"));
    // The jobs that Foreglow ran recorded their samples themselves.
    for job in 1..=3 {
        let said = format!("job {job} ran `foreglow collect`");
        assert!(imported.stderr.contains(&said), "{said}: {}", imported.stderr);
    }
}
