//! The views of the page, one per tab, and their part of the address.

use std::fmt::Write as _;

use foreglow_shared::number;

use crate::data::machine_choice::{Devices, MachineChoice, MachinePick};
use crate::data::switch::Switches;

/// A view of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Configurations and machine types side by side.
    #[default]
    Compare,
    /// The charts of the predicted times.
    Explore,
    /// The accuracy of the predictor and of the published scenarios.
    Trust,
    /// The measured runs, and what to measure next.
    Runs,
    /// Files to save.
    Export,
}

impl Tab {
    /// All tabs, in the order in which the page shows them.
    pub const ALL: [Self; 5] = [Self::Compare, Self::Explore, Self::Trust, Self::Runs, Self::Export];

    /// The name in the address and in ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compare => "compare",
            Self::Explore => "explore",
            Self::Trust => "trust",
            Self::Runs => "runs",
            Self::Export => "export",
        }
    }

    /// The label of the tab.
    pub fn label(self) -> &'static str {
        match self {
            Self::Compare => "Compare",
            Self::Explore => "Explore",
            Self::Trust => "Trust",
            Self::Runs => "Runs",
            Self::Export => "Export",
        }
    }

    /// Returns the tab at `steps` from this one, around the end.
    pub fn moved(self, steps: isize) -> Self {
        let count = Self::ALL.len() as isize;
        let place = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0) as isize;
        Self::ALL[(place + steps).rem_euclid(count) as usize]
    }
}

/// State of the page besides the link: the view, the choice of machine types, and the switches of
/// the charts. It is the part of the fragment after the link, `&view=trust&devices=gpu`. It is
/// empty for the default state, so that such links equal those of earlier versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// The view.
    pub tab: Tab,
    /// The choice of machine types.
    pub choice: MachineChoice,
    /// The switches of the charts.
    pub switches: Switches,
    /// The images and epochs of the question about the job of a short link, if it was measured with
    /// others. A full link holds them.
    pub size: Option<(u64, u32)>,
}

impl Shown {
    /// The suffix of the fragment.
    pub fn suffix(&self) -> String {
        let mut suffix = String::new();
        let mut add = |name: &str, value: &str| {
            // Writing to a `String` cannot fail.
            let _ = write!(suffix, "&{name}={value}");
        };
        if self.tab != Tab::default() {
            add("view", self.tab.name());
        }
        match self.choice.devices {
            Devices::All => {}
            Devices::Cpu => add("devices", "cpu"),
            Devices::Gpu => add("devices", "gpu"),
        }
        for machine in &self.choice.without {
            add("without", &encoded(machine));
        }
        for (machine, price) in &self.choice.prices {
            add("price", &format!("{}:{price}", encoded(machine)));
        }
        if let Some(most) = self.choice.max_hourly_cost {
            add("hourly", &most.to_string());
        }
        if self.choice.spot {
            add("spot", "1");
        }
        let MachinePick { machine, batch_size, partition_size, memory_per_executor_mib } = &self.choice.pick;
        if let Some(machine) = machine {
            add("machine", &encoded(machine));
        }
        if let Some(size) = batch_size {
            add("batch", &size.to_string());
        }
        if let Some(size) = partition_size {
            add("partition", &size.to_string());
        }
        if let Some(mib) = memory_per_executor_mib {
            add("memory", &mib.to_string());
        }
        for switch in self.switches.unusual() {
            add("chart", &switch);
        }
        if let Some((images, epochs)) = self.size {
            add("size", &format!("{images}x{epochs}"));
        }
        suffix
    }

    /// Reads a suffix. Unknown names and values are ignored, so that links of newer versions open.
    fn read(suffix: &str) -> Self {
        let mut shown = Self::default();
        for (name, value) in suffix.split('&').filter_map(|part| part.split_once('=')) {
            match (name, value) {
                ("view", _) => shown.tab = Tab::ALL.into_iter().find(|tab| tab.name() == value).unwrap_or_default(),
                ("devices", "cpu") => shown.choice.devices = Devices::Cpu,
                ("devices", "gpu") => shown.choice.devices = Devices::Gpu,
                ("without", _) => shown.choice.without.extend(decoded(value)),
                ("price", _) => {
                    let priced =
                        value.rsplit_once(':').and_then(|(machine, amount)| Some((decoded(machine)?, price(amount)?)));
                    shown.choice.prices.extend(priced);
                }
                ("hourly", _) => shown.choice.max_hourly_cost = price(value),
                ("spot", _) => shown.choice.spot = true,
                ("machine", _) => shown.choice.pick.machine = decoded(value),
                ("batch", _) => shown.choice.pick.batch_size = count(value),
                ("partition", _) => shown.choice.pick.partition_size = count(value),
                ("memory", _) => shown.choice.pick.memory_per_executor_mib = count(value),
                ("chart", _) => shown.switches.read(value),
                ("size", _) => {
                    let size = value.split_once('x');
                    shown.size = size.and_then(|(images, epochs)| Some((images.parse().ok()?, count(epochs)?)));
                }
                _ => {}
            }
        }
        shown
    }
}

