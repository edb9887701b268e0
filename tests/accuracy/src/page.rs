//! The tables of `docs/accuracy.md`.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use foreglow_shared::Timestamp;

use crate::calibration::Calibration;
use crate::contestant::FOREGLOW;
use crate::covered::Covered;
use crate::figures::Figures;
use crate::protocol::Protocol;
use crate::slowed::Slowed;
use crate::summary::best_rival;

const BEGIN: &str = "<!-- made by `make accuracy` -->\n";
const END: &str = "<!-- end of what `make accuracy` makes -->";

/// Renders two tables for each data set: all predictors, and the default predictor's intervals and
/// errors with slow runs. Development data comes first.
pub fn section(
    protocols: &[Protocol],
    commands: &[Vec<Vec<String>>],
    rows: &[Figures],
    trials: Option<usize>,
) -> String {
    let date = Timestamp::now().to_string();
    let limit = trials.map_or_else(String::new, |trials| {
        format!(", with at most {trials} splits of each public table (`--trials {trials}`) where its protocol has more")
    });
    let mut text = format!("Made on {} on {} by `make accuracy`{limit}.\n", &date[..10], machine());
    for is_development in [true, false] {
        text.push_str(if is_development {
            "\n## Development figures\n\nStructure and constants of the default predictor were chosen while these figures were looked at.\n"
        } else {
            "\n## Untouched figures\n\nNo design choice used these figures.\n"
        });
        let mut sets: Vec<&str> = Vec::new();
        for protocol in protocols.iter().filter(|protocol| protocol.set.is_development == is_development) {
            if !sets.contains(&protocol.set.name) {
                sets.push(protocol.set.name);
            }
        }
        for set in sets {
            let own: Vec<&Figures> = rows.iter().filter(|row| row.set == set).collect();
            let _ = write!(text, "\n### {set}\n\n{}\n{}", errors(&own), intervals(&own, rows));
            let of_set = protocols.iter().zip(commands).filter(|(protocol, _)| protocol.set.name == set);
            text.push_str(&command_lines(of_set));
        }
    }
    text.push_str(&coverage(rows));
    text.push_str(&calibration(rows));
    text
}

