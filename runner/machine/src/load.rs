//! Load of the processors by this run, other processes, and other virtual machines.

use std::time::Instant;

use super::Warning;

/// Ticks per second in which Linux reports CPU time to user space (`USER_HZ`).
const TICKS_PER_SEC: f64 = 100.0;
/// Share of a run's slots that other load may take without a warning.
const TOLERATED: f64 = 0.05;
/// CPU time, seconds, below which the tick-based accounting is too coarse.
const LEAST_SECS: f64 = 0.1;

/// Returns the one-minute load average (`/proc/loadavg`), which includes earlier runs.
pub fn average() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Cumulative CPU time of a set of processors at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    at: Instant,
    busy_secs: f64,
    stolen_secs: f64,
}

/// Other load during a run, as mean numbers of processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedLoad {
    /// Used by other processes on this machine.
    pub others: f64,
    /// Used by the host of a virtual machine for other purposes (steal time).
    pub stolen: f64,
    secs: f64,
}

impl Load {
    /// Reads the CPU time of these processors; `None` if the system does not report it.
    pub fn of(processors: &[u32]) -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let (busy, stolen) = ticks(&stat, processors)?;
        Some(Self { at: Instant::now(), busy_secs: busy / TICKS_PER_SEC, stolen_secs: stolen / TICKS_PER_SEC })
    }

    /// Returns the other load since an earlier moment, given the CPU time of this run's executors.
    pub fn since(self, earlier: Self, own_secs: f64) -> SharedLoad {
        let secs = (self.at - earlier.at).as_secs_f64().max(1e-6);
        SharedLoad {
            others: ((self.busy_secs - earlier.busy_secs - own_secs) / secs).max(0.0),
            stolen: ((self.stolen_secs - earlier.stolen_secs) / secs).max(0.0),
            secs,
        }
    }
}

impl SharedLoad {
    /// Returns a warning if other load exceeded the processors that the run left free.
    pub fn warning(self, free_processors: u32, slots: u32) -> Option<Warning> {
        let missing = (self.others - f64::from(free_processors)).max(0.0) + self.stolen;
        let is_felt = missing > TOLERATED * f64::from(slots) && missing * self.secs > LEAST_SECS;
        let Self { others, stolen, .. } = self;
        is_felt.then_some(if stolen > others {
            Warning::StolenProcessors { stolen_processors: stolen }
        } else {
            Warning::BusyMachine { other_processors: others, free_processors }
        })
    }
}

/// Returns busy and stolen ticks of these processors from the lines
/// `cpuN user nice system idle iowait irq softirq steal …` of `/proc/stat` (proc(5)).
fn ticks(stat: &str, processors: &[u32]) -> Option<(f64, f64)> {
    let (mut busy, mut stolen, mut found) = (0.0, 0.0, false);
    for line in stat.lines() {
        let mut fields = line.split_whitespace();
        let number = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
        if number.is_none_or(|number| !processors.contains(&number)) {
            continue;
        }
        let ticks: Vec<f64> = fields.map_while(|field| field.parse().ok()).collect();
        let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else { return None };
        busy += user + nice + system + irq + softirq;
        stolen += steal;
        found = true;
    }
    found.then_some((busy, stolen))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const STAT: &str =
        "cpu  30 0 3 900 0 0 0 7 0 0\ncpu0 10 1 1 300 9 2 4 3 0 0\ncpu1 20 0 2 600 0 0 0 4 0 0\nintr 5\n";

    #[test]
    fn ticks_of_the_given_processors_are_summed() {
        assert_eq!(ticks(STAT, &[0]), Some((18.0, 3.0)));
        assert_eq!(ticks(STAT, &[0, 1]), Some((40.0, 7.0)));
        assert_eq!(ticks(STAT, &[7]), None);
        assert_eq!(ticks("cpu0 1 2\n", &[0]), None);
    }

    fn shared(others: f64, stolen: f64) -> SharedLoad {
        let earlier = Load { at: Instant::now(), busy_secs: 100.0, stolen_secs: 5.0 };
        let at = earlier.at + Duration::from_secs(10);
        let own_secs = 19.0;
        let busy_secs = 100.0 + own_secs + 10.0 * others;
        Load { at, busy_secs, stolen_secs: 5.0 + 10.0 * stolen }.since(earlier, own_secs)
    }

    #[test]
    fn other_load_excludes_the_run_itself() {
        let load = shared(0.5, 0.25);
        assert!((load.others - 0.5).abs() < 1e-9 && (load.stolen - 0.25).abs() < 1e-9, "{load:?}");
        assert_eq!(shared(-0.1, 0.0).others, 0.0);
    }

    #[test]
    fn other_load_beyond_the_free_processors_gives_a_warning() {
        assert_eq!(shared(0.05, 0.0).warning(0, 2), None);
        assert!(matches!(shared(0.5, 0.0).warning(0, 2), Some(Warning::BusyMachine { free_processors: 0, .. })));
        assert_eq!(shared(0.9, 0.0).warning(1, 1), None, "the other processor was free");
        assert!(matches!(shared(0.0, 0.3).warning(1, 1), Some(Warning::StolenProcessors { .. })));
        let short = SharedLoad { secs: 0.05, ..shared(0.5, 0.0) };
        assert_eq!(short.warning(0, 2), None, "the system counts in hundredths of a second");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_load_of_this_machine_can_be_read() {
        assert!(average().is_some());
        let load = Load::of(&[0]).unwrap();
        assert!(load.busy_secs > 0.0 && load.stolen_secs >= 0.0);
    }
}
