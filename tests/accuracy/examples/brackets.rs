//! Prints the share of right brackets for the largest training batch: `brackets [DATA]`.

#![allow(clippy::print_stdout, reason = "the table is its output")]

use std::path::PathBuf;

use foreglow_accuracy::{Places, bracket_scores};

fn main() -> anyhow::Result<()> {
    let data = std::env::args().nth(1).map(PathBuf::from);
    println!("| brackets | networks | families | right | too optimistic | too pessimistic | usable memory |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for score in bracket_scores(&Places::new(data.as_deref()))? {
        let percent = |count| score.percent(count);
        println!(
            "| {} | {} | {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            score.name,
            score.networks,
            score.families,
            percent(score.right),
            percent(score.too_optimistic),
            percent(score.too_pessimistic),
            100.0 * score.usable
        );
    }
    Ok(())
}
