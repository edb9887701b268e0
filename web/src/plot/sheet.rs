//! The data of a chart as a table for other programs.

/// A table with named columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A table; each row has one field per column. Numbers keep all their digits.
    pub fn new(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        Self { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows: rows.into_iter().collect() }
    }

    /// The table as CSV with a header line (RFC 4180).
    pub fn to_csv(&self) -> String {
        let line = |fields: &Vec<String>| fields.iter().map(|field| quoted(field)).collect::<Vec<String>>().join(",");
        std::iter::once(&self.columns).chain(&self.rows).map(|fields| line(fields) + "\r\n").collect()
    }
}

/// Formats a number with all its digits; empty if it is missing or not finite.
pub fn digits(number: Option<f64>) -> String {
    number.filter(|number| number.is_finite()).map(|number| number.to_string()).unwrap_or_default()
}

/// Quotes a field if CSV requires it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_a_comma_or_a_quote_are_quoted_and_a_missing_number_is_empty() {
        let sheet = Sheet::new(
            &["name", "secs"],
            [vec!["a \"b\", c".into(), digits(None)], vec!["d".into(), digits(Some(0.5))]],
        );
        assert_eq!(sheet.to_csv(), "name,secs\r\n\"a \"\"b\"\", c\",\r\nd,0.5\r\n");
    }
}
