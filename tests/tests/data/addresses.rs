//! Addresses of scenarios and views: history, links and reloads.

use anyhow::Context as _;
use foreglow_tests::{Answer, Browser};
use serde_json::json;

use crate::{address_changes_from, click, open_example, says, script, url};

#[tokio::test]
async fn back_and_forward_switch_scenarios_and_names_survive_a_reload() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    browser.wait_until("a link", async |page| Ok(url(page).await?.contains("#v1."))).await?;
    let first = browser.address().await?;
    browser.set("deadline", "20s").await?;
    let second = address_changes_from(&browser, &first).await?;
    click(&browser, "share").await?;
    browser.set("saved-name", "In a hurry").await?;
    click(&browser, "saved-save").await?;
    says(&browser, "saved-open", "In a hurry").await?;
    browser.set("deadline", "40s").await?;
    let third = address_changes_from(&browser, &second).await?;
    // Opening a scenario adds a history entry, and so does each change of the question.
    click(&browser, "saved-open").await?;
    address_changes_from(&browser, &third).await?;
    let deadline = async |value: &'static str| {
        let shown = async |page: &Browser| Ok(page.element("deadline").await?.value().await?.as_deref() == Some(value));
        browser.wait_until(&format!("the deadline {value}"), shown).await
    };
    deadline("20s").await?;
    for earlier in ["40s", "20s", ""] {
        browser.page.back().await?;
        deadline(earlier).await?;
    }
    for later in ["20s", "40s", "20s"] {
        browser.page.forward().await?;
        deadline(later).await?;
    }
    browser.page.refresh().await?;
    deadline("20s").await?;
    click(&browser, "share").await?;
    says(&browser, "saved-open", "In a hurry").await?;
    browser.close().await
}

#[tokio::test]
async fn every_view_has_an_address_that_opens_it_and_the_back_button_returns() -> anyhow::Result<()> {
    let (host, browser) = open_example().await?;
    browser.wait_until("a link", async |page| Ok(url(page).await?.contains("#v1."))).await?;
    let first = browser.address().await?;
    let mut addresses = Vec::new();
    for view in ["explore", "trust", "runs", "export"] {
        browser.show(view).await?;
        let has_address = async |page: &Browser| Ok(url(page).await?.ends_with(&format!("&view={view}")));
        browser.wait_until("the address of the view", has_address).await?;
        addresses.push((view, url(&browser).await?));
    }
    browser.page.back().await?;
    let is_shown = |view: &'static str| {
        async move |page: &Browser| {
            let selected = script(page, "return document.querySelector('[role=tab][aria-selected=true]').id").await?;
            Ok(selected == json!(format!("tab-{view}")))
        }
    };
    browser.wait_until("the view before", is_shown("runs")).await?;

    // The arrow keys move the focus and the selection, as in any list of tabs.
    let focus = "document.querySelector('[role=tab][aria-selected=true]').focus()";
    script(&browser, focus).await?;
    browser.page.action_chain().send_keys(thirtyfour::Key::Left).perform().await?;
    browser.wait_until("the view to the left", is_shown("trust")).await?;
    assert_eq!(script(&browser, "return document.activeElement.id").await?, json!("tab-trust"));
    browser.page.action_chain().send_keys(thirtyfour::Key::Home).perform().await?;
    browser.wait_until("the first view", is_shown("compare")).await?;
    let panel = "return document.getElementById(document.querySelector('[aria-selected=true]').getAttribute('aria-controls')).getAttribute('role')";
    assert_eq!(script(&browser, panel).await?, json!("tabpanel"));
    browser.close().await?;

    // Links open in another browser with the view, and links of earlier versions without one.
    let reader = Browser::start().await?;
    for (view, address) in addresses.iter().chain([&("compare", first)]) {
        let (_, fragment) = address.split_once('#').context("a link has a fragment")?;
        reader.page.goto("about:blank").await?;
        reader.page.goto(format!("{}#{fragment}", host.url)).await?;
        reader.answered().await?;
        reader.wait_until("the view of the link", is_shown(view)).await?;
    }
    let home = tempfile::tempdir()?;
    let opened = Answer::of(home.path(), &["link", "--open", &addresses[0].1, "--format", "json"])?;
    assert_eq!(opened.code, Some(0), "{}", opened.stderr);
    reader.close().await
}

#[tokio::test]
async fn another_job_keeps_the_question_and_back_returns_to_the_job_with_its_question() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    browser.address().await?;
    let steps = script(&browser, "return history.length").await?.as_u64().context("the history has a length")?;
    let has_steps = async |more: u64| {
        let has =
            async |page: &Browser| Ok(script(page, "return history.length").await?.as_u64() == Some(steps + more));
        browser.wait_until(&format!("{more} steps"), has).await
    };
    browser.set("deadline", "20s").await?;
    browser.set("budget", "3").await?;
    has_steps(2).await?;
    let shown = async |job: usize| {
        let what = format!("job {job} with the question");
        let is_shown = async move |page: &Browser| {
            let code = "return ['choose-job', 'deadline', 'budget'].map((id) => document.querySelector(`[data-testid=${id}]`).value)";
            Ok(script(page, code).await? == json!([job.to_string(), "20s", "3"]))
        };
        browser.wait_until(&what, is_shown).await
    };
    let job = "return Number(document.querySelector('[data-testid=choose-job]').value)";
    let job = script(&browser, job).await?.as_u64().context("the selector has a number")? as usize;
    let other = usize::from(job == 0);
    browser.set("choose-job", &other.to_string()).await?;
    shown(other).await?;
    has_steps(3).await?;
    browser.page.back().await?;
    shown(job).await?;
    browser.page.forward().await?;
    shown(other).await?;
    browser.page.refresh().await?;
    browser.answered().await?;
    let kept = async |page: &Browser| {
        let code = "return ['deadline', 'budget'].map((id) => document.querySelector(`[data-testid=${id}]`).value)";
        Ok(script(page, code).await? == json!(["20s", "3"]))
    };
    browser.wait_until("the question after a reload", kept).await?;
    browser.close().await
}

