//! The switches of the charts. The address contains those that differ from their default.

/// A switch of a chart: its quantity, or the spread of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The quantity of the heat map.
    HeatMap,
    /// The axis of executors of the completion times.
    CompletionExecutors,
    /// The axis of time of the completion times.
    CompletionTime,
    /// Speed-up or efficiency.
    SpeedUp,
    /// The resource along which the speed-up is computed.
    SpeedUpOver,
    /// The axes of the speed-up.
    SpeedUpAxes,
    /// The axes of the effect of executors.
    EffectExecutors,
    /// The axes of the effect of cores.
    EffectCores,
    /// The axes of the effect of the sampling rate.
    EffectRate,
    /// The axes of predicted by measured times.
    PredictedByMeasured,
    /// The axis of time of the residuals.
    Residuals,
    /// The axis of time of cost by time.
    CostByTimeTime,
    /// The axis of cost of cost by time.
    CostByTimeCost,
}

/// The logarithmic option of an axis.
pub const LOG: &str = "log";
/// The options of an axis that is usually linear.
const USUALLY_LINEAR: &[&str] = &["linear", LOG];
/// The options of an axis that is usually logarithmic.
const USUALLY_LOG: &[&str] = &[LOG, "linear"];

impl Switch {
    /// All switches, in the order of the type.
    pub const ALL: [Self; 13] = [
        Self::HeatMap,
        Self::CompletionExecutors,
        Self::CompletionTime,
        Self::SpeedUp,
        Self::SpeedUpOver,
        Self::SpeedUpAxes,
        Self::EffectExecutors,
        Self::EffectCores,
        Self::EffectRate,
        Self::PredictedByMeasured,
        Self::Residuals,
        Self::CostByTimeTime,
        Self::CostByTimeCost,
    ];

    /// The name in the address.
    pub fn name(self) -> &'static str {
        self.parts().0
    }

    /// The options in the address, the default first. Letters and hyphens only, because they are
    /// not encoded.
    pub fn options(self) -> &'static [&'static str] {
        self.parts().1
    }

    fn parts(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::HeatMap => ("heat-map", &["Time", "Cost", "Probability"]),
            Self::CompletionExecutors => ("completion-executors", USUALLY_LINEAR),
            Self::CompletionTime => ("completion-time", USUALLY_LINEAR),
            Self::SpeedUp => ("speed-up", &["Speed-up", "Efficiency"]),
            Self::SpeedUpOver => ("speed-up-over", &["Executors", "Cores"]),
            Self::SpeedUpAxes => ("speed-up-axes", USUALLY_LINEAR),
            Self::EffectExecutors => ("effect-executors", USUALLY_LOG),
            Self::EffectCores => ("effect-cores", USUALLY_LOG),
            Self::EffectRate => ("effect-rate", USUALLY_LOG),
            Self::PredictedByMeasured => ("predicted-by-measured", USUALLY_LOG),
            Self::Residuals => ("residuals", USUALLY_LOG),
            Self::CostByTimeTime => ("cost-by-time-time", USUALLY_LOG),
            Self::CostByTimeCost => ("cost-by-time-cost", USUALLY_LOG),
        }
    }
}

/// The option of every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches([usize; Switch::ALL.len()]);

impl Switches {
    /// The option of a switch, as an index into [`Switch::options`].
    pub fn get(&self, switch: Switch) -> usize {
        self.0[switch as usize]
    }

    /// Sets a switch to one of its options.
    pub fn set(&mut self, switch: Switch, option: usize) {
        self.0[switch as usize] = option;
    }

    /// The switches that differ from their default, as in the address: `speed-up:Efficiency`.
    pub fn unusual(&self) -> impl Iterator<Item = String> {
        let unusual = Switch::ALL.into_iter().filter(|switch| self.get(*switch) != 0);
        unusual.map(|switch| format!("{}:{}", switch.name(), switch.options()[self.get(switch)]))
    }

    /// Sets a switch from the format of [`unusual`](Self::unusual). An unknown switch or option
    /// changes nothing.
    pub fn read(&mut self, text: &str) {
        let found = text.split_once(':').and_then(|(name, option)| {
            let switch = Switch::ALL.into_iter().find(|switch| switch.name() == name)?;
            Some((switch, switch.options().iter().position(|known| *known == option)?))
        });
        if let Some((switch, option)) = found {
            self.set(switch, option);
        }
    }
}
