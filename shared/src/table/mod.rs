//! Tables of text cells, as spreadsheets and other programs write them: CSV with commas, semicolons
//! or tabs, and JSON Lines.

mod json;
mod notation;

use std::collections::BTreeMap;
use std::ops::Index;

use csv::StringRecord;

pub(crate) use self::json::other_form;
pub use self::notation::unambiguous_number;
use self::notation::{Decimal, Evidence, Reading};
pub(crate) use self::notation::{is_nothing, may_be_number};
use crate::encoding::decode;
use crate::file_kind::NotText;
use crate::number;

/// Supported delimiters.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// A table of text cells. Numbers have a decimal point and no separators of thousands in every
/// notation of the file; a missing value is an empty cell.
///
/// ```
/// use foreglow_shared::Table;
///
/// let table = Table::read(b"nodes;secs\n1;1.234,5\n2;617\n3;#N/A\n;\n")?;
/// assert_eq!(table.header(), ["nodes", "secs"]);
/// let secs: Vec<&str> = table.rows().filter_map(|row| row.get(1)).collect();
/// assert_eq!(secs, ["1234.5", "617", ""]);
/// # Ok::<(), foreglow_shared::TableError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    header: Vec<String>,
    /// All cells, one after the other.
    text: String,
    /// Ends of the cells in `text`, row by row.
    ends: Vec<usize>,
    /// Line of each row, from 1.
    lines: Vec<u64>,
    /// The first ambiguous number of a column.
    ambiguous: BTreeMap<usize, TableError>,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableRow<'a> {
    table: &'a Table,
    row: usize,
}

/// Why a table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file is not text.
    #[error("{0}; give a table as CSV or JSON Lines")]
    NotText(NotText),
    /// The file has another known form; the text says which.
    #[error("{0}")]
    Form(String),
    /// The table has no header or no row.
    #[error("it has no rows; give a header and a row below it")]
    Empty,
    /// A row cannot be read.
    #[error("line {line}: this is not a row of the table ({reason})")]
    Row {
        /// Line number, from 1.
        line: u64,
        /// The error.
        reason: String,
    },
    /// A number may have a decimal mark or a separator of thousands.
    #[error("line {line}: {column} is {text:?}, which may be {whole} or {decimal}; write {whole} or {decimal}0")]
    Ambiguous {
        /// Line number, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// Content of the cell.
        text: String,
        /// The number if the mark separates thousands.
        whole: String,
        /// The number if the mark precedes decimals.
        decimal: String,
    },
}

impl Table {
    /// Reads a table from the bytes of a file.
    ///
    /// # Errors
    /// The file is not text, or not a table of one of the supported forms.
    pub fn read(bytes: &[u8]) -> Result<Self, TableError> {
        Self::parse(&decode(bytes).map_err(TableError::NotText)?)
    }

    /// Reads a table from a text. It is JSON Lines if it starts with a brace; otherwise the
    /// delimiter is the most frequent one of the first line, or named in a line `sep=;` above it.
    ///
    /// # Errors
    /// The text is not a table of one of the supported forms.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        Self::parse_with_names(text, &[])
    }

    /// Reads a table like [`Table::parse`]; cells of the columns `names` are never numbers.
    ///
    /// # Errors
    /// The text is not a table of one of the supported forms.
    pub(crate) fn parse_with_names(text: &str, names: &[&str]) -> Result<Self, TableError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with(['{', '[']) {
            return json::read(text);
        }
        let (delimiter, skipped) = named_delimiter(text).unwrap_or_else(|| (delimiter(text), 0));
        let source = Separated { text: &text[skipped..], delimiter, above: u64::from(skipped > 0) };
        let header = source.header()?;
        let has_names = |column: &String| names.iter().any(|name| column.eq_ignore_ascii_case(name));
        let has_names: Vec<bool> = header.iter().map(has_names).collect();
        // Reads the text twice, because the meaning of a number depends on the cells below it.
        let mut columns = vec![Evidence::default(); header.len()];
        source.rows(header.len(), |_, row| {
            for ((evidence, cell), _) in columns.iter_mut().zip(row).zip(&has_names).filter(|(_, is_name)| !**is_name) {
                evidence.add(cell);
            }
        })?;
        let file = columns.iter().fold(Evidence::default(), |file, column| file.and(column));
        let usual = Decimal::usual(delimiter);
        let mut table = Self { header, ..Self::default() };
        source.rows(table.header.len(), |line, row| {
            table.lines.push(line);
            for (column, cell) in row.iter().enumerate().take(has_names.len()) {
                let mark = |cell: &str| columns[column].mark_of(cell, file, usual);
                if is_nothing(cell) {
                    table.push("");
                } else if has_names[column] {
                    table.push(cell);
                } else {
                    table.push_number(line, column, cell, mark);
                }
            }
        })?;
        Ok(table)
    }

    /// Reads a table in plain form: a line for each row, of as many cells as the header, commas
    /// between them, no quotes, and numbers with a decimal point. The page then needs no reader of
    /// other forms for its own tables.
    pub(crate) fn plain(text: &str) -> Self {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default().split(',').map(str::to_owned).collect();
        let mut table = Self { header, ..Self::default() };
        for (line, number) in lines.zip(2..) {
            table.lines.push(number);
            line.split(',').for_each(|cell| table.push(cell));
        }
        table
    }

    fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    /// Adds a cell, in plain form if it is a number. `mark` tells what precedes its decimals.
    fn push_number(&mut self, line: u64, column: usize, cell: &str, mark: impl Fn(&str) -> Option<Decimal>) {
        match Reading::of(cell) {
            Reading::Number { plain, .. } if number(cell).is_none() => self.push(&plain),
            Reading::Ambiguous { point, comma } => match mark(cell) {
                Some(Decimal::Point) => self.push(&point),
                Some(Decimal::Comma) => self.push(&comma),
                None => {
                    self.push(cell);
                    let (whole, decimal) = if cell.contains('.') { (comma, point) } else { (point, comma) };
                    let (column_name, text) = (self.header[column].clone(), cell.to_owned());
                    let error = TableError::Ambiguous { line, column: column_name, text, whole, decimal };
                    self.ambiguous.entry(column).or_insert(error);
                }
            },
            _ => self.push(cell),
        }
    }

    /// Returns the names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Returns the place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|own| own == name)
    }

    /// Returns the rows; each has a cell for every column.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = TableRow<'_>> + Clone {
        (0..self.lines.len()).map(|row| TableRow { table: self, row })
    }

    /// Checks that every number of a column has one meaning.
    ///
    /// # Errors
    /// The first number that may have a decimal mark or a separator of thousands.
    pub fn check_numbers(&self, column: usize) -> Result<(), TableError> {
        self.ambiguous.get(&column).cloned().map_or(Ok(()), Err)
    }

    /// Returns whether every cell of a column is a number, or empty or ambiguous.
    pub fn is_numeric(&self, column: usize) -> bool {
        let is_number = |cell: &str| cell.is_empty() || !matches!(Reading::of(cell), Reading::Text);
        self.rows().all(|row| is_number(&row[column]))
    }
}

