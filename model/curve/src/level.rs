//! The level of an autocorrelated series and its mean in the future.
//!
//! The local level is yₜ = μₜ + εₜ and μₜ₊₁ = μₜ + ηₜ, with var η = q · var ε. A larger q is for
//! changes, such as other load, of which a short run shows only a part. Beside it, a constant level
//! with autocorrelated noise (AR(1)) stands for disturbances that come and go, and a level that
//! changed once for evaluations or other work that began. The models are averaged by their
//! likelihood, because a short series leaves open which one holds.
//!
//! Sources: Durbin and Koopman, Time Series Analysis by State Space Methods, 2nd edition, chapter 2
//! (the filter with a diffuse start and the concentrated likelihood); Hoeting et al., Bayesian
//! model averaging: a tutorial, Statistical Science 14(4), 1999.

use foreglow_numeric::{exponentials, logarithms, student_t};

/// How the level may change, with prior weights.
const MODELS: [(Model, f64); 10] = [
    (Model::Stationary(0.0), 0.43),
    (Model::Stationary(0.3), 0.12),
    (Model::Stationary(0.6), 0.08),
    (Model::Stationary(0.85), 0.05),
    (Model::Walk(0.003), 0.08),
    (Model::Walk(0.01), 0.07),
    (Model::Walk(0.03), 0.06),
    (Model::Walk(0.1), 0.05),
    (Model::Walk(0.3), 0.04),
    (Model::Walk(1.0), 0.02),
];
/// Prior weight of a level that changed once, at whichever value.
const CHANGED_ONCE: f64 = 0.05;
/// Values before and after the change, so that it is no single slow value.
const LEAST_AFTER: usize = 3;
/// Variance of the change, in variances of the noise.
const CHANGE: f64 = 400.0;
/// Bisections of a quantile: enough for the last digits shown.
const STEPS: u32 = 60;

/// How a level may change.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    /// Constant, with noise that has this autocorrelation from one value to the next.
    Stationary(f64),
    /// A local level with this ratio q.
    Walk(f64),
    /// Constant but for a change at this value.
    Change(usize),
}

/// What one model says about the future.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Forecast {
    /// Logarithm of the likelihood, up to a constant.
    log_likelihood: f64,
    mean: f64,
    scale: f64,
}

/// The mean of a series in the future: a mixture of Student's t distributions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FutureMean {
    degrees: f64,
    /// Weight, mean and scale of each component.
    components: Vec<(f64, f64, f64)>,
}

impl FutureMean {
    /// Predicts the mean of the next `horizon` values after a series, which has at least 3.
    pub fn of(series: &[f64], horizon: f64) -> Self {
        let places = LEAST_AFTER..(series.len() + 1).saturating_sub(LEAST_AFTER);
        let weight = CHANGED_ONCE / places.len().max(1) as f64;
        let models: Vec<_> = MODELS.into_iter().chain(places.map(|place| (Model::Change(place), weight))).collect();
        let forecasts: Vec<Forecast> = models.iter().map(|(model, _)| model.forecast(series, horizon)).collect();
        let best = forecasts.iter().map(|forecast| forecast.log_likelihood).fold(f64::NEG_INFINITY, f64::max);
        let mut weights: Vec<f64> = forecasts.iter().map(|forecast| forecast.log_likelihood - best).collect();
        exponentials(&mut weights);
        weights.iter_mut().zip(&models).for_each(|(weight, (_, prior))| *weight *= prior);
        let total: f64 = weights.iter().sum();
        let component = |(weight, forecast): (&f64, &Forecast)| (weight / total, forecast.mean, forecast.scale);
        Self { degrees: (series.len() - 1) as f64, components: weights.iter().zip(&forecasts).map(component).collect() }
    }

    /// Adds an independent error to every component.
    pub fn with_error(mut self, deviation: f64) -> Self {
        for (.., scale) in &mut self.components {
            *scale = (*scale * *scale + deviation * deviation).sqrt();
        }
        self
    }

    /// Returns the value that is exceeded with this probability.
    pub fn exceeded_with(&self, above: f64) -> f64 {
        let spread = self.components.iter().map(|(.., scale)| *scale).fold(0.0, f64::max) * 1e3;
        let means = || self.components.iter().map(|(_, mean, _)| *mean);
        let mut low = means().fold(f64::INFINITY, f64::min) - spread;
        let mut high = means().fold(f64::NEG_INFINITY, f64::max) + spread;
        for _ in 0..STEPS {
            let middle = low + (high - low) / 2.0;
            if self.probability_above(middle) > above { low = middle } else { high = middle }
        }
        low + (high - low) / 2.0
    }

