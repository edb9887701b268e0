//! Batch scripts of Slurm.

use foreglow_exit::unusable;
use foreglow_import::SLURM_NAME;
use foreglow_shared::shell_word;

use super::{Needs, Share, Site, Task, minutes};

const MINUTES_PER_HOUR: u64 = 60;
const HOURS_PER_DAY: u64 = 24;

pub(super) fn script(task: &Task, site: &Site) -> anyhow::Result<String> {
    let mark = if task.runs_foreglow { SLURM_NAME } else { "" };
    let mut options = vec![format!("--job-name={mark}{}", task.name)];
    options.extend(task.nodes.map(|nodes| format!("--nodes={nodes}")));
    options.push(format!("--ntasks={}", task.processes));
    let mut step = "srun".to_owned();
    match task.share {
        Share::Each(Needs { cores, memory_mib, gpus }) => {
            options.push(format!("--cpus-per-task={cores}"));
            options.push(format!("--mem-per-cpu={}M", memory_mib.div_ceil(cores.max(1))));
            if gpus > 0 {
                options.push(format!("--gpus-per-task={gpus}"));
            }
            if task.shared_gpus > 0 {
                options.push(format!("--gpus-per-node={}", task.shared_gpus));
            }
            // From version 22.05 on, `srun` does not take this from the job.
            step.push_str(&format!(" --cpus-per-task={cores}"));
        }
        Share::Machine => options.extend(["--exclusive".to_owned(), "--mem=0".to_owned()]),
    }
    if let Some(secs) = task.limit_secs {
        options.push(format!("--time={}", time(minutes(secs))));
    }
    for (option, name) in [("--constraint", &task.machine), ("--partition", &site.queue)] {
        options.extend(name.as_deref().map(|name| named(option, name)).transpose()?);
    }
    let options: String = options.iter().map(|option| format!("#SBATCH {option}\n")).collect();
    let files = [("FOREGLOW_TOKEN_FILE", &site.token), ("FOREGLOW_CA", &site.authorities)];
    let export = |(name, file): (&str, &Option<String>)| {
        file.as_ref().map(|file| format!("export {name}={}\n", shell_word(file)))
    };
    let exports: String = files.into_iter().filter_map(export).collect();
    Ok(format!("#!/bin/sh\n{options}set -eu\n{exports}{step} {}\n", task.command))
}

/// Returns an option with a name. `sbatch` ends an option at a space or `#`, removes quotes and
/// backslashes, and a line break would end the comment that holds the option.
fn named(option: &str, name: &str) -> anyhow::Result<String> {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"'\"\\#".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(unusable(format!(
            "Slurm's option {option} cannot have the value {name:?}; it must have no spaces, quotes, backslashes or #"
        )));
    }
    Ok(format!("{option}={name}"))
}

/// Returns a time in Slurm's format, days-hours:minutes:seconds.
fn time(minutes: u64) -> String {
    let hours = minutes / MINUTES_PER_HOUR;
    format!("{}-{:02}:{:02}:00", hours / HOURS_PER_DAY, hours % HOURS_PER_DAY, minutes % MINUTES_PER_HOUR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_slurm_reads_them() {
        assert_eq!([1, 61, 1_441].map(time), ["0-00:01:00", "0-01:01:00", "1-00:01:00"]);
    }
}
