//! Streaming reader of table records in CSV, TSV or JSON Lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use csv::StringRecord;
use foreglow_exit::unusable;
use foreglow_shared::with_point;
use serde_json::Value;

use crate::ask::name;

/// Size of the buffer whose first line determines the format, bytes.
const HEAD: usize = 64 * 1024;

/// An open table. Only one record is in memory at a time.
pub struct Records {
    name: String,
    header: Vec<String>,
    form: Form,
}

enum Form {
    Delimited { reader: Box<csv::Reader<Box<dyn Read>>>, delimiter: u8 },
    JsonLines { lines: Box<dyn BufRead>, line: u64, first: Option<String> },
}

/// Reads a table with every CRLF as a line feed, so that lines are counted alike. A carriage return
/// elsewhere is kept.
struct LineFeeds<R> {
    input: R,
    line: Vec<u8>,
    /// Bytes of the line that are handed out.
    used: usize,
}

impl<R: BufRead> LineFeeds<R> {
    fn new(input: R) -> Self {
        Self { input, line: Vec::new(), used: 0 }
    }
}

impl<R: BufRead> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.line.len() {
            self.line.clear();
            self.used = 0;
            self.input.read_until(b'\n', &mut self.line)?;
            if self.line.ends_with(b"\r\n") {
                self.line.truncate(self.line.len() - 2);
                self.line.push(b'\n');
            }
        }
        let count = (&self.line[self.used..]).read(buffer)?;
        self.used += count;
        Ok(count)
    }
}

/// Returns the line on which a record begins; `after` is the reader's line after the record, whose
/// line feed it has consumed.
fn line_of(record: &StringRecord, after: u64) -> u64 {
    let inside: usize = record.iter().map(|cell| cell.matches('\n').count()).sum();
    after.saturating_sub(inside as u64 + 1).max(1)
}

impl Records {
    /// Opens a file; `-` is standard input. A file that starts with a brace is JSON Lines;
    /// otherwise the separator is the most frequent of comma, tab and semicolon in the first line.
    ///
    /// # Errors
    /// The file cannot be read, or holds no header.
    pub fn open(file: &Path) -> anyhow::Result<Self> {
        let bytes: Box<dyn Read> = if file == Path::new("-") { Box::new(io::stdin().lock()) } else { open(file)? };
        let mut input = BufReader::with_capacity(HEAD, bytes);
        let name = name(file);
        let unreadable = |error: io::Error| unusable(format!("{name} cannot be read: {error}"));
        let start = first_line(&mut input).map_err(unreadable)?;
        let head = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start);
        let text = head.trim_ascii_start();
        let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if first_line.is_empty() {
            return Err(unusable(format!("{name} is empty; give a table with a header and one run per line")));
        }
        if text.starts_with(b"{") {
            return Self::json_lines(name, Box::new(io::Cursor::new(start).chain(input)));
        }
        let count = |delimiter: u8| first_line.iter().filter(|byte| **byte == delimiter).count();
        let delimiter = [b',', b'\t', b';'].into_iter().rev().max_by_key(|delimiter| count(*delimiter)).unwrap_or(b',');
        // A last line without an end gets one, so that lines are counted alike.
        let input: Box<dyn Read> = Box::new(LineFeeds::new(io::Cursor::new(start).chain(input)).chain(&b"\n"[..]));
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(input);
        let header = reader.headers().map_err(|error| damaged(&name, 1, &error))?;
        let header = header.iter().map(|column| column.trim_start_matches('\u{feff}').to_owned()).collect();
        Ok(Self { name, header, form: Form::Delimited { reader: Box::new(reader), delimiter } })
    }

    fn json_lines(name: String, lines: Box<dyn BufRead>) -> anyhow::Result<Self> {
        let form = Form::JsonLines { lines, line: 0, first: None };
        let mut records = Self { name, header: Vec::new(), form };
        let Some((line, text)) = records.next_line()? else { return Ok(records) };
        records.header = records.cells(line, &text)?.into_iter().map(|(column, _)| column).collect();
        if let Form::JsonLines { first, .. } = &mut records.form {
            *first = Some(text);
        }
        Ok(records)
    }

    /// Returns the name of the table for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the column names; for JSON Lines those of the first object, with nested names joined
    /// by dots.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Reads the next record and returns its line number, or `None` at the end. It has one cell per
    /// column of the header; missing cells are empty. Numbers with a decimal comma get a point.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn next(&mut self, record: &mut StringRecord) -> anyhow::Result<Option<u64>> {
        if let Form::Delimited { reader, delimiter } = &mut self.form {
            let more = match reader.read_record(record) {
                Ok(more) => more,
                Err(error) => {
                    let line = line_of(record, reader.position().line());
                    return Err(damaged(&self.name, line, &error));
                }
            };
            if record.iter().any(|cell| with_point(cell, *delimiter).is_some()) {
                let with_point = |cell: &str| with_point(cell, *delimiter).unwrap_or_else(|| cell.to_owned());
                let mut changed: StringRecord = record.iter().map(with_point).collect();
                changed.set_position(record.position().cloned());
                *record = changed;
            }
            return Ok(more.then(|| line_of(record, reader.position().line())));
        }
        let Some((line, text)) = self.next_line()? else { return Ok(None) };
        let cells = self.cells(line, &text)?;
        record.clear();
        for column in &self.header {
            record.push_field(cells.iter().find(|(name, _)| name == column).map_or("", |(_, cell)| cell));
        }
        Ok(Some(line))
    }

    /// Returns the next line that is not blank.
    fn next_line(&mut self) -> anyhow::Result<Option<(u64, String)>> {
        let Form::JsonLines { lines, line, first } = &mut self.form else { return Ok(None) };
        if let Some(text) = first.take() {
            return Ok(Some((*line, text)));
        }
        loop {
            let mut text = String::new();
            *line += 1;
            let read = lines.read_line(&mut text);
            let read = read.map_err(|error| unusable(format!("{}: line {line} cannot be read: {error}", self.name)))?;
            if read == 0 {
                return Ok(None);
            }
            if !text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() {
                return Ok(Some((*line, text)));
            }
        }
    }

    fn cells(&self, line: u64, text: &str) -> anyhow::Result<Vec<(String, String)>> {
        let object = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err(unusable(format!("{}: line {line} is not a JSON object", self.name))),
            Err(error) => return Err(unusable(format!("{}: line {line} is not a JSON object: {error}", self.name))),
        };
        let mut cells = Vec::new();
        flatten("", Value::Object(object), &mut cells);
        Ok(cells)
    }
}

