//! The mini-batch sizes that follow from an assignment.

/// Returns the mini-batch sizes of a run: full ones, the rest of a partition, the rest of the last
/// partition.
pub fn mini_batches(images: u64, partition_size: u64, batch_size: u64) -> Vec<usize> {
    let mut sizes = Vec::new();
    for partition in [partition_size.min(images), images % partition_size] {
        for size in [batch_size.min(partition), partition % batch_size] {
            if size > 0 && !sizes.contains(&(size as usize)) {
                sizes.push(size as usize);
            }
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mini_batch_size_of_a_run_is_warmed_up() {
        assert_eq!(mini_batches(100, 10, 4), [4, 2]);
        assert_eq!(mini_batches(103, 10, 4), [4, 2, 3]);
        assert_eq!(mini_batches(20, 32, 8), [8, 4]);
        assert_eq!(mini_batches(1, 32, 8), [1]);
        assert_eq!(mini_batches(64, 32, 64), [32]);
    }
}
