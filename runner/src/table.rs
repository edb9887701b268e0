//! Human-readable tables: aligned columns under a header.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

/// A single line under the header.
const UNDER_THE_HEADER: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Renders rows under a header, with a newline after each line. Each row needs one cell per column.
pub fn table(columns: &[(&str, Align)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(UNDER_THE_HEADER);
    table.set_header(columns.iter().map(|(name, _)| *name));
    table.add_rows(rows);
    for (column, (_, align)) in table.column_iter_mut().zip(columns) {
        column.set_padding((0, 2));
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    table.lines().flat_map(|line| [line.trim_end().to_owned(), "\n".to_owned()]).collect()
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
}
