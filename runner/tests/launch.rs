//! From the plan to the cluster: the exported files, and finished jobs as samples.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

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
    answer.stdout
}

fn golden(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => true }, { insta::assert_snapshot!(name, text) });
}

#[test]
fn a_plan_becomes_a_task_of_each_system() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", MACHINES);
    for system in ["slurm", "kubernetes", "skypilot"] {
        let site = ["--queue", "night", "--token-from", "foreglow", "--upload", "timing.example.org:8787"];
        golden(system, &export(&home, &[&[system, &plan], &site[..]].concat()));
    }
    assert_eq!(
        export(&home, &["spark-submit", &plan]).lines().count(),
        1,
        "the arguments are one line for a command substitution"
    );
}

#[test]
fn a_command_of_the_user_gets_a_process_for_each_executor() {
    let home = Foreglow::new();
    let several = MACHINES
        .replace(
            r#""machines":1,"executors":1,"executors_per_machine":1"#,
            r#""machines":2,"executors":4,"executors_per_machine":2"#,
        )
        .replace(r#""engine":"local""#, r#""engine":"spark""#);
    let plan = home.write("plan.json", &several);
    let refused = home.run(&["export", "slurm", &plan]);
    assert!(refused.code == 2 && refused.stderr.contains("give your job's command after `--`"), "{}", refused.stderr);
    golden("own-command", &export(&home, &["slurm", &plan, "--time", "90m", "--", "python", "infer.py", "my images"]));
}

#[test]
fn the_output_is_a_file_or_a_folder_as_its_name_says() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", MACHINES);
    let site = ["--upload", "timing.example.org:8787"];
    let text = export(&home, &[&["slurm", &plan], &site[..]].concat());
    let (file, folder) = (home.path("job.sh"), home.path("jobs-1.2"));
    export(&home, &[&["slurm", &plan, "--output", &file], &site[..]].concat());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    export(&home, &[&["slurm", &plan, "--output", &folder], &site[..]].concat());
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(matches!(&files[..], [file] if std::fs::read_to_string(file).unwrap() == text), "{files:?}");

    let several = ["export", "slurm", "--measure", "c5.xlarge,m5.2xlarge", "--output", &file];
    let answer = home.run(&[&several, &site[..]].concat());
    assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
    assert!(answer.stderr.contains("job.sh is the name of one file; name a folder with --output"), "{}", answer.stderr);
}

#[test]
fn each_machine_type_measures_sends_and_ends() {
    let home = Foreglow::new();
    let folder = home.path("tasks");
    let machines = ["--measure", "c5.xlarge,g5.xlarge", "--upload", "https://timing.example.org", "--time", "1h"];
    let arguments = ["--output", &folder, "--", "--model", "lenet5", "-E", "1,2"];
    for system in ["slurm", "kubernetes", "skypilot"] {
        export(&home, &[&[system], &machines[..], &arguments].concat());
    }
    let mut files: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let expected = ["measure-c5-xlarge.sh", "measure-c5-xlarge.yaml", "measure-g5-xlarge.sh", "measure-g5-xlarge.yaml"];
    assert_eq!(files, expected);
    golden("measure", &std::fs::read_to_string(format!("{folder}/measure-c5-xlarge.sh")).unwrap());
    export(&home, &[&["kubernetes"], &machines[..], &arguments].concat());
    golden("measure-kubernetes", &std::fs::read_to_string(format!("{folder}/measure-c5-xlarge.yaml")).unwrap());
    let wrong = [&["slurm"], &machines[..], &["--", "--modle", "lenet5"]].concat();
    let refused = home.run(&[&["export"], &wrong[..]].concat());
    assert!(refused.code == 2 && refused.stderr.contains("options of `foreglow collect`"), "{}", refused.stderr);
}

#[test]
fn what_plan_prints_is_what_export_reads() {
    let home = Foreglow::new();
    let plan = home.run(&["plan", SAMPLES, "--model", "lenet5", "--deadline", "15s", "--format", "json"]);
    let script = home.run_with_input(&["export", "slurm", "-"], &plan.stdout);
    assert_eq!(script.code, 0, "{}", script.stderr);
    assert!(script.stdout.contains("#SBATCH --cpus-per-task=2\n"), "{}", script.stdout);
    assert!(script.stdout.contains("#SBATCH --time=0-00:01:00\n"), "{}", script.stdout);
    assert!(script.stdout.contains("srun foreglow collect --model lenet5 --images 20000"), "{}", script.stdout);
    let none = home.run_with_input(&["export", "slurm", "-"], "{}");
    assert!(none.code == 2 && none.stderr.contains("that is not a plan"), "{}", none.stderr);
    let hopeless = home.run(&["plan", SAMPLES, "--model", "lenet5", "--deadline", "1ms", "--format", "json"]);
    let none = home.run_with_input(&["export", "skypilot", "-"], &hopeless.stdout);
    assert!(none.code == 2 && none.stderr.contains("recommends nothing"), "{}", none.stderr);
}

#[cfg(unix)]
#[test]
fn the_shell_reads_what_is_exported() {
    let home = Foreglow::new();
    let plan = home.write("plan.json", MACHINES);
    let script = export(&home, &["slurm", &plan, "--", "printf", "%s|", "it's", "a $HOME"]);
    // In place of `srun`, which is Slurm's: the rest of the script is a shell's.
    let script = home.write("job.sh", &script.replace("srun ", ""));
    let output = std::process::Command::new("sh").arg(script).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "it's|a $HOME|");
}

#[test]
fn a_plan_with_an_uneven_split_runs_whole_and_is_refused_where_processes_are_equal() {
    let home = Foreglow::new();
    let uneven = MACHINES
        .replace(r#""executors":1,"executors_per_machine":1"#, r#""executors":3,"executors_per_machine":3"#)
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
