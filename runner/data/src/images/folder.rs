//! A folder of JPEG and PNG files whose sub-folders are the classes.

use std::path::Path;

use crate::class_folder::{ClassFolder, Holding};
use crate::set::Layout;

const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];

/// Lists the images of a folder and its sub-folders.
///
/// # Errors
/// The folder cannot be read, or holds no image.
pub fn open(root: &Path) -> anyhow::Result<ClassFolder> {
    let advice = "put .jpg, .jpeg or .png files into it or below it";
    // The decoder rejects large images by their header.
    let holding = Holding { what: "image", advice, accepts: is_image, layout: Layout::File, largest_bytes: u64::MAX };
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

    #[test]
    fn an_empty_folder_and_a_file_are_rejected_with_advice() {
        let dir = tempfile::tempdir().unwrap();
        let said = |path: &Path| open(path).err().unwrap().to_string();
        assert!(said(dir.path()).contains("holds no image; put .jpg"));
        std::fs::write(dir.path().join("1.png"), b"x").unwrap();
        assert!(said(&dir.path().join("1.png")).contains("is not a folder"));
    }
}
