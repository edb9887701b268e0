//! What the system holds an executor to.

/// Asks the system to end this process with the thread that started it, whatever ends that one. The end of the input says
/// the same, but only once it is read.
///
/// # Errors
/// The engine, by its process number, has ended before it could be asked.
pub fn die_with(engine: u32) -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let signal = Some(rustix::process::Signal::KILL);
        // Where the system refuses, the end of the input is left.
        let _ = rustix::process::set_parent_process_death_signal(signal);
        let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get());
        let is_there = parent.and_then(|parent| u32::try_from(parent).ok()) == Some(engine);
        anyhow::ensure!(is_there, "the engine that started this executor has ended");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = engine;
    Ok(())
}

/// Keeps this thread, and those that it starts from now on, to these processors; none leaves it free.
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
            .with_context(|| format!("the system refuses to keep the executor to the processors {processors:?}"))?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = processors;
    Ok(())
}

/// Asks the system's library to keep the memory that is freed: the tensors of one layer are as large as those of the next,
/// and what goes back to the system comes again page by page, filled with zeros.
pub fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets parameters of the allocator, and there is no other thread yet.
    #[allow(unsafe_code)]
    unsafe {
        // Threads share what is kept; nothing is mapped apart; nothing is given back.
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
    }
}

/// Bounds the writable memory of this process. An allocation beyond it aborts the process with a message that
/// [`is_out_of_memory`] knows.
///
/// # Errors
/// The system refuses the bound.
pub fn bound_memory(memory_mib: u32) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use anyhow::Context as _;
        let bytes = Some(u64::from(memory_mib) << 20);
        let limit = rustix::process::Rlimit { current: bytes, maximum: bytes };
        rustix::process::setrlimit(rustix::process::Resource::Data, limit).with_context(|| {
            format!("the system refuses to bound the executor's memory to {memory_mib} MiB; choose a smaller --memory")
        })?;
    }
    #[cfg(not(unix))]
    let _ = memory_mib;
    Ok(())
}

/// Whether the last words of a process say that it ran out of memory: those of Rust's allocator, of its threads, and of
/// the system's library.
pub fn is_out_of_memory(words: &str) -> bool {
    ["memory allocation of", "Cannot allocate memory", "out of memory", "OutOfMemory"]
        .iter()
        .any(|sign| words.contains(sign))
}

/// Most memory that a process has held, MiB; it is named by its number, or `self`.
pub fn peak_memory_mib(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib.div_ceil(1024))
}
