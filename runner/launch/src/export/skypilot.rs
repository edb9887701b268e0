//! Tasks of SkyPilot.

use std::fmt::Write as _;

use foreglow_exit::unusable;
use foreglow_shared::has_words;

use super::{Needs, Share, Site, Task, indented, is_printable, minutes, quoted};

const MIB_PER_GIB: u32 = 1024;

/// SkyPilot's names of GPUs (`sky show-gpus -a`), each with words of the driver's name. Among the
/// entries whose words are all in a driver's name, the one with the most words applies.
const GPUS: [(&str, &str); 29] = [
    ("A10", "A10"),
    ("A100", "A100"),
    ("A100-80GB", "A100 80GB"),
    ("A10G", "A10G"),
    ("A30", "A30"),
    ("A40", "A40"),
    ("B200", "B200"),
    ("GH200", "GH200"),
    ("H100", "H100"),
    ("H200", "H200"),
    ("K80", "K80"),
    ("L4", "L4"),
    ("L40", "L40"),
    ("L40S", "L40S"),
    ("M60", "M60"),
    ("MI300X", "MI300X"),
    ("P100", "P100"),
    ("P4", "P4"),
    ("P40", "P40"),
    ("RTX3090", "RTX 3090"),
    ("RTX4090", "RTX 4090"),
    ("RTX5090", "RTX 5090"),
    ("RTX6000-Ada", "RTX 6000 Ada"),
    ("RTXA5000", "RTX A5000"),
    ("RTXA6000", "RTX A6000"),
    ("T4", "T4"),
    ("T4g", "T4G"),
    ("V100", "V100"),
    ("V100-32GB", "V100 32GB"),
];

pub(super) fn task(task: &Task, site: &Site) -> anyhow::Result<String> {
    let nodes = nodes(task);
    let mut text = format!("name: {}\nnum_nodes: {nodes}\nresources:\n", task.name);
    // Writing to a string does not fail.
    let mut line = |content: String| {
        let _ = writeln!(text, "  {content}");
    };
    match (&task.machine, task.share) {
        (Some(machine), _) => line(format!("instance_type: {}", quoted(machine))),
        (None, Share::Each(Needs { cores, memory_mib, gpus })) => {
            let per_node = task.processes.div_ceil(nodes);
            line(format!("cpus: {}+", cores.saturating_mul(per_node)));
            line(format!("memory: {}+", memory_mib.saturating_mul(per_node).div_ceil(MIB_PER_GIB)));
            let gpus = gpus.saturating_mul(per_node).max(task.shared_gpus);
            if let Some(gpu) = task.gpu.as_ref().filter(|_| gpus > 0) {
                line(format!("accelerators: {}", quoted(&format!("{}:{gpus}", gpu_name(gpu)?))));
            }
        }
        (None, Share::Machine) => line("cpus: 2+".to_owned()),
    }
    if site.spot || task.spot {
        line("use_spot: true".to_owned());
    }
    if site.token.is_some() {
        // `sky launch --secret FOREGLOW_TOKEN` takes it from the environment.
        text.push_str("secrets:\n  FOREGLOW_TOKEN: null\n");
    }
    let mut run = "set -eu\n".to_owned();
    text.push_str(&files(task, site, &mut run));
    run.push_str(&started(task));
    Ok(text + "run: " + &script(&run))
}

/// Returns a script as a block of YAML, or in quotes if YAML would change its characters.
fn script(run: &str) -> String {
    match run.chars().all(|c| is_printable(c) || "\n\t".contains(c)) {
        true => format!("|\n{}", indented(run, 2)),
        false => quoted(run) + "\n",
    }
}

/// Returns the number of machines; one for each process if the plan leaves it open, because
/// SkyPilot needs a number.
fn nodes(task: &Task) -> u32 {
    task.nodes.unwrap_or(task.processes).max(1)
}

/// Returns SkyPilot's name of the GPU with this driver name.
fn gpu_name(driver: &str) -> anyhow::Result<&'static str> {
    let known = GPUS.iter().filter(|(_, words)| has_words(driver, words));
    let most = known.max_by_key(|(_, words)| words.split(' ').count());
    most.map(|(name, _)| *name).ok_or_else(|| {
        unusable(format!(
            "no GPU of SkyPilot is known to be {driver}; measure with --machine and the cloud's name of the machine \
             type, which the task then asks for"
        ))
    })
}

