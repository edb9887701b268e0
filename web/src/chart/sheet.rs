//! The numbers behind a drawing, as a table that other programs read.

/// A table with names for its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// Rows of as many fields as there are columns. Numbers come with all of their digits.
    pub fn new(columns: &[&'static str], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        Self { columns: columns.to_vec(), rows: rows.into_iter().collect() }
    }

    /// The table as CSV with a line of names (RFC 4180).
    pub fn to_csv(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|name| (*name).to_owned()).collect();
        let line = |fields: &Vec<String>| fields.iter().map(|field| quoted(field)).collect::<Vec<String>>().join(",");
        std::iter::once(&names).chain(&self.rows).map(|fields| line(fields) + "\r\n").collect()
    }
}

/// A number with all of its digits; nothing where there is none.
pub fn digits(number: Option<f64>) -> String {
    number.filter(|number| number.is_finite()).map(|number| number.to_string()).unwrap_or_default()
}

/// A field, in quotes where it must be.
pub fn quoted(field: &str) -> String {
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
    fn fields_that_hold_a_comma_or_a_quote_are_quoted_and_an_unknown_is_empty() {
        let sheet = Sheet::new(
            &["name", "secs"],
            [vec!["a \"b\", c".into(), digits(None)], vec!["d".into(), digits(Some(0.5))]],
        );
        assert_eq!(sheet.to_csv(), "name,secs\r\n\"a \"\"b\"\", c\",\r\nd,0.5\r\n");
    }
}
