//! Data, layout and markup of the charts, which need no browser. Markup is SVG written by hand.

pub mod grid;
pub mod lines;
pub mod markup;
pub mod resource_use;
pub mod scale;
pub mod sheet;
