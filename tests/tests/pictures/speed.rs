//! The cause of fast sliders, checked without a clock: only the moving parts of a chart are
//! redrawn.

use foreglow_tests::{Browser, cluster_view};
use serde_json::{Value, json};

use crate::{PICTURES, evaluate, open};

/// Whether all charts are drawn: a chart is drawn once its width is known, one frame later.
const ARE_DRAWN: &str = "return arguments[0].every(id => document.querySelector(`[data-testid=${id}] .axis`) !== null)";
/// Marks the static part of each chart and records its moving part.
const BEFORE: &str = "const seen = {}; for (const id of arguments[0]) {
    const place = document.querySelector(`[data-testid=${id}]`);
    place.querySelector('.axis').dataset.kept = 'yes';
    seen[id] = place.querySelector('.moving').innerHTML; } return seen";
const AFTER: &str = "const seen = {}; for (const id of arguments[0]) {
    const place = document.querySelector(`[data-testid=${id}]`);
    seen[id] = [place.querySelector('.axis').dataset.kept, place.querySelector('.moving').innerHTML,
        place.querySelectorAll('*').length]; } return seen";

#[tokio::test]
async fn a_slider_updates_every_chart_of_a_hundred_thousand_configurations_and_redraws_none() -> anyhow::Result<()> {
    let view = cluster_view(512, 200);
    let (_host, browser) = open(&view).await?;
    let pictures = Value::from(PICTURES.to_vec());
    let are_drawn = async |page: &Browser| Ok(evaluate(page, ARE_DRAWN, vec![pictures.clone()]).await? == json!(true));
    browser.wait_until("every picture", are_drawn).await?;
    let before = evaluate(&browser, BEFORE, vec![pictures.clone()]).await?;
    // Each slider leaves the chart of the other's effect unchanged, so both are moved.
    for (slider, count) in [("what-if-executors", "8"), ("what-if-cores", "1")] {
        browser.set(slider, count).await?;
    }
    let after = evaluate(&browser, AFTER, vec![pictures]).await?;
    for picture in PICTURES {
        assert_eq!(after[picture][0], json!("yes"), "{picture} was redrawn");
        assert!(after[picture][2].as_u64().is_some_and(|nodes| nodes < 3_000), "{picture} is too large: {after}");
        // The what-if always has a sampling rate of 1.
        if picture != "effect-rate" {
            assert_ne!(after[picture][1], before[picture], "{picture} was not updated");
        }
    }
    browser.close().await
}
