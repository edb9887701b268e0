//! Batch scripts of Slurm.

use foreglow_shared::shell_word;

use super::{Needs, Site, Task, minutes};

const MINUTES_PER_HOUR: u64 = 60;
const HOURS_PER_DAY: u64 = 24;

pub(super) fn script(task: &Task, site: &Site) -> String {
    let mut options = vec![format!("--job-name={}", task.name), format!("--nodes={}", task.nodes)];
    options.push(format!("--ntasks={}", task.processes));
    if let Some(Needs { cores, memory_mib, gpus }) = task.needs {
        options.push(format!("--cpus-per-task={cores}"));
        options.push(format!("--mem-per-cpu={}M", memory_mib.div_ceil(cores.max(1))));
        if gpus > 0 {
            options.push(format!("--gpus-per-task={gpus}"));
        }
    }
    if task.exclusive {
        options.extend(["--exclusive".to_owned(), "--mem=0".to_owned()]);
    }
    if let Some(secs) = task.limit_secs {
        options.push(format!("--time={}", time(minutes(secs))));
    }
    options.extend(task.machine.as_ref().map(|machine| format!("--constraint={machine}")));
    options.extend(site.queue.as_ref().map(|queue| format!("--partition={queue}")));
    let options: String = options.iter().map(|option| format!("#SBATCH {option}\n")).collect();
    let token = site.token.as_ref().map(|file| format!("export FOREGLOW_TOKEN_FILE={}\n", shell_word(file)));
    format!("#!/bin/sh\n{options}set -eu\n{}srun {}\n", token.unwrap_or_default(), task.command)
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
