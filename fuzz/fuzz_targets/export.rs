//! Exported tasks: any plan is rejected, or gives files whose structure does not depend on the
//! names in it. YAML files have only keys of tasks; in shell scripts, names are quoted.
#![no_main]

use foreglow_launch::export::{Plan, Site, SparkForm, System, Task};
use foreglow_shared::CommandTemplate;
use libfuzzer_sys::fuzz_target;
use saphyr::{LoadableYamlNode as _, Yaml};

/// Keys of a task of SkyPilot and of a job of Kubernetes.
const KEYS: [&str; 11] = [
    "name",
    "num_nodes",
    "resources",
    "file_mounts",
    "setup",
    "secrets",
    "run",
    "apiVersion",
    "kind",
    "metadata",
    "spec",
];
/// Characters outside quotes in the command that runs Foreglow.
const PLAIN: &str = "-_./,: ";

fuzz_target!(|text: &[u8]| {
    let Ok(plan) = Plan::read(text) else { return };
    let site = Site { image: "image".into(), binary: "/opt/foreglow".into(), ..Site::default() };
    let _ = plan.for_spark(SparkForm::Application);
    let whole = plan.task(None, None, None);
    if let Ok(task) = &whole {
        check_quoting(&task.command);
    }
    let own = CommandTemplate::new(vec!["./infer".into()]).ok();
    let own = plan.task(own, None, Some(60.0));
    let sent = plan.task(None, Some("http://collector:8787"), None);
    for task in [whole, own, sent].into_iter().flatten() {
        // Slurm refuses some names of machine types.
        if let Ok(script) = System::Slurm.file(&task, &site) {
            check_script(&script, &task);
        }
        for system in [System::Kubernetes, System::Skypilot] {
            if let Ok(text) = system.file(&task, &site) {
                check_yaml(&text);
            }
        }
    }
});

/// Checks that a batch script has its options in the lines before the first command.
fn check_script(script: &str, task: &Task) {
    let (head, _) = script.split_once("set -eu\n").expect("the script stops at the first error");
    for line in head.lines().skip(1) {
        let option = line.strip_prefix("#SBATCH --").expect("only options come before the commands");
        assert!(option.bytes().all(|letter| letter.is_ascii_graphic()), "{option:?}");
    }
    assert!(script.ends_with(&format!(" {}\n", task.command)));
}

/// Checks that a shell reads the command as one simple command.
fn check_quoting(command: &str) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for letter in command.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '\\' => is_escaped = true,
            _ => assert!(letter.is_ascii_alphanumeric() || PLAIN.contains(letter), "{letter:?} in {command:?}"),
        }
    }
    assert!(!is_quoted && !is_escaped, "a quote is open in {command:?}");
}

fn check_yaml(text: &str) {
    // YAML 1.1 takes more characters for line breaks than the parser here.
    let is_break =
        |c: char| (c.is_control() && !"\n\t".contains(c)) || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    assert!(!text.contains(is_break), "{text:?}");
    let documents = Yaml::load_from_str(text).expect("the file is YAML");
    let [document] = documents.as_slice() else { panic!("the file has {} documents", documents.len()) };
    let mapping = document.as_mapping().expect("the file is a mapping");
    for key in mapping.keys() {
        assert!(key.as_str().is_some_and(|key| KEYS.contains(&key)), "{key:?}");
    }
}