/// Reads up to the end of the first line that is not blank, but at most [`HEAD`] bytes. A pipe may
/// hand out less than a line at a time.
fn first_line(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let mut rest = input.take(HEAD as u64);
    while rest.read_until(b'\n', &mut start)? > 0 {
        let line = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start);
        if !line.trim_ascii().is_empty() {
            break;
        }
    }
    Ok(start)
}

fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    let opened = File::open(file).and_then(|opened| {
        if opened.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(opened) }
    });
    match opened {
        Ok(opened) => Ok(Box::new(opened)),
        Err(error) => Err(foreglow_exit::unreadable(file, &error)),
    }
}

fn damaged(name: &str, line: u64, error: &csv::Error) -> anyhow::Error {
    unusable(match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{name}: line {line} has {len} cells and the header {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => format!("{name}: line {line} is not UTF-8 text"),
        _ => format!("{name}: line {line} cannot be read: {error}"),
    })
}

fn flatten(prefix: &str, value: Value, cells: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                let path = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
                flatten(&path, inner, cells);
            }
        }
        Value::Null => cells.push((prefix.to_owned(), String::new())),
        Value::String(text) => cells.push((prefix.to_owned(), text.trim().to_owned())),
        other => cells.push((prefix.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe that hands out two bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let room = buffer.len().min(2);
            self.0.read(&mut buffer[..room])
        }
    }

    #[test]
    fn the_first_line_of_a_slow_pipe_is_read_whole() {
        let first = |text: &[u8]| first_line(&mut BufReader::new(Slow(text))).unwrap();
        assert_eq!(first(b"a;b;c\r\n1;2;3\r\n"), b"a;b;c\r\n");
        assert_eq!(first("\u{feff}\n  \n{\"a\": 1}".as_bytes()), "\u{feff}\n  \n{\"a\": 1}".as_bytes());
        assert_eq!(first(b""), b"");
    }

    #[test]
    fn a_carriage_return_is_dropped_only_before_a_line_feed() {
        let text = b"a\r\n\r\r\nb\rc\r\n\n\rlong\r";
        for size in [1, 2, 3, 64] {
            let mut read = String::new();
            LineFeeds::new(BufReader::with_capacity(size, &text[..])).read_to_string(&mut read).unwrap();
            assert_eq!(read, "a\n\r\nb\rc\n\n\rlong\r", "{size}");
        }
    }

    #[test]
    fn lines_are_counted_alike_with_every_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.csv");
        for end in [b"\n".as_slice(), b"\r\n"] {
            let read = |last: &[u8]| {
                std::fs::write(&file, [b"a,b".as_slice(), b"1,2", b"", last].join(end)).unwrap();
                let (mut records, mut record) = (Records::open(&file).unwrap(), StringRecord::new());
                assert_eq!(records.next(&mut record).unwrap(), Some(2));
                records.next(&mut record)
            };
            assert_eq!(read(b"3,4").unwrap(), Some(4));
            assert!(read(b"3").unwrap_err().to_string().ends_with("line 4 has 1 cells and the header 2"), "{end:?}");
            assert!(read(b"\xff,4").unwrap_err().to_string().ends_with("line 4 is not UTF-8 text"), "{end:?}");
        }
        std::fs::write(&file, b"a,b\r\n1,2\n\r\n3\n").unwrap();
        let (mut records, mut record) = (Records::open(&file).unwrap(), StringRecord::new());
        assert_eq!(records.next(&mut record).unwrap(), Some(2));
        assert!(records.next(&mut record).unwrap_err().to_string().contains("line 4 has 1 cells"));
    }
}
