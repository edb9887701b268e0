//! What the runs of event logs used, and their stages over time, as HTML. A worker writes it, so
//! that the page needs no tables and drawings of its own for logs.

use std::fmt::Write as _;

use foreglow_import::{LoggedRun, StageSpan};
use foreglow_model::sufficient_memory_mib;
use foreglow_shared::{Engine, format_count, format_duration};

use crate::data::text::escaped;
use crate::plot::scale::{Scale, Spread};

/// Most logs that are shown; of more, the last.
const MOST_LOGS: usize = 10;
/// Most bars of stages in a drawing and rows of its table; of more, those that take longest.
const MOST_STAGES: usize = 100;
/// Sizes in the drawing, pixels.
const WIDTH: f64 = 780.0;
const BAR: f64 = 18.0;
const GAP: f64 = 4.0;
const EXECUTORS: f64 = 40.0;
const AXIS: f64 = 20.0;
/// Width from which a bar has the number of its stage.
const LABELLED: f64 = 28.0;
/// About the number of times on the axis.
const TICKS: usize = 6;

/// Returns the HTML of the runs in these logs, by name of the log; empty without any.
pub fn log_use(logs: &[(String, LoggedRun)]) -> String {
    let shown = &logs[logs.len().saturating_sub(MOST_LOGS)..];
    if shown.is_empty() {
        return String::new();
    }
    let left_out = match logs.len() - shown.len() {
        0 => String::new(),
        more => format!("<p class=\"hush\">… and {more} earlier.</p>"),
    };
    let last = shown.len() - 1;
    let runs: String = shown.iter().enumerate().map(|(place, (name, run))| of_run(name, run, place == last)).collect();
    format!(
        "<section class=\"card\" aria-labelledby=\"log-use-title\"><h2 id=\"log-use-title\">What the logs used</h2>{left_out}{}{runs}\
         </section>",
        table(shown)
    )
}

fn cells(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().map(|text| format!("<td class=\"number\">{}</td>", escaped(&text))).collect()
}

fn heads(titles: &[&str]) -> String {
    let head = |title: &&str| format!("<th scope=\"col\" class=\"number\">{title}</th>");
    titles.iter().map(head).collect()
}

fn table(logs: &[(String, LoggedRun)]) -> String {
    let mib = |mib: Option<u64>| mib.map_or_else(|| "–".to_owned(), |mib| format!("{mib} MiB"));
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let row = |(name, LoggedRun { used, .. }): &(String, LoggedRun)| {
        let cells = cells([
            format_duration(used.completion_time_secs),
            used.describe_executors(),
            percent(used.busy_share),
            mib(used.memory_per_executor_mib),
            mib(used.peak_heap_mib),
            mib(used.spilled_mib),
            used.gc_share.map_or_else(|| "–".to_owned(), percent),
        ]);
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", escaped(name))
    };
    let rows: String = logs.iter().map(row).collect();
    let titles =
        ["time", "executors × cores", "cores busy", "memory asked", "peak heap", "spill", "garbage collection"];
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"log-use-title\"><table data-testid=\"log-use\">\
         <thead><tr><th scope=\"col\">log</th>{}</tr></thead><tbody>{rows}</tbody></table></div>",
        heads(&titles)
    )
}

/// Returns the remarks on a run, its time line and the table of its stages.
fn of_run(name: &str, run: &LoggedRun, is_open: bool) -> String {
    let used = &run.used;
    let sufficient = used.sufficient_memory_mib(|peak_mib| sufficient_memory_mib(peak_mib, Engine::Spark));
    let remarks = used.remarks(sufficient);
    let remarks: String = remarks.iter().map(|remark| format!("<p>{}.</p>", escaped(remark))).collect();
    let open = if is_open { " open" } else { "" };
    format!(
        "<details{open}><summary>Stages of {} over time</summary>{remarks}{}{}</details>",
        escaped(name),
        drawing(run),
        stages(run)
    )
}

/// Returns the stages that are drawn, by their start.
fn longest(run: &LoggedRun) -> Vec<&StageSpan> {
    let mut longest: Vec<&StageSpan> = run.stages.iter().collect();
    longest.sort_by(|a, b| b.secs.total_cmp(&a.secs));
    longest.truncate(MOST_STAGES);
    longest.sort_by(|a, b| a.start_secs.total_cmp(&b.start_secs));
    longest
}

fn stages(run: &LoggedRun) -> String {
    let longest = longest(run);
    let row = |stage: &&StageSpan| {
        let cells = cells([
            format_duration(stage.start_secs),
            format_duration(stage.secs),
            stage.tasks.to_string(),
            format!("{:.1}", stage.busy_cores),
            format!("{:.1}×", stage.skew),
        ]);
        format!("<tr><td class=\"number\">{}</td><td>{}</td>{cells}</tr>", stage.id, escaped(&stage.name))
    };
    let rows: String = longest.iter().map(row).collect();
    let left_out = match run.stages.len() - longest.len() {
        0 => String::new(),
        more => format!("<p class=\"hush\">… and {more} shorter stages.</p>"),
    };
    format!(
        "<details><summary>Table of the stages</summary><div class=\"scroll\"><table><thead><tr>{}<th scope=\"col\">call site</th>{}\
         </tr></thead><tbody>{rows}</tbody></table></div>{left_out}</details>",
        heads(&["stage"]),
        heads(&["from", "time", "tasks", "cores busy", "skew"])
    )
}

