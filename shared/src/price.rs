//! Price sheets: prices per hour, with a date and a currency.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::limits::is_price;
use crate::{Configuration, CoreSplit, Rate};

const MIB_PER_GIB: f64 = 1024.0;

/// Prices per hour of each resource, with the date on which they were valid.
///
/// Unknown fields are rejected, because ignoring a misspelt price would make the cluster look too
/// cheap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSheet {
    /// Name of the price list.
    pub name: String,
    /// Date on which the prices were valid.
    #[serde(deserialize_with = "crate::moment::date")]
    pub date: Date,
    /// ISO 4217 code, such as `USD`.
    pub currency: String,
    /// Price per executor and hour, whatever its size. If this price includes an accelerator,
    /// executors that share one share its machine.
    #[serde(default)]
    pub executor_hour: f64,
    /// Price per core and hour.
    #[serde(default)]
    pub core_hour: f64,
    /// Price per GiB of executor memory and hour.
    #[serde(default)]
    pub gib_hour: f64,
    /// Price per accelerator and hour. A sheet without it can price a job on accelerators only if
    /// `executor_hour` alone is set, as for rented machines: that price includes the accelerator.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub accelerator_hour: f64,
    /// Fixed charge per started executor. Executors that share a machine, as for `executor_hour`,
    /// share the charge.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub executor_start: f64,
    /// Start-up time that each executor is billed for, seconds. Clouds bill a machine from its
    /// boot, and the completion time excludes start-up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub startup_secs: f64,
    /// Minimum billed time per executor, start-up included, seconds; clouds often use 60.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub minimum_secs: f64,
    /// Discount on the whole bill as a share, in [0, 1): 0.3 for a commitment that saves 30 %.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discount: f64,
}

/// Resources of a job that are billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Executors and their cores.
    pub split: CoreSplit,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Whether each executor uses an accelerator.
    pub accelerated: bool,
    /// Number of accelerators that all executors share; `None` if each holds its own.
    pub shared_accelerators: Option<u32>,
}

impl Resources {
    /// Returns the resources of a run, in which each executor has an accelerator of its own if
    /// there are any.
    pub fn from_configuration(configuration: &Configuration) -> Self {
        Self {
            split: configuration.split(),
            memory_per_executor_mib: configuration.memory_per_executor_mib,
            accelerated: configuration.accelerator.is_some(),
            shared_accelerators: None,
        }
    }

    /// Returns the accelerators that are billed for each executor: 1, or less if executors share
    /// them.
    fn accelerators_per_executor(self) -> f64 {
        match self.shared_accelerators {
            _ if !self.accelerated => 0.0,
            None => 1.0,
            Some(count) => f64::from(count.min(self.split.executors)) / f64::from(self.split.executors),
        }
    }
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Why a price sheet cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// The text is not a price sheet.
    #[error(
        "it is not a price sheet ({0}); write {{\"name\":…,\"date\":\"2026-01-31\",\"currency\":\"USD\",\"core_hour\":0.04,\"gib_hour\":0.004}}"
    )]
    Form(String),
    /// A price is out of range.
    #[error("{field} is {value:?}; a price is 0 or a number from 1e-12 to 1e12")]
    Range {
        /// Name of the price field.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// Every hourly price is zero.
    #[error(
        "every price is zero; a cluster that costs nothing would always win, so give executor_hour, core_hour or gib_hour"
    )]
    AllZero,
    /// The discount is outside [0, 1).
    #[error("discount is {0}; it is the share taken off, 0 or more and below 1, such as 0.3 for 30 %")]
    Discount(f64),
    /// The job runs on accelerators, for which the sheet has no price.
    #[error(
        "the job runs on {0}, and the price sheet has no price for it; give accelerator_hour, or executor_hour alone \
         where it is the price of a whole machine"
    )]
    NoAcceleratorHour(String),
    /// The sheet prices accelerators only, and the job has none.
    #[error(
        "the job runs on CPUs, and the price sheet prices accelerators alone; give executor_hour, core_hour or gib_hour"
    )]
    OnlyAccelerators,
    /// The sheet is a published list of machines with another accelerator than the job ran on.
    #[error(
        "{prices} is the price of a machine with a GPU, {gpu}, and the runs are of {hardware}, so it does not say what \
         these times cost; give the price of the machine that ran them"
    )]
    OtherHardware {
        /// Name of the price list.
        prices: String,
        /// The GPU whose machines it prices.
        gpu: String,
        /// The accelerator of the job, or processors.
        hardware: String,
    },
    /// The currency is not an ISO 4217 code.
    #[error("the currency is {0:?}; give a code of three capital letters, such as USD")]
    Currency(String),
}

impl PriceSheet {
    /// Returns a published price list to start from: AWS Fargate, Linux on x86, us-east-1, on
    /// demand, per vCPU and GB of memory, of 17 June 2026. A GB is taken as a GiB.
    pub fn example() -> Self {
        Self {
            name: "AWS Fargate Linux/x86 us-east-1, on demand".into(),
            date: jiff::civil::date(2026, 6, 17),
            currency: "USD".into(),
            executor_hour: 0.0,
            core_hour: 0.04048,
            gib_hour: 0.004445,
            accelerator_hour: 0.0,
            executor_start: 0.0,
            startup_secs: 0.0,
            minimum_secs: 0.0,
            discount: 0.0,
        }
    }

