//! Classes of held-out items under the numbers that they have among the items to learn from.
//!
//! A data set numbers the classes that it has. If the held-out items lack a class, or their set
//! lists the classes in another order, the same name has another number there.

use std::path::PathBuf;

use foreglow_exit::unusable;

use super::set::{DataSet, Item, ItemError};
use super::source::Source;

/// Returns for each class of the held-out items its number among the items to learn from, by name;
/// `None` if the numbers are the same: in one data set, and where a set has no names.
///
/// # Errors
/// A set cannot be opened, or the items to learn from lack a class of the held-out ones.
pub fn class_numbers(learned: &Source, held_out: &Source) -> anyhow::Result<Option<Vec<u32>>> {
    if learned == held_out {
        return Ok(None);
    }
    let (of_learned, of_held_out) = (learned.open()?, held_out.open()?);
    let (Some(known), Some(names)) = (names(of_learned.as_ref()), names(of_held_out.as_ref())) else { return Ok(None) };
    let mut numbers = Vec::with_capacity(names.len());
    for name in names {
        match (0..).zip(&known).find(|(_, known)| **known == name) {
            Some((number, _)) => numbers.push(number),
            // Generated items have names that only say the number.
            None if learned.drawing().is_some() => return Ok(None),
            None => {
                let (path, of) = (held_out.path.display(), learned.path.display());
                return Err(unusable(format!(
                    "{path} has the class {name}, and {of} does not; leave the class out, or give both the same names"
                )));
            }
        }
    }
    Ok(Some(numbers))
}

/// Returns the names of a set's classes, if each has one.
fn names(set: &dyn DataSet) -> Option<Vec<String>> {
    (0..set.classes()?).map(|label| set.class(label)).collect()
}

/// Opens held-out items with the class numbers of the items to learn from.
///
/// # Errors
/// As [`class_numbers`].
pub fn open_held_out(learned: &Source, held_out: &Source) -> anyhow::Result<Box<dyn DataSet>> {
    let set = held_out.open()?;
    Ok(match class_numbers(learned, held_out)? {
        None => set,
        Some(numbers) => Box::new(Renumbered { learned: learned.open()?, set, numbers }),
    })
}

/// A set whose classes have the numbers of another one.
struct Renumbered {
    learned: Box<dyn DataSet>,
    set: Box<dyn DataSet>,
    numbers: Vec<u32>,
}

impl DataSet for Renumbered {
    fn len(&self) -> u64 {
        self.set.len()
    }

    fn classes(&self) -> Option<u32> {
        self.learned.classes()
    }

    fn class(&self, label: u32) -> Option<String> {
        self.learned.class(label)
    }

    fn name(&self, number: u64) -> String {
        self.set.name(number)
    }

    fn read(&self, number: u64) -> Result<Item, ItemError> {
        let item = self.set.read(number)?;
        let Some(label) = item.label else { return Ok(item) };
        match self.numbers.get(label as usize) {
            Some(label) => Ok(Item { label: Some(*label), ..item }),
            None => Err(ItemError(format!("its class is {label}, and the set names {}", self.numbers.len()))),
        }
    }

    fn expect(&self, number: u64) {
        self.set.expect(number);
    }

    fn files(&self, numbers: &[u64]) -> Vec<PathBuf> {
        self.set.files(numbers)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::drawn::{Drawing, generate};
    use crate::source::Kind;

    /// A folder with one image of each class; the bytes are the name of the class.
    fn folder(root: &Path, name: &str, classes: &[&str]) -> Source {
        for class in classes {
            let folder = root.join(name).join(class);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("1.png"), class).unwrap();
        }
        Kind::Folder.at(root.join(name))
    }

    fn labels(set: &dyn DataSet) -> Vec<(String, Option<u32>)> {
        let item = |number| set.read(number).unwrap();
        (0..set.len()).map(|number| (String::from_utf8(item(number).bytes).unwrap(), item(number).label)).collect()
    }

    #[test]
    fn a_class_that_is_not_held_out_shifts_no_label() {
        let dir = tempfile::tempdir().unwrap();
        let learned = folder(dir.path(), "train", &["cat", "dog", "eel"]);
        let held_out = folder(dir.path(), "test", &["dog", "eel"]);
        assert_eq!(class_numbers(&learned, &held_out).unwrap(), Some(vec![1, 2]));
        let set = open_held_out(&learned, &held_out).unwrap();
        assert_eq!(labels(set.as_ref()), [("dog".to_owned(), Some(1)), ("eel".to_owned(), Some(2))]);
        assert_eq!((set.classes(), set.class(1).as_deref()), (Some(3), Some("dog")));
        assert_eq!(class_numbers(&learned, &learned).unwrap(), None);
    }

    #[test]
    fn a_held_out_class_that_was_not_learned_is_refused_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let learned = folder(dir.path(), "train", &["cat", "dog"]);
        let held_out = folder(dir.path(), "test", &["dog", "eel"]);
        let said = class_numbers(&learned, &held_out).unwrap_err().to_string();
        assert!(said.contains("test has the class eel, and ") && said.contains("train does not; "), "{said}");
    }

    #[test]
    fn classes_without_names_keep_their_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let flat = dir.path().join("flat");
        std::fs::create_dir(&flat).unwrap();
        std::fs::write(flat.join("1.png"), "no class").unwrap();
        let learned = folder(dir.path(), "train", &["cat", "dog"]);
        assert_eq!(class_numbers(&learned, &Kind::Folder.at(&flat)).unwrap(), None);
        let drawn = Kind::Digits.at(dir.path().join("drawn"));
        generate(Drawing::Digits, &drawn.path, 3, &mut |_, _| {}).unwrap();
        let digits = folder(dir.path(), "digits", &["0", "1"]);
        assert_eq!(class_numbers(&drawn, &digits).unwrap(), None);
    }
}
