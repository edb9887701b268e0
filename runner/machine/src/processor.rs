//! The processors and the memory of this machine.

/// Returns the CPU model.
pub fn processor_name() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the hardware threads that this process may use.
pub fn processors() -> Option<u32> {
    std::thread::available_parallelism().ok().and_then(|count| u32::try_from(count.get()).ok())
}

/// Returns the memory of this machine, MiB.
pub fn machine_memory_mib() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemTotal"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 10)
}
