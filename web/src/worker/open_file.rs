//! A file that the user chose, read in parts by a worker: a network can be larger than the
//! browser's memory, and its costs need only its graph.

use std::io::{Error, Read, Result, Seek, SeekFrom};

use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use web_sys::{File, FileReaderSync};

/// Bytes per read.
const PART: usize = 1 << 16;

/// An open file.
pub struct OpenFile<'a> {
    file: &'a File,
    reader: FileReaderSync,
    /// Position of the next byte in the file.
    at: u64,
    part: Vec<u8>,
    /// Position of the part in the file.
    part_at: u64,
}

impl<'a> OpenFile<'a> {
    /// Opens a file at its start.
    ///
    /// # Errors
    /// The caller is not a worker.
    pub fn new(file: &'a File) -> Result<Self> {
        let reader = FileReaderSync::new().map_err(unreadable)?;
        Ok(Self { file, reader, at: 0, part: Vec::new(), part_at: 0 })
    }

    fn len(&self) -> u64 {
        self.file.size() as u64
    }

    /// Returns the buffered bytes from the position on; empty if there are none.
    fn held(&self) -> &[u8] {
        let skipped = self.at.checked_sub(self.part_at).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| self.part.get(skipped..)).unwrap_or_default()
    }

    fn fetch(&mut self, count: usize) -> Result<()> {
        let end = self.at.saturating_add(count.max(PART) as u64).min(self.len());
        let blob = self.file.slice_with_f64_and_f64(self.at as f64, end as f64).map_err(unreadable)?;
        let buffer = self.reader.read_as_array_buffer(&blob).map_err(unreadable)?;
        (self.part, self.part_at) = (Uint8Array::new(&buffer).to_vec(), self.at);
        Ok(())
    }
}

impl Read for OpenFile<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if self.held().is_empty() && self.at < self.len() && !into.is_empty() {
            self.fetch(into.len().min(1 << 24))?;
        }
        let held = self.held();
        let count = held.len().min(into.len());
        into[..count].copy_from_slice(&held[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for OpenFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(offset) => self.len().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = place.ok_or_else(|| Error::other("a place before the file's start"))?;
        Ok(self.at)
    }
}

fn unreadable(_: JsValue) -> Error {
    Error::other("the browser cannot read it; check that it still exists")
}
