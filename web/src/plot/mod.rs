//! Data, layout and markup of the charts, which need no browser. Markup is SVG written by hand.

pub mod counts;
pub mod markup;
pub mod resource_use;
pub mod scale;
pub mod shade;
pub mod sheet;
