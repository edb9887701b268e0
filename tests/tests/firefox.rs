//! The planner's main path in Firefox, if it is installed (`./setup.sh test` does so where Debian
//! packages it).

use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use foreglow_shared::View;
use foreglow_tests::{Answer, FileHost, Firefox, example, example_shown};
use serde_json::{Value, json};

/// Returns the what-if's time with all digits when the page shows that configuration.
const SECS: &str = "const [executors, cores] = arguments;
    const shown = (name) => document.querySelector(`[data-testid=${name}]`);
    const is_shown = shown('what-if-executors')?.value === executors && shown('what-if-cores')?.value === cores;
    return is_shown ? shown('what-if-time')?.dataset.secs ?? null : null";
/// The answer without samples has no what-if.
const ANSWERED: &str = "const shown = (name) => document.querySelector(`[data-testid=${name}]`);
    return shown('what-if-executors') && shown('recommended-time')?.dataset.secs ? true : null";
const CLICK: &str = "const button = document.querySelector(`[data-testid=${arguments[0]}]`);
    button?.click(); return button ? true : null";
const SET: &str = "const [name, value] = arguments;
    const input = document.querySelector(`[data-testid=${name}]`);
    input.value = value;
    for (const event of ['input', 'change']) input.dispatchEvent(new Event(event, { bubbles: true }))";

#[tokio::test]
async fn firefox_predicts_like_the_command_line_follows_the_slider_and_reopens_its_link() -> anyhow::Result<()> {
    let host = FileHost::start().await?;
    let url = host.url.clone();
    tokio::task::spawn_blocking(move || visit(&url)).await?
}

fn visit(url: &str) -> anyhow::Result<()> {
    let Some(mut firefox) = Firefox::start()? else {
        writeln!(std::io::stderr(), "no Firefox on this machine: the planner was not tested in it")?;
        return Ok(());
    };
    firefox.goto(url)?;
    firefox.wait_for("the example's button", CLICK, &[json!("example")])?;
    firefox.wait_for("an answer", ANSWERED, &[])?;
    for (executors, cores) in [("2", "1"), ("2", "2")] {
        firefox.evaluate(SET, &[json!("what-if-executors"), json!(executors)])?;
        firefox.evaluate(SET, &[json!("what-if-cores"), json!(cores)])?;
        let secs = firefox.wait_for("the prediction", SECS, &[json!(executors), json!(cores)])?;
        assert_eq!(secs, json!(predicted(executors, cores)?), "{executors} × {cores}");
    }
    let link = current_link(&mut firefox)?;
    firefox.goto("about:blank")?;
    firefox.goto(&link)?;
    let secs = firefox.wait_for("the prediction of the link", SECS, &[json!("2"), json!("2")])?;
    assert_eq!(secs, json!(predicted("2", "2")?));
    Ok(())
}

/// The address of the page after its delayed update.
fn current_link(firefox: &mut Firefox) -> anyhow::Result<String> {
    for _ in 0..100 {
        let link = firefox.evaluate("return location.href", &[])?;
        let link = link.as_str().context("an address is text")?;
        let asked = View::from_link(link).map(|view| view.question.what_if);
        if asked.is_ok_and(|asked| (asked.executors, asked.cores_per_executor) == (2, 2)) {
            return Ok(link.to_owned());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    anyhow::bail!("the address does not follow the sliders")
}

/// The time that `foreglow predict` prints for the page's example, with all digits.
fn predicted(executors: &str, cores: &str) -> anyhow::Result<String> {
    let home = tempfile::tempdir()?;
    let (file, number) = (example().display().to_string(), example_shown()?.number);
    let args = ["predict", &file, "--context", &number];
    let args = [&args[..], &["--executors", executors, "--cores", cores, "--format", "json"]].concat();
    let answer: Value = Answer::of(home.path(), &args)?.json()?;
    Ok(answer["completion_time_secs"].to_string())
}
