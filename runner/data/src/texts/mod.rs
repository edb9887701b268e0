//! Texts, from the file to the word vectors for a classifier. Words are split as in BigDL's text
//! classifier (release 0.7.1, `pyspark/bigdl/models/textclassifier/textclassifier.py` and
//! `pyspark/bigdl/dataset/news20.py`), and their vectors come from a GloVe file.

mod decode;
pub mod drawn;
mod embedding;
mod glove;
mod vocabulary;
mod words;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::decode::Decoder;
pub use self::embedding::Embedding;
pub use self::glove::dims;
use crate::class_folder::{ClassFolder, Holding};
use crate::set::Layout;

/// Vocabulary and word vectors of the user's texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// Path of the GloVe file.
    pub vectors: PathBuf,
    /// Frequency rank of the last word in the vocabulary.
    pub vocabulary: u32,
}

/// Size limit of a text file, bytes.
const LARGEST_TEXT: u64 = 16 << 20;

/// Lists the texts of a folder and its sub-folders: every file that is not hidden, with any
/// extension. The texts of 20 Newsgroups are named by numbers.
///
/// # Errors
/// The folder cannot be read, or holds no text.
pub fn folder(root: &Path) -> anyhow::Result<ClassFolder> {
    let advice = "put text files into sub-folders, one for each class";
    let (layout, largest_bytes) = (Layout::Text, LARGEST_TEXT);
    let holding = Holding { what: "text", kinds: "texts", advice, accepts: |_| true, layout, largest_bytes };
    ClassFolder::open(root, &holding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::DataSet as _;

    #[test]
    fn texts_are_found_in_class_folders_with_any_name() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["sci.space/60774", "sci.space/.DS_Store", "alt.atheism/49960", "loose.txt"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let texts = folder(dir.path()).unwrap();
        let read =
            |number| texts.read(number).map(|text| (String::from_utf8(text.bytes).unwrap(), text.label)).unwrap();
        assert_eq!(texts.len(), 3);
        assert_eq!(read(0), ("alt.atheism/49960".into(), Some(0)));
        assert_eq!(read(1), ("loose.txt".into(), None));
        assert_eq!(read(2), ("sci.space/60774".into(), Some(1)));
        assert_eq!(texts.class(1).as_deref(), Some("sci.space"));
    }

    #[test]
    fn an_empty_folder_and_a_huge_file_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let error = folder(dir.path()).err().unwrap().to_string();
        assert!(error.contains("holds no text; put text files into sub-folders, one for each class"), "{error}");
        std::fs::File::create(dir.path().join("huge")).unwrap().set_len(LARGEST_TEXT + 1).unwrap();
        let error = folder(dir.path()).unwrap().read(0).unwrap_err().0;
        assert!(error.contains("it has 16777217 bytes; at most 16777216 are read"), "{error}");
    }
}
