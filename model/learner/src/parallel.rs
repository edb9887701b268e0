//! Parallel map over threads, if there are any.

use crate::{Cancelled, Work};

/// Applies `part` to each item in parallel and returns the results in the order of the items. Each
/// item is a step of the work.
///
/// # Errors
/// [`Cancelled`]: the watcher cancelled the work. Items that were started are finished first.
#[cfg(not(target_family = "wasm"))]
pub fn steps<T: Sync, R: Send>(
    items: &[T],
    work: &mut Work<'_>,
    part: impl Fn(&T) -> R + Sync,
) -> Result<Vec<R>, Cancelled> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = Vec::with_capacity(items.len());
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let (sender, next, part) = (sender.clone(), &next, &part);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    if sender.send((index, part(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for result in receiver {
            done.push(result);
            // An early return drops the receiver, which ends the threads after their current items.
            work.step()?;
        }
        Ok(())
    })?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// Applies `part` to each item in sequence, because wasm has no threads here.
#[cfg(target_family = "wasm")]
pub fn steps<T: Sync, R: Send>(
    items: &[T],
    work: &mut Work<'_>,
    part: impl Fn(&T) -> R + Sync,
) -> Result<Vec<R>, Cancelled> {
    let step = |item| {
        let result = part(item);
        work.step().map(|()| result)
    };
    items.iter().map(step).collect()
}