/// Returns the files for the machines and the check that Foreglow runs on them, and adds their
/// paths to the script `run`.
fn files(task: &Task, site: &Site, run: &mut String) -> String {
    let mut mounts = String::new();
    let mut setup = String::new();
    if task.runs_foreglow {
        mounts.push_str(&format!("  ~/foreglow/bin/foreglow: {}\n", quoted(&site.binary)));
        // Detects a machine with another architecture or an older C library before the job starts.
        setup.push_str("setup: ~/foreglow/bin/foreglow --version\n");
        run.push_str("export PATH=\"$HOME/foreglow/bin:$PATH\"\n");
    }
    if let Some(authorities) = &site.authorities {
        mounts.push_str(&format!("  ~/foreglow/ca.pem: {}\n", quoted(authorities)));
        run.push_str("export FOREGLOW_CA=\"$HOME/foreglow/ca.pem\"\n");
    }
    if mounts.is_empty() { setup } else { format!("file_mounts:\n{mounts}{setup}") }
}

/// Returns the script that starts the processes of one node: SkyPilot runs it on each.
fn started(task: &Task) -> String {
    let command = limited(task);
    if task.processes == 1 {
        return command;
    }
    let has_gpus = matches!(task.share, Share::Each(Needs { gpus: 1.., .. }));
    let gpu = match task.shared_gpus {
        // One GPU for each process of the machine.
        0 if has_gpus && task.processes > nodes(task) => {
            "CUDA_VISIBLE_DEVICES=$((executor / SKYPILOT_NUM_NODES)) ".to_owned()
        }
        0 | 1 => String::new(),
        // Assigns the GPUs of the machine round-robin.
        shared => format!("CUDA_VISIBLE_DEVICES=$((executor / SKYPILOT_NUM_NODES % {shared})) "),
    };
    format!(
        "executor=$SKYPILOT_NODE_RANK\nstarted=\n\
         while [ \"$executor\" -lt {} ]; do\n\
         \x20 FOREGLOW_EXECUTOR=$executor {gpu}{command} &\n\
         \x20 started=\"$started $!\"\n\
         \x20 executor=$((executor + SKYPILOT_NUM_NODES))\n\
         done\n\
         for process in $started; do wait \"$process\"; done",
        task.processes
    )
}

/// Returns the command with its time limit, which SkyPilot itself does not have.
fn limited(task: &Task) -> String {
    match task.limit_secs {
        Some(secs) => format!("timeout {}m {}", minutes(secs), task.command),
        None => task.command.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_of_a_driver_has_the_name_of_a_catalog() {
        for (driver, name) in [
            ("NVIDIA H100 80GB HBM3", "H100"),
            ("H100-80GB-HBM3", "H100"),
            ("NVIDIA A100-SXM4-40GB", "A100"),
            ("NVIDIA A100 80GB PCIe", "A100-80GB"),
            ("Tesla V100-SXM2-16GB", "V100"),
            ("Tesla V100-SXM2-32GB", "V100-32GB"),
            ("Tesla T4", "T4"),
            ("NVIDIA L4", "L4"),
            ("NVIDIA L40S", "L40S"),
            ("NVIDIA A10G", "A10G"),
            ("NVIDIA A10", "A10"),
            ("NVIDIA RTX 6000 Ada Generation", "RTX6000-Ada"),
        ] {
            assert_eq!(gpu_name(driver).unwrap(), name, "{driver}");
        }
        let refused = gpu_name("Quadro M2000").unwrap_err().to_string();
        assert!(refused.starts_with("no GPU of SkyPilot is known to be Quadro M2000; measure with"), "{refused}");
    }

    #[test]
    fn a_script_with_characters_that_a_block_of_yaml_changes_is_in_quotes() {
        assert_eq!(script("set -eu\n\techo 'ü'"), "|\n  set -eu\n  \techo 'ü'\n");
        assert_eq!(script("echo a\r\nb\u{2028}"), "\"echo a\\r\\nb\\u2028\"\n");
    }

    #[test]
    fn the_nodes_together_start_a_process_for_each_executor() {
        let needs = Needs { cores: 2, memory_mib: 4096, gpus: 0 };
        let task = Task {
            name: "job".to_owned(),
            machine: None,
            capacity: None,
            nodes: Some(2),
            processes: 5,
            processes_per_machine: 3,
            share: Share::Each(needs),
            gpu: None,
            shared_gpus: 0,
            spot: false,
            limit_secs: Some(60.0),
            reads: Vec::new(),
            command: "sh -c 'echo $FOREGLOW_EXECUTOR; exit $((FOREGLOW_EXECUTOR == 3))'".to_owned(),
            runs_foreglow: false,
        };
        let script = format!("set -eu\n{}", started(&task));
        let run = |rank: &str| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &script]).env("SKYPILOT_NODE_RANK", rank).env("SKYPILOT_NUM_NODES", "2");
            let output = shell.output().unwrap();
            let mut said: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
            said.sort_unstable();
            (said.join(" "), output.status.success())
        };
        assert_eq!(run("0"), ("0 2 4".to_owned(), true));
        assert_eq!(run("1"), ("1 3".to_owned(), false), "the failure of a process is that of the node");
    }
}
