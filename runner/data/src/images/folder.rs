//! A folder of JPEG and PNG files whose sub-folders are the classes.

use std::path::Path;

use crate::class_folder::{ClassFolder, Holding};
use crate::set::Layout;

/// The last three of JPEG are those of Windows and of browsers.
const ENDINGS: [&str; 6] = ["jpg", "jpeg", "png", "jpe", "jfif", "jif"];

/// Lists the images of a folder and its sub-folders.
///
/// # Errors
/// The folder cannot be read, or holds no image.
pub fn open(root: &Path) -> anyhow::Result<ClassFolder> {
    let advice = "put .jpg, .jpeg or .png files into it or below it";
    // The decoder rejects large images by their header.
    let (layout, largest_bytes) = (Layout::File, u64::MAX);
    let holding = Holding { what: "image", kinds: "JPEG or PNG", advice, accepts: is_image, layout, largest_bytes };
    ClassFolder::open(root, &holding)
}

/// Returns whether a file's extension is that of an image.
pub fn is_image(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::DataSet as _;

    #[test]
    fn images_are_found_below_class_folders_in_a_fixed_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b/2.JPG", "a/1.jpeg", "a/deep/3.png", "a/notes.txt", "c/none.txt", "loose.jpg"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let folder = open(dir.path()).unwrap();
        let images: Vec<_> = (0..folder.len())
            .map(|number| {
                let image = folder.read(number).unwrap();
                (String::from_utf8(image.bytes).unwrap(), image.label)
            })
            .collect();
        let expected = [("a/1.jpeg", Some(0)), ("a/deep/3.png", Some(0)), ("b/2.JPG", Some(1)), ("loose.jpg", None)];
        assert_eq!(images, expected.map(|(name, label)| (name.to_owned(), label)));
        assert_eq!((folder.classes(), folder.class(1).as_deref()), (Some(2), Some("b")));
        assert!(folder.read(4).is_err());
    }

    fn write(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
    }

    #[test]
    fn hidden_entries_and_those_of_systems_are_neither_images_nor_classes() {
        let dir = tempfile::tempdir().unwrap();
        // The data themselves may be in a hidden folder.
        let root = dir.path().join(".cache/pets");
        write(&root, &["cat/1.jpg", "cat/2.JPEG", "dog/1.jfif", "dog/2.png"]);
        write(&root, &[".ipynb_checkpoints/1-checkpoint.jpg", "cat/.ipynb_checkpoints/2.jpg", "cat/._1.jpg"]);
        write(&root, &["__MACOSX/cat/._1.jpg", "dog/@eaDir/1.jpg/thumb.jpg", "dog/Thumbs.db", "$RECYCLE.BIN/3.png"]);
        let set = open(&root).unwrap();
        assert_eq!((set.len(), set.classes()), (4, Some(2)));
        assert_eq!((set.class(0).as_deref(), set.class(1).as_deref()), (Some("cat"), Some("dog")));
        assert_eq!(set.remark().unwrap(), format!("{}: left out: 7 hidden files and folders", root.display()));
    }

    #[test]
    fn other_files_and_empty_class_folders_are_counted_and_said_in_one_sentence() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &["cat/1.jpg", "dog/1.webp", "dog/2.WEBP", "dog/3.gif", "labels.csv", "cat/notes"]);
        std::fs::create_dir(dir.path().join("eel")).unwrap();
        let set = open(dir.path()).unwrap();
        assert_eq!((set.len(), set.class(0).as_deref()), (1, Some("cat")));
        let shown = dir.path().display();
        assert_eq!(
            set.remark().unwrap(),
            format!(
                "{shown}: left out: files that are not JPEG or PNG (2 .webp, 1 without an extension, 1 .csv, 1 .gif); \
                2 sub-folders without images, which are no classes (dog)"
            )
        );
        write(&dir.path().join("whole"), &["train/cat/1.jpg", "Val/cat/2.jpg"]);
        let said = open(&dir.path().join("whole")).unwrap().remark().unwrap();
        assert!(
            said.ends_with("the classes are the folders Val, train; give one of them to use its sub-folders"),
            "{said}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_entry_that_cannot_be_read_costs_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &["cat/1.jpg", "dog/1.jpg"]);
        std::os::unix::fs::symlink("/no/such/image.jpg", dir.path().join("cat/2.jpg")).unwrap();
        std::os::unix::fs::symlink("/no/such/lock", dir.path().join("cat/.#2.jpg")).unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("dog/loop")).unwrap();
        let set = open(dir.path()).unwrap();
        assert_eq!((set.len(), set.classes()), (2, Some(2)));
        let said = set.remark().unwrap();
        assert!(said.contains("1 hidden files and folders; 2 entries that cannot be read ("), "{said}");
    }

    #[test]
    fn an_empty_folder_and_a_file_are_rejected_with_advice() {
        let dir = tempfile::tempdir().unwrap();
        let said = |path: &Path| open(path).err().unwrap().to_string();
        assert!(said(dir.path()).contains("holds no image; put .jpg"));
        std::fs::write(dir.path().join("1.png"), b"x").unwrap();
        assert!(said(&dir.path().join("1.png")).contains("is not a folder"));
    }
}
