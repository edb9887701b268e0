//! The views of the page, one per tab, and their part of the address.

use foreglow_shared::{LinkSetting, LinkSettings, MONEY, decoded, encoded, number};

use crate::data::candidate_list::CandidateList;
use crate::data::machine_choice::{MachineChoice, Selection};
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
pub struct ViewSettings {
    /// The view.
    pub tab: Tab,
    /// The choice of machine types.
    pub choice: MachineChoice,
    /// The switches of the charts.
    pub switches: Switches,
    /// Order and filter of the list of configurations.
    pub list: CandidateList,
    /// The images and epochs of the question about the job of a short link, if it was measured with
    /// others. A full link holds them.
    pub size: Option<(u64, u32)>,
    /// The pinned configurations that have a machine type or sizes. The link holds the others.
    pub pins: Vec<Selection>,
    /// Whether the user chose the smallest configuration for the what-if. Otherwise it stands for
    /// the recommended one, because links of earlier versions hold it until the user moves a
    /// slider.
    pub is_smallest_chosen: bool,
}

impl ViewSettings {
    /// The suffix of the fragment.
    pub fn suffix(&self) -> String {
        let mut suffix = String::new();
        let mut add = |part: &str| {
            suffix.push('&');
            suffix.push_str(part);
        };
        if self.tab != Tab::default() {
            add(&format!("view={}", self.tab.name()));
        }
        self.settings().changed().iter().for_each(|setting| add(&setting.to_string()));
        let MachineChoice { pick, .. } = &self.choice;
        if let Some(machine) = &pick.machine {
            add(&format!("machine={}", encoded(machine)));
        }
        for (name, count) in
            [("batch", pick.batch_size), ("partition", pick.partition_size), ("memory", pick.memory_per_executor_mib)]
        {
            if let Some(count) = count {
                add(&format!("{name}={count}"));
            }
        }
        self.pins.iter().for_each(|pin| add(&format!("pin={}", pin.to_address())));
        if self.is_smallest_chosen {
            add("what-if=smallest");
        }
        for switch in self.switches.unusual() {
            add(&format!("chart={switch}"));
        }
        self.list.parts().iter().for_each(|part| add(part));
        suffix
    }

    /// Reads a suffix. Unknown names and values are ignored, so that links of newer versions open.
    fn read(suffix: &str) -> Self {
        let (mut shown, mut settings) = (Self::default(), LinkSettings::default());
        for part in suffix.split('&') {
            match LinkSetting::read(part) {
                Some(Ok(setting)) => settings.set(setting),
                Some(Err(_)) => {}
                None => shown.read_own(part),
            }
        }
        let LinkSettings { size, devices, without, prices, max_hourly_cost, spot, .. } = settings;
        let pick = shown.choice.pick;
        shown.choice = MachineChoice { devices, without, prices, max_hourly_cost, spot, pick };
        shown.size = size;
        shown
    }

    /// The settings that the command line knows too.
    fn settings(&self) -> LinkSettings {
        let MachineChoice { devices, without, prices, max_hourly_cost, spot, .. } = self.choice.clone();
        // The page shows the comparison by partition size of every link.
        LinkSettings { size: self.size, devices, without, prices, max_hourly_cost, spot, is_alone: false }
    }

    /// Reads a part that only the page has.
    fn read_own(&mut self, part: &str) {
        let Some((name, value)) = part.split_once('=') else { return };
        let pick = &mut self.choice.pick;
        match name {
            "view" => self.tab = Tab::ALL.into_iter().find(|tab| tab.name() == value).unwrap_or_default(),
            "machine" => pick.machine = decoded(value),
            "batch" => pick.batch_size = count(value),
            "partition" => pick.partition_size = count(value),
            "memory" => pick.memory_per_executor_mib = count(value),
            "pin" => self.pins.extend(Selection::from_address(value)),
            "what-if" => self.is_smallest_chosen = value == "smallest",
            "chart" => self.switches.read(value),
            _ => self.list.read(name, value),
        }
    }
}

/// Reads a price above 0.
pub fn price(text: &str) -> Option<f64> {
    number(text).filter(|price| MONEY.contains(price))
}

fn count(value: &str) -> Option<u32> {
    value.parse().ok().filter(|count| *count > 0)
}

/// Splits a fragment into the link and the state of the page.
pub fn split(fragment: &str) -> (&str, ViewSettings) {
    let end = fragment.find('&').unwrap_or(fragment.len());
    (&fragment[..end], ViewSettings::read(&fragment[end..]))
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{Devices, WhatIf};

    use super::*;
    use crate::data::machine_choice::MachinePick;
    use crate::data::switch::Switch;

    #[test]
    fn every_view_has_an_address_and_a_link_without_one_opens_the_first() {
        for tab in Tab::ALL {
            let shown = ViewSettings { tab, ..ViewSettings::default() };
            assert_eq!(split(&format!("v1.abc{}", shown.suffix())), ("v1.abc", shown));
        }
        assert_eq!(split("v1.abc"), ("v1.abc", ViewSettings::default()));
        assert_eq!(split("v1.abc&view=later&x"), ("v1.abc", ViewSettings::default()));
        assert_eq!(ViewSettings::default().suffix(), "");
    }

    #[test]
    fn the_size_of_a_job_survives_the_address() {
        let shown = ViewSettings { size: Some((32_000, 2)), ..ViewSettings::default() };
        assert_eq!(split(&format!("q1.abc{}", shown.suffix())), ("q1.abc", shown));
        for broken in ["&size=3", "&size=x2", "&size=3x0", "&size=-3x1"] {
            assert_eq!(split(broken).1, ViewSettings::default(), "{broken}");
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
        let pins = vec![Selection {
            counts: WhatIf { executors: 2, cores_per_executor: 4 },
            pick: MachinePick { batch_size: None, ..choice.pick.clone() },
        }];
        let shown = ViewSettings { tab: Tab::Explore, choice, pins, ..ViewSettings::default() };
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
            "&pin=2x0:a:::",
            "&pin=2x4",
        ] {
            assert_eq!(split(broken).1, ViewSettings::default(), "{broken}");
        }
    }

    #[test]
    fn every_option_of_every_switch_survives_the_address_and_the_usual_one_is_absent() {
        for (place, switch) in Switch::ALL.into_iter().enumerate() {
            assert_eq!(switch as usize, place, "{switch:?}");
            for (option, name) in switch.options().iter().enumerate() {
                let mut shown = ViewSettings::default();
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
            assert_eq!(split(&format!("&chart={broken}")).1, ViewSettings::default(), "{broken}");
        }
    }

    #[test]
    fn the_arrow_keys_move_around_the_ends() {
        assert_eq!(Tab::Compare.moved(-1), Tab::Export);
        assert_eq!(Tab::Export.moved(1), Tab::Compare);
        assert_eq!(Tab::Explore.moved(1), Tab::Trust);
    }
}