impl<'a> TableRow<'a> {
    /// Returns the line of the row in its file, from 1.
    pub fn line(self) -> u64 {
        self.table.lines[self.row]
    }

    /// Returns the cell of a column; `None` if the table has no such column.
    pub fn get(self, column: usize) -> Option<&'a str> {
        let cell = self.row * self.table.header.len() + column;
        let start = cell.checked_sub(1).map_or(0, |before| self.table.ends[before]);
        (column < self.table.header.len()).then(|| &self.table.text[start..self.table.ends[cell]])
    }

    /// Returns the cells.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        (0..self.table.header.len()).filter_map(move |column| self.get(column))
    }
}

impl Index<usize> for TableRow<'_> {
    type Output = str;

    fn index(&self, column: usize) -> &str {
        self.get(column).expect("the column is one of the table")
    }
}

/// A text of cells with delimiters, below `above` other lines.
struct Separated<'a> {
    text: &'a str,
    delimiter: u8,
    above: u64,
}

impl Separated<'_> {
    fn reader(&self) -> csv::Reader<&[u8]> {
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(self.delimiter).trim(csv::Trim::All).flexible(true).from_reader(self.text.as_bytes())
    }

    fn unreadable(&self, error: &csv::Error) -> TableError {
        TableError::Row { line: self.line_of(error.position()), reason: "it cannot be read".to_owned() }
    }

    /// Returns the line, from 1, on which a record begins.
    ///
    /// `position` is the reader's position at the end of the previous record. It is before the line
    /// feed of a CRLF and before blank lines.
    fn line_of(&self, position: Option<&csv::Position>) -> u64 {
        let Some(position) = position else { return 1 };
        let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
        let skipped = self.text.as_bytes().get(start..).unwrap_or_default();
        let skipped = skipped.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        position.line() + skipped.filter(|byte| **byte == b'\n').count() as u64 + self.above
    }

    /// Returns the names of the columns, without those at the end that have no name.
    fn header(&self) -> Result<Vec<String>, TableError> {
        let mut reader = self.reader();
        let header = reader.headers().map_err(|error| self.unreadable(&error))?;
        let width = header.iter().collect::<Vec<_>>().iter().rposition(|name| !name.is_empty());
        let width = width.ok_or(TableError::Empty)? + 1;
        Ok(header.iter().take(width).map(str::to_owned).collect())
    }

    /// Calls `done` with the line and the cells of each row. Skips rows without a value, which
    /// spreadsheets leave below a table. A row may have more cells than the header if they are
    /// empty.
    fn rows(&self, width: usize, mut done: impl FnMut(u64, &StringRecord)) -> Result<(), TableError> {
        let mut reader = self.reader();
        let mut row = StringRecord::new();
        while reader.read_record(&mut row).map_err(|error| self.unreadable(&error))? {
            if row.iter().all(is_nothing) {
                continue;
            }
            let line = self.line_of(row.position());
            if row.len() < width || row.iter().skip(width).any(|cell| !cell.is_empty()) {
                let reason = format!("{} cells, the header has {width}", row.len());
                return Err(TableError::Row { line, reason });
            }
            done(line, &row);
        }
        Ok(())
    }
}

/// Returns the delimiter of the line `sep=;` that Excel reads and writes above a table, and the
/// length of the line.
fn named_delimiter(text: &str) -> Option<(u8, usize)> {
    let line = text.split_inclusive('\n').next()?;
    let named = line.trim_end_matches(['\r', '\n']).trim_matches('"').strip_prefix("sep=")?;
    let [delimiter] = named.as_bytes() else { return None };
    Some((*delimiter, line.len()))
}

/// Returns the delimiter that occurs most often in the first line, outside quotes.
fn delimiter(text: &str) -> u8 {
    let mut counts = [0; DELIMITERS.len()];
    let mut quoted = false;
    for byte in text.trim_start_matches(['\r', '\n']).bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            _ if !quoted => {
                if let Some(place) = DELIMITERS.iter().position(|delimiter| *delimiter == byte) {
                    counts[place] += 1;
                }
            }
            _ => {}
        }
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    let place = counts.iter().position(|count| *count == most).unwrap_or(0);
    DELIMITERS[place]
}
