//! Texts and word vectors: any text with any GloVe file is rejected, or gives the number of values
//! that the classifier expects. A zero byte separates both.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use foreglow_data::Kind;
use foreglow_data::texts::{Decoder, Words};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

const WORDS: usize = 5;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = TempDir::new().expect("the folder for temporary files is writable");
    fs::create_dir(folder.path().join("texts")).expect("the temporary folder is writable");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (text, vectors) = bytes.split_at(end);
    let file = |name: &str, content: &[u8]| -> PathBuf {
        let path = FOLDER.path().join(name);
        fs::write(&path, content).expect("the temporary folder is writable");
        path
    };
    file("texts/1", text);
    let vectors = file("vectors.txt", vectors.get(1..).unwrap_or_default());
    let source = Kind::Texts(Words { vectors, vocabulary: 20 }).at(FOLDER.path().join("texts"));
    let Ok(Some(embedding)) = source.embedding() else { return };
    let set = source.open().expect("its vocabulary was read");
    let decoder = Decoder::new(Arc::new(embedding), WORDS);
    let mut numbers = Vec::new();
    if let Ok(item) = set.read(0)
        && decoder.decode(&item, &mut numbers).is_ok()
    {
        assert_eq!(numbers.len(), decoder.numbers());
        assert!(numbers.iter().all(|number| number.is_finite()));
    }
});
