//! Tasks of SkyPilot.

use std::fmt::Write as _;

use super::{Needs, Site, Task, indented, quoted};

const MIB_PER_GIB: u32 = 1024;

pub(super) fn task(task: &Task, site: &Site) -> String {
    let mut text = format!("name: {}\nnum_nodes: {}\nresources:\n", task.name, task.nodes);
    // Writing to a string does not fail.
    let mut line = |content: String| {
        let _ = writeln!(text, "  {content}");
    };
    match (&task.machine, task.needs) {
        (Some(machine), _) => line(format!("instance_type: {}", quoted(machine))),
        (None, Some(Needs { cores, memory_mib, gpus })) => {
            let per_node = task.processes.div_ceil(task.nodes.max(1));
            line(format!("cpus: {}+", cores.saturating_mul(per_node)));
            line(format!("memory: {}+", memory_mib.saturating_mul(per_node).div_ceil(MIB_PER_GIB)));
            if let Some(gpu) = task.gpu.as_ref().filter(|_| gpus > 0) {
                // SkyPilot's names lack the maker: `A10G` for `NVIDIA A10G`.
                let name = gpu.trim_start_matches("NVIDIA ").trim_start_matches("Tesla ").replace(' ', "-");
                line(format!("accelerators: {}", quoted(&format!("{name}:{}", gpus.saturating_mul(per_node)))));
            }
        }
        (None, None) => line("cpus: 2+".to_owned()),
    }
    if site.spot {
        line("use_spot: true".to_owned());
    }
    if site.token.is_some() {
        // `sky launch --secret FOREGLOW_TOKEN` takes it from the environment.
        text.push_str("secrets:\n  FOREGLOW_TOKEN: null\n");
    }
    text + "run: |\n" + &indented(&format!("set -eu\n{}", limited(task)), 2)
}

/// Returns the command with its time limit, which SkyPilot itself does not have.
fn limited(task: &Task) -> String {
    match task.limit_secs {
        Some(secs) => format!("timeout {}m {}", super::minutes(secs), task.command),
        None => task.command.clone(),
    }
}