    /// Parses and checks a sheet in JSON.
    ///
    /// # Errors
    /// [`PriceError`]: the text is not a sheet, or a value is out of range.
    pub fn from_json(text: &str) -> Result<Self, PriceError> {
        let sheet: Self = serde_json::from_str(text).map_err(|error| PriceError::Form(error.to_string()))?;
        sheet.check()?;
        Ok(sheet)
    }

    /// Checks the ranges of all values.
    ///
    /// # Errors
    /// A price that is neither 0 nor from 10⁻¹² to 10¹², no hourly price above zero, a discount
    /// outside [0, 1), or an invalid currency code.
    pub fn check(&self) -> Result<(), PriceError> {
        let prices = [
            ("executor_hour", self.executor_hour),
            ("core_hour", self.core_hour),
            ("gib_hour", self.gib_hour),
            ("accelerator_hour", self.accelerator_hour),
        ];
        let charges = [
            ("executor_start", self.executor_start),
            ("startup_secs", self.startup_secs),
            ("minimum_secs", self.minimum_secs),
        ];
        for (field, value) in prices.into_iter().chain(charges) {
            if !is_price(value) {
                return Err(PriceError::Range { field, value });
            }
        }
        if prices.iter().all(|(_, value)| *value == 0.0) {
            return Err(PriceError::AllZero);
        }
        if !(self.discount >= 0.0 && self.discount < 1.0) {
            return Err(PriceError::Discount(self.discount));
        }
        if self.currency.len() != 3 || !self.currency.bytes().all(|b| b.is_ascii_uppercase()) {
            return Err(PriceError::Currency(self.currency.clone()));
        }
        Ok(())
    }

    /// Checks that the sheet can price a job whose executors each hold `accelerator`.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check), an accelerator without a price, a job on CPUs when
    /// only accelerators have a price, or a published list of machines with another accelerator.
    pub fn check_for(&self, accelerator: Option<&str>) -> Result<(), PriceError> {
        self.check()?;
        if let Some(gpu) = self.gpu_of_others(accelerator) {
            let hardware = accelerator.unwrap_or("a CPU").to_owned();
            return Err(PriceError::OtherHardware { prices: self.name.clone(), gpu, hardware });
        }
        match accelerator {
            _ if self.covers(accelerator.is_some()) => Ok(()),
            Some(name) => Err(PriceError::NoAcceleratorHour(name.to_owned())),
            None => Err(PriceError::OnlyAccelerators),
        }
    }

    /// Returns whether every resource that an executor occupies has a price, with or without an
    /// accelerator. Otherwise the cost is unknown, because an unpriced resource would always be the
    /// cheapest.
    pub fn covers(&self, accelerated: bool) -> bool {
        let prices_parts = self.core_hour > 0.0 || self.gib_hour > 0.0;
        let prices_machines = self.executor_hour > 0.0 && !prices_parts;
        if accelerated {
            self.accelerator_hour > 0.0 || prices_machines
        } else {
            self.executor_hour > 0.0 || prices_parts
        }
    }

    /// Returns the prices of cores that get this share of a processor: a price per core is that of
    /// a whole one.
    #[must_use]
    pub fn for_cores_of(self, share: Option<f64>) -> Self {
        Self { core_hour: self.core_hour * share.unwrap_or(1.0), ..self }
    }

    /// Returns what these resources cost by their time, in the sheet's currency; `None` if the
    /// sheet does not cover the hardware.
    ///
    /// Each executor is billed for the run and its start-up, at least for the minimum; the discount
    /// applies to the sum.
    pub fn rate(&self, resources: Resources) -> Option<Rate> {
        self.covers(resources.accelerated).then(|| Rate {
            units: f64::from(resources.split.executors),
            start: self.executor_start * self.machines_per_executor(resources),
            hour: self.terms(resources).map(|(price, amount)| price * amount).iter().sum(),
            share: 1.0 - self.discount,
            startup_secs: self.startup_secs,
            minimum_secs: self.minimum_secs,
            increment_secs: 0.0,
        })
    }

    /// Returns the cost of a job that runs for `secs` seconds; `None` if the sheet does not cover
    /// the hardware or the sum is not finite.
    pub fn cost(&self, resources: Resources, secs: f64) -> Option<f64> {
        self.rate(resources).map(|rate| rate.cost(secs)).filter(|cost| cost.is_finite())
    }

    /// Returns the prices per hour of an executor itself, its cores, its memory and its
    /// accelerator, each with its amount.
    pub fn terms(&self, resources: Resources) -> [(f64, f64); 4] {
        [
            (self.executor_hour, self.machines_per_executor(resources)),
            (self.core_hour, resources.split.mean_cores()),
            (self.gib_hour, f64::from(resources.memory_per_executor_mib) / MIB_PER_GIB),
            (self.accelerator_hour, resources.accelerators_per_executor()),
        ]
    }

    /// Returns the share of `executor_hour` that is billed for each executor: 1, or less if that
    /// price includes an accelerator that executors share.
    fn machines_per_executor(&self, resources: Resources) -> f64 {
        let includes_accelerator = self.core_hour == 0.0 && self.gib_hour == 0.0 && self.accelerator_hour == 0.0;
        if resources.accelerated && includes_accelerator { resources.accelerators_per_executor() } else { 1.0 }
    }
}
