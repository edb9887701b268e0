//! Human-readable tables: aligned columns under a header.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};
use foreglow_exit::{NARROWEST, wrapped_in};
pub use foreglow_exit::{terminal_width, wrapped};
use foreglow_shared::printable;
use serde::Serialize;
use serde_json::Value;

/// A single line under the header.
const UNDER_THE_HEADER: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Terminals narrower than this get narrower gaps between columns.
const WIDE: u16 = 80;

/// Additional spaces between columns where there is room.
const GAP: u16 = 2;

/// Space at which no line is broken.
const NO_BREAK: &str = "\u{a0}";

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Returns columns of these titles. A title that begins with `<` is aligned to the left, for text.
pub fn aligned<const N: usize>(titles: [&str; N]) -> [(&str, Align); N] {
    titles.map(|title| title.strip_prefix('<').map_or((title, Align::Right), |title| (title, Align::Left)))
}

/// Renders rows under a header, with a newline after each line. Each row needs one cell per column.
/// On a narrow terminal, cells are wrapped, or each row becomes several lines; output to a file or
/// another program is not wrapped.
pub fn table(columns: &[(&str, Align)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_in(terminal_width(), columns, rows)
}

/// Renders a table without columns that have an empty title.
pub fn titled_table(columns: &[(&str, Align)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let kept: Vec<usize> = (0..columns.len()).filter(|place| !columns[*place].0.is_empty()).collect();
    let titled: Vec<(&str, Align)> = kept.iter().map(|place| columns[*place]).collect();
    table(&titled, rows.into_iter().map(|cells| kept.iter().map(|place| cells[*place].clone()).collect()))
}

/// Renders rows like [`table`], each on one line if possible: on a narrow terminal without columns
/// from `optional`, the first ones first. A line below names them, and their value if all rows
/// have the same one.
pub fn narrowing_table(columns: &[(&str, Align)], optional: &[&str], rows: &[Vec<String>]) -> String {
    narrowing_in(terminal_width(), columns, optional, rows)
}

fn narrowing_in(width: Option<u16>, columns: &[(&str, Align)], optional: &[&str], rows: &[Vec<String>]) -> String {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let (mut constant, mut dropped) = (Vec::new(), Vec::new());
    for name in optional {
        let whole = |row: &Vec<String>| kept.iter().map(|place| row[*place].replace(' ', NO_BREAK)).collect();
        let header: Vec<String> = kept.iter().map(|place| columns[*place].0.to_owned()).collect();
        let has_room = |width| fits(width, 0, &header, &rows.iter().map(whole).collect::<Vec<_>>());
        if width.is_none_or(has_room) {
            break;
        }
        let Some(column) = columns.iter().position(|(own, _)| own == name) else { continue };
        kept.retain(|place| *place != column);
        match rows.first().filter(|first| rows.iter().all(|row| row[column] == first[column])) {
            Some(first) if !first[column].is_empty() => constant.push(format!("{name} {}", first[column])),
            _ => dropped.push((*name).to_owned()),
        }
    }
    let titles: Vec<(&str, Align)> = kept.iter().map(|place| columns[*place]).collect();
    let cells = rows.iter().map(|row| kept.iter().map(|place| row[*place].clone()).collect());
    let mut text = table_in(width, &titles, cells);
    if !constant.is_empty() {
        text.push_str(&format!("\nIn all rows: {}.\n", constant.join(", ")));
    }
    if !dropped.is_empty() {
        text.push_str(&format!("\nOnly on a wider terminal and with --format csv: {}.\n", dropped.join(", ")));
    }
    wrapped_in(width, &text)
}

fn table_in(width: Option<u16>, columns: &[(&str, Align)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    // Names in samples come from other users and may contain anything.
    let cells = |row: Vec<String>| row.iter().map(|cell| printable(cell)).collect::<Vec<String>>();
    let rows: Vec<Vec<String>> = rows.into_iter().map(cells).collect();
    let header: Vec<String> = columns.iter().map(|(name, _)| printable(name)).collect();
    let aligns: Vec<Align> = columns.iter().map(|(_, align)| *align).collect();
    let Some(width) = width.map(|width| width.max(NARROWEST)) else { return lines(None, &header, &aligns, &rows) };
    // Numbers keep their units on the line, and currencies their amounts, if there is room.
    for joins_currency in [true, false] {
        let joined = |cells: &Vec<String>| cells.iter().map(|cell| with_units(cell, joins_currency)).collect();
        let (header, rows): (Vec<String>, Vec<Vec<String>>) = (joined(&header), rows.iter().map(joined).collect());
        let hyphenated: Vec<String> = header.iter().map(|name| name.replace("executors", "execu- tors")).collect();
        for header in [header, hyphenated] {
            if fits(width, 0, &header, &rows) {
                return lines(Some(width), &header, &aligns, &rows).replace(NO_BREAK, " ");
            }
        }
    }
    match fits(width, 0, &header, &rows) {
        true => lines(Some(width), &header, &aligns, &rows),
        false => records(&header, &rows),
    }
}

/// Renders a table, with cells wrapped between words to fit the width.
fn lines(width: Option<u16>, header: &[String], aligns: &[Align], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(UNDER_THE_HEADER);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table.set_header(header);
    table.add_rows(rows);
    let is_tight = |width: u16| {
        let is_whole = |gap| fits_whole(width, gap, header, rows);
        width < WIDE || !fits(width, GAP, header, rows) || (!is_whole(GAP) && is_whole(0))
    };
    let gap = if width.is_some_and(is_tight) { 0 } else { GAP };
    for (index, (column, align)) in table.column_iter_mut().zip(aligns).enumerate() {
        column.set_padding((0, gap));
        if width.is_some() {
            // Cells are wrapped between words, not within them.
            let word = longest_word(&header[index], rows, index);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(word + gap)));
        }
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    table.lines().flat_map(|line| [line.trim_end().to_owned(), "\n".to_owned()]).collect()
}

/// Renders each row as lines of a name and a value, for a table that is too wide for the terminal.
fn records(header: &[String], rows: &[Vec<String>]) -> String {
    let widest = header.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let record = |row: &Vec<String>| {
        let cells = header.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        cells.map(|(name, cell)| format!("{name:<widest$}  {cell}\n")).collect::<String>()
    };
    rows.iter().map(record).collect::<Vec<_>>().join("\n")
}

/// Returns whether the longest words of all columns fit side by side, with `gap` more spaces.
fn fits(width: u16, gap: u16, header: &[String], rows: &[Vec<String>]) -> bool {
    let longest = |(column, name): (usize, &String)| u32::from(longest_word(name, rows, column) + gap) + 1;
    let words = header.iter().enumerate().map(longest);
    words.sum::<u32>() <= u32::from(width)
}

/// Returns whether all columns fit side by side without a line break, with `gap` more spaces.
fn fits_whole(width: u16, gap: u16, header: &[String], rows: &[Vec<String>]) -> bool {
    let whole = |cell: &String| cell.replace(' ', NO_BREAK);
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(whole).collect()).collect();
    fits(width, gap, &header.iter().map(whole).collect::<Vec<_>>(), &rows)
}

/// Replaces the spaces that join a number with its unit, currency or comparison, the parts of a
/// time, and the end of an interval: `12.35 s`, `USD 5`, `> 99 %`, `2 min 4 s`, `to 5 s`.
fn with_units(cell: &str, joins_currency: bool) -> String {
    const UNITS: [&str; 8] = ["s", "min", "h", "%", "MiB", "px", "words", "images"];
    let ends_in_digit = |word: &str| word.ends_with(|letter: char| letter.is_ascii_digit());
    let mut text = String::new();
    let mut last = "";
    for word in cell.split(' ') {
        let starts_with_digit = word.starts_with(|letter: char| letter.is_ascii_digit());
        let joins = ends_in_digit(last) && UNITS.contains(&word)
            || starts_with_digit && UNITS.contains(&last)
            || joins_currency
                && starts_with_digit
                && last.len() == 3
                && last.bytes().all(|byte| byte.is_ascii_uppercase())
            || matches!(last, "<" | ">" | "≤" | "≥" | "to");
        if !text.is_empty() {
            text.push_str(if joins { NO_BREAK } else { " " });
        }
        text.push_str(word);
        last = word;
    }
    text
}

/// Returns the length of the longest word in a column.
fn longest_word(header: &str, rows: &[Vec<String>], column: usize) -> u16 {
    let cells = rows.iter().filter_map(|row| row.get(column)).map(String::as_str);
    let words = cells.chain([header]).flat_map(|cell| cell.split(' '));
    words.map(|word| u16::try_from(word.chars().count()).unwrap_or(u16::MAX)).max().unwrap_or(1).min(NARROWEST)
}

/// Renders rows as CSV under a header, the names of the columns with commas between.
pub fn csv(header: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let invariant = "writing CSV to memory cannot fail, and each row has one cell a column";
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header.split(',')).expect(invariant);
    for row in rows {
        writer.write_record(row).expect(invariant);
    }
    String::from_utf8(writer.into_inner().expect(invariant)).expect("cells are UTF-8")
}

