//! Memory that requests have freed.

/// Configures the allocator to return freed memory to the system. By default, each thread keeps the
/// memory of its largest request. Must be called before the process has other threads.
pub fn return_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it only sets parameters of the allocator, before any other thread exists.
    #[allow(unsafe_code, reason = "a function of the C library")]
    unsafe {
        // One arena for all threads; large chunks are mapped one by one, and unmapped when freed.
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 64 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 128 << 10);
    }
}
