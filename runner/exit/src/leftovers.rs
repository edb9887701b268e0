//! Paths to remove when a signal ends the command.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// How often the paths are removed before the command ends, and the time between: another thread
/// may be writing into a folder, or be about to create a file.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(20);

/// Returns the paths, for this thread alone until it drops them.
pub fn paths() -> MutexGuard<'static, Vec<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every path. The result keeps other threads from adding more.
pub fn remove_all() -> MutexGuard<'static, Vec<PathBuf>> {
    let paths = paths();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 && !paths.is_empty() {
            std::thread::sleep(PAUSE);
        }
        paths.iter().for_each(|path| remove(path));
    }
    paths
}

/// Removes a file or folder. What cannot be removed only takes space.
pub fn remove(path: &Path) {
    let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}