/// Draws the executors alive, and a bar for each stage, which is filled by the share of the cores
/// that are busy. Stages at the same time are below each other.
fn drawing(run: &LoggedRun) -> String {
    let secs = run.used.completion_time_secs.max(1e-3);
    let scale = Scale::new(Spread::Linear, (0.0, secs), (0.0, WIDTH));
    let cores = f64::from(run.used.executors * run.used.cores_per_executor).max(1.0);
    let mut lanes: Vec<f64> = Vec::new();
    let mut bars = String::new();
    for stage in longest(run) {
        let lane = lanes.iter().position(|end| *end <= stage.start_secs).unwrap_or(lanes.len());
        lanes.resize(lanes.len().max(lane + 1), 0.0);
        lanes[lane] = stage.start_secs + stage.secs;
        let (left, right) = (scale.px(stage.start_secs), scale.px(stage.start_secs + stage.secs));
        let (top, width) = (EXECUTORS + GAP + lane as f64 * (BAR + GAP), (right - left).max(1.0));
        let filled = BAR * (stage.busy_cores / cores).clamp(0.0, 1.0);
        let title = format!(
            "stage {}: {}; {} of {}, {:.1} of {cores} cores busy",
            stage.id,
            stage.name,
            format_duration(stage.secs),
            format_count(stage.tasks, "task"),
            stage.busy_cores
        );
        let _ = write!(
            bars,
            "<g><title>{}</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BAR}\" \
             fill=\"var(--grid)\" stroke=\"var(--hush)\"/><rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" \
             height=\"{filled:.1}\" fill=\"var(--glow-fill)\"/>",
            escaped(&title),
            top + BAR - filled
        );
        if width >= LABELLED {
            let _ = write!(bars, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", left + 4.0, top + BAR - 5.0, stage.id);
        }
        bars.push_str("</g>");
    }
    let height = EXECUTORS + GAP + lanes.len() as f64 * (BAR + GAP) + AXIS;
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Time line\"><svg role=\"img\" width=\"{WIDTH}\" height=\"{height}\" font-size=\"12\" \
         fill=\"var(--ink)\" data-testid=\"log-stages\" aria-label=\"Executors alive and stages over time; the table of the \
         stages has the figures\">{}{bars}{}</svg></div><p class=\"hush\">Above: executors alive, at most {}. A bar is filled by \
         the share of {cores} cores on which its tasks run.</p>",
        executors(run, &scale),
        axis(&scale, height),
        run.used.executors
    )
}

fn executors(run: &LoggedRun, scale: &Scale) -> String {
    let most = run.executors.iter().map(|(_, alive)| *alive).max().unwrap_or(0).max(1) as f64;
    let mut path = format!("M0 {EXECUTORS}");
    for (at_secs, alive) in &run.executors {
        let y = EXECUTORS * (1.0 - *alive as f64 / most);
        let _ = write!(path, "H{:.1}V{y:.1}", scale.px(*at_secs));
    }
    format!("<path d=\"{path}H{WIDTH}V{EXECUTORS}Z\" fill=\"var(--shade-1)\"/>")
}

fn axis(scale: &Scale, height: f64) -> String {
    let ticks = scale.labelled_times(TICKS).into_iter().filter(|(secs, _)| *secs < 0.97 * scale.upper());
    let tick = |(secs, label): (f64, String)| {
        format!("<text x=\"{:.1}\" y=\"{:.1}\">{label}</text>", scale.px(secs), height - 5.0)
    };
    ticks.map(tick).collect()
}

#[cfg(test)]
mod tests {
    use foreglow_import::{Given, Input, import};

    use super::*;

    const LOG: &[u8] = include_bytes!("../../../shared/spark-log/tests/event-logs/3.5-measured");

    fn logged(name: &str) -> Vec<(String, LoggedRun)> {
        import(Input::from_bytes(LOG), &Given { name: Some(name.to_owned()), ..Given::default() }).unwrap().logged
    }

    #[test]
    fn the_use_and_the_stages_of_a_log_are_shown() {
        let logs = logged("<night>");
        let html = log_use(&logs);
        let bars = html.matches("<g><title>").count();
        assert!(bars > 1 && bars == logs.iter().map(|(_, run)| run.stages.len()).sum::<usize>(), "{bars} {html}");
        assert!(html.contains("&lt;night&gt;") && !html.contains("<night>") && !html.contains("NaN"), "{html}");
        assert_eq!(log_use(&[]), "");
    }

    #[test]
    fn many_logs_and_stages_are_thinned() {
        let mut logs = logged("night");
        let run = &mut logs[0].1;
        let stage = run.stages[0].clone();
        run.stages = (0..150).map(|id| StageSpan { id, secs: f64::from(id), ..stage.clone() }).collect();
        let html = log_use(&vec![logs[0].clone(); 12]);
        assert!(html.contains("… and 2 earlier.") && html.contains("… and 50 shorter stages."), "{html}");
        assert_eq!(html.matches("<g><title>").count(), 10 * MOST_STAGES);
    }
}
