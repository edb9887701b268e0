//! Where everything in the chart of completion times lies.

use foreglow_shared::WhatIf;
use leptos::prelude::*;

use crate::chart::axes::Frame;
use crate::chart::lines::{Line, LinePoint, Measured, line, lines_for, measured};
use crate::chart::scale::{Scale, Spread};
use crate::job::highest;
use crate::state::Planner;

/// Room above the highest point, as a share.
const HEADROOM: f64 = 1.06;
/// A deadline far above every time would flatten the lines; beyond this multiple it is told, not drawn.
const FARTHEST_DEADLINE: f64 = 1.5;

/// Everything that has a place in the drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// One for each number of cores.
    pub lines: Vec<Line>,
    /// Those numbers of cores.
    pub cores: Vec<u32>,
    /// Every run that can be placed.
    pub runs: Vec<Measured>,
    /// The deadline, where it is near enough to be drawn.
    pub deadline_secs: Option<f64>,
    /// Its size.
    pub frame: Frame,
    /// Executors.
    pub x: Scale,
    /// Seconds.
    pub y: Scale,
}

impl Drawing {
    /// Places what the page holds; reactive. `None` while there is no predictor.
    pub fn of(planner: Planner, frame: Frame, spread: Spread) -> Option<Self> {
        let fitted = planner.fitted()?;
        let what_if = planner.what_if.get();
        let space = planner.space.get();
        let observations = planner.observations();
        let cores = lines_for(&space.cores_per_executor, what_if.cores_per_executor);
        let mut executors = space.executors;
        executors.push(what_if.executors);
        executors.sort_unstable();
        executors.dedup();
        let lines: Vec<Line> = cores.iter().map(|cores| line(&fitted.predictor, &executors, *cores)).collect();
        let runs = measured(&fitted.predictor, &observations);

        let times = || {
            let predicted = lines.iter().flat_map(|line| line.points.iter().map(|point| point.secs));
            predicted.chain(runs.iter().map(|run| run.whole_job_secs))
        };
        let (shortest, longest) =
            times().fold((f64::INFINITY, 0.0), |(low, high), secs| (secs.min(low), secs.max(high)));
        let deadline_secs = planner.deadline_secs.get().filter(|secs| *secs <= longest * FARTHEST_DEADLINE);
        let top = deadline_secs.unwrap_or(0.0).max(longest) * HEADROOM;
        let foot = match spread {
            Spread::Linear => 0.0,
            Spread::Log => deadline_secs.unwrap_or(shortest).min(shortest) / HEADROOM,
        };
        let most = highest(&executors).max(runs.iter().map(|run| run.run.executors).max().unwrap_or(1));
        let (left, right) = frame.across();
        Some(Self {
            x: Scale::new(Spread::Linear, (1.0, f64::from(most)), (left + 14.0, right - 14.0)),
            y: Scale::new(spread, (foot, top), frame.up()),
            lines,
            cores,
            runs,
            deadline_secs,
            frame,
        })
    }

    /// Where a time of a number of executors lies.
    pub fn px(&self, executors: u32, secs: f64) -> (f64, f64) {
        (self.x.px(f64::from(executors)), self.y.px(secs))
    }

    /// The line of a number of cores.
    pub fn line_of(&self, cores_per_executor: u32) -> Option<&Line> {
        self.lines.iter().find(|line| line.cores_per_executor == cores_per_executor)
    }

    /// The prediction of a configuration.
    pub fn point_of(&self, configuration: WhatIf) -> Option<&LinePoint> {
        let line = self.line_of(configuration.cores_per_executor)?;
        line.points.iter().find(|point| point.executors == configuration.executors)
    }

    /// Where that prediction lies.
    pub fn place_of(&self, configuration: WhatIf) -> Option<(f64, f64)> {
        self.point_of(configuration).map(|point| self.px(point.executors, point.secs))
    }

    /// The predicted configuration next to a point, if one is near.
    pub fn nearest(&self, (x, y): (f64, f64)) -> Option<WhatIf> {
        const REACH_PX: f64 = 60.0;
        let distances = self.lines.iter().flat_map(|line| {
            line.points.iter().map(move |point| {
                let (px, py) = self.px(point.executors, point.secs);
                let configuration = WhatIf { executors: point.executors, cores_per_executor: line.cores_per_executor };
                ((px - x).hypot(py - y), configuration)
            })
        });
        distances
            .filter(|(px, _)| *px < REACH_PX)
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, configuration)| configuration)
    }
}
