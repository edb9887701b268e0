//! Operating system limits on an executor.

/// Asks the system to kill this process when the thread that started it ends. The end of the input
/// has the same effect, but only after it is read.
///
/// # Errors
/// The engine, given by its process ID, has already ended.
pub fn die_with(engine: u32) -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let signal = Some(rustix::process::Signal::KILL);
        // If the system refuses, the end of the input still ends the executor.
        let _ = rustix::process::set_parent_process_death_signal(signal);
        let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get());
        let is_there = parent.and_then(|parent| u32::try_from(parent).ok()) == Some(engine);
        anyhow::ensure!(is_there, "the engine that started this executor has ended");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = engine;
    Ok(())
}

/// Pins this thread, and those that it starts later, to these processors; an empty list leaves it
/// unpinned.
///
/// # Errors
/// The system refuses.
pub fn pin(processors: &[u32]) -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    if !processors.is_empty() {
        use anyhow::Context as _;
        let mut set = rustix::thread::CpuSet::new();
        for processor in processors {
            set.set(*processor as usize);
        }
        rustix::thread::sched_setaffinity(None, &set)
            .with_context(|| format!("the executor cannot be pinned to the processors {processors:?}"))?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = processors;
    Ok(())
}

/// Limits the writable memory of this process. An allocation beyond it aborts the process with a
/// message that [`is_out_of_memory`] recognises.
///
/// # Errors
/// The system refuses the limit.
pub fn bound_memory(memory_mib: u32) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use anyhow::Context as _;
        let bytes = Some(u64::from(memory_mib) << 20);
        let limit = rustix::process::Rlimit { current: bytes, maximum: bytes };
        rustix::process::setrlimit(rustix::process::Resource::Data, limit).with_context(|| {
            format!("the executor's memory cannot be limited to {memory_mib} MiB; choose a smaller --memory")
        })?;
    }
    #[cfg(not(unix))]
    let _ = memory_mib;
    Ok(())
}

/// Returns whether the last output of a process says that it ran out of memory, in the words of
/// Rust's allocator, of its threads, of libc, or of a graphics driver.
pub fn is_out_of_memory(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    ["memory allocation of", "cannot allocate memory", "out of memory", "outofmemory"]
        .iter()
        .any(|sign| words.contains(sign))
}

/// Returns the peak resident memory of a process in MiB; `process` is a process ID or `self`.
pub fn peak_memory_mib(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    peak_of(&status)
}

/// Stack of a thread that Rust's library starts, bytes.
#[cfg(unix)]
const THREAD_STACK: u64 = 2 << 20;

/// Returns whether the bound of [`bound_memory`] leaves room for the stack of another thread.
pub fn has_room_for_thread() -> bool {
    #[cfg(unix)]
    {
        let bound = rustix::process::getrlimit(rustix::process::Resource::Data).current;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        bound.zip(kib_of(&status, "VmData")).is_none_or(|(bound, data)| (data << 10) + THREAD_STACK <= bound)
    }
    #[cfg(not(unix))]
    true
}

/// Returns the peak resident memory in a `/proc/PID/status`, MiB, without mapped files such as the
/// program itself, which no bound counts because the system can reclaim them.
fn peak_of(status: &str) -> Option<u64> {
    Some(kib_of(status, "VmHWM")?.saturating_sub(kib_of(status, "RssFile").unwrap_or(0)).div_ceil(1024))
}

fn kib_of(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_no_part_of_the_peak() {
        let status =
            "Name:\tforeglow\nVmHWM:\t   22528 kB\nVmRSS:\t 20000 kB\nRssAnon:\t 6000 kB\nRssFile:\t   14000 kB\n";
        assert_eq!(peak_of(status), Some(9));
        assert_eq!(peak_of("VmHWM:\t 1025 kB\n"), Some(2), "a system that does not tell files apart");
        assert_eq!(peak_of(""), None);
    }
}
