//! The question about a job without samples, as the fragment of an address:
//! `network=resnet50&mode=training&images=1281167&epochs=90&dtype=amp&deadline=24h`. The names are
//! those of the options of `foreglow plan`.

use foreglow_model::{
    MemorySource, NetworkCosts, NetworkFromFile, NetworkSource, PeakBytes, Precision, SoftwareKind, StepBytes,
    StepMemory, UnmeasuredJob,
};
use foreglow_shared::{
    DEADLINE_SECS, DEFAULT_PROBABILITY, MONEY, Mode, PROBABILITIES, compact_duration, decoded, encoded, number,
    parse_duration,
};

use crate::data::job::Limits;

/// The beginning of such a fragment.
pub const PREFIX: &str = "network=";
/// The deadline of the question of an empty page, seconds.
pub const USUAL_DEADLINE_SECS: f64 = 86_400.0;

/// Whether a fragment is the question about a job without samples.
pub fn is_unmeasured(fragment: &str) -> bool {
    fragment.starts_with(PREFIX)
}

/// Writes a question. What has its usual value is omitted, except for the four parts that everyone
/// asks about.
pub fn fragment(job: &UnmeasuredJob, limits: Limits) -> String {
    let UnmeasuredJob { network, image_px, mode, images, epochs, batch_size, precision, software, known, peaks } = job;
    let mut fragment = format!("{PREFIX}{}", encoded(network.name()));
    let mut add = |name: &str, value: String| fragment.push_str(&format!("&{name}={value}"));
    add("mode", mode.to_string());
    add("images", images.to_string());
    add("epochs", epochs.to_string());
    add("dtype", precision.name().to_owned());
    if let Some(secs) = limits.deadline_secs {
        let text = compact_duration(secs);
        let is_exact = parse_duration(&text) == Some(secs);
        add("deadline", if is_exact { encoded(&text) } else { format!("{secs}s") });
    }
    if let Some(budget) = limits.budget {
        add("budget", budget.to_string());
    }
    if limits.probability != DEFAULT_PROBABILITY {
        add("probability", limits.probability.to_string());
    }
    if let Some(px) = image_px {
        add("image-px", px.to_string());
    }
    if *batch_size != UnmeasuredJob::default().batch_size {
        add("batch-size", batch_size.to_string());
    }
    if let Some(kind) = software {
        add("software", kind.name().to_owned());
    }
    known.iter().for_each(|known| add("known", encoded(&known.to_string())));
    peaks.iter().for_each(|peak| add("peak", encoded(&peak.to_string())));
    if let NetworkSource::File(file) = network {
        add("costs", costs_text(file));
    }
    fragment
}

/// Reads what [`fragment`] writes. Unknown names are ignored, so that links of newer versions open;
/// missing ones have their usual value.
///
/// # Errors
/// A value is invalid; one sentence without its full stop.
pub fn read(fragment: &str) -> Result<(UnmeasuredJob, Limits), String> {
    let mut job = UnmeasuredJob { known: Vec::new(), ..UnmeasuredJob::default() };
    let mut limits = Limits { deadline_secs: None, budget: None, min_accuracy: None, probability: DEFAULT_PROBABILITY };
    for part in fragment.split('&') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        set(&mut job, &mut limits, name, value).ok_or_else(|| format!("{name} is {value:?}"))?;
    }
    Ok((job, limits))
}

/// Sets a part of the question; `None` if its value is invalid.
fn set(job: &mut UnmeasuredJob, limits: &mut Limits, name: &str, value: &str) -> Option<()> {
    let text = || decoded(value).filter(|text| !text.is_empty());
    match name {
        "network" => job.network = NetworkSource::Named(text()?),
        "costs" => job.network = NetworkSource::File(costs(job.network.name(), value)?),
        "mode" => job.mode = value.parse::<Mode>().ok()?,
        "images" => job.images = value.parse().ok().filter(|images| *images > 0)?,
        "epochs" => job.epochs = count(value)?,
        "image-px" => job.image_px = Some(count(value)?),
        "batch-size" => job.batch_size = count(value)?,
        "dtype" => job.precision = Precision::named(value)?,
        "software" => job.software = Some(SoftwareKind::named(value)?),
        "peak" => job.peaks.push(text()?.parse().ok()?),
        "known" => job.known.push(text()?.parse().ok()?),
        "deadline" => {
            limits.deadline_secs = Some(parse_duration(&text()?).filter(|secs| DEADLINE_SECS.contains(secs))?);
        }
        "budget" => limits.budget = Some(number(value).filter(|money| MONEY.contains(money))?),
        "probability" => limits.probability = number(value).filter(|share| PROBABILITIES.contains(share))?,
        _ => {}
    }
    Some(())
}

fn count(value: &str) -> Option<u32> {
    value.parse().ok().filter(|count| *count > 0)
}

