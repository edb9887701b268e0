//! Numbers as programs and spreadsheets write them: with a decimal point or comma, with or without
//! separators of thousands.

use std::borrow::Cow;

use crate::number;

/// The mark before the decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decimal {
    Point,
    Comma,
}

/// Separators of thousands besides a point or comma: Swiss apostrophes, and spaces.
const SEPARATORS: [char; 6] = ['\'', '’', ' ', '\u{a0}', '\u{202f}', '\u{2009}'];

/// What spreadsheets, databases and pandas write for a missing value.
const NOTHING: [&str; 24] = [
    "", "-", "–", "—", "NaN", "nan", "-NaN", "-nan", "NA", "N/A", "n/a", "#N/A", "#NA", "#NV", "<NA>", "NaT", "NULL",
    "Null", "null", "(null)", "None", "\\N", "-1.#IND", "1.#QNAN",
];

/// Meaning of one cell without its column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading<'a> {
    Nothing,
    Text,
    /// A number with its digits in plain form; `mark` if the notation shows which mark precedes
    /// decimals.
    Number {
        plain: Cow<'a, str>,
        mark: Option<Decimal>,
    },
    /// `1.234`: 1234 with a decimal comma, and otherwise 1.234.
    Ambiguous {
        point: String,
        comma: String,
    },
}

/// What the cells of a column show about its notation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    point: bool,
    comma: bool,
    /// Whether a cell is not a number.
    has_text: bool,
    /// Digits of the longest number without separators of thousands; 0 if all have at most three.
    ungrouped: usize,
}

impl Decimal {
    fn mark(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Point => Self::Comma,
            Self::Comma => Self::Point,
        }
    }

    /// Returns the mark of the programs that write this delimiter; unknown for tabs.
    pub(super) fn usual(delimiter: u8) -> Option<Self> {
        match delimiter {
            b',' => Some(Self::Point),
            b';' => Some(Self::Comma),
            _ => None,
        }
    }
}

impl<'a> Reading<'a> {
    pub(super) fn of(cell: &'a str) -> Self {
        if NOTHING.contains(&cell) {
            return Self::Nothing;
        }
        if cell.bytes().all(|byte| byte.is_ascii_digit()) {
            return Self::Number { plain: cell.into(), mark: None };
        }
        match (plain(cell, Decimal::Point), plain(cell, Decimal::Comma)) {
            (None, None) => Self::Text,
            (Some(plain), None) => Self::Number { plain: plain.into(), mark: Some(Decimal::Point) },
            (None, Some(plain)) => Self::Number { plain: plain.into(), mark: Some(Decimal::Comma) },
            (Some(plain), Some(comma)) if plain == comma => Self::Number { plain: plain.into(), mark: None },
            (Some(point), Some(comma)) => Self::Ambiguous { point, comma },
        }
    }
}

impl Evidence {
    pub(super) fn add(&mut self, cell: &str) {
        match Reading::of(cell) {
            Reading::Number { mark, .. } => {
                self.point |= mark == Some(Decimal::Point);
                self.comma |= mark == Some(Decimal::Comma);
                let unsigned = cell.trim_start_matches(['-', '+']);
                let digits = unsigned.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(unsigned.len());
                self.ungrouped = self.ungrouped.max(if digits > 3 { digits } else { 0 });
            }
            Reading::Text => self.has_text = true,
            Reading::Nothing | Reading::Ambiguous { .. } => {}
        }
    }

    /// Adds what another column of the same file shows. Columns with text may hold versions or
    /// lists.
    pub(super) fn and(self, column: &Self) -> Self {
        if column.has_text {
            return self;
        }
        Self { point: self.point || column.point, comma: self.comma || column.comma, ..self }
    }

    fn mark(self) -> Option<Decimal> {
        match (self.point, self.comma) {
            (true, false) => Some(Decimal::Point),
            (false, true) => Some(Decimal::Comma),
            _ => None,
        }
    }

