//! The part of a link after its payload, such as `&size=3200x2&spot=1`: settings that change the
//! answer. Page and command line write and read it here; names that only the page uses, such as
//! `view`, are not settings. `docs/environment.md` lists all names.

use serde::{Deserialize, Serialize};

use crate::limits::MONEY;
use crate::number;

/// A setting that changes the answer of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkSetting {
    /// Another size of the job.
    Size {
        /// Images, at least 1.
        images: u64,
        /// Epochs, at least 1.
        epochs: u32,
    },
    /// Only machine types of this kind.
    Devices(Devices),
    /// Name of a machine type that is not compared.
    Without(String),
    /// A price in place of that of the catalog.
    Price {
        /// Name of the machine type.
        machine: String,
        /// Price per hour, above 0.
        hourly: f64,
    },
    /// Largest price of all machines together per hour, above 0.
    MaxHourlyCost(f64),
    /// Spot prices.
    Spot,
    /// The link is to one context, without its comparison by partition size.
    Alone,
}

/// All settings of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSettings {
    /// Images and epochs of the job; `None` for those of the link.
    pub size: Option<(u64, u32)>,
    /// The kind of the compared machine types.
    pub devices: Devices,
    /// Machine types that are not compared.
    pub without: Vec<String>,
    /// Prices per hour in place of those of the catalog, by machine type.
    pub prices: Vec<(String, f64)>,
    /// Largest price of all machines together per hour.
    pub max_hourly_cost: Option<f64>,
    /// Spot prices.
    pub spot: bool,
    /// Whether the link is to one context.
    pub is_alone: bool,
}

impl LinkSettings {
    /// Applies a setting.
    pub fn set(&mut self, setting: LinkSetting) {
        match setting {
            LinkSetting::Size { images, epochs } => self.size = Some((images, epochs)),
            LinkSetting::Devices(devices) => self.devices = devices,
            LinkSetting::Without(machine) => self.without.push(machine),
            LinkSetting::Price { machine, hourly } => self.prices.push((machine, hourly)),
            LinkSetting::MaxHourlyCost(most) => self.max_hourly_cost = Some(most),
            LinkSetting::Spot => self.spot = true,
            LinkSetting::Alone => self.is_alone = true,
        }
    }

    /// The settings that differ from the default, in the order of a link.
    pub fn changed(&self) -> Vec<LinkSetting> {
        let Self { size, devices, without, prices, max_hourly_cost, spot, is_alone } = self.clone();
        let devices = (devices != Devices::All).then_some(LinkSetting::Devices(devices));
        let without = without.into_iter().map(LinkSetting::Without);
        let prices = prices.into_iter().map(|(machine, hourly)| LinkSetting::Price { machine, hourly });
        let rest = [
            max_hourly_cost.map(LinkSetting::MaxHourlyCost),
            spot.then_some(LinkSetting::Spot),
            size.map(|(images, epochs)| LinkSetting::Size { images, epochs }),
            is_alone.then_some(LinkSetting::Alone),
        ];
        devices.into_iter().chain(without).chain(prices).chain(rest.into_iter().flatten()).collect()
    }
}

/// A kind of device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Devices {
    /// CPUs and GPUs.
    #[default]
    All,
    /// Machines whose executors use CPUs.
    Cpu,
    /// Machines whose executors hold an accelerator.
    Gpu,
}

impl Devices {
    /// Whether a machine type is of this kind.
    pub fn includes(self, is_accelerated: bool) -> bool {
        match self {
            Self::All => true,
            Self::Cpu => !is_accelerated,
            Self::Gpu => is_accelerated,
        }
    }
}

/// A setting with an invalid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSetting {
    /// The size of the job.
    #[error("size must be IMAGESxEPOCHS, such as size=3200x2")]
    Size,
    /// The kind of the machine types.
    #[error("devices must be all, cpu or gpu")]
    Devices,
    /// A machine type that is not compared.
    #[error("without must be a machine type")]
    Without,
    /// The price of a machine type.
    #[error("price must be MACHINE:PRICE, such as price=c5.xlarge:0.2")]
    Price,
    /// The largest price per hour.
    #[error("hourly must be a price above 0, such as hourly=2")]
    MaxHourlyCost,
}

impl LinkSetting {
    /// Reads `name=value`. `None`: the name is not that of a setting.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn read(part: &str) -> Option<Result<Self, InvalidSetting>> {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Some(match name {
            "size" => size(value).ok_or(InvalidSetting::Size),
            "devices" => devices(value).map(Self::Devices).ok_or(InvalidSetting::Devices),
            "without" => decoded(value).map(Self::Without).ok_or(InvalidSetting::Without),
            "price" => price(value).ok_or(InvalidSetting::Price),
            "hourly" => money(value).map(Self::MaxHourlyCost).ok_or(InvalidSetting::MaxHourlyCost),
            "spot" => Ok(Self::Spot),
            "context" if value == "alone" => Ok(Self::Alone),
            _ => return None,
        })
    }
}