/// Renders rows as CSV by their JSON. A column is the name of a field, or `NAME=PATH` for a field
/// within others: `lower_secs=interval.lower_secs`. A missing value is an empty cell, and a list of
/// texts has spaces between them.
pub fn csv_of<R: Serialize>(columns: &str, rows: impl IntoIterator<Item = R>) -> String {
    let columns: Vec<(&str, &str)> =
        columns.split(',').map(|column| column.split_once('=').unwrap_or((column, column))).collect();
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(float) if float.is_f64() => number(float.as_f64()),
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    };
    let cells = |row: R| {
        let row = serde_json::to_value(row).expect("a row of an answer has a JSON form");
        let at = |path: &str| path.split('.').fold(&row, |value, field| &value[field]);
        columns.iter().map(|(_, path)| cell(at(path))).collect()
    };
    let header: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    csv(&header.join(","), rows.into_iter().map(cells))
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
        for word in ["executors", "recommended", "0.001234", "04.5 s", "97 %"] {
            assert!(narrow.contains(word), "{word} is cut:\n{narrow}");
        }
        assert_eq!(table_in(None, &columns, rows()).lines().count(), 3, "a file gets whole lines");
        assert_eq!(table_in(Some(200), &columns, rows()), table_in(None, &columns, rows()));
    }

    #[test]
    fn no_line_of_a_table_is_wider_than_its_terminal() {
        let columns = ["machine type", "provider", "region", "processors", "memory", "GPUs", "per hour", "date"];
        let columns = columns.map(|name| (name, Align::Left));
        let row = |name: &str, date: &str| {
            [name, "aws", "us-east-1", "96", "1152 GiB", "8 × A100-80GB", "USD 32.7726", date]
                .map(str::to_owned)
                .to_vec()
        };
        let rows = [row("p4d.24xlarge", "2026-07-20"), row("p3.2xlarge", "unknown")];
        for width in [60, 80, 120] {
            let text = narrowing_in(Some(width), &columns, &["date", "region", "provider"], &rows);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}:\n{text}");
            assert!(text.contains("p4d.24xlarge") && text.contains("A100-80GB"), "{text}");
            assert_eq!(text.contains("2026-07-20"), width == 120, "{text}");
            assert_eq!(text.contains("region us-east-1"), width == 60, "{text}");
            let text = table_in(Some(width), &columns, rows.clone());
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}:\n{text}");
        }
    }

    #[test]
    fn a_table_that_cannot_fit_becomes_records() {
        let columns = [("name", Align::Left), ("multiply-accumulates", Align::Right), ("source", Align::Left)];
        let row = ["inception_v4", "12,253,974,624", "Szegedy et al. 2017"];
        let rows = || [row, row].map(|row| row.map(str::to_owned).to_vec());
        insta::assert_snapshot!(table_in(Some(40), &columns, rows()), @r"
        name                  inception_v4
        multiply-accumulates  12,253,974,624
        source                Szegedy et al. 2017

        name                  inception_v4
        multiply-accumulates  12,253,974,624
        source                Szegedy et al. 2017
        ");
    }

    #[test]
    fn a_cell_of_a_csv_is_the_value_at_its_path_in_the_json_of_the_row() {
        let row =
            serde_json::json!({ "name": "a, b", "secs": 2.0, "at": { "lower": 1.5, "runs": 3 }, "is_best": true });
        let columns = "name,secs,lower=at.lower,runs=at.runs,upper=at.upper,of=missing.deep,is_best";
        let text = csv_of(columns, [row]);
        assert_eq!(text, "name,secs,lower,runs,upper,of,is_best\n\"a, b\",2,1.5,3,,,true\n");
        assert_eq!(csv_of("a,b=c.d", [0; 0]), "a,b\n", "a list without rows has a header");
    }

    #[test]
    fn a_cell_commands_no_terminal() {
        let rows = [vec!["\u{1b}[2Jlenet5\n".to_owned()]];
        assert!(table_in(None, &[("model", Align::Left)], rows).contains(r"\u001b[2Jlenet5\n"));
    }
}
