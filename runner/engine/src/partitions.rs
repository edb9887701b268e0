//! Division of a sample into partitions.

use foreglow_protocol::Partition;

/// Partitions of a sample, in order.
pub struct Partitions {
    /// Images of the sample.
    pub images: u64,
    size: u64,
    next: u64,
}

impl Partitions {
    /// Divides `images` images into partitions of `size` images; the last one may be smaller.
    pub fn new(images: u64, size: u32) -> Self {
        Self { images, size: u64::from(size), next: 0 }
    }

    /// Returns the number of partitions.
    pub fn total(&self) -> u64 {
        self.images.div_ceil(self.size)
    }
}

impl Iterator for Partitions {
    type Item = Partition;

    fn next(&mut self) -> Option<Partition> {
        let first = self.next * self.size;
        let len = self.images.checked_sub(first).filter(|left| *left > 0)?.min(self.size);
        self.next += 1;
        Some(Partition { index: self.next - 1, first, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_cover_the_sample_once() {
        let partitions = Partitions::new(20, 8);
        assert_eq!(partitions.total(), 3);
        let all: Vec<_> = partitions.map(|partition| (partition.index, partition.first, partition.len)).collect();
        assert_eq!(all, [(0, 0, 8), (1, 8, 8), (2, 16, 4)]);
        assert_eq!(Partitions::new(16, 8).total(), 2);
        assert_eq!(Partitions::new(3, 8).map(|partition| partition.len).collect::<Vec<_>>(), [3]);
    }
}