/// Renders a row for each predictor and a column for each protocol: errors without slow runs.
fn errors(rows: &[&Figures]) -> String {
    let clean = || rows.iter().filter(|row| row.slowed == Slowed::None);
    let mut names: Vec<&str> = Vec::new();
    let mut predictors: Vec<&str> = Vec::new();
    for row in clean() {
        if !names.contains(&row.protocol.as_str()) {
            names.push(&row.protocol);
        }
        if row.mape_percent.is_some() && !predictors.contains(&row.predictor) {
            predictors.push(row.predictor);
        }
    }
    let mut text = format!("| MAPE, % | {} |\n|---|{}\n", names.join(" | "), "---:|".repeat(names.len()));
    for predictor in predictors {
        let cell = |name: &&str| cell(clean().find(|row| row.protocol == *name && row.predictor == predictor));
        let _ = writeln!(text, "| {predictor} | {} |", names.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    text
}

fn cell(row: Option<&&Figures>) -> String {
    let Some(Figures { mape_percent: Some(mape), tested, unknown, .. }) = row else { return "–".into() };
    match unknown {
        0 => format!("{mape:.2}"),
        unknown => format!("{mape:.2} ({tested} of {})", tested + unknown),
    }
}

/// Renders a row for each protocol: intervals, constants chosen without the data set, and slow
/// runs.
fn intervals(rows: &[&Figures], all: &[Figures]) -> String {
    let mut text = String::from(
        "| protocol | tested | in the 90 % interval: within the range | beyond it | width, %: mean | median | interval score, % | without this set | \
         5 % of runs slow | 10 % of runs | 10 % of settings | two of the largest | fit |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows.iter().filter(|row| row.predictor == FOREGLOW && row.slowed == Slowed::None) {
        let slowed = |slowed: Slowed| {
            let is_meant = |other: &&&Figures| {
                other.predictor == FOREGLOW && other.protocol == row.protocol && other.slowed == slowed
            };
            let Some(own) = rows.iter().find(is_meant) else { return "–".into() };
            let ratio = own.ratio_to_clean().map_or_else(String::new, |ratio| format!(" (×{ratio:.2})"));
            let rival = best_rival(own, all)
                .and_then(|rival| Some(format!("; {} {:.1}", rival.predictor, rival.mape_percent?)));
            own.mape_percent.map_or_else(|| "–".into(), |mape| format!("{mape:.1}{ratio}{}", rival.unwrap_or_default()))
        };
        let covered = |covered: Covered| match covered.percent() {
            Some(percent) => format!("{percent:.1} % of {}", covered.tested),
            None => "–".into(),
        };
        let whole = |value: Option<f64>| value.map_or_else(|| "–".into(), |value| format!("{value:.0}"));
        let fit = match (row.fit_secs, &row.reason) {
            (Some(secs), _) if secs < 1.0 => format!("{:.0} ms", 1e3 * secs),
            (Some(secs), _) => format!("{secs:.1} s"),
            (None, reason) => reason.clone().unwrap_or_else(|| "–".into()),
        };
        let cells = [
            row.protocol.clone(),
            row.tested.to_string(),
            covered(row.within),
            covered(row.beyond),
            whole(row.width_percent),
            whole(row.median_width_percent),
            whole(row.interval_score_percent),
            row.left_out_mape_percent.map_or_else(|| "–".into(), |mape| format!("{mape:.2}")),
            slowed(Slowed::Runs(5)),
            slowed(Slowed::Runs(10)),
            slowed(Slowed::Settings(10)),
            slowed(Slowed::Largest),
            fit,
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// Returns the arguments of `foreglow evaluate` that give the same figures.
fn command_lines<'a>(protocols: impl Iterator<Item = (&'a Protocol, &'a Vec<Vec<String>>)>) -> String {
    let mut text = String::new();
    for (protocol, commands) in protocols {
        let Some(first) = commands.first().filter(|command| !command.is_empty()) else { continue };
        let more =
            if commands.len() == 1 { String::new() } else { format!(", and {} more like this", commands.len() - 1) };
        let words = first.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "# {}{more}\nforeglow evaluate {words}", protocol.name);
    }
    if text.is_empty() { text } else { format!("\n```sh\n{text}```\n") }
}

/// Returns the coverage of the intervals over all protocols without slow runs.
fn coverage(rows: &[Figures]) -> String {
    let mut text = String::from(
        "\n## The 90 % intervals over all protocols\n\n| figures | within the range | beyond it |\n|---|---:|---:|\n",
    );
    for (name, is_development) in [("development", true), ("untouched", false)] {
        let own = || {
            let is_meant = move |row: &&Figures| row.predictor == FOREGLOW && row.slowed == Slowed::None;
            rows.iter().filter(is_meant).filter(move |row| row.is_development == is_development)
        };
        let covered = |covered: Covered| {
            covered.percent().map_or_else(|| "–".into(), |percent| format!("{percent:.1} % of {}", covered.tested))
        };
        let (within, beyond) = (own().map(|row| row.within).sum(), own().map(|row| row.beyond).sum());
        let _ = writeln!(text, "| {name} | {} | {} |", covered(within), covered(beyond));
    }
    text
}

/// Returns how often deadlines were met, by the stated probability, over all protocols without slow
/// runs.
pub fn calibration(rows: &[Figures]) -> String {
    let own = rows.iter().filter(|row| row.predictor == FOREGLOW && row.slowed == Slowed::None);
    let Calibration { tenths, chosen } = own.map(|row| row.calibration).sum();
    let mut text = String::from(
        "\n## Is a 90 % chance 90 %?\n\nThe tested runs of a trial are configurations with a deadline, at 0.4 to 2.5 times the median of their \
         predicted times. Chosen: the slowest one that meets it with a stated probability of 90 % or more.\n\n\
         | stated probability | deadlines | met |\n|---|---:|---:|\n",
    );
    let mut line = |name: String, of: Covered| {
        let met = of.percent().map_or_else(|| "–".into(), |percent| format!("{percent:.1} %"));
        let _ = writeln!(text, "| {name} | {} | {met} |", of.tested);
    };
    for (tenth, of) in tenths.into_iter().enumerate() {
        line(format!("{} to {} %", 10 * tenth, 10 * (tenth + 1)), of);
    }
    line("90 to 100 %, chosen".into(), chosen);
    text
}

/// Returns the name and the number of the processors.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{threads} processor{} ({})", if threads == 1 { "" } else { "s" }, name.unwrap_or("unknown"))
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// Inserts the section between the page's markers.
///
/// # Errors
/// The page cannot be read or written, or lacks a marker.
pub fn replace(page: &Path, section: &str) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("{} cannot be read", page.display()))?;
    let (before, rest) = text.split_once(BEGIN).context("the page has no marker where the section begins")?;
    let (_, after) = rest.split_once(END).context("the page has no marker where the section ends")?;
    std::fs::write(page, format!("{before}{BEGIN}{section}{END}{after}"))
        .with_context(|| format!("{} cannot be written", page.display()))
}
