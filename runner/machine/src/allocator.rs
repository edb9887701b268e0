//! Policy of the C library's allocator for freed memory.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use libc::{M_ARENA_MAX, M_MMAP_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, c_int};

/// Keeps freed memory: consecutive layers need tensors of the same size, and pages from the system
/// have to be zeroed first. Must be called before the process has other threads.
pub fn keep_memory() {
    // One arena for all threads; no memory-mapped chunks; no trimming.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    configure(&[(M_ARENA_MAX, 1), (M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, c_int::MAX)]);
}

/// Returns freed memory to the system: by default, each thread retains the memory of its largest
/// request. Must be called before the process has other threads.
pub fn return_memory() {
    // One arena for all threads; large chunks are mapped one by one, and unmapped when freed.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    configure(&[(M_ARENA_MAX, 1), (M_MMAP_THRESHOLD, 64 << 10), (M_TRIM_THRESHOLD, 128 << 10)]);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn configure(parameters: &[(c_int, c_int)]) {
    for (parameter, value) in parameters {
        // SAFETY: it only sets a parameter of the allocator, before any other thread exists.
        #[allow(unsafe_code, reason = "a function of the C library")]
        unsafe {
            libc::mallopt(*parameter, *value);
        }
    }
}