/// Writes `name=value`.
impl std::fmt::Display for LinkSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Size { images, epochs } => write!(f, "size={images}x{epochs}"),
            Self::Devices(Devices::All) => f.write_str("devices=all"),
            Self::Devices(Devices::Cpu) => f.write_str("devices=cpu"),
            Self::Devices(Devices::Gpu) => f.write_str("devices=gpu"),
            Self::Without(machine) => write!(f, "without={}", encoded(machine)),
            Self::Price { machine, hourly } => write!(f, "price={}:{hourly}", encoded(machine)),
            Self::MaxHourlyCost(most) => write!(f, "hourly={most}"),
            Self::Spot => f.write_str("spot=1"),
            Self::Alone => f.write_str("context=alone"),
        }
    }
}

fn size(value: &str) -> Option<LinkSetting> {
    let (images, epochs) = value.split_once('x')?;
    let (images, epochs) = (images.parse().ok()?, epochs.parse().ok()?);
    (images > 0 && epochs > 0).then_some(LinkSetting::Size { images, epochs })
}

fn devices(value: &str) -> Option<Devices> {
    match value {
        "all" => Some(Devices::All),
        "cpu" => Some(Devices::Cpu),
        "gpu" => Some(Devices::Gpu),
        _ => None,
    }
}

fn price(value: &str) -> Option<LinkSetting> {
    let (machine, hourly) = value.rsplit_once(':')?;
    Some(LinkSetting::Price { machine: decoded(machine)?, hourly: money(hourly)? })
}

fn money(value: &str) -> Option<f64> {
    number(value).filter(|amount| MONEY.contains(amount))
}

/// Percent-encodes all but ASCII letters, digits, `-`, `.` and `_`, for the value of a name in the
/// fragment of a link.
pub fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' => encoded.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            _ => {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    encoded
}

/// Decodes the output of [`encoded`]. `None`: `%` without two hexadecimal digits, bytes that are no
/// UTF-8, or an empty text. Crates for this encoding accept a `%` without digits.
pub fn decoded(text: &str) -> Option<String> {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_setting_reads_back() {
        for (setting, text) in [
            (LinkSetting::Size { images: u64::MAX, epochs: 2 }, "size=18446744073709551615x2"),
            (LinkSetting::Devices(Devices::All), "devices=all"),
            (LinkSetting::Devices(Devices::Cpu), "devices=cpu"),
            (LinkSetting::Devices(Devices::Gpu), "devices=gpu"),
            (LinkSetting::Without("AMD EPYC: ü".into()), "without=AMD%20EPYC%3A%20%C3%BC"),
            (LinkSetting::Price { machine: "a:b".into(), hourly: 0.2 }, "price=a%3Ab:0.2"),
            (LinkSetting::MaxHourlyCost(2.5), "hourly=2.5"),
            (LinkSetting::Spot, "spot=1"),
            (LinkSetting::Alone, "context=alone"),
        ] {
            assert_eq!(setting.to_string(), text);
            assert_eq!(LinkSetting::read(text), Some(Ok(setting)));
        }
    }

    #[test]
    fn all_settings_of_a_link_are_applied_and_written_again() {
        let settings = LinkSettings {
            size: Some((32_000, 2)),
            devices: Devices::Gpu,
            without: vec!["c5.large".into(), "AMD EPYC: ü".into()],
            prices: vec![("c5.xlarge".into(), 0.2)],
            max_hourly_cost: Some(2.5),
            spot: true,
            is_alone: true,
        };
        let mut again = LinkSettings::default();
        settings.changed().into_iter().for_each(|setting| again.set(setting));
        assert_eq!(again, settings);
        assert_eq!(settings.changed().len(), 8);
        assert_eq!(LinkSettings::default().changed(), []);
    }

    #[test]
    fn an_invalid_value_is_refused_and_another_name_is_no_setting() {
        for part in [
            "size",
            "size=abc",
            "size=3",
            "size=0x1",
            "size=3x0",
            "size=-3x1",
            "devices=tpu",
            "without=",
            "without=%",
            "without=%G1",
            "without=%+1",
            "without=%E4",
            "without=%e",
            "price=a",
            "price=a:0",
            "price=a:NaN",
            "price=:1",
            "hourly=x",
            "hourly=-1",
            "hourly=inf",
        ] {
            let error = LinkSetting::read(part).unwrap().unwrap_err();
            let name = part.split('=').next().unwrap();
            assert!(error.to_string().starts_with(&format!("{name} must be ")), "{part}: {error}");
        }
        for part in ["", "view=trust", "chart=log", "context=1", "later"] {
            assert_eq!(LinkSetting::read(part), None, "{part}");
        }
    }

    proptest! {
        #[test]
        fn every_text_reads_back(text in "\\PC+") {
            prop_assert!(encoded(&text).is_ascii());
            prop_assert_eq!(decoded(&encoded(&text)), Some(text));
        }
    }
}
