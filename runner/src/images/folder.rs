//! The user's folder of images, with or without a folder a class.

use std::path::{Path, PathBuf};

use crate::exit::unusable;

const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];

/// The images under a folder, sorted by path, so that every machine numbers them alike; the first `wanted` of them.
///
/// # Errors
/// The folder is missing, cannot be read, holds no image or fewer than wanted.
pub fn list(root: &Path, wanted: Option<u64>) -> anyhow::Result<Vec<PathBuf>> {
    let shown = root.display();
    if !root.exists() {
        return Err(unusable(format!("the image folder {shown} does not exist; name one that does with --data")));
    }
    if !root.is_dir() {
        return Err(unusable(format!("{shown} is no folder; name the folder that holds the images with --data")));
    }
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).follow_links(true) {
        let entry = entry.map_err(|error| unusable(format!("the image folder {shown} cannot be read: {error}")))?;
        if entry.file_type().is_file() && is_image(entry.path()) {
            files.push(entry.into_path());
        }
    }
    if files.is_empty() {
        return Err(unusable(format!(
            "the image folder {shown} holds no image; put .jpg, .jpeg or .png files into it or below it"
        )));
    }
    files.sort();
    if let Some(wanted) = wanted {
        let found = files.len() as u64;
        if found < wanted {
            return Err(unusable(format!(
                "the image folder {shown} holds {found} images and the job has {wanted}; ask for --images {found} or less"
            )));
        }
        files.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
    }
    Ok(files)
}

fn is_image(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_below_class_folders_in_a_fixed_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b/2.JPG", "a/1.jpeg", "a/3.png", "a/notes.txt"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"x").unwrap();
        }
        let names: Vec<_> = list(dir.path(), None)
            .unwrap()
            .iter()
            .map(|path| path.strip_prefix(dir.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["a/1.jpeg", "a/3.png", "b/2.JPG"]);
        assert_eq!(list(dir.path(), Some(2)).unwrap().len(), 2);
    }

    #[test]
    fn a_missing_an_empty_and_a_too_small_folder_each_say_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let said = |path: &Path, wanted| list(path, wanted).unwrap_err().to_string();
        assert!(said(&dir.path().join("no"), None).contains("does not exist; name one"));
        assert!(said(dir.path(), None).contains("holds no image; put .jpg"));
        std::fs::write(dir.path().join("1.png"), b"x").unwrap();
        assert!(said(dir.path(), Some(5)).contains("holds 1 images and the job has 5; ask for --images 1"));
        assert!(said(&dir.path().join("1.png"), None).contains("is no folder"));
    }
}
