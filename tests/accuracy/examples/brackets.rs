//! Prints the share of right brackets for the largest training batch: `brackets [DATA]`.

#![allow(clippy::print_stdout, reason = "the table is its output")]

use std::path::PathBuf;

use foreglow_accuracy::{Places, bracket_scores};

fn main() -> anyhow::Result<()> {
    let data = std::env::args().nth(1).map(PathBuf::from);
    println!(
        "| brackets | networks | families | surely: right | too optimistic | too pessimistic | expected: right | above at most | usable: surely | expected | at most |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for score in bracket_scores(&Places::new(data.as_deref()))? {
        let percent = |count| score.percent(count);
        println!(
            "| {} | {} | {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            score.name,
            score.networks,
            score.families,
            percent(score.right),
            percent(score.too_optimistic),
            percent(score.too_pessimistic),
            percent(score.expected_right),
            percent(score.above),
            100.0 * score.usable.surely,
            100.0 * score.usable.expected,
            100.0 * score.usable.at_most,
        );
    }
    Ok(())
}
