//! The answer: its figures, its neighbours, pins, prices, and the explanation of each figure.

use anyhow::Context as _;
use foreglow_model::format_cost;
use foreglow_shared::{Estimate, PriceSheet, View, WhatIf, format_duration, format_money, format_probability};
use foreglow_tests::{Browser, answer, cluster_view};
use thirtyfour::By;

use crate::open;

/// An attribute of the first element that matches a selector.
async fn attribute(browser: &Browser, selector: &str, name: &str) -> anyhow::Result<String> {
    let element = browser.page.find(By::Css(selector)).await?;
    element.attr(name).await?.with_context(|| format!("{selector} has no {name}"))
}

/// The cost of the what-if, with all digits.
async fn what_if_cost(browser: &Browser) -> anyhow::Result<f64> {
    Ok(attribute(browser, "[data-testid=what-if-cost]", "data-cost").await?.parse()?)
}

#[tokio::test]
async fn the_recommendation_shows_time_money_and_chance_and_its_neighbours_on_the_front() -> anyhow::Result<()> {
    let view = cluster_view(12, 6);
    let (_, decision) = answer(&view)?;
    let (_host, browser) = open(&view).await?;
    let recommended = &decision.candidates[decision.recommended.context("there is one")?];
    let secs = recommended.prediction.completion_time_secs.context("it has a time")?;
    let cost = recommended.cost.context("it has a cost")?;
    assert_eq!(browser.secs("recommended-time").await?, secs.to_string());
    let shown = format_cost(Some(cost), Some(secs), recommended.prediction.interval.as_ref(), "USD");
    assert_eq!(browser.text("recommended-cost").await?, shown);
    let chance = recommended.success_probability.context("there is a deadline")?;
    assert_eq!(browser.text("recommended-probability").await?, format_probability(chance));

    // The neighbours on the front, computed independently.
    let front: Vec<(f64, f64)> = decision
        .pareto
        .iter()
        .filter_map(|place| {
            let candidate = &decision.candidates[*place];
            Some((candidate.prediction.completion_time_secs?, candidate.cost?))
        })
        .collect();
    let faster = front.iter().filter(|(t, m)| *t < secs && *m > cost).map(|(t, _)| *t).fold(0.0, f64::max);
    let cheaper = front.iter().filter(|(t, m)| *t > secs && *m < cost).map(|(t, _)| *t).fold(f64::INFINITY, f64::min);
    for (row, expected) in [("next-faster", faster), ("next-cheaper", cheaper)] {
        let shown = attribute(&browser, &format!("[data-testid=compare-{row}] [data-secs]"), "data-secs").await?;
        assert_eq!(shown, expected.to_string(), "{row}");
        let given_up = browser.page.find(By::Css(format!("[data-testid=compare-{row}] .beside"))).await?.text().await?;
        let gap = Estimate::rough((expected - secs).abs()).duration();
        assert!(given_up.contains(&gap), "{gap} in {given_up:?}");
    }
    browser.close().await
}

#[tokio::test]
async fn pinned_configurations_are_compared_and_kept_in_the_link() -> anyhow::Result<()> {
    let mut view = cluster_view(12, 6);
    let (host, browser) = open(&view).await?;
    browser.element("pin").await?.click().await?;
    browser
        .wait_until("the pin in the address bar", async |browser| {
            let shared = View::from_link(browser.page.current_url().await?.as_str())?;
            Ok(shared.pins == [view.question.what_if])
        })
        .await?;
    let pin = browser.element("pin").await?;
    assert_eq!(
        pin.attr("aria-disabled").await?.as_deref(),
        Some("true"),
        "a pinned configuration cannot be pinned again"
    );
    pin.click().await?;
    assert_eq!(browser.page.find_all(By::Testid("unpin")).await?.len(), 1);
    let link = browser.page.current_url().await?.to_string();
    browser.close().await?;

    let reader = Browser::start().await?;
    reader.page.goto(&link).await?;
    let secs = attribute(&reader, "[data-testid=compare-pinned] [data-secs]", "data-secs");
    reader.element("compare-pinned").await?;
    assert_eq!(secs.await?, reader.secs("what-if-time").await?);
    reader.element("unpin").await?.click().await?;
    reader
        .wait_until("no pin", async |page| {
            Ok(page.page.find_all(By::Css("[data-testid=compare-pinned]")).await?.is_empty())
        })
        .await?;
    reader.close().await?;
    drop(host);

    // A link with an invalid pin is rejected as a whole.
    view.pins = vec![WhatIf { executors: 0, cores_per_executor: 1 }];
    assert!(View::from_link(&view.to_fragment()).is_err());
    Ok(())
}

