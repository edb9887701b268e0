//! From the plan to the cluster: the exported files, and finished jobs as samples.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[cfg(unix)]
#[path = "launch/cluster.rs"]
mod cluster;
mod foreglow;
#[cfg(unix)]
#[path = "launch/slurm.rs"]
mod slurm;

use foreglow::{Foreglow, SAMPLES};

/// A plan over machine types with a GPU, in the fields that are exported.
const MACHINES: &str = r#"{"schema":1,"job":{"model":"resnet18","mode":"inference","image_px":64,"images":20000,
"epochs":1,"data":"/data/my images"},"recommended":{"machine":"g5.xlarge","machines":1,"executors":1,
"executors_per_machine":1,"cores_per_executor":4,"memory_per_executor_mib":8192,"batch_size":32,"partition_size":64,
"accelerator":"NVIDIA A10G","engine":"local","completion_time_secs":3500.0,"interval":{"lower_secs":3000.0,
"upper_secs":4321.0,"probability":0.9}},"startup":{"shortest_secs":5.0,"median_secs":6.0,"longest_secs":30.0}}"#;

fn export(home: &Foreglow, arguments: &[&str]) -> String {
    let answer = home.run(&[&["export"], arguments].concat());
    assert_eq!(answer.code, 0, "{arguments:?}: {}", answer.stderr);
    at_noon(&answer.stdout)
}

/// Returns a file with another time of the plan.
fn at_noon(text: &str) -> String {
    let planned = text.split_once("planned_at").and_then(|(_, after)| Some(&after[after.find('2')?..after.find('Z')?]));
    planned.map_or(text.to_owned(), |at| text.replace(at, "2026-11-30T12:00:00"))
}

/// SkyPilot copies the program; the path of the built one differs between machines.
fn binary(system: &str) -> &'static [&'static str] {
    if system == "skypilot" { &["--binary", "/opt/foreglow"] } else { &[] }
}

fn golden(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => true }, { insta::assert_snapshot!(name, text) });
}

#[test]
fn a_plan_becomes_a_task_of_each_system() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", MACHINES);
    for system in ["slurm", "kubernetes", "skypilot"] {
        let queue = if system == "skypilot" { &[][..] } else { &["--queue", "night"] };
        let site = [queue, &["--token-from", "foreglow", "--upload", "timing.example.org:8787"]].concat();
        let authorities = ["--ca-from", if system == "kubernetes" { "foreglow-ca" } else { "/etc/ssl/team.pem" }];
        golden(system, &export(&home, &[&[system, &plan], &site[..], &authorities, binary(system)].concat()));
    }
    assert_eq!(
        export(&home, &["spark-submit", &plan]).lines().count(),
        1,
        "the arguments are one line for a command substitution"
    );
}

#[test]
fn spark_gets_the_planned_executors_in_each_of_its_forms() {
    let home = Foreglow::new();
    let on_processors = MACHINES.replace(r#""accelerator":"NVIDIA A10G""#, r#""accelerator":null"#);
    for (name, plan) in [("", &*on_processors), ("-gpu", MACHINES)] {
        let plan = home.write("plan.json", plan);
        for form in ["spark-defaults", "spark-application"] {
            golden(&format!("{form}{name}"), &export(&home, &[form, &plan]));
        }
    }
    let plan = home.write("plan.json", MACHINES);
    golden("emr-step", &export(&home, &["emr-step", &plan, "--", "s3://bucket/etl.py", "--day", "a b"]));
    let refused = home.run(&["export", "emr-step", &plan]);
    assert!(refused.code == 2 && refused.stderr.contains("APPLICATION"), "{}", refused.stderr);
}

#[test]
fn a_path_of_the_command_that_is_only_here_is_told() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", MACHINES);
    let data = home.write("data.csv", "");
    let here = home.run(&["export", "slurm", &plan, "--", "./train", &format!("--data={data}")]);
    assert!(
        here.code == 0 && here.stderr.contains(&format!("The command names {data}, which is on this machine")),
        "{here:?}"
    );
    let elsewhere = home.run(&["export", "slurm", &plan, "--", "./train", "--data=/no/such/folder"]);
    assert!(elsewhere.code == 0 && !elsewhere.stderr.contains("on this machine"), "{elsewhere:?}");
}

