//! Tasks of SkyPilot.

use std::fmt::Write as _;

use super::{Needs, Share, Site, Task, indented, minutes, quoted};

const MIB_PER_GIB: u32 = 1024;

pub(super) fn task(task: &Task, site: &Site) -> String {
    let mut text = format!("name: {}\nnum_nodes: {}\nresources:\n", task.name, task.nodes);
    // Writing to a string does not fail.
    let mut line = |content: String| {
        let _ = writeln!(text, "  {content}");
    };
    match (&task.machine, task.share) {
        (Some(machine), _) => line(format!("instance_type: {}", quoted(machine))),
        (None, Share::Each(Needs { cores, memory_mib, gpus })) => {
            let per_node = task.processes.div_ceil(task.nodes.max(1));
            line(format!("cpus: {}+", cores.saturating_mul(per_node)));
            line(format!("memory: {}+", memory_mib.saturating_mul(per_node).div_ceil(MIB_PER_GIB)));
            if let Some(gpu) = task.gpu.as_ref().filter(|_| gpus > 0) {
                // SkyPilot's names lack the maker: `A10G` for `NVIDIA A10G`.
                let name = gpu.trim_start_matches("NVIDIA ").trim_start_matches("Tesla ").replace(' ', "-");
                line(format!("accelerators: {}", quoted(&format!("{name}:{}", gpus.saturating_mul(per_node)))));
            }
        }
        (None, Share::Machine(_)) => line("cpus: 2+".to_owned()),
    }
    if site.spot {
        line("use_spot: true".to_owned());
    }
    if site.token.is_some() {
        // `sky launch --secret FOREGLOW_TOKEN` takes it from the environment.
        text.push_str("secrets:\n  FOREGLOW_TOKEN: null\n");
    }
    let mut run = "set -eu\n".to_owned();
    text.push_str(&files(task, site, &mut run));
    run.push_str(&started(task));
    text + "run: |\n" + &indented(&run, 2)
}

/// Returns the files that the machines get and the check that Foreglow runs there, and adds to the
/// script `run` where they are.
fn files(task: &Task, site: &Site, run: &mut String) -> String {
    let mut mounts = String::new();
    let mut setup = String::new();
    if task.runs_foreglow {
        mounts.push_str(&format!("  ~/foreglow/bin/foreglow: {}\n", quoted(&site.binary)));
        // A machine with another architecture or an older C library is told before the job starts.
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
    let gpu = if has_gpus && task.processes > task.nodes {
        // One GPU for each process of the machine.
        "CUDA_VISIBLE_DEVICES=$((executor / SKYPILOT_NUM_NODES)) "
    } else {
        ""
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
    fn the_nodes_together_start_a_process_for_each_executor() {
        let needs = Needs { cores: 2, memory_mib: 4096, gpus: 0 };
        let task = Task {
            name: "job".to_owned(),
            machine: None,
            nodes: 2,
            processes: 5,
            share: Share::Each(needs),
            gpu: None,
            limit_secs: Some(60.0),
            command: "sh -c 'echo $FOREGLOW_EXECUTOR; exit $((FOREGLOW_EXECUTOR == 3))'".to_owned(),
            runs_foreglow: false,
        };
        let script = format!("set -eu\n{}", started(&task));
        let run = |rank: &str| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &script]).env("SKYPILOT_NODE_RANK", rank).env("SKYPILOT_NUM_NODES", "2");
            let output = shell.output().unwrap();
            let mut said: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
            said.sort();
            (said.join(" "), output.status.success())
        };
        assert_eq!(run("0"), ("0 2 4".to_owned(), true));
        assert_eq!(run("1"), ("1 3".to_owned(), false), "the failure of a process is that of the node");
    }
}