    /// Returns the mark of an ambiguous cell in a column with this evidence; `None` if it may be
    /// either. Without evidence in the column the rest of the file decides where it agrees with the
    /// usual mark of its delimiter. The delimiter alone shows only a decimal point: a spreadsheet
    /// that writes semicolons may show numbers in another country's notation.
    pub(super) fn mark_of(self, cell: &str, file: Self, usual: Option<Decimal>) -> Option<Decimal> {
        let mark = match (self.point || self.comma, file.mark()) {
            (true, _) => self.mark()?,
            (false, Some(mark)) if usual.is_none_or(|usual| usual == mark) => mark,
            (false, mark) => {
                mark.or(usual.filter(|usual| *usual == Decimal::Point)).filter(|mark| cell.contains(mark.mark()))?
            }
        };
        let digits = cell.bytes().filter(u8::is_ascii_digit).count();
        // A writer that separates thousands does so in all numbers of at least this length.
        let is_thousands = !cell.contains(mark.mark());
        (!is_thousands || self.ungrouped < digits).then_some(mark)
    }
}

/// Returns whether a cell is what programs write for a missing value: empty, `NaN`, `NULL`, `#N/A`.
pub(crate) fn is_nothing(cell: &str) -> bool {
    NOTHING.contains(&cell)
}

/// Returns whether a cell is a number in some notation.
pub(crate) fn may_be_number(cell: &str) -> bool {
    matches!(Reading::of(cell), Reading::Number { .. } | Reading::Ambiguous { .. })
}

/// Parses a number in any notation; `None` if the text is no number or may mean two.
///
/// ```
/// use foreglow_shared::unambiguous_number;
///
/// assert_eq!(unambiguous_number("4,5"), Some(4.5));
/// assert_eq!(unambiguous_number("1'234.5"), Some(1234.5));
/// assert_eq!(unambiguous_number("1,234"), None);
/// ```
pub fn unambiguous_number(text: &str) -> Option<f64> {
    match Reading::of(text) {
        Reading::Number { plain, .. } => number(&plain),
        _ => None,
    }
}

/// Rewrites a number to have a decimal point and no separators.
fn plain(text: &str, decimal: Decimal) -> Option<String> {
    let (sign, unsigned) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(unsigned) => ("-", unsigned),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = unsigned.find(['e', 'E']).map_or((unsigned, ""), |place| unsigned.split_at(place));
    let (whole, decimals) = match mantissa.split_once(decimal.mark()) {
        Some((_, "")) if decimal == Decimal::Comma => return None,
        Some((whole, decimals)) => (whole, format!(".{decimals}")),
        None => (mantissa, String::new()),
    };
    let plain = format!("{sign}{}{decimals}{exponent}", without_separators(whole, decimal.other().mark())?);
    number(&plain).map(|_| plain)
}

