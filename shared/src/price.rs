//! Price sheets: what an hour costs, with a date and a currency.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

const SECS_PER_HOUR: f64 = 3600.0;
const MIB_PER_GIB: f64 = 1024.0;

/// What an hour of each resource costs. Prices change: a sheet has a date, and a result keeps the sheet that it was made with.
///
/// A price of a name that is not known is refused: passing it over would make the cluster cheaper than it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSheet {
    /// Whose prices they are.
    pub name: String,
    /// The day on which they held.
    pub date: Date,
    /// ISO 4217 code, such as `USD`.
    pub currency: String,
    /// Per executor and hour, whatever its size.
    #[serde(default)]
    pub executor_hour: f64,
    /// Per core and hour.
    #[serde(default)]
    pub core_hour: f64,
    /// Per GiB of executor memory and hour.
    #[serde(default)]
    pub gib_hour: f64,
}

/// Why a price sheet cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// Not a price sheet.
    #[error(
        "it is not a price sheet ({0}); write {{\"name\":…,\"date\":\"2026-01-31\",\"currency\":\"USD\",\"core_hour\":0.04,\"gib_hour\":0.004}}"
    )]
    Form(String),
    /// A price that is negative or not a number.
    #[error("{field} is {value}; a price is a number, 0 or more")]
    Range {
        /// Name of the price.
        field: &'static str,
        /// What it holds.
        value: f64,
    },
    /// Nothing costs anything.
    #[error(
        "every price is zero; a cluster that costs nothing would always win, so give executor_hour, core_hour or gib_hour"
    )]
    AllZero,
    /// Not a currency code.
    #[error("the currency is {0:?}; give a code of three capital letters, such as USD")]
    Currency(String),
}

impl PriceSheet {
    /// A published price list to start from: AWS Fargate, Linux on x86, us-east-1, on demand, per vCPU and GB of memory,
    /// as it stood on 17 June 2026. A GB there is taken as a GiB.
    pub fn example() -> Self {
        Self {
            name: "AWS Fargate Linux/x86 us-east-1, on demand".into(),
            date: jiff::civil::date(2026, 6, 17),
            currency: "USD".into(),
            executor_hour: 0.0,
            core_hour: 0.04048,
            gib_hour: 0.004445,
        }
    }

    /// Reads and checks a sheet from JSON.
    ///
    /// # Errors
    /// [`PriceError`] says what is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, PriceError> {
        let sheet: Self = serde_json::from_str(text).map_err(|error| PriceError::Form(error.to_string()))?;
        sheet.check()?;
        Ok(sheet)
    }

    /// Checks that the prices are prices.
    ///
    /// # Errors
    /// A negative or missing number, no price above zero, or a currency that is no code.
    pub fn check(&self) -> Result<(), PriceError> {
        let prices =
            [("executor_hour", self.executor_hour), ("core_hour", self.core_hour), ("gib_hour", self.gib_hour)];
        for (field, value) in prices {
            if !(value.is_finite() && value >= 0.0) {
                return Err(PriceError::Range { field, value });
            }
        }
        if prices.iter().all(|(_, value)| *value == 0.0) {
            return Err(PriceError::AllZero);
        }
        if self.currency.len() != 3 || !self.currency.bytes().all(|b| b.is_ascii_uppercase()) {
            return Err(PriceError::Currency(self.currency.clone()));
        }
        Ok(())
    }

    /// Money for `executors` executors of `cores` cores and `memory_mib` MiB that run for `secs` seconds, in the
    /// sheet's currency.
    pub fn cost(&self, executors: u32, cores: u32, memory_mib: u32, secs: f64) -> f64 {
        let executor_hour = self.executor_hour
            + f64::from(cores) * self.core_hour
            + f64::from(memory_mib) / MIB_PER_GIB * self.gib_hour;
        f64::from(executors) * executor_hour * secs / SECS_PER_HOUR
    }
}