#[tokio::test]
async fn every_figure_is_explained() -> anyhow::Result<()> {
    let view = cluster_view(12, 6);
    let (predictor, _) = answer(&view)?;
    let (_host, browser) = open(&view).await?;
    let WhatIf { executors, cores_per_executor } = view.question.what_if;
    let setting = foreglow_model::Setting::even(executors, cores_per_executor, 1.0);
    let (explanation, _) = predictor.explain(setting).context("it can be explained")?;

    // The list of configurations is drawn a frame after the answer.
    let is_everywhere = async |page: &Browser| {
        let buttons = page.page.find_all(By::Testid("why")).await?.len();
        // The answer, the what-if, the chart, and each row of the comparison.
        Ok(buttons > 4)
    };
    browser.wait_until("a button beside every figure", is_everywhere).await?;
    browser.page.find(By::Css(".what-if [data-testid=why]")).await?.click().await?;
    let sheet = browser.text("why-sheet").await?;
    // The explanation has the digits that the figures are rounded from.
    let time = format_duration(browser.secs("what-if-time").await?.parse()?);
    let money = format_money(what_if_cost(&browser).await?, "USD");
    for words in [&time, &money, "Interval", "Probability", "0.04048", "÷ 3600", &explanation.parts[0].name] {
        assert!(sheet.contains(words), "{words:?} in {sheet}");
    }
    browser.page.find(By::Testid("why-close")).await?.click().await?;
    browser
        .wait_until("a closed sheet", async |page| {
            Ok(!page.page.find(By::Testid("why-sheet")).await?.is_displayed().await?)
        })
        .await?;
    browser.close().await
}

#[tokio::test]
async fn a_larger_job_reuses_the_same_runs_at_smaller_sampling_rates() -> anyhow::Result<()> {
    let mut view = cluster_view(6, 4);
    let (_host, browser) = open(&view).await?;
    browser.set("images", "400000").await?;
    view.job.context.workload.images = 400_000;
    view.job.observations.iter_mut().for_each(|run| run.sampling_rate /= 2.0);
    let (predictor, _) = answer(&view)?;
    let WhatIf { executors, cores_per_executor } = view.question.what_if;
    let setting = foreglow_model::Setting::even(executors, cores_per_executor, 1.0);
    let secs = predictor.predict(setting).completion_time_secs.context("it has a time")?.to_string();
    browser.wait_until("the larger job", async |page| Ok(page.secs("what-if-time").await? == secs)).await?;

    // Some runs had 200,000 images, so that a smaller job is rejected.
    browser.set("images", "1000").await?;
    let note = browser.page.find(By::Id("images-note")).await?;
    browser.wait_until("a reason", async |_| Ok(note.text().await?.contains("200000 or more"))).await?;
    assert_eq!(browser.secs("what-if-time").await?, secs);
    browser.close().await
}

#[tokio::test]
async fn published_prices_are_dated_name_their_source_and_change_the_answer() -> anyhow::Result<()> {
    // A price of another GPU's machine says nothing about the runs, and the cost is unknown.
    let mut view = cluster_view(6, 4);
    view.job.context.accelerator = Some("NVIDIA A10G".into());
    view.question.prices = PriceSheet::usual_for(Some("NVIDIA A10G"));
    let (_host, browser) = open(&view).await?;
    let secs: f64 = browser.secs("what-if-time").await?.parse()?;
    browser.element("more-question").await?.click().await?;
    browser.set("preset", "3").await?;
    let says =
        async |page: &Browser| Ok(page.text("recommended-prices").await?.contains("GPU, A10, and the runs are of"));
    browser.wait_until("why the cost is unknown", says).await?;
    browser.set("preset", "1").await?;
    let is_known = async |page: &Browser| Ok(what_if_cost(page).await.is_ok());
    browser.wait_until("a price of this GPU", is_known).await?;
    // One executor per machine: 4 of them at 1.006 an hour.
    let cost = what_if_cost(&browser).await?;
    assert!((cost / (4.0 * 1.006 * secs / 3600.0) - 1.0).abs() < 1e-12, "{cost}");
    let prices = browser.page.find(By::Css(".prices .note a")).await?;
    assert!(prices.attr("href").await?.is_some_and(|source| source.starts_with("https://")));
    assert!(browser.page.find(By::Css(".prices")).await?.text().await?.contains("2026-06-17"));
    browser.close().await
}
