//! The order and the filter of the list of all configurations. The address contains them.

use foreglow_shared::{decoded, encoded};

/// A column to sort by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Those that meet the limits first, then by cost (executor-hours without prices) and time.
    #[default]
    Money,
    /// Completion time.
    Time,
    /// Executors, then cores; by machine type if there are several.
    Configuration,
    /// Probability of meeting the limits.
    Probability,
}

/// The order and the filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CandidateList {
    /// The column to sort by.
    pub by: SortBy,
    /// Whether the order is reversed.
    pub descending: bool,
    /// Words that a configuration must contain.
    pub filter: String,
}

impl SortBy {
    /// All columns with their names in the address.
    const NAMES: [(Self, &str); 4] = [
        (Self::Money, "cost"),
        (Self::Time, "time"),
        (Self::Configuration, "configuration"),
        (Self::Probability, "probability"),
    ];
}

impl CandidateList {
    /// Returns the parts of the address, `sort=-time` and `filter=A100`, without usual ones.
    pub fn parts(&self) -> Vec<String> {
        let name = SortBy::NAMES.into_iter().find(|(by, _)| *by == self.by).map_or("", |(_, name)| name);
        let sign = if self.descending { "-" } else { "" };
        let sort = (self.by != SortBy::default() || self.descending).then(|| format!("sort={sign}{name}"));
        let filter = (!self.filter.is_empty()).then(|| format!("filter={}", encoded(&self.filter)));
        sort.into_iter().chain(filter).collect()
    }

    /// Reads a part of the address; an invalid one changes nothing.
    pub fn read(&mut self, name: &str, value: &str) {
        match name {
            "sort" => {
                let (descending, column) = value.strip_prefix('-').map_or((false, value), |column| (true, column));
                if let Some((by, _)) = SortBy::NAMES.into_iter().find(|(_, name)| *name == column) {
                    (self.by, self.descending) = (by, descending);
                }
            }
            "filter" => self.filter = decoded(value).unwrap_or_default(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_filter_survive_the_address_and_the_usual_ones_are_absent() {
        for (by, _) in SortBy::NAMES {
            for (descending, filter) in [(false, ""), (true, "8 × A100 & co")] {
                let list = CandidateList { by, descending, filter: filter.into() };
                let mut read = CandidateList::default();
                for part in list.parts() {
                    let (name, value) = part.split_once('=').unwrap();
                    read.read(name, value);
                }
                assert_eq!(read, list);
            }
        }
        assert!(CandidateList::default().parts().is_empty());
        let mut list = CandidateList::default();
        for broken in ["speed", "", "-"] {
            list.read("sort", broken);
        }
        assert_eq!(list, CandidateList::default());
    }
}