#[tokio::test]
async fn the_what_if_opens_at_the_recommendation_without_a_verdict_until_it_is_moved() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    let state = async |browser: &Browser| {
        let code = "const text = (id) => document.querySelector(`[data-testid=${id}]`)?.dataset.secs ?? null;
            return [text('what-if-time'), text('recommended-time'), document.querySelector('.what-if .verdict').textContent]";
        let state: (Option<String>, Option<String>, String) = serde_json::from_value(script(browser, code).await?)?;
        anyhow::Ok(state)
    };
    browser.set("deadline", "1h").await?;
    let is_recommended = async |page: &Browser| {
        let (time, recommended, verdict) = state(page).await?;
        Ok(time.is_some() && time == recommended && verdict.is_empty())
    };
    browser.wait_until("the recommended configuration in the what-if", is_recommended).await?;
    let first = browser.address().await?;
    browser.set("what-if-executors", "1").await?;
    browser.set("what-if-cores", "1").await?;
    let is_judged = async |page: &Browser| Ok(state(page).await?.2.contains("the deadline"));
    browser.wait_until("a verdict", is_judged).await?;
    let chosen = address_changes_from(&browser, &first).await?;
    assert!(chosen.contains("&what-if=smallest"), "{chosen}");
    browser.page.refresh().await?;
    browser.answered().await?;
    browser.wait_until("the same verdict after a reload", is_judged).await?;
    browser.close().await
}

/// Finds the buttons of the speed-up chart. Other charts have buttons with the same labels.
const SPEED_UP: &str = "const chart = document.querySelector('[data-testid=speed-up]').closest('.chart');
    const [speedUp, efficiency] = chart.querySelectorAll(\"[aria-label='Quantity shown'] button\");
    const axes = chart.querySelector(\"[aria-label^='log axes']\");";

#[tokio::test]
async fn the_address_keeps_the_switches_of_charts_unless_they_are_at_their_usual_option() -> anyhow::Result<()> {
    let (host, browser) = open_example().await?;
    browser.show("explore").await?;
    browser.wait_until("the view", async |page| Ok(url(page).await?.ends_with("&view=explore"))).await?;
    let usual = browser.address().await?;
    script(&browser, &format!("{SPEED_UP} efficiency.click(); axes.click()")).await?;
    let set = address_changes_from(&browser, &usual).await?;
    assert_eq!(set, format!("{usual}&chart=speed-up:Efficiency&chart=speed-up-axes:log"));
    // Another view and back: the charts are created again.
    browser.show("trust").await?;
    browser.show("explore").await?;
    let pressed = format!(
        "{SPEED_UP} return [speedUp, efficiency, axes].map(button => button.getAttribute('aria-pressed') === 'true')"
    );
    assert_eq!(script(&browser, &pressed).await?, json!([false, true, true]));
    browser.close().await?;

    let reader = Browser::start().await?;
    let (_, fragment) = set.split_once('#').context("a link has a fragment")?;
    reader.page.goto(format!("{}#{fragment}", host.url)).await?;
    reader.answered().await?;
    assert_eq!(script(&reader, &pressed).await?, json!([false, true, true]));
    script(&reader, &format!("{SPEED_UP} speedUp.click(); axes.click()")).await?;
    assert_eq!(address_changes_from(&reader, &set).await?, usual);
    assert_eq!(script(&reader, &pressed).await?, json!([true, false, false]));
    reader.close().await
}

#[tokio::test]
async fn a_reload_keeps_the_excluded_runs_of_jobs_that_are_not_shown() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    browser.show("runs").await?;
    script(&browser, "document.querySelector('[data-testid=run] input').click()").await?;
    says(&browser, "samples-count", "1 excluded").await?;
    let other = "return document.querySelector('[data-testid=choose-job]').value === '0' ? '1' : '0'";
    let other = script(&browser, other).await?.as_str().unwrap_or_default().to_owned();
    browser.set("choose-job", &other).await?;
    says(&browser, "samples-count", "runs").await?;
    browser.address().await?;
    browser.page.refresh().await?;
    browser.answered().await?;
    let places = "return document.querySelectorAll('[data-testid=choose-job] option').length";
    let count = script(&browser, places).await?.as_u64().unwrap_or_default();
    let mut excluded = 0;
    for place in 0..count {
        browser.set("choose-job", &place.to_string()).await?;
        browser.answered().await?;
        excluded += u64::from(browser.text("samples-count").await?.contains("1 excluded"));
    }
    assert_eq!(excluded, 1);
    browser.close().await
}
