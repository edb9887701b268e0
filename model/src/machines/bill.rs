//! Bills of whole machines.

use foreglow_shared::MachineType;
use serde::{Deserialize, Serialize};

const SECS_PER_HOUR: f64 = 3600.0;

/// Machines of one type, rented together for one job.
#[derive(Clone, Copy, Debug)]
pub struct Rental<'a> {
    /// The machine type.
    pub machine: &'a MachineType,
    /// Number of machines.
    pub machines: u32,
    /// Whether the machines are rented at the spot price.
    pub spot: bool,
    /// Time that the machines run before the completion time starts, seconds: they are billed for
    /// it.
    pub startup_secs: f64,
}

/// The charge for a rental.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// Charged time of each machine, seconds.
    pub billed_secs: f64,
    /// Price of all machines per hour.
    pub hourly_price: f64,
    /// The charge.
    pub amount: f64,
}

impl Rental<'_> {
    /// Returns the price of all machines per hour; `None` if there is no spot price.
    pub fn hourly_price(&self) -> Option<f64> {
        self.machine.price(self.spot).map(|price| f64::from(self.machines) * price)
    }

    /// Returns the charge for a completion time; `None` if there is no spot price, or the time is
    /// not finite.
    ///
    /// ```
    /// # use foreglow_model::Rental;
    /// # use foreglow_shared::Catalog;
    /// let catalog = Catalog::built_in();
    /// let machine = catalog.find("c5.xlarge").unwrap();
    /// let rental = Rental { machine, machines: 3, spot: false, startup_secs: 0.0 };
    /// // 3 machines × 250 s × USD 0.17 an hour.
    /// assert!((rental.bill(250.0).unwrap().amount - 0.035417).abs() < 1e-6);
    /// ```
    pub fn bill(&self, secs: f64) -> Option<Bill> {
        let hourly_price = self.hourly_price()?;
        let billed_secs = self.machine.billing.billed_secs(secs + self.startup_secs);
        let amount = hourly_price * billed_secs / SECS_PER_HOUR;
        amount.is_finite().then_some(Bill { billed_secs, hourly_price, amount })
    }

    /// Returns the longest completion time that `money` pays for, seconds; `None` if it does not
    /// even cover the start-up and the minimum, or there is no spot price.
    pub fn affordable_secs(&self, money: f64) -> Option<f64> {
        let billed_secs = money / self.hourly_price()? * SECS_PER_HOUR;
        // A budget of exactly one bill pays for it, regardless of the rounding of the quotient.
        let longest = self.machine.billing.longest_secs(billed_secs * (1.0 + 1e-12))?;
        Some(longest - self.startup_secs).filter(|secs| *secs > 0.0)
    }
}