    /// Returns the probability of a value above this one.
    pub fn probability_above(&self, value: f64) -> f64 {
        let above = |(weight, mean, scale): &(f64, f64, f64)| {
            let t = if *scale > 0.0 { (value - mean) / scale } else { (value - mean) * f64::INFINITY };
            weight * if t.is_nan() { 0.5 } else { student_t::probability_above(t, self.degrees) }
        };
        self.components.iter().map(above).sum()
    }
}

impl Model {
    /// Forecasts the mean of the next `horizon` values.
    fn forecast(self, series: &[f64], horizon: f64) -> Forecast {
        match self {
            Self::Stationary(memory) => stationary(series, memory, horizon),
            Self::Walk(ratio) => {
                // Var of the mean of a random walk over n steps is q (n + 1)(2n + 1) / 6n.
                let steps = horizon.max(1.0);
                let walked = ratio * (steps + 1.0) * (2.0 * steps + 1.0) / (6.0 * steps);
                level(series, |_| ratio, walked + 1.0 / horizon)
            }
            Self::Change(place) => level(series, |at| if at == place { CHANGE } else { 0.0 }, 1.0 / horizon),
        }
    }
}

/// Fits a constant level with autocorrelated noise by generalised least squares, and forecasts the
/// mean of the next `horizon` values.
fn stationary(series: &[f64], memory: f64, horizon: f64) -> Forecast {
    let degrees = (series.len() - 1) as f64;
    // The first value has the variance 1 / (1 − φ²) of an innovation's.
    let first = (1.0 - memory * memory).sqrt();
    let whitened = || {
        let later = series.windows(2).map(|pair| (1.0 - memory, pair[1] - memory * pair[0]));
        [(first, first * series[0])].into_iter().chain(later)
    };
    let information: f64 = whitened().map(|(weight, _)| weight * weight).sum();
    let level = whitened().map(|(weight, value)| weight * value).sum::<f64>() / information;
    let squares: f64 = whitened().map(|(weight, value)| (value - weight * level) * (value - weight * level)).sum();
    let noise = noise(squares, degrees, level);
    // The last deviation dies away.
    let last = series.last().map_or(0.0, |last| last - level);
    let mean = level + last * memory / (1.0 - memory) / horizon.max(1.0);
    let long_run = 1.0 / ((1.0 - memory) * (1.0 - memory));
    let mut logarithms_of = [first, information, noise];
    logarithms(&mut logarithms_of);
    let [log_first, log_information, log_noise] = logarithms_of;
    Forecast {
        log_likelihood: log_first - 0.5 * (log_information + degrees * log_noise),
        mean,
        scale: (noise * (1.0 / information + long_run / horizon)).sqrt(),
    }
}

/// Filters a series with a level that changes before each value by a variance `change`, and
/// forecasts a mean whose variance around the last level is `future`, both in variances of the
/// noise.
fn level(series: &[f64], change: impl Fn(usize) -> f64, future: f64) -> Forecast {
    let (mut level, mut variance, mut squares) = (series[0], 1.0, 0.0);
    let mut variances = Vec::with_capacity(series.len());
    for (at, value) in series.iter().enumerate().skip(1) {
        variance += change(at);
        let forecast = variance + 1.0;
        let error = value - level;
        squares += error * error / forecast;
        level += variance / forecast * error;
        variance /= forecast;
        variances.push(forecast);
    }
    let degrees = (series.len() - 1) as f64;
    let noise = noise(squares, degrees, level);
    let mut logarithms_of = variances;
    logarithms_of.push(noise);
    logarithms(&mut logarithms_of);
    let log_noise = logarithms_of.pop().unwrap_or(0.0);
    Forecast {
        log_likelihood: -0.5 * (logarithms_of.iter().sum::<f64>() + degrees * log_noise),
        mean: level,
        scale: (noise * (variance + future)).sqrt(),
    }
}

/// Returns the variance of the noise. A constant series has none; the floor keeps its logarithm
/// finite.
fn noise(squares: f64, degrees: f64, level: f64) -> f64 {
    (squares / degrees).max(1e-18 * level * level).max(f64::MIN_POSITIVE)
}
