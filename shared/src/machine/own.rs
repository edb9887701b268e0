//! Foreglow's catalog format: a short CSV, also for own hardware.

use super::{Accelerators, BillingTerms, Catalog, CatalogError, MachineType, OWN};
use crate::limits::{MONEY, MOST_CORES, is_price};
use crate::moment::day;
use crate::number;
use crate::table::{Table, TableRow};

/// Columns that every catalog has.
const REQUIRED: &[&str] = &["name", "processors", "memory_gib", "hourly_price", "currency"];
const MIB_PER_GIB: f64 = 1024.0;
/// Limits on the memory of a machine, of a processor's share of it, and of an accelerator, GiB.
/// Larger numbers are MiB or totals in the wrong column.
const MOST_GIB: f64 = 65_536.0;
const MOST_GIB_PER_PROCESSOR: f64 = 256.0;
const MOST_ACCELERATOR_GIB: f64 = 512.0;
/// Limit on the number of accelerators of a machine.
const MOST_ACCELERATORS: u32 = 1_024;

/// Columns whose cells are names, which may look like numbers.
const NAMES: &[&str] = &["name", "provider", "region", "accelerator", "currency", "date"];

/// Reads a catalog with the columns of `REQUIRED` and any of `provider`, `region`, `accelerator`,
/// `accelerators`, `accelerator_memory_gib`, `spot_price`, `date`, `minimum_secs` and
/// `increment_secs`. The header may have capitals.
pub(super) fn read(text: &str) -> Result<Catalog, CatalogError> {
    of_table(&Table::parse_with_names(text, NAMES)?)
}

/// Reads a catalog in plain form, as the built-in one.
pub(super) fn read_plain(text: &str) -> Result<Catalog, CatalogError> {
    of_table(&Table::plain(text))
}

fn of_table(table: &Table) -> Result<Catalog, CatalogError> {
    let headers: Vec<String> = table.header().iter().map(|name| name.to_ascii_lowercase()).collect();
    let missing: Vec<&str> =
        REQUIRED.iter().copied().filter(|name| !headers.iter().any(|header| header == *name)).collect();
    if !missing.is_empty() {
        return Err(CatalogError::Columns { missing, required: REQUIRED });
    }
    (0..headers.len()).try_for_each(|column| table.check_numbers(column))?;
    let mut currency: Option<String> = None;
    let mut machines = Vec::new();
    for record in table.rows() {
        let line = record.line();
        let row = CatalogLine { headers: &headers, record };
        let own = row.text("currency");
        if own.len() != 3 || !own.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(CatalogError::Currency { line, value: own.to_owned() });
        }
        match &currency {
            Some(first) if first != own => {
                return Err(CatalogError::TwoCurrencies { first: first.clone(), second: own.to_owned() });
            }
            _ => currency = Some(own.to_owned()),
        }
        machines.push(row.machine()?);
    }
    let currency = currency.ok_or(CatalogError::Empty)?;
    Catalog { currency, machines, left_out: 0, several_prices: 0 }.sorted()
}

/// One line of the catalog.
struct CatalogLine<'a> {
    headers: &'a [String],
    record: TableRow<'a>,
}

