//! The charts: keyboard and pointer input, axes, and saved files.

use anyhow::Context as _;
use foreglow_model::Setting;
use foreglow_tests::{Browser, answer, cluster_view};
use serde_json::Value;
use thirtyfour::{By, Key};

use crate::{PICTURES, evaluate, open, show};

/// Captures the saved files of the page by media type, instead of downloading them.
const CATCH: &str = "window.saved = {}; URL.createObjectURL = blob => {
    blob.text().then(text => { window.saved[blob.type] = text; }); return 'about:blank'; };
    HTMLAnchorElement.prototype.click = function () {};";

async fn what_if(browser: &Browser) -> anyhow::Result<(String, String)> {
    let value = async |id: &str| anyhow::Ok(browser.element(id).await?.value().await?.unwrap_or_default());
    Ok((value("what-if-executors").await?, value("what-if-cores").await?))
}

#[tokio::test]
async fn every_chart_answers_to_the_arrow_keys_and_describes_the_selected_mark() -> anyhow::Result<()> {
    let (_host, browser) = open(&cluster_view(6, 4)).await?;
    for (view, pictures) in PICTURES {
        show(&browser, view, pictures).await?;
        for picture in pictures {
            let place = browser.element(picture).await?;
            evaluate(&browser, "arguments[0].focus()", vec![place.to_json()?]).await?;
            let rest = browser.text(&format!("{picture}-readout")).await?;
            let mut seen = Vec::new();
            for key in [Key::Home, Key::Right, Key::End] {
                browser.page.action_chain().send_keys(key).perform().await?;
                seen.push(browser.text(&format!("{picture}-readout")).await?);
            }
            assert!(seen.iter().all(|words| *words != rest), "{picture}: {seen:?}");
            assert_ne!(seen[0], seen[2], "{picture}");
            assert_eq!(place.find_all(By::Css(".ring")).await?.len(), 1, "{picture}");
            browser.page.action_chain().send_keys(Key::Escape).perform().await?;
            assert_eq!(browser.text(&format!("{picture}-readout")).await?, rest, "{picture}");
        }
    }
    browser.close().await
}

/// The texts of the question, the answer and the pictures that overlap another, and the labels that
/// reach beyond their picture. Boxes of text are a little higher than its letters.
const COLLISIONS: &str = "const found = [], SLACK = 3;
    const overlap = (box, other) => Math.min(box.right, other.right) - Math.max(box.left, other.left) > SLACK
        && Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > SLACK;
    for (const card of document.querySelectorAll('.what-if, .question, .recommended')) {
        const walker = document.createTreeWalker(card, NodeFilter.SHOW_TEXT), texts = [], range = document.createRange();
        while (walker.nextNode()) {
            const parent = walker.currentNode.parentElement;
            if (!parent.checkVisibility() || parent.getBoundingClientRect().width <= 1) continue;
            range.selectNodeContents(walker.currentNode);
            for (const box of range.getClientRects()) if (box.width > 1) texts.push([walker.currentNode, box]);
        }
        texts.forEach(([words, box], place) => {
            for (const [others, other] of texts.slice(place + 1))
                if (words !== others && overlap(box, other)) found.push(`${words.data} covers ${others.data}`);
        });
    }
    for (const svg of document.querySelectorAll('.drawing svg')) {
        const frame = svg.getBoundingClientRect(), id = svg.closest('[data-testid]').dataset.testid;
        const labels = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()])
            .filter(([words, box]) => words.trim() && box.width > 0);
        labels.forEach(([words, box], place) => {
            if (box.left < frame.left - SLACK || box.right > frame.right + SLACK || box.top < frame.top - SLACK
                || box.bottom > frame.bottom + SLACK) found.push(`${id}: ${words} is cut`);
            for (const [others, other] of labels.slice(place + 1))
                if (overlap(box, other)) found.push(`${id}: ${words} covers ${others}`);
        });
    }
    return found";

