//! Conditions that select rows, such as `machines<=8` or `machine=m4.2xlarge`.

use std::str::FromStr;

use foreglow_shared::{number, unambiguous_number};

/// A comparison of a column with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Name of the column.
    pub column: String,
    operator: Operator,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longer operators first, because `<=` starts with `<`.
const SIGNS: [(&str, Operator); 7] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("!=", Operator::NotEqual),
    ("==", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("=", Operator::Equal),
];

impl Condition {
    /// Returns whether a cell of the column meets the condition. Numbers are compared numerically;
    /// other values only for equality, as strings. An empty cell is neither larger nor smaller than
    /// anything.
    ///
    /// # Errors
    /// The operator needs an order and the cell is not a number.
    pub fn holds(&self, cell: &str) -> Result<bool, String> {
        let order = match (number(cell), number(&self.value)) {
            (Some(cell), Some(value)) => cell.partial_cmp(&value),
            _ if matches!(self.operator, Operator::Equal | Operator::NotEqual) => Some(cell.cmp(&self.value)),
            _ if cell.is_empty() => return Ok(false),
            _ => None,
        };
        let order = order.ok_or_else(|| format!("{} is {cell:?}, which has no order; use = or !=", self.column))?;
        Ok(match self.operator {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
        })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sign = |at: usize| SIGNS.iter().find(|(sign, _)| text[at..].starts_with(sign)).map(|sign| (at, sign));
        let found = text.char_indices().find_map(|(at, _)| sign(at));
        let Some((at, (sign, operator))) = found else {
            return Err("it has no operator; write COLUMN and one of = != < <= > >= and a value".into());
        };
        let (column, value) = (text[..at].trim(), text[at + sign.len()..].trim());
        // Accepts a decimal comma, like the cells.
        let plain = unambiguous_number(value).map(|number| number.to_string());
        let value = plain.as_deref().unwrap_or(value);
        let is_ordered = !matches!(operator, Operator::Equal | Operator::NotEqual);
        // COLUMN!= selects the rows that have a value.
        if column.is_empty() || (value.is_empty() && is_ordered) || value.starts_with(['=', '<', '>', '!']) {
            return Err("write COLUMN and one of = != < <= > >= and a value".into());
        }
        if is_ordered && number(value).is_none() {
            return Err(format!("{value:?} has no order; compare names with = or !="));
        }
        Ok(Self { column: column.to_owned(), operator: *operator, value: value.to_owned() })
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = SIGNS.iter().rev().find(|(_, operator)| *operator == self.operator).map_or("", |(sign, _)| sign);
        write!(f, "{}{sign}{}", self.column, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_numbers_numerically_and_names_as_strings() {
        let holds = |condition: &str, cell: &str| condition.parse::<Condition>().unwrap().holds(cell);
        for (condition, cell, expected) in [
            ("n<=8", "8.0", true),
            ("n<=4,5", "4.5", true),
            ("n<=8", "", false),
            ("n!=", "", false),
            ("n!=", "8", true),
            ("n < 8", "8", false),
            ("n>=8", "10", true),
            ("n>8", "10", true),
            ("n=8", "8.0", true),
            ("n!=8", "9", true),
            ("vm=m4.large", "m4.large", true),
            ("vm == m4.large", "m4.xlarge", false),
            ("vm!=m4.large", "m4.xlarge", true),
            ("n=eight", "8", false),
        ] {
            assert_eq!(holds(condition, cell), Ok(expected), "{condition} {cell}");
        }
        assert!(holds("n<8", "eight").unwrap_err().contains("has no order"));
    }

    #[test]
    fn invalid_conditions_are_rejected() {
        for text in ["", "n", "n<=", "=8", "n=<8", "n~8", "n<eight"] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }
}