impl CatalogLine<'_> {
    fn machine(&self) -> Result<MachineType, CatalogError> {
        if self.text("name").is_empty() {
            return Err(self.invalid("name", "the name of the machine type"));
        }
        let provider = match self.text("provider") {
            "" => OWN.to_owned(),
            provider => provider.to_ascii_lowercase(),
        };
        let processors = self.count("processors", MOST_CORES)?;
        let processors = processors.ok_or_else(|| self.invalid("processors", "a whole number, 1 to 1000"))?;
        let memory_gib = self.number("memory_gib", MOST_GIB)?.ok_or_else(|| self.invalid("memory_gib", POSITIVE))?;
        if memory_gib > MOST_GIB_PER_PROCESSOR * f64::from(processors) {
            return Err(self.invalid("memory_gib", "GiB, at most 256 for each processor"));
        }
        let hourly_price = self.price("hourly_price")?.ok_or_else(|| self.invalid("hourly_price", A_PRICE))?;
        let spot_price = self.price("spot_price")?;
        if spot_price.is_some_and(|spot| spot > hourly_price) {
            return Err(self.invalid("spot_price", "at most the hourly_price, or nothing"));
        }
        let usual = BillingTerms::of(&provider);
        let terms = (self.secs("minimum_secs")?, self.secs("increment_secs")?);
        let billing = match terms {
            (None, None) => usual,
            (minimum, increment) => Some(BillingTerms {
                minimum_secs: minimum.or(usual.map(|usual| usual.minimum_secs)).unwrap_or(0),
                increment_secs: increment.or(usual.map(|usual| usual.increment_secs)).unwrap_or(0),
            }),
        };
        let date = match self.text("date") {
            "" => None,
            text => Some(day(text).ok_or_else(|| self.invalid("date", "a date such as 2026-01-31"))?),
        };
        Ok(MachineType {
            name: self.text("name").to_owned(),
            provider,
            region: self.text("region").to_owned(),
            processors,
            memory_mib: (memory_gib * MIB_PER_GIB) as u32,
            accelerators: self.accelerators()?,
            hourly_price,
            spot_price,
            date,
            billing,
        })
    }

    fn accelerators(&self) -> Result<Option<Accelerators>, CatalogError> {
        let name = self.text("accelerator");
        if name.is_empty() {
            return match self.parsed("accelerators") {
                Some(0.0) => Ok(None),
                None if self.text("accelerators").is_empty() => Ok(None),
                _ => Err(self.invalid("accelerator", "the name of the accelerators, which `accelerators` counts")),
            };
        }
        let count = self.count("accelerators", MOST_ACCELERATORS)?.unwrap_or(1);
        let memory = self.number("accelerator_memory_gib", MOST_ACCELERATOR_GIB);
        let memory = memory.map_err(|_| {
            self.invalid("accelerator_memory_gib", "the GiB of one accelerator, above 0 and at most 512")
        })?;
        Ok(Some(Accelerators {
            name: name.to_owned(),
            count,
            memory_mib: memory.map(|gib| (gib * MIB_PER_GIB) as u32),
        }))
    }

    fn price(&self, column: &'static str) -> Result<Option<f64>, CatalogError> {
        if self.parsed(column) == Some(0.0) {
            return Err(CatalogError::PriceZero {
                line: self.record.line(),
                column,
                machine: self.text("name").to_owned(),
            });
        }
        match self.number(column, *MONEY.end()) {
            Ok(price) if price.is_none_or(is_price) => Ok(price),
            _ => Err(self.invalid(column, A_PRICE)),
        }
    }

    /// Returns a number above 0; `None` if the cell is empty.
    fn number(&self, column: &'static str, most: f64) -> Result<Option<f64>, CatalogError> {
        if self.text(column).is_empty() {
            return Ok(None);
        }
        match self.parsed(column) {
            Some(value) if value > 0.0 && value <= most => Ok(Some(value)),
            _ => Err(self.invalid(column, POSITIVE)),
        }
    }

    fn count(&self, column: &'static str, most: u32) -> Result<Option<u32>, CatalogError> {
        match self.number(column, f64::from(most))? {
            Some(value) if value.fract() != 0.0 => Err(self.invalid(column, "a whole number")),
            value => Ok(value.map(|value| value as u32)),
        }
    }

    fn secs(&self, column: &'static str) -> Result<Option<u32>, CatalogError> {
        match self.parsed(column) {
            None if self.text(column).is_empty() => Ok(None),
            Some(secs) if secs.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&secs) => Ok(Some(secs as u32)),
            _ => Err(self.invalid(column, "a whole number of seconds")),
        }
    }

    fn parsed(&self, column: &str) -> Option<f64> {
        number(self.text(column))
    }

    /// Returns a cell; empty if the catalog has no such column.
    fn text(&self, column: &str) -> &str {
        let place = self.headers.iter().position(|header| header == column);
        place.and_then(|place| self.record.get(place)).unwrap_or_default()
    }

    fn invalid(&self, column: &'static str, must: &'static str) -> CatalogError {
        let (machine, value) = (self.text("name").to_owned(), self.text(column).to_owned());
        CatalogError::Cell { line: self.record.line(), column, machine, value, must }
    }
}

const POSITIVE: &str = "a number above 0";
const A_PRICE: &str = "a price per hour above 0, at most 1e12";