#[tokio::test]
async fn no_text_covers_another_and_no_label_of_a_picture_is_cut() -> anyhow::Result<()> {
    let (_host, browser) = open(&cluster_view(6, 4)).await?;
    for (width, height) in [(1440, 900), (1024, 768)] {
        browser.screen(width, height).await?;
        for (view, pictures) in PICTURES {
            show(&browser, view, pictures).await?;
            let are_clear = async |page: &Browser| {
                Ok(evaluate(page, "return document.querySelectorAll('.drawing svg text').length > 0", vec![]).await?
                    == Value::Bool(true))
            };
            browser.wait_until("labels", are_clear).await?;
            // The pictures follow the width of the screen.
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            let found = evaluate(&browser, COLLISIONS, vec![]).await?;
            assert_eq!(found, Value::Array(Vec::new()), "{view} at {width} px");
        }
    }
    browser.close().await
}

#[tokio::test]
async fn a_click_and_the_enter_key_set_the_what_if() -> anyhow::Result<()> {
    let (_host, browser) = open(&cluster_view(6, 4)).await?;
    show(&browser, "explore", &["heat-map"]).await?;
    let map = browser.element("heat-map").await?;
    map.scroll_into_view().await?;
    // The cell of 6 executors and 4 cores is at the upper right corner. Cells of a colour are
    // subpaths of one path.
    let script = "const box = arguments[0].querySelector('svg').getBoundingClientRect();
        const at = { bubbles: true, clientX: box.right - 40, clientY: box.top + 40 };
        arguments[0].querySelector('svg').dispatchEvent(new MouseEvent('click', at));
        return [...arguments[0].querySelectorAll('path.heat')].reduce((sum, path) => sum + path.getAttribute('d').split('M').length - 1, 0)";
    let cells = evaluate(&browser, script, vec![map.to_json()?]).await?;
    assert_eq!(cells, Value::from(24));
    browser.wait_until("the last cell", async |page| Ok(what_if(page).await? == ("6".into(), "4".into()))).await?;

    show(&browser, "compare", &["time-by-money"]).await?;
    let front = browser.element("time-by-money").await?;
    evaluate(&browser, "arguments[0].focus()", vec![front.to_json()?]).await?;
    browser.page.action_chain().send_keys(Key::End).send_keys(Key::Enter).perform().await?;
    // The slowest configuration is the smallest.
    browser.wait_until("the slowest", async |page| Ok(what_if(page).await? == ("1".into(), "1".into()))).await?;
    browser.close().await
}

#[tokio::test]
async fn axes_switch_to_logarithmic_and_back() -> anyhow::Result<()> {
    let (_host, browser) = open(&cluster_view(6, 4)).await?;
    show(&browser, "explore", &["chart"]).await?;
    let labels = async || {
        let script =
            "return [...document.querySelectorAll('[data-testid=chart] .axis.y text')].map(t => t.textContent).join()";
        evaluate(&browser, script, vec![]).await
    };
    let linear = labels().await?;
    let button = browser.page.find(By::Css("[aria-label^='log time']")).await?;
    let in_chart = "return [...document.querySelectorAll(\"[aria-label^='log time']\")]
        .find(button => button.closest('.chart').querySelector('[data-testid=chart]'))";
    drop(button);
    evaluate(&browser, &format!("{}.click()", in_chart.trim_start_matches("return ")), vec![]).await?;
    let logarithmic = labels().await?;
    assert_ne!(linear, logarithmic);
    evaluate(&browser, &format!("{}.click()", in_chart.trim_start_matches("return ")), vec![]).await?;
    assert_eq!(labels().await?, linear);
    browser.close().await
}

