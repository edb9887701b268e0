//! Human-readable tables: aligned columns under a header.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};
use foreglow_shared::printable;

/// A single line under the header.
const UNDER_THE_HEADER: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Narrowest layout; a table in fewer columns is unreadable.
const NARROWEST: u16 = 40;
/// Terminals narrower than this get narrower gaps between columns.
const WIDE: u16 = 80;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Renders rows under a header, with a newline after each line. Each row needs one cell per column.
/// On a narrow terminal, cells are wrapped; a file or another program gets whole lines.
pub fn table(columns: &[(&str, Align)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_in(terminal_width(), columns, rows)
}

/// Returns the width of the terminal on standard output; `None` if it is not a terminal.
pub fn terminal_width() -> Option<u16> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(terminal_size::Width(width), _)| width)
}

fn table_in(width: Option<u16>, columns: &[(&str, Align)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(UNDER_THE_HEADER);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(NARROWEST));
    }
    table.set_header(columns.iter().map(|(name, _)| printable(name)));
    // Names in samples come from other users and may contain anything.
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let gap = if width.is_some_and(|width| width < WIDE) { 0 } else { 2 };
    let longest_words: Vec<u16> =
        (0..columns.len()).map(|column| longest_word(columns[column].0, &rows, column)).collect();
    table.add_rows(rows);
    for ((column, (_, align)), word) in table.column_iter_mut().zip(columns).zip(longest_words) {
        column.set_padding((0, gap));
        if width.is_some() {
            // Cells are wrapped between words, not within them.
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(word + gap)));
        }
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    table.lines().flat_map(|line| [line.trim_end().to_owned(), "\n".to_owned()]).collect()
}

/// Returns the length of the longest word in a column.
fn longest_word(header: &str, rows: &[Vec<String>], column: usize) -> u16 {
    let cells = rows.iter().filter_map(|row| row.get(column)).map(String::as_str);
    let words = cells.chain([header]).flat_map(str::split_whitespace);
    words.map(|word| u16::try_from(word.chars().count()).unwrap_or(u16::MAX)).max().unwrap_or(1).min(NARROWEST)
}

/// Renders rows under a header as CSV.
pub fn csv(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let invariant = "writing CSV to memory cannot fail, and each row has one cell a column";
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).expect(invariant);
    for row in rows {
        writer.write_record(row).expect(invariant);
    }
    String::from_utf8(writer.into_inner().expect(invariant)).expect("cells are UTF-8")
}

/// Formats a number for CSV; an unknown number is an empty cell.
pub fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_under_their_header() {
        let columns = [("name", Align::Left), ("time", Align::Right)];
        let rows = [vec!["a".to_owned(), "10.00 s".to_owned()], vec!["long name".to_owned(), "1.00 s".to_owned()]];
        insta::assert_snapshot!(table(&columns, rows), @r"
        name           time
        ─────────────────────
        a           10.00 s
        long name    1.00 s
        ");
    }

    #[test]
    fn on_a_narrow_terminal_a_table_breaks_its_cells_and_stays_within_it() {
        let columns = [
            ("executors", Align::Right),
            ("cores", Align::Right),
            ("time", Align::Right),
            ("90 % interval", Align::Left),
            ("cost", Align::Right),
            ("in 30 min", Align::Right),
            ("", Align::Left),
        ];
        let row = ["1", "2", "12 min 04.5 s", "11 min 48.2 s to 12 min 31.0 s", "USD 0.001234", "97 %", "recommended"];
        let rows = || [row.map(str::to_owned).to_vec()];
        let narrow = table_in(Some(60), &columns, rows());
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        for word in ["executors", "recommended", "0.001234"] {
            assert!(narrow.contains(word), "{word} is cut:\n{narrow}");
        }
        assert_eq!(table_in(None, &columns, rows()).lines().count(), 3, "a file gets whole lines");
        assert_eq!(table_in(Some(200), &columns, rows()), table_in(None, &columns, rows()));
    }

    #[test]
    fn a_cell_commands_no_terminal() {
        let rows = [vec!["\u{1b}[2Jlenet5\n".to_owned()]];
        assert!(table_in(None, &[("model", Align::Left)], rows).contains(r"\u{1b}[2Jlenet5\n"));
    }
}
