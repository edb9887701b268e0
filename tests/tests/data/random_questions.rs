//! The recommendation of the page and of the command line, on all built-in files.

use std::fs;
use std::path::Path;

use foreglow_shared::{Context, parse_line};
use foreglow_tests::{Answer, Browser, example_shown, study_lines, workspace_dir};
use serde_json::Value;

use super::networks::drop_file;
use super::{open_page, script};

/// Questions about each file.
const QUESTIONS: usize = 67;

/// Draws of a linear congruential generator (Knuth's MMIX), in [0, 1).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a number whose logarithm is uniform, with three digits.
    fn between(&mut self, least: f64, most: f64) -> f64 {
        let number = least * (most / least).powf(self.next());
        let digits = 10_f64.powf(2.0 - number.log10().floor());
        (number * digits).round() / digits
    }
}

/// Returns time and cost of the recommendation, with all digits; nulls without one.
async fn shown(browser: &Browser) -> anyhow::Result<Value> {
    let values = "const at = (name, value) => document.querySelector(`[data-testid=${name}]`)?.dataset[value] ?? null;
        return [at('recommended-time', 'secs'), at('recommended-cost', 'cost')]";
    script(browser, values).await
}

#[tokio::test]
async fn two_hundred_questions_have_the_recommendation_of_the_command_line() -> anyhow::Result<()> {
    let study = study_lines()?;
    let first = Context::of(&parse_line(study.lines().next().unwrap_or_default())?);
    let of_first = |line: &&str| parse_line(line).is_ok_and(|sample| Context::of(&sample) == first);
    let study: Vec<&str> = study.lines().filter(of_first).collect();
    let mnist = fs::read_to_string(workspace_dir().join("web/assets/mnist.jsonl"))?;
    let home = tempfile::tempdir()?;
    let mut draws = Draws(20_261_130);
    let mut answered = 0;
    for (name, lines) in [("study", study.join("\n")), ("example", example_shown()?.lines.join("\n")), ("mnist", mnist)]
    {
        let file = home.path().join(format!("{name}.jsonl"));
        fs::write(&file, &lines)?;
        answered += questions(&file, home.path(), &mut draws).await?;
    }
    assert!(answered > 100, "{answered} of {} questions have a recommendation", 3 * QUESTIONS);
    Ok(())
}

/// Asks the page and the command line; returns how many questions have a recommendation.
async fn questions(file: &Path, home: &Path, draws: &mut Draws) -> anyhow::Result<usize> {
    let path = file.display().to_string();
    let open = Answer::of(home, &["plan", &path, "--format", "json"])?.json()?;
    let of = |field: &str| open["recommended"][field].as_f64().unwrap_or(1.0);
    let (secs, cost) = (of("completion_time_secs"), of("cost"));
    let (_host, browser) = open_page().await?;
    drop_file(&browser, "samples.jsonl", &fs::read(file)?).await?;
    browser.answered().await?;
    let mut answered = 0;
    for number in 0..QUESTIONS {
        let deadline = (number % 4 != 0).then(|| format!("{}s", draws.between(secs / 4.0, secs * 4.0)));
        let budget = (number % 3 == 0).then(|| draws.between(cost / 2.0, cost * 4.0).to_string());
        let percent = (50.0 + 49.0 * draws.next()).round().to_string();
        let probability = (percent.parse::<f64>()? / 100.0).to_string();
        let mut args = vec!["plan", &path, "--format", "json", "--probability", &probability];
        args.extend(deadline.iter().flat_map(|deadline| ["--deadline", deadline]));
        args.extend(budget.iter().flat_map(|budget| ["--budget", budget]));
        let answer = Answer::of(home, &args)?;
        let best: Value = serde_json::from_str::<Value>(&answer.stdout)?["recommended"].take();
        let text = |field: &str| best[field].as_f64().map_or(Value::Null, |_| best[field].to_string().into());
        let expected = Value::from(vec![text("completion_time_secs"), text("cost")]);
        answered += usize::from(!best.is_null());
        for (field, value) in [("deadline", &deadline), ("budget", &budget), ("probability", &Some(percent.clone()))] {
            browser.set(field, value.as_deref().unwrap_or_default()).await?;
        }
        let same = async |page: &Browser| Ok(shown(page).await? == expected);
        browser.wait_until(&format!("{expected} for {args:?}, not {}", shown(&browser).await?), same).await?;
    }
    browser.close().await?;
    Ok(answered)
}