/// The plan with four executors on two machines.
fn on_two_machines() -> String {
    let changes = [
        (r#""machines":1,"executors":1,"#, r#""machines":2,"executors":4,"#),
        (r#""executors_per_machine":1"#, r#""executors_per_machine":2"#),
        (r#""engine":"local""#, r#""engine":"spark""#),
    ];
    changes.iter().fold(MACHINES.to_owned(), |plan, (from, to)| {
        assert!(plan.contains(from), "{from}");
        plan.replace(from, to)
    })
}

#[test]
fn a_command_of_the_user_gets_a_process_for_each_executor() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", &on_two_machines());
    let refused = home.run(&["export", "slurm", &plan]);
    assert!(refused.code == 2 && refused.stderr.contains("give your job's command after `--`"), "{}", refused.stderr);
    let command = ["--time", "90m", "--", "python", "infer.py", "my images"];
    for (system, name) in
        [("slurm", "own-command"), ("kubernetes", "own-command-kubernetes"), ("skypilot", "own-command-skypilot")]
    {
        golden(name, &export(&home, &[&[system, &plan], &command[..]].concat()));
    }
}

#[test]
fn a_plan_without_a_machine_type_asks_for_resources() {
    let home = Foreglow::new();
    let any = MACHINES.replace(r#""machine":"g5.xlarge","machines":1,"#, "");
    golden("skypilot-any-machine", &export(&home, &["skypilot", &home.write("plan.json", &any), "--", "./infer"]));
}

#[test]
fn the_output_is_a_file_or_a_folder_as_its_name_says() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", MACHINES);
    let site = ["--upload", "timing.example.org:8787"];
    let text = export(&home, &[&["slurm", &plan], &site[..]].concat());
    let (file, folder) = (home.path("job.sh"), home.path("jobs-1.2"));
    export(&home, &[&["slurm", &plan, "--output", &file], &site[..]].concat());
    assert_eq!(at_noon(&std::fs::read_to_string(&file).unwrap()), text);
    export(&home, &[&["slurm", &plan, "--output", &folder], &site[..]].concat());
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(matches!(&files[..], [file] if at_noon(&std::fs::read_to_string(file).unwrap()) == text), "{files:?}");

    assert_eq!(export(&home, &[&["slurm", &plan, "--output", "-"], &site[..]].concat()), text);
    let several = ["export", "slurm", "--measure", "c5.xlarge,m5.2xlarge", "--output", "-"];
    let answer = home.run(&[&several, &site[..]].concat());
    assert!(answer.code == 2 && answer.stderr.contains("name a folder for them with --output"), "{}", answer.stderr);
    let several = ["export", "slurm", "--measure", "c5.xlarge,m5.2xlarge", "--output", &file];
    let answer = home.run(&[&several, &site[..]].concat());
    assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
    assert!(answer.stderr.contains("job.sh is the name of one file; name a folder with --output"), "{}", answer.stderr);

    let folder = home.path("twice");
    let twice = ["export", "slurm", "--measure", "c5.xlarge,c5-xlarge", "--output", &folder];
    let answer = home.run(&[&twice, &site[..]].concat());
    assert!(answer.code == 2 && answer.stderr.contains("the same name of a file"), "{}", answer.stderr);
    assert!(!std::path::Path::new(&folder).exists());
}

#[test]
fn each_machine_type_measures_sends_and_ends() {
    let home = Foreglow::new();
    let folder = home.path("tasks");
    let machines = ["--measure", "c5.xlarge,g5.xlarge", "--upload", "https://timing.example.org", "--time", "1h"];
    let arguments = ["--output", &folder, "--", "--model", "lenet5", "-E", "1,2"];
    for system in ["slurm", "kubernetes", "skypilot"] {
        export(&home, &[&[system], &machines[..], binary(system), &arguments].concat());
    }
    let mut files: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let expected = ["measure-c5-xlarge.sh", "measure-c5-xlarge.yaml", "measure-g5-xlarge.sh", "measure-g5-xlarge.yaml"];
    assert_eq!(files, expected);
    let text = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
    golden("measure", &text("measure-c5-xlarge.sh"));
    golden("measure-skypilot", &text("measure-c5-xlarge.yaml"));
    export(&home, &[&["kubernetes"], &machines[..], &arguments].concat());
    golden("measure-kubernetes", &text("measure-g5-xlarge.yaml"));
    let unknown = ["export", "kubernetes", "--measure", "mine.large", "--upload", "https://timing.example.org"];
    let unknown = home.run(&[&unknown[..], &["--", "--model", "lenet5"]].concat());
    assert!(unknown.code == 0 && !unknown.stdout.contains("resources:"), "{}", unknown.stdout);
    assert!(unknown.stderr.contains("The job of mine.large asks for no processors"), "{}", unknown.stderr);
    let wrong = [&["slurm"], &machines[..], &["--", "--modle", "lenet5"]].concat();
    let refused = home.run(&[&["export"], &wrong[..]].concat());
    assert!(refused.code == 2 && refused.stderr.contains("options of `foreglow collect`"), "{}", refused.stderr);
    let said = refused.stderr.trim_end();
    assert!(said.lines().count() == 1 && !said.contains("Usage") && said.contains("--modle"), "{said}");
}

#[test]
fn hardware_without_a_name_is_exported_as_any_machine() {
    let home = Foreglow::new();
    let question = ["plan", SAMPLES, "--model", "lenet5", "--batch-size", "32", "--deadline", "15s"];
    let plan = home.run(&[&question[..], &["--probability", "0.5", "--format", "json"]].concat());
    let named = plan.stdout.contains(r#""is_named": false"#) || plan.stdout.contains(r#""is_named":false"#);
    assert!(named, "{}{}", plan.stdout, plan.stderr);
    for (system, machine) in [("slurm", "--constraint"), ("kubernetes", "nodeSelector"), ("skypilot", "instance_type")]
    {
        let file = home.run_with_input(&["export", system], &plan.stdout);
        assert_eq!(file.code, 0, "{}", file.stderr);
        assert!(!file.stdout.contains(machine) && !file.stdout.contains(" --machine "), "{}", file.stdout);
        assert!(file.stderr.contains("The plan names no machine type"), "{}", file.stderr);
    }
}

#[test]
fn an_option_that_a_system_has_no_use_for_is_refused() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", MACHINES);
    for (system, option, names) in [
        ("slurm", &["--spot"][..], "SkyPilot"),
        ("kubernetes", &["--spot"], "SkyPilot"),
        ("slurm", &["--image", "mine:1"], "Kubernetes"),
        ("skypilot", &["--image", "mine:1"], "Kubernetes"),
        ("skypilot", &["--queue", "night"], "Slurm and Kubernetes"),
        ("slurm", &["--binary", "foreglow"], "SkyPilot, which copies it"),
        ("kubernetes", &["--binary", "foreglow"], "SkyPilot, which copies it"),
    ] {
        let answer = home.run(&[&["export", system, &plan], option].concat());
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{system} {option:?}: {answer:?}");
        let said = format!("foreglow: {} is for {names}; leave it out\n", option[0]);
        assert_eq!(answer.stderr, said, "{system}");
    }
    let job = export(&home, &["kubernetes", &plan, "--image", "mine:1"]);
    assert!(job.contains("image: \"mine:1\""), "{job}");
}

#[test]
fn a_prediction_is_not_exported_as_a_plan() {
    let home = Foreglow::new();
    let predict = ["predict", SAMPLES, "--model", "lenet5", "-E", "1", "-C", "1", "--format", "json"];
    let prediction = home.run(&predict);
    for system in ["slurm", "spark-submit"] {
        let answer = home.run_with_input(&["export", system], &prediction.stdout);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{answer:?}");
        assert!(
            answer.stderr.contains("that is a prediction of one configuration, not a plan; write one"),
            "{answer:?}"
        );
    }
}

#[test]
fn what_plan_prints_is_what_export_reads() {
    let home = Foreglow::new();
    let plan = home.run(&["plan", SAMPLES, "--model", "lenet5", "--deadline", "15s", "--format", "json"]);
    let script = home.run_with_input(&["export", "slurm", "-"], &plan.stdout);
    assert_eq!(script.code, 0, "{}", script.stderr);
    assert!(script.stdout.contains("#SBATCH --cpus-per-task=2\n"), "{}", script.stdout);
    assert!(script.stdout.contains("#SBATCH --time=0-00:01:00\n"), "{}", script.stdout);
    assert!(script.stdout.contains("srun --cpus-per-task=2 env FOREGLOW_PLAN='{"), "{}", script.stdout);
    assert!(script.stdout.contains("}' foreglow collect --model lenet5"), "{}", script.stdout);
    let measured = foreglow_shared::read_samples(&std::fs::read(SAMPLES).unwrap()).unwrap();
    let size = measured.iter().find(|sample| sample.workload.model == "lenet5").unwrap().configuration.partition_size;
    let option = format!(" --partition-size {size} ");
    assert!(script.stdout.contains(&option), "{option}: {}", script.stdout);
    let none = home.run_with_input(&["export", "slurm", "-"], "{}");
    assert!(none.code == 2 && none.stderr.contains("that is not a plan"), "{}", none.stderr);
    let empty = home.run_with_input(&["export", "slurm"], "");
    let said = "standard input: that is not a plan (it is empty); write one with `foreglow plan … --format json`";
    assert!(empty.code == 2 && empty.stderr.contains(said), "{}", empty.stderr);
    let samples = home.run(&["export", "spark-submit", SAMPLES]);
    let said = format!("{SAMPLES}: that is not a plan (");
    assert!(samples.code == 2 && samples.stderr.contains(&said), "{}", samples.stderr);
    let hopeless = home.run(&["plan", SAMPLES, "--model", "lenet5", "--deadline", "1ms", "--format", "json"]);
    let none = home.run_with_input(&["export", "skypilot", "-"], &hopeless.stdout);
    assert!(none.code == 2 && none.stderr.contains("recommends nothing"), "{}", none.stderr);
}

#[cfg(unix)]
#[test]
fn the_shell_reads_what_is_exported() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", MACHINES);
    let run = |script: &str| {
        // A stub of Slurm's `srun` that marks the output of its command.
        let stub = "srun() { shift; \"$@\" | sed 's/^/started: /'; }\n";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("{stub}{script}")]).current_dir(home.path(""));
        String::from_utf8(shell.output().unwrap().stdout).unwrap()
    };
    let words = export(&home, &["slurm", &plan, "--", "printf", "%s|", "it's", "a $HOME"]);
    assert_eq!(run(&words).trim_end(), "started: it's|a $HOME|");

    // A single word is a line for the shell, and the whole line runs as the job.
    std::fs::create_dir(home.path("inner")).unwrap();
    let line = "cd inner && echo $(basename $PWD) $$";
    let slurm = run(&export(&home, &["slurm", &plan, "--", line]));
    assert!(slurm.starts_with("started: inner "), "{slurm}");
    let task = export(&home, &["skypilot", &plan, "--", line]);
    let (_, lines) = task.split_once("run: |\n").unwrap();
    let lines: String = lines.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    assert!(run(&lines).starts_with("inner "), "{lines}");
    let job = export(&home, &["kubernetes", &plan, "--", line]);
    let command = job.lines().find_map(|line| line.trim().strip_prefix("command: ")).unwrap();
    let command: Vec<String> = serde_json::from_str(command).unwrap();
    // Kubernetes replaces `$$`.
    let kubernetes = run(&command[2].replace("$$", "$"));
    assert!(kubernetes.trim_end().rsplit(' ').next().unwrap().parse::<u32>().is_ok(), "{kubernetes}");
}

#[test]
fn a_plan_with_an_uneven_split_runs_whole_and_is_refused_where_processes_are_equal() {
    let home = Foreglow::new();
    let uneven = MACHINES
        .replace(r#""executors":1,"#, r#""executors":3,"#)
        .replace(r#""executors_per_machine":1"#, r#""executors_per_machine":3"#)
        .replace(r#""cores_per_executor":4"#, r#""cores_per_executor":3,"total_cores":8"#);
    let plan = home.write("plan.json", &uneven);
    let whole = export(&home, &["slurm", &plan]);
    assert!(whole.contains("--executors 3 --total-cores 8 ") && whole.contains("#SBATCH --cpus-per-task=8"), "{whole}");
    for arguments in [&["slurm", &plan, "--", "python", "infer.py"][..], &["spark-submit", &plan]] {
        let refused = home.run(&[&["export"], arguments].concat());
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains("the plan recommends 3 executors, 8 cores (3+3+2)"), "{}", refused.stderr);
    }
}
