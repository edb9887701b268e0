//! The part of a share link after its payload, such as `&size=3200x2&spot=1`: the size of the job,
//! and the state of the page. `docs/environment.md` has all names.

use foreglow_exit::unusable;

use crate::grammar::{count, large_count, money};

/// Name and value of the suffix of a link to one context, without its comparison by partition size.
pub const ALONE: &str = "&context=alone";

/// State of the page, as far as the command line knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSuffix {
    /// Images and epochs of the job; `None` for those of the link.
    pub size: Option<(u64, u32)>,
    /// Spot prices.
    pub spot: bool,
    /// Largest price of all machines together per hour.
    pub max_hourly_cost: Option<f64>,
    /// Machine types that are not compared.
    pub without: Vec<String>,
    /// Prices per hour in place of those of the catalog.
    pub prices: Vec<(String, f64)>,
    /// Whether the link is to one context.
    pub is_alone: bool,
    /// Parts that only the page knows, such as `machine=c5.xlarge`.
    pub not_applied: Vec<String>,
}

impl LinkSuffix {
    /// Reads the suffix of a link or fragment.
    ///
    /// # Errors
    /// A value of a known name is invalid.
    pub fn of(link: &str) -> anyhow::Result<Self> {
        let mut suffix = Self::default();
        let fragment = link.trim().rsplit('#').next().unwrap_or_default();
        for part in fragment.split('&').skip(1).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let invalid = |must: &str| unusable(format!("the link ends with &{part}; {name} must be {must}"));
            match name {
                "size" => {
                    let size = value.split_once('x');
                    let size = size.and_then(|(images, epochs)| Some((large_count(images).ok()?, count(epochs).ok()?)));
                    suffix.size = Some(size.ok_or_else(|| invalid("IMAGESxEPOCHS, such as size=3200x2"))?);
                }
                "spot" => suffix.spot = true,
                "hourly" => {
                    suffix.max_hourly_cost =
                        Some(money(value).map_err(|_| invalid("a price above 0, such as hourly=2"))?);
                }
                "without" => {
                    suffix.without.push(decoded(value).ok_or_else(|| invalid("a machine type"))?);
                }
                "price" => {
                    let price = value.rsplit_once(':');
                    let price = price.and_then(|(machine, amount)| Some((decoded(machine)?, money(amount).ok()?)));
                    suffix.prices.push(price.ok_or_else(|| invalid("MACHINE:PRICE, such as price=c5.xlarge:0.2"))?);
                }
                "context" if value == "alone" => suffix.is_alone = true,
                // What the page shows, which changes no answer.
                "view" | "chart" => {}
                _ => suffix.not_applied.push(part.to_owned()),
            }
        }
        Ok(suffix)
    }

    /// Whether the answer compares machine types, as `plan` does with the same options.
    pub fn compares(&self) -> bool {
        let Self { size, spot, max_hourly_cost, without, prices, .. } = self;
        size.is_some() || *spot || max_hourly_cost.is_some() || !without.is_empty() || !prices.is_empty()
    }
}

/// Decodes `%` and two hexadecimal digits as a byte; `None` if the digits are missing or the bytes
/// are no text.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_the_page_is_read_and_what_only_the_page_knows_is_named() {
        assert_eq!(LinkSuffix::of("https://example.org/?a&b=c#v1.abc").unwrap(), LinkSuffix::default());
        let link = "v1.abc&view=trust&size=32000x2&spot=1&hourly=2.5&without=AMD%20EPYC%3A%20%C3%BC&without=c5.large\
                    &price=c5%2Exlarge:0.2&chart=log&devices=gpu&later&context=alone\n";
        let read = LinkSuffix::of(link).unwrap();
        let expected = LinkSuffix {
            size: Some((32_000, 2)),
            spot: true,
            max_hourly_cost: Some(2.5),
            without: vec!["AMD EPYC: ü".to_owned(), "c5.large".to_owned()],
            prices: vec![("c5.xlarge".to_owned(), 0.2)],
            is_alone: true,
            not_applied: vec!["devices=gpu".to_owned(), "later".to_owned()],
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn an_invalid_value_is_refused() {
        for broken in
            ["size=abc", "size=3", "size=0x1", "size=3x0", "hourly=x", "without=%G1", "without=%E4", "price=a:0"]
        {
            let error = LinkSuffix::of(&format!("v1.abc&{broken}")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the link ends with &{broken}; ")), "{error}");
        }
    }
}
