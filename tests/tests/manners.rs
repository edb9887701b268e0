//! Accessibility, responsive layout, size, behaviour without scripts, and the content security
//! policy.

use std::io::Write as _;
use std::{collections::BTreeSet, fs};

use anyhow::Context as _;
use foreglow_tests::{Browser, FileHost, planner_dir, workspace_dir};
use serde_json::{Value, json};
use thirtyfour::prelude::*;

const AXE: &str = "target/axe/package/axe.min.js";
/// The axe tags of the success criteria of WCAG 2.2, levels A and AA.
const RULES: [&str; 5] = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/// Upper limit on what a first visit fetches, compressed with brotli, without headers.
const MOST_BYTES: usize = 800_000;

/// The views of the page.
const VIEWS: [&str; 5] = ["compare", "explore", "trust", "runs", "export"];

async fn open_example() -> anyhow::Result<(FileHost, Browser)> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser.element("example").await?.click().await?;
    browser.answered().await?;
    Ok((host, browser))
}

async fn click(browser: &Browser, test_id: &str) -> anyhow::Result<()> {
    let element = browser.element(test_id).await?.to_json()?;
    browser.page.execute("arguments[0].click()", vec![element]).await?;
    Ok(())
}

/// The violations that axe finds on the current page, one per line.
async fn violations(browser: &Browser) -> anyhow::Result<Vec<String>> {
    let axe = fs::read_to_string(workspace_dir().join(AXE)).context("axe-core is missing; run ./setup.sh test")?;
    let known = browser.page.execute("return typeof axe !== 'undefined'", vec![]).await?.json().clone();
    if known != json!(true) {
        browser.page.execute(axe, vec![]).await?;
    }
    let found = browser
        .page
        .execute_async(
            "const [values, done] = arguments;
             // Waits for transitions, because colours are compared.
             Promise.allSettled(document.getAnimations().map((animation) => animation.finished)).then(() =>
               axe.run(document, { runOnly: { type: 'tag', values } })).then(
               (results) => done(results.violations.flatMap((rule) => rule.nodes.map((node) =>
                 `${rule.id}: ${node.target.join(' ')}: ${node.failureSummary}`))),
               (error) => done([String(error)]));",
            vec![json!(RULES)],
        )
        .await?
        .json()
        .clone();
    let lines = found.as_array().context("axe gives a list")?;
    Ok(lines.iter().map(|line| line.as_str().unwrap_or_default().to_owned()).collect())
}

#[tokio::test]
async fn axe_finds_no_violation_in_light_and_dark_on_any_part_of_the_page() -> anyhow::Result<()> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser.element("example").await?;
    let mut found = violations(&browser).await?;
    browser.element("example").await?.click().await?;
    browser.answered().await?;
    for scheme in ["light", "dark"] {
        browser.prefer(scheme).await?;
        for view in VIEWS {
            browser.show(view).await?;
            found.extend(violations(&browser).await?);
        }
    }
    browser.show("runs").await?;
    click(&browser, "more-question").await?;
    click(&browser, "share").await?;
    click(&browser, "next-samples").await?;
    found.extend(violations(&browser).await?);
    click(&browser, "keys-button").await?;
    found.extend(violations(&browser).await?);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Checks that axe reports violations at all.
    browser
        .page
        .execute("document.querySelector('dialog.keys').close(); document.body.append(new Image())", vec![])
        .await?;
    assert!(violations(&browser).await?.iter().any(|line| line.starts_with("image-alt")));
    browser.close().await
}

