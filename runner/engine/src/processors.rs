//! Pinning of executors: each gets one exclusive processor per core, if the machine has enough
//! processors.

use std::cmp::Reverse;
use std::sync::OnceLock;

use foreglow_machine::processors;
use foreglow_shared::CoreSplit;

/// Returns the processors for an executor, by the system's numbers, among those that this process
/// may use. Empty if there are too few for all executors, or if they are unknown.
pub fn of_executor(executor: u32, split: CoreSplit) -> Vec<u32> {
    let order = order();
    // A CPU quota, as in containers, may allow fewer processors than there are.
    let usable = processors().map_or(0, |count| (count as usize).min(order.len()));
    share(&order[..usable], executor, split)
}

/// Returns the processors that the executors run on: those they are pinned to, or all if they are
/// not pinned.
pub fn of_all(own: &[Vec<u32>]) -> Vec<u32> {
    let all: Vec<u32> = own.iter().flatten().copied().collect();
    if all.is_empty() { order().to_vec() } else { all }
}

fn order() -> &'static [u32] {
    static ORDER: OnceLock<Vec<u32>> = OnceLock::new();
    ORDER.get_or_init(|| in_order(&allowed()))
}

/// Returns disjoint shares of the processors.
fn share(order: &[u32], executor: u32, split: CoreSplit) -> Vec<u32> {
    if split.slots() as usize > order.len() || executor >= split.executors {
        return Vec::new();
    }
    let first: u32 = (0..executor).map(|before| split.cores_of(before)).sum();
    let mut share: Vec<u32> =
        order.iter().skip(first as usize).take(split.cores_of(executor) as usize).copied().collect();
    share.sort_unstable();
    share
}

/// Returns the processors that this process may use: its affinity mask, which also reflects
/// cpusets.
fn allowed() -> Vec<u32> {
    #[cfg(target_os = "linux")]
    if let Ok(set) = rustix::thread::sched_getaffinity(None) {
        return (0..rustix::thread::CpuSet::MAX_CPU as u32).filter(|number| set.is_set(*number as usize)).collect();
    }
    Vec::new()
}

/// Orders processors: one thread of every core first, fast cores before slow ones, and cores of one
/// socket together.
fn in_order(processors: &[u32]) -> Vec<u32> {
    let mut cores: Vec<(u32, u32)> = Vec::new();
    let mut order: Vec<_> = processors
        .iter()
        .map(|&number| {
            let socket = read(number, "topology/physical_package_id").unwrap_or(0);
            let core = (socket, read(number, "topology/core_id").unwrap_or(number));
            let before = cores.iter().filter(|other| **other == core).count();
            cores.push(core);
            (before, Reverse(read(number, "cpu_capacity").unwrap_or(0)), core, number)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(.., number)| number).collect()
}

fn read(processor: u32, name: &str) -> Option<u32> {
    std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{processor}/{name}")).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_have_disjoint_processors_or_none() {
        let order = [0, 2, 4, 6, 1, 3, 5, 7];
        let shares = |executors, cores| -> Vec<_> {
            (0..executors).map(|executor| share(&order, executor, CoreSplit::even(executors, cores))).collect()
        };
        assert_eq!(shares(2, 2), [[0, 2], [4, 6]]);
        assert_eq!(shares(1, 8), [[0, 1, 2, 3, 4, 5, 6, 7]]);
        assert_eq!(shares(3, 3), [[0u32; 0]; 3], "nine slots and eight processors");
        assert_eq!(share(&order, 2, CoreSplit::even(2, 1)), [0u32; 0], "the index exceeds the number of executors");
        assert_eq!(share(&order, 0, CoreSplit::even(u32::MAX, u32::MAX)), [0u32; 0]);
        let uneven = |total: u32| {
            let split = CoreSplit::of_total(3, total).unwrap();
            [0, 1, 2].map(|executor| share(&order, executor, split))
        };
        assert_eq!(uneven(8), [vec![0, 2, 4], vec![1, 3, 6], vec![5, 7]]);
        assert_eq!(uneven(10), [[0u32; 0]; 3], "ten slots and eight processors");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_processor_of_this_process_is_in_the_order_once() {
        let mut order = in_order(&allowed());
        assert!(!order.is_empty());
        order.sort_unstable();
        assert_eq!(order, allowed());
    }
}