/// Writes the costs and the memory of a network of a file.
pub fn costs_text(NetworkFromFile { costs, memory }: &NetworkFromFile) -> String {
    let NetworkCosts { image_px, parameters_m, gmacs, activations_m, is_convolutional, .. } = costs;
    let StepMemory { parameters, peaks, .. } = memory;
    let peaks = peaks.inference.into_iter().chain(peaks.training);
    let peaks: String = peaks.map(|peak| format!(":{}:{}", peak.fixed, peak.per_image)).collect();
    let kind = if *is_convolutional { "cnn" } else { "other" };
    format!("{image_px}:{parameters_m}:{gmacs}:{activations_m}:{kind}:{parameters}{peaks}")
}

/// Reads [`costs_text`]; `None` if it is invalid.
pub fn costs(name: &str, text: &str) -> Option<NetworkFromFile> {
    let parts: Vec<&str> = text.split(':').collect();
    let [px, parameters_m, gmacs, activations_m, kind, parameters, peaks @ ..] = parts.as_slice() else { return None };
    let positive = |text: &str| number(text).filter(|number| *number > 0.0);
    let costs = NetworkCosts {
        name: name.to_owned(),
        family: String::new(),
        is_convolutional: *kind == "cnn",
        image_px: count(px)?,
        parameters_m: positive(parameters_m)?,
        gmacs: positive(gmacs)?,
        activations_m: positive(activations_m)?,
    };
    let parameters = parameters.parse().ok()?;
    let peaks: Vec<u64> = peaks.iter().map(|bytes| bytes.parse().ok()).collect::<Option<_>>()?;
    let source = MemorySource::Graph;
    Some(NetworkFromFile { costs, memory: StepMemory { parameters, peaks: step_bytes(&peaks)?, source } })
}

/// Reads the peaks of a step. Links of earlier versions have only the bytes of an image in 32 bits.
fn step_bytes(numbers: &[u64]) -> Option<StepBytes> {
    let peak = |fixed, per_image| PeakBytes { fixed, per_image };
    match *numbers {
        [a, b, c, d, e, f, g, h] => {
            Some(StepBytes { inference: [peak(a, b), peak(c, d)], training: [peak(e, f), peak(g, h)] })
        }
        [inference, training] => {
            let peaks = |bytes| [peak(0, bytes), peak(0, bytes / 2)];
            Some(StepBytes { inference: peaks(inference), training: peaks(training) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { deadline_secs: Some(5400.5), budget: Some(12.5), min_accuracy: None, probability: 0.8 }
    }

    #[test]
    fn a_question_without_samples_survives_the_address() {
        let file = NetworkFromFile {
            costs: NetworkCosts {
                name: "my net & co.onnx".into(),
                family: String::new(),
                is_convolutional: false,
                image_px: 96,
                parameters_m: 1.25,
                gmacs: 0.1 + 0.2,
                activations_m: 3.5,
            },
            memory: StepMemory {
                parameters: 1_250_000,
                peaks: step_bytes(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap(),
                source: MemorySource::Graph,
            },
        };
        let named = UnmeasuredJob {
            known: vec!["RTX 3090=812/s".parse().unwrap(), "8xA100=9500.25/s".parse().unwrap()],
            peaks: vec!["64=9.5GiB".parse().unwrap()],
            software: Some(SoftwareKind::Example),
            image_px: Some(160),
            batch_size: 64,
            precision: Precision::Fp32,
            mode: Mode::Inference,
            ..UnmeasuredJob::default()
        };
        let of_file = UnmeasuredJob { network: NetworkSource::File(file), ..named.clone() };
        for job in [named, of_file, UnmeasuredJob::default()] {
            assert_eq!(read(&fragment(&job, limits())), Ok((job, limits())));
        }
    }

    #[test]
    fn links_of_earlier_versions_have_the_bytes_of_an_image_in_32_bits() {
        let file = costs("net.onnx", "224:1.5:2:3:cnn:1500000:10:40").unwrap();
        assert_eq!(file.memory.peaks.training.map(|peak| peak.per_image), [40, 20]);
        assert_eq!(costs("net.onnx", "224:1.5:2:3:cnn:1500000:10:40:7"), None);
    }

    #[test]
    fn the_usual_question_is_short_and_unknown_parts_are_ignored() {
        let usual = Limits { deadline_secs: Some(USUAL_DEADLINE_SECS), budget: None, probability: 0.9, ..limits() };
        let text = "network=resnet50&mode=training&images=1281167&epochs=90&dtype=amp&deadline=24h";
        assert_eq!(fragment(&UnmeasuredJob::default(), usual), text);
        assert_eq!(read(&format!("{text}&view=trust&later=1")), Ok((UnmeasuredJob::default(), usual)));
    }

    #[test]
    fn an_invalid_part_is_named() {
        for part in [
            "images=0",
            "epochs=x",
            "mode=learning",
            "dtype=fp64",
            "known=L4",
            "peak=64",
            "deadline=soon",
            "budget=-1",
            "probability=2",
            "software=fast",
            "costs=1:2",
        ] {
            let error = read(&format!("network=resnet50&{part}")).unwrap_err();
            assert!(error.starts_with(part.split('=').next().unwrap()), "{part}: {error}");
        }
        assert!(read("network=").is_err());
    }
}