/// Removes the separators of thousands: `1.234.567`, `1 234`, and the Indian `12,34,567`.
fn without_separators(whole: &str, mark: char) -> Option<Cow<'_, str>> {
    let Some(separator) = whole.chars().find(|letter| !letter.is_ascii_digit()) else { return Some(whole.into()) };
    let groups: Vec<&str> = whole.split(separator).collect();
    let [first, middle @ .., last] = groups.as_slice() else { return None };
    let is_thousands = (1..=3).contains(&first.len()) && middle.iter().all(|group| group.len() == 3);
    let is_indian = separator == ',' && (1..=2).contains(&first.len()) && middle.iter().all(|group| group.len() == 2);
    let is_separator = separator == mark || SEPARATORS.contains(&separator);
    let is_number = is_separator && last.len() == 3 && (is_thousands || is_indian) && !first.starts_with('0');
    is_number.then(|| groups.concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The meaning of the first cell among the others of its column.
    fn first(cells: &[&str], delimiter: u8, other_columns: &[&[&str]]) -> Option<f64> {
        let evidence = |cells: &[&str]| {
            let mut evidence = Evidence::default();
            cells.iter().for_each(|cell| evidence.add(cell));
            evidence
        };
        let column = evidence(cells);
        let others = other_columns.iter().map(|cells| evidence(cells));
        let file = others.fold(column, |file, column| file.and(&column));
        let usual = Decimal::usual(delimiter);
        match Reading::of(cells[0]) {
            Reading::Number { plain, .. } => number(&plain),
            Reading::Ambiguous { point, comma } => match column.mark_of(cells[0], file, usual)? {
                Decimal::Point => number(&point),
                Decimal::Comma => number(&comma),
            },
            _ => None,
        }
    }

    #[test]
    fn numbers_of_every_country_are_read() {
        for (text, value) in [
            ("12", 12.0),
            ("-0.5", -0.5),
            ("\u{2212}0,5", -0.5),
            ("+1,5e-3", 1.5e-3),
            ("1.234,5", 1234.5),
            ("1.234.567", 1_234_567.0),
            ("1,234,567.25", 1_234_567.25),
            ("12,34,567.5", 1_234_567.5),
            ("1'234.5", 1234.5),
            ("1’234,5", 1234.5),
            ("1 234,5", 1234.5),
            ("1\u{a0}234\u{a0}567", 1_234_567.0),
            ("1\u{202f}234,5", 1234.5),
            ("1,2345", 1.2345),
            ("0,125", 0.125),
            (",5", 0.5),
        ] {
            assert_eq!(unambiguous_number(text), Some(value), "{text}");
        }
        for text in ["1.2.3", "1,2,3", "1 23", "12 34", "1,", "0.123.456", "a", "1,234.5,6", "1'2", "535.104.05", "inf"]
        {
            assert_eq!(Reading::of(text), Reading::Text, "{text}");
        }
    }

    #[test]
    fn the_other_cells_of_a_column_tell_thousands_from_decimals() {
        for (cells, value) in [
            (&["61.217", "30.280,6"][..], Some(61_217.0)),
            (&["61.217", "30280.6"], Some(61.217)),
            (&["61.217", "0.125"], Some(61.217)),
            (&["1,234", "1,234,567"], Some(1234.0)),
            (&["1,234", "987.5"], Some(1234.0)),
            (&["1,234", "9,5"], Some(1.234)),
            // Thousands are separated in some numbers and not in longer ones.
            (&["61.217", "30280,6"], None),
            (&["3.000", "1500", "800,5"], None),
            (&["30.280", "1500", "800,5"], Some(30_280.0)),
            (&["1.234", "1,5", "2.5"], None),
        ] {
            for delimiter in [b',', b';', b'\t'] {
                assert_eq!(first(cells, delimiter, &[]), value, "{cells:?}");
            }
        }
    }

    #[test]
    fn without_evidence_in_its_column_the_file_and_its_delimiter_decide_together() {
        let decimals: (&[&str], &[&str]) = (&["0.5"], &["0,5"]);
        let versions: &[&str] = &["1,5", "beta"];
        for (cell, delimiter, others, value) in [
            ("1.234", b',', None, Some(1.234)),
            ("1.234", b';', None, None),
            ("1.234", b'\t', None, None),
            ("1,234", b',', None, None),
            ("1,234", b';', None, None),
            ("1,234", b';', Some(decimals.1), Some(1.234)),
            ("1,234", b'\t', None, None),
            ("1.234", b';', Some(decimals.0), Some(1.234)),
            ("1.234", b';', Some(decimals.1), Some(1234.0)),
            ("1.234", b'\t', Some(decimals.1), Some(1234.0)),
            ("1.234", b',', Some(decimals.1), None),
            ("1,234", b',', Some(decimals.0), Some(1234.0)),
            ("1,234", b';', Some(decimals.0), None),
            ("1.234", b'\t', Some(versions), None),
        ] {
            let others: Vec<&[&str]> = others.into_iter().collect();
            assert_eq!(first(&[cell, "7", ""], delimiter, &others), value, "{cell} {delimiter} {others:?}");
        }
    }
}