#[tokio::test]
async fn the_page_fits_from_320_pixels_to_4k_and_its_layout_is_stable() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    for (width, height) in [(320, 640), (768, 1024), (1024, 768), (1280, 800), (3840, 2160)] {
        browser.screen(width, height).await?;
        if width >= 768 {
            let lines = "return new Set([...document.querySelectorAll('.actions > *')]
                .map((button) => button.getBoundingClientRect()).filter((box) => box.width > 0)
                .map((box) => Math.round(box.top + box.height / 2))).size";
            let lines = browser.page.execute(lines, vec![]).await?.json().clone();
            assert_eq!(lines, json!(1), "at {width} pixels the buttons of the header must be on one line");
        }
        for view in VIEWS {
            browser.show(view).await?;
            let wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
            let beyond = browser.page.execute(wide, vec![]).await?.json().clone();
            assert_eq!(beyond, json!(0), "at {width} pixels the view {view} is wider than the screen");
            let cut = "return Math.max(0, ...[...document.querySelectorAll('.drawing')].map((box) => box.scrollWidth - box.clientWidth))";
            // Charts are drawn again some time after their boxes have changed.
            let what = format!("charts as wide as their boxes at {width} pixels in the view {view}");
            let fits = async |browser: &Browser| Ok(*browser.page.execute(cut, vec![]).await?.json() == json!(0));
            browser.wait_until(&what, fits).await?;
        }
    }
    // Layout shifts without recent input, from the first paint to the answer, as Chromium scores
    // them; below 0.1 is "good".
    browser.screen(1280, 800).await?;
    browser.show("explore").await?;
    // On a slow machine the pieces of the page appear one by one.
    browser.devtools("Emulation.setCPUThrottlingRate", json!({ "rate": 10 })).await?;
    browser.page.refresh().await?;
    browser.answered().await?;
    let observed = browser
        .page
        .execute_async(
            "const done = arguments[0]; let sum = 0;
             new PerformanceObserver((list) => { for (const s of list.getEntries()) if (!s.hadRecentInput) sum += s.value; })
               .observe({ type: 'layout-shift', buffered: true });
             setTimeout(() => done(sum), 500);",
            vec![],
        )
        .await?
        .json()
        .clone();
    assert!(observed.as_f64().is_some_and(|sum| sum < 0.1), "{observed}");
    browser.close().await
}

#[tokio::test]
async fn the_share_sheet_is_in_the_window_of_a_phone_and_a_second_press_closes_it() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    let outside = "const sheet = document.querySelector('.share-sheet');
        const parts = [sheet, ...sheet.querySelectorAll('button, input, summary')];
        return parts.filter((part) => part.checkVisibility()).map((part) => [part, part.getBoundingClientRect()])
          .filter(([, box]) => box.left < 0 || box.right > innerWidth || box.top < 0 || box.bottom > innerHeight)
          .map(([part, box]) => [part.outerHTML.slice(0, 60), box.left, box.right, box.top, box.bottom])";
    for (width, height) in [(390, 844), (560, 900), (1280, 800)] {
        browser.screen(width, height).await?;
        click(&browser, "share").await?;
        browser.element("share-link").await?;
        let found = browser.page.execute(outside, vec![]).await?.json().clone();
        assert_eq!(found, json!([]), "at {width} pixels");
        click(&browser, "share").await?;
        let is_closed = async |page: &Browser| Ok(page.page.find_all(By::Testid("share-link")).await?.is_empty());
        browser.wait_until("the sheet to close", is_closed).await?;
    }
    browser.close().await
}

#[tokio::test]
async fn the_keyboard_focus_stays_with_what_it_operates() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    let focused = "const focused = document.activeElement;
        return focused.dataset.testid ?? focused.getAttribute('aria-label') ?? focused.tagName";
    let focus_is = async |what: &str| {
        let is = async |page: &Browser| Ok(*page.page.execute(focused, vec![]).await?.json() == json!(what));
        browser.wait_until(&format!("the focus on {what}"), is).await
    };
    browser.show("runs").await?;
    let checkbox = browser.page.query(By::Css("[data-testid=run] input")).first().await?;
    let label = checkbox.attr("aria-label").await?.context("a checkbox has a label")?;
    for is_checked in [false, true] {
        checkbox.send_keys(" ").await?;
        let is = async |_: &Browser| Ok(checkbox.is_selected().await? == is_checked);
        browser.wait_until("the other state", is).await?;
        focus_is(&label).await?;
    }
    browser.element("share").await?.send_keys(Key::Enter).await?;
    browser.element("share-link").await?.send_keys(Key::Escape).await?;
    focus_is("share").await?;

    browser.show("compare").await?;
    browser.element("pin").await?.send_keys(Key::Enter).await?;
    browser.element("unpin").await?;
    focus_is("pin").await?;
    browser.element("unpin").await?.send_keys(Key::Enter).await?;
    focus_is("pin").await?;
    browser.close().await
}

