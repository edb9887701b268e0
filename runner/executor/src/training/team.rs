//! Parallel work of an executor's C threads.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::slot::words;

/// Gives each worker its part and waits for all of them; the first worker is the calling thread.
/// There must be as many parts as workers.
///
/// # Errors
/// A worker failed or panicked.
pub fn together<W: Send, P: Send, R: Send>(
    workers: &mut [W],
    parts: Vec<P>,
    work: impl Fn(&mut W, P) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let guarded = |worker: &mut W, part: P| {
        catch_unwind(AssertUnwindSafe(|| work(worker, part)))
            .unwrap_or_else(|panic| Err(anyhow::anyhow!("the CNN panicked: {}", words(panic.as_ref()))))
    };
    let guarded = &guarded;
    std::thread::scope(|scope| {
        let mut pairs = workers.iter_mut().zip(parts);
        let first = pairs.next();
        let mut others = Vec::new();
        for (worker, part) in pairs {
            let thread = std::thread::Builder::new().spawn_scoped(scope, move || guarded(worker, part));
            others.push(thread.map_err(|error| anyhow::anyhow!("a thread could not be started: {error}"))?);
        }
        let mut results = Vec::with_capacity(others.len() + 1);
        if let Some((worker, part)) = first {
            results.push(guarded(worker, part)?);
        }
        for other in others {
            results.push(other.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread of the executor panicked")))?);
        }
        Ok(results)
    })
}

/// Divides a list into one contiguous run per worker, as evenly as possible.
pub fn sharding<T>(mut list: Vec<T>, workers: usize) -> Vec<Vec<T>> {
    let count = list.len();
    let mut parts: Vec<Vec<T>> = (0..workers).rev().map(|worker| list.split_off(worker * count / workers)).collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_dealt_in_order_and_evenly() {
        assert_eq!(sharding((0..7).collect(), 3), [vec![0, 1], vec![2, 3], vec![4, 5, 6]]);
        assert_eq!(sharding(vec![1], 3), [Vec::new(), Vec::new(), vec![1]]);
        assert_eq!(sharding(Vec::<u8>::new(), 2), [Vec::<u8>::new(), Vec::new()]);
    }

    #[test]
    fn a_panic_of_a_worker_is_an_error() {
        let mut workers = [10, 20, 30];
        let done = together(&mut workers, vec![1, 2, 3], |worker, part| {
            *worker += part;
            Ok(*worker)
        });
        assert_eq!(done.unwrap(), [11, 22, 33]);
        let panics = |_: &mut i32, part: i32| {
            assert_ne!(part, 2, "too much");
            Ok(())
        };
        let error = together(&mut workers, vec![1, 2, 3], panics).unwrap_err();
        assert!(error.to_string().contains("too much"), "{error}");
    }
}
