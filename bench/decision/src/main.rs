//! Runs the benchmark natively, reads the browser's figures from the log of its run, and writes
//! both.

use std::path::Path;
use std::time::Instant;

use foreglow_bench_decision::{Figures, MachineFigures, ManyRunsFigure, figures, machine_figures, many_runs_figures};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let argument = std::env::args().nth(1);
    // `--many-runs TEXT` measures only the answers about many runs whose name contains the text.
    if argument.as_deref() == Some("--many-runs") {
        let only = std::env::args().nth(2).unwrap_or_default();
        many_runs_entries("native", &many_runs_figures(processor_millis, &only));
        return Ok(());
    }
    let mut entries = entries("native", figures(|| start.elapsed().as_secs_f64() * 1000.0));
    entries.extend(machine_entries("native", machine_figures(|| start.elapsed().as_secs_f64() * 1000.0), 16.0));
    entries.extend(many_runs_entries("native", &many_runs_figures(processor_millis, "")));
    if let Some(log) = argument {
        let log = std::fs::read_to_string(log)?;
        let line = log.lines().find_map(|line| line.split_once("FIGURES ")).ok_or("the browser gave no figures")?;
        entries.extend(self::entries("browser", serde_json::from_str::<Figures>(line.1.trim())?));
        let line = log.lines().find_map(|line| line.split_once("MACHINES ")).ok_or("the browser gave no figures")?;
        entries.extend(machine_entries("browser", serde_json::from_str::<MachineFigures>(line.1.trim())?, 50.0));
        let line = log.lines().find_map(|line| line.split_once("MANY RUNS ")).ok_or("the browser gave no figures")?;
        entries.extend(many_runs_entries("browser", &serde_json::from_str::<Vec<ManyRunsFigure>>(line.1.trim())?));
    }
    let text = serde_json::to_string_pretty(&entries)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("decision.json"), &text)?;
    println!("{text}");
    Ok(())
}

fn entries(place: &str, figures: Figures) -> Vec<Value> {
    let Figures { decision_millis, loop_millis, fit_millis } = figures;
    eprintln!("{place}: {decision_millis:.1} ms, scalar loop {loop_millis:.1} ms, fit {fit_millis:.1} ms");
    vec![json!({
        "name": format!("1,000,000 configurations predicted, priced, reduced to the front, {place}"),
        "unit": "ms",
        "ours": decision_millis,
        "peer_name": "scalar loop",
        "peer": loop_millis,
        "ratio": loop_millis / decision_millis,
    })]
}

/// The baseline is the time below which an interface feels immediate.
fn machine_entries(place: &str, figures: MachineFigures, limit_millis: f64) -> Vec<Value> {
    let MachineFigures { candidates, deadline_millis, probability_millis, price_millis, prepare_millis } = figures;
    eprintln!("{place}: {candidates} configurations on 80 machine types, prepared in {prepare_millis:.0} ms");
    let changes = [("deadline", deadline_millis), ("probability", probability_millis), ("price", price_millis)];
    let entry = |(change, millis): (&str, f64)| {
        eprintln!("{place}: another {change}: {millis:.1} ms");
        json!({
            "name": format!("{candidates} configurations on 80 machine types, another {change}, {place}"),
            "unit": "ms",
            "ours": millis,
            "peer_name": "limit",
            "peer": limit_millis,
            "ratio": limit_millis / millis,
        })
    };
    changes.into_iter().map(entry).collect()
}

fn many_runs_entries(place: &str, figures: &[ManyRunsFigure]) -> Vec<Value> {
    let entry = |ManyRunsFigure { name, millis, limit_millis }: &ManyRunsFigure| {
        eprintln!("{place}: {name}: {millis:.0} ms");
        json!({
            "name": format!("{name}, {place}"),
            "unit": "ms",
            "ours": millis,
            "peer_name": "limit",
            "peer": limit_millis,
            "ratio": limit_millis / millis,
        })
    };
    figures.iter().map(entry).collect()
}

/// Returns the time that this thread was running, so that other load changes little; 0 outside
/// Linux.
fn processor_millis() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    times.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or_default() / 1e6
}
