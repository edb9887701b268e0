//! Time by sampling rate, as it was measured: how far the runs are from the whole job.

use foreglow_model::Setting;
use foreglow_shared::{Observation, WhatIf, format_duration, format_rate};
use leptos::html::Div;
use leptos::prelude::*;

use crate::chart::axes::{Frame, path, width_of, x_axis, y_axis};
use crate::chart::lines::predicted_secs;
use crate::chart::scale::{Scale, Spread, log_tick_time};
use crate::panel::counted;
use crate::state::Planner;

const HEIGHT_PX: f64 = 300.0;
const TICKS: usize = 5;
/// Points of the predicted curve: enough to look smooth.
const STEPS: u32 = 40;

#[derive(Clone, Debug, PartialEq)]
struct Drawing {
    what_if: WhatIf,
    /// Sampling rate, seconds.
    curve: Vec<(f64, f64)>,
    runs: Vec<Observation>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

impl Drawing {
    fn of(planner: Planner, frame: Frame) -> Option<Self> {
        let fitted = planner.fitted()?;
        let what_if = planner.what_if.get();
        let runs = planner.observations();
        let least = runs.iter().map(|run| run.sampling_rate).fold(1.0, f64::min).min(0.5);
        let curve: Vec<(f64, f64)> = (0..=STEPS)
            .filter_map(|step| {
                let sampling_rate =
                    if step == STEPS { 1.0 } else { least * (1.0 / least).powf(f64::from(step) / f64::from(STEPS)) };
                let WhatIf { executors, cores_per_executor } = what_if;
                let secs = predicted_secs(&fitted.predictor, Setting { executors, cores_per_executor, sampling_rate })?;
                Some((sampling_rate, secs))
            })
            .collect();
        let times = runs.iter().map(|run| run.completion_time_secs).chain(curve.iter().map(|(_, secs)| *secs));
        let (shortest, longest) =
            times.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), t| (low.min(t), high.max(t)));
        let (left, right) = frame.across();
        Some(Self {
            x: Scale::new(Spread::Log, (least, 1.0), (left + 12.0, right - 12.0)),
            y: Scale::new(Spread::Log, (shortest / 1.2, longest * 1.2), frame.up()),
            what_if,
            curve,
            runs,
            frame,
        })
    }

    fn is_looked_at(&self, run: &Observation) -> bool {
        (run.executors, run.cores_per_executor) == (self.what_if.executors, self.what_if.cores_per_executor)
    }
}

/// The chart.
#[component]
pub fn SamplingRateChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = NodeRef::<Div>::new();
    let width = width_of(place);
    let drawing = Memo::new(move |_| Drawing::of(planner, Frame { width: width.get().max(240.0), height: HEIGHT_PX }));
    view! {
        <section class="card chart" aria-labelledby="rate-title">
            <h2 id="rate-title">"From a share of the images to all of them"</h2>
            <p class="hush">
                {move || {
                    let WhatIf { executors, cores_per_executor } = planner.what_if.get();
                    format!(
                        "Measured times as they are, both axes logarithmic. The line is what is predicted for {} × {}; its own \
                         runs are filled.",
                        counted(executors, "executor"),
                        counted(cores_per_executor, "core"),
                    )
                }}
            </p>
            <div class="drawing" node_ref=place data-testid="sampling-rate-chart">
                {move || drawing.get().map(|drawing| picture(&drawing))}
            </div>
        </section>
    }
}

fn picture(drawing: &Drawing) -> impl IntoView + use<> {
    let Drawing { frame, x, y, .. } = *drawing;
    let times = y.time_ticks(TICKS).into_iter().map(|secs| (secs, log_tick_time(secs))).collect();
    let rates = x.ticks(frame.labels_across()).into_iter().map(|rate| (rate, format_rate(rate))).collect();
    let place = |(rate, secs): (f64, f64)| (x.px(rate), y.px(secs));
    let curve = path(drawing.curve.iter().copied().map(place));
    // Those of the what-if are drawn last, over the others.
    let (own, others): (Vec<&Observation>, Vec<&Observation>) =
        drawing.runs.iter().partition(|run| drawing.is_looked_at(run));
    let points = others.iter().map(|run| (run, "run other")).chain(own.iter().map(|run| (run, "run own"))).map(
        |(run, class)| {
            let (cx, cy) = place((run.sampling_rate, run.completion_time_secs));
            view! { <circle class=class cx=cx cy=cy r=4.5 data-secs=run.completion_time_secs.to_string() /> }
        },
    );
    let whole_job = drawing.curve.last().map(|&end| {
        let (cx, cy) = place(end);
        let label = format_duration(end.1);
        view! {
            <g class="looked-at-mark">
                <circle cx=cx cy=cy r=7.0 />
                <text x=cx - 12.0 y=cy - 10.0 text-anchor="end">
                    {label}
                </text>
            </g>
        }
    });
    let description = format!(
        "Measured time of {} runs by the share of the images that they processed, and the predicted curve of the what-if.",
        drawing.runs.len()
    );
    view! {
        <svg role="img" aria-label=description width=frame.width height=frame.height>
            {y_axis(frame, &y, times)}
            {x_axis(frame, &x, rates, "share of the images")}
            <path class="curve" d=curve />
            {points.collect_view()}
            {whole_job}
        </svg>
    }
}