#[tokio::test]
async fn without_scripts_the_page_says_what_it_needs_and_its_policy_blocks_everything_else() -> anyhow::Result<()> {
    let host = FileHost::start().await?;
    let browser = Browser::start_with(json!({ "profile.default_content_setting_values.javascript": 2 })).await?;
    browser.page.goto(&host.url).await?;
    let source = browser.page.source().await?;
    assert!(source.contains("needs JavaScript and WebAssembly") && source.contains("foreglow plan"), "{source}");
    browser.close().await?;

    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser.element("example").await?;
    let tries = "const done = arguments[0]; const seen = [];
        document.addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
        const script = document.createElement('script'); script.textContent = 'window.evil = 1'; document.body.append(script);
        const image = new Image(); image.src = 'http://127.0.0.1:9/x.png';
        fetch('http://127.0.0.1:9/').catch(() => {});
        setTimeout(() => done([seen, typeof window.evil]), 500);";
    let seen: Value = browser.page.execute_async(tries, vec![]).await?.json().clone();
    assert_eq!(seen[1], json!("undefined"), "{seen}");
    for directive in ["script-src-elem", "img-src", "connect-src"] {
        assert!(seen[0].as_array().is_some_and(|list| list.contains(&json!(directive))), "{directive}: {seen}");
    }
    browser.close().await
}

#[tokio::test]
async fn a_first_visit_fetches_at_most_800_kilobytes() -> anyhow::Result<()> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser.element("example").await?;
    let paths = "const folder = new URL('.', document.baseURI).href;
        return performance.getEntriesByType('resource').map((entry) => entry.name.replace(folder, ''))";
    let mut files: BTreeSet<String> =
        serde_json::from_value(browser.page.execute(paths, vec![]).await?.json().clone())?;
    files.insert("index.html".into());
    assert!(files.contains("foreglow-web_bg.wasm"), "{files:?}");
    let mut total = 0;
    // Only files of the collector are requested and missing.
    for body in files.iter().filter_map(|name| fs::read(planner_dir().join(name)).ok()) {
        let mut compressed = Vec::new();
        brotli::CompressorWriter::new(&mut compressed, 1 << 16, 11, 24).write_all(&body)?;
        total += compressed.len();
    }
    eprintln!("{total} of {MOST_BYTES} bytes");
    assert!(total <= MOST_BYTES, "{files:?} have {total} bytes");
    browser.close().await
}

#[test]
fn the_page_names_no_folder_of_the_machine_that_built_it() -> anyhow::Result<()> {
    let checkout = workspace_dir().canonicalize()?.display().to_string();
    let home = std::env::var("HOME").unwrap_or_default();
    // The toolchain is in the home of the user, unless this variable says otherwise. A standard
    // library that was built here names the sources of its own dependencies in cargo's registry.
    let toolchains = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| format!("{home}/.rustup"));
    let modules = fs::read_dir(planner_dir())?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    let modules = modules.iter().filter(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    let mut read = 0;
    for module in modules {
        let bytes = fs::read(module)?;
        for folder in [&checkout, &toolchains] {
            let is_named = bytes.windows(folder.len()).any(|window| window == folder.as_bytes());
            assert!(!is_named, "{} names {folder}", module.display());
        }
        read += 1;
    }
    assert!(read >= 2, "the page and its reader are modules");
    Ok(())
}