/// Reads a price above 0.
pub fn price(text: &str) -> Option<f64> {
    number(text).filter(|price| *price > 0.0 && price.is_finite())
}

fn count(value: &str) -> Option<u32> {
    value.parse().ok().filter(|count| *count > 0)
}

/// Splits a fragment into the link and the state of the page.
pub fn split(fragment: &str) -> (&str, Shown) {
    let end = fragment.find('&').unwrap_or(fragment.len());
    (&fragment[..end], Shown::read(&fragment[end..]))
}

/// Percent-encodes all but letters, digits, `-`, `.` and `_`.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' => encoded.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            _ => {
                // Writing to a `String` cannot fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// Decodes the output of [`encoded`]; `None` for other texts.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::switch::Switch;

    #[test]
    fn every_view_has_an_address_and_a_link_without_one_opens_the_first() {
        for tab in Tab::ALL {
            let shown = Shown { tab, ..Shown::default() };
            assert_eq!(split(&format!("v1.abc{}", shown.suffix())), ("v1.abc", shown));
        }
        assert_eq!(split("v1.abc"), ("v1.abc", Shown::default()));
        assert_eq!(split("v1.abc&view=later&x"), ("v1.abc", Shown::default()));
        assert_eq!(Shown::default().suffix(), "");
    }

    #[test]
    fn the_size_of_a_job_survives_the_address() {
        let shown = Shown { size: Some((32_000, 2)), ..Shown::default() };
        assert_eq!(split(&format!("q1.abc{}", shown.suffix())), ("q1.abc", shown));
        for broken in ["&size=3", "&size=x2", "&size=3x0", "&size=-3x1"] {
            assert_eq!(split(broken).1, Shown::default(), "{broken}");
        }
    }

    #[test]
    fn the_choice_of_machine_types_survives_the_address_whatever_their_names() {
        let choice = MachineChoice {
            devices: Devices::Gpu,
            without: vec!["c5.xlarge".into(), "AMD EPYC & co: 50 %, 2 Prozessoren ü".into()],
            prices: vec![("a:b=c#1".into(), 0.125)],
            max_hourly_cost: Some(2.5),
            spot: true,
            pick: MachinePick {
                machine: Some("c5.xlarge & co".into()),
                batch_size: Some(16),
                partition_size: Some(24),
                memory_per_executor_mib: Some(2048),
            },
        };
        let shown = Shown { tab: Tab::Explore, choice, ..Shown::default() };
        assert_eq!(split(&format!("v1.abc{}", shown.suffix())), ("v1.abc", shown));
        for broken in [
            "&without=%G1",
            "&price=a:0",
            "&price=a",
            "&price=a:NaN",
            "&without=%E4",
            "&without=%e",
            "&batch=0",
            "&partition=-1",
            "&memory=x",
            "&machine=%e",
        ] {
            assert_eq!(split(broken).1, Shown::default(), "{broken}");
        }
    }

    #[test]
    fn every_option_of_every_switch_survives_the_address_and_the_usual_one_is_absent() {
        for (place, switch) in Switch::ALL.into_iter().enumerate() {
            assert_eq!(switch as usize, place, "{switch:?}");
            for (option, name) in switch.options().iter().enumerate() {
                let mut shown = Shown::default();
                shown.switches.set(switch, option);
                let suffix = shown.suffix();
                assert_eq!(suffix.is_empty(), option == 0, "{suffix}");
                assert!(option == 0 || suffix == format!("&chart={}:{name}", switch.name()), "{suffix}");
                assert_eq!(encoded(switch.name()) + &encoded(name), switch.name().to_owned() + name);
                assert_eq!(split(&format!("v1.abc{suffix}")), ("v1.abc", shown));
            }
        }
    }

    #[test]
    fn switches_are_in_the_order_of_the_charts_and_unknown_ones_are_ignored() {
        let (_, shown) = split("v1.abc&chart=speed-up-axes:log&view=explore&chart=speed-up:Efficiency&chart=later:on");
        assert_eq!(shown.suffix(), "&view=explore&chart=speed-up:Efficiency&chart=speed-up-axes:log");
        for broken in ["speed-up", "speed-up:", "speed-up:efficiency", ":Efficiency", "heat-map:log", "", "%e:log"] {
            assert_eq!(split(&format!("&chart={broken}")).1, Shown::default(), "{broken}");
        }
    }

    #[test]
    fn the_arrow_keys_move_around_the_ends() {
        assert_eq!(Tab::Compare.moved(-1), Tab::Export);
        assert_eq!(Tab::Export.moved(1), Tab::Compare);
        assert_eq!(Tab::Explore.moved(1), Tab::Trust);
    }
}