#[tokio::test]
async fn every_chart_saves_its_data_and_its_image() -> anyhow::Result<()> {
    let view = cluster_view(6, 4);
    let (predictor, _) = answer(&view)?;
    let (_host, browser) = open(&view).await?;
    evaluate(&browser, CATCH, vec![]).await?;
    for (view, pictures) in PICTURES {
        show(&browser, view, pictures).await?;
        for picture in pictures {
            for kind in ["csv", "svg"] {
                let button = browser.element(&format!("{picture}-{kind}")).await?;
                evaluate(&browser, "window.saved = {}; arguments[0].click()", vec![button.to_json()?]).await?;
                browser
                    .wait_until("a saved file", async |page| {
                        Ok(evaluate(page, "return Object.keys(window.saved).length", vec![]).await? == 1)
                    })
                    .await?;
                let saved = evaluate(&browser, "return Object.values(window.saved)[0]", vec![]).await?;
                let text = saved.as_str().context("a file is text")?.to_owned();
                if kind == "csv" {
                    let mut lines = text.split("\r\n").filter(|line| !line.is_empty());
                    let columns = lines.next().context("there is a line of names")?.split(',').count();
                    let rows: Vec<&str> = lines.collect();
                    assert!(!rows.is_empty(), "{picture} saves no rows");
                    assert!(rows.iter().all(|row| row.split(',').count() == columns), "{picture}: {text}");
                } else {
                    let script = "const svg = new DOMParser().parseFromString(arguments[0], 'image/svg+xml');
                    return [svg.documentElement.nodeName, svg.querySelectorAll('parsererror').length]";
                    let parsed = evaluate(&browser, script, vec![Value::from(text.as_str())]).await?;
                    assert_eq!(parsed, serde_json::json!(["svg", 0]), "{picture}");
                    assert!(
                        !text.contains("var(--") && text.contains("fill=\"rgb"),
                        "{picture} keeps no colours of its own"
                    );
                }
            }
        }
    }
    browser.show("explore").await?;
    // The heat map's data are the predictor's.
    let button = browser.element("heat-map-csv").await?;
    evaluate(&browser, "window.saved = {}; arguments[0].click()", vec![button.to_json()?]).await?;
    browser
        .wait_until("a saved file", async |page| {
            Ok(evaluate(page, "return Object.keys(window.saved).length", vec![]).await? == 1)
        })
        .await?;
    let saved = evaluate(&browser, "return Object.values(window.saved)[0]", vec![]).await?;
    let mut checked = 0;
    for row in saved.as_str().context("a file is text")?.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let setting = Setting::even(fields[0].parse()?, fields[1].parse()?, 1.0);
        let secs = predictor.predict(setting).completion_time_secs.context("it has a time")?;
        // The grid sums in another order, so the last digits may differ.
        assert!((fields[2].parse::<f64>()? / secs - 1.0).abs() < 1e-9, "{row}");
        checked += 1;
    }
    assert_eq!(checked, 24);
    browser.close().await
}

#[tokio::test]
async fn the_level_1_curves_show_their_points_and_factors() -> anyhow::Result<()> {
    let view = cluster_view(6, 4);
    let effects = foreglow_model::Effects::fit(&view.job.context, &view.job.observations)?;
    let (_host, browser) = open(&view).await?;
    show(&browser, "explore", &["effect-executors", "effect-cores", "effect-rate"]).await?;
    for (effect, picture) in effects.effects.iter().zip(["effect-executors", "effect-cores", "effect-rate"]) {
        let place = browser.element(picture).await?;
        assert_eq!(place.find_all(By::Testid("scaled-point")).await?.len(), effect.points.len(), "{picture}");
        let setting = Setting::even(4, 2, 1.0);
        let factor = effects.at(effect.feature, effect.feature.value(setting)).context("level 1 has an answer")?;
        let shown = place.find(By::Testid("factor")).await?.attr("data-value").await?;
        assert_eq!(shown, Some(factor.to_string()), "{picture}");
        assert!(browser.text("effects-product").await?.contains(&format!("×{factor:.3}")), "{picture}");
    }
    browser.close().await
}
