//! Checks, without a clock, that a slider redraws only the moving parts of a chart.

use foreglow_tests::cluster_view;
use serde_json::{Value, json};

use crate::{PICTURES, evaluate, open, show};

/// Marks the static part of each chart and records its moving part.
const BEFORE: &str = "const seen = {}; for (const id of arguments[0]) {
    const place = document.querySelector(`[data-testid=${id}]`);
    place.querySelector('.axis').dataset.kept = 'yes';
    seen[id] = place.querySelector('.moving').innerHTML; } return seen";
const AFTER: &str = "const seen = {}; for (const id of arguments[0]) {
    const place = document.querySelector(`[data-testid=${id}]`);
    seen[id] = [place.querySelector('.axis').dataset.kept, place.querySelector('.moving').innerHTML,
        place.querySelectorAll('*').length]; } return seen";

/// Executors and cores of the what-if, in turn.
const COUNTS: [(&str, &str); 2] = [("8", "1"), ("6", "2")];

#[tokio::test]
async fn a_slider_updates_every_chart_of_a_hundred_thousand_configurations_and_redraws_none() -> anyhow::Result<()> {
    let view = cluster_view(512, 200);
    let (_host, browser) = open(&view).await?;
    for (view, shown) in PICTURES {
        show(&browser, view, shown).await?;
        let pictures = Value::from(shown.to_vec());
        let before = evaluate(&browser, BEFORE, vec![pictures.clone()]).await?;
        // Each slider leaves the chart of the other's effect unchanged, so both are moved; each
        // view gets counts that differ from the previous ones.
        let (executors, cores) = COUNTS[usize::from(view == "explore")];
        for (slider, count) in [("what-if-executors", executors), ("what-if-cores", cores)] {
            browser.set(slider, count).await?;
        }
        // The answer about the last move comes from the worker.
        browser
            .wait_until("the answer of the last move", async |page| {
                let after = evaluate(page, AFTER, vec![pictures.clone()]).await?;
                Ok(shown.iter().all(|picture| *picture == "effect-rate" || after[picture][1] != before[picture]))
            })
            .await?;
        let after = evaluate(&browser, AFTER, vec![pictures]).await?;
        for picture in shown {
            assert_eq!(after[picture][0], json!("yes"), "{picture} was redrawn");
            assert!(after[picture][2].as_u64().is_some_and(|nodes| nodes < 3_000), "{picture} is too large: {after}");
            // The what-if always has a sampling rate of 1.
            if *picture != "effect-rate" {
                assert_ne!(after[picture][1], before[picture], "{picture} was not updated");
            }
        }
    }
    browser.close().await
}
