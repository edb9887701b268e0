//! `foreglow link`: creates and opens share links.

use foreglow_collector::address::is_loopback;
use foreglow_console::answer::{DecisionAnswer, SCHEMA, fit};
use foreglow_console::ask::Source;
use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::question::QuestionArgs;
use foreglow_console::table::csv;
use foreglow_exit::unusable;
use foreglow_shared::{LeftOut, View, group_by_context};
use serde_json::json;

use super::serve;

/// Create a link that shows the same numbers to everyone who opens it, or open one.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    question: QuestionArgs,

    /// Address of the planner that the link opens
    #[arg(long, value_name = "URL", help_heading = "Link", default_value = serve::DEFAULT_PLANNER, env = "FOREGLOW_PLANNER", value_parser = serve::planner)]
    planner: String,

    /// Open this link and answer its question here; --deadline, --budget, … change the question
    #[arg(long, value_name = "LINK", help_heading = "Link", conflicts_with_all = ["files", "store", "model", "context"])]
    open: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// Prints the link, or the answer of a link.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(link) = &args.open {
        return open(link, args);
    }
    let samples = args.source.samples()?;
    let job = args.source.pick(&samples)?;
    let mut question = args.question.about(&job)?;
    let answer = DecisionAnswer::new(&job, &fit(&job)?, &question)?;
    question.what_if = answer.what_if().unwrap_or(question.what_if);
    let view = View { job, question, pins: Vec::new(), left_out: LeftOut::default(), compared: Vec::new() };
    let view = view.comparing(&group_by_context(&samples));
    let link = view.to_link(&args.planner);
    if is_loopback(&args.planner) {
        note(
            "This link works only on this machine while `foreglow serve` or `foreglow demo` runs. To share it, give the address of any copy \
             of the planner with --planner URL or FOREGLOW_PLANNER.",
        );
    }
    output::print(&match args.format {
        Format::Table => format!("{link}\n"),
        Format::Json => format!("{:#}\n", json!({ "schema": SCHEMA, "link": link })),
        Format::Csv => csv(&["link"], [vec![link]]),
    })
}

fn open(link: &str, args: &Args) -> anyhow::Result<()> {
    // Excluded runs are not part of the answer, as on the page.
    let View { job, mut question, .. } = View::from_link(link).map_err(|error| unusable(error.to_string()))?;
    args.question.change(&mut question, &job)?;
    let answer = DecisionAnswer::new(&job, &fit(&job)?, &question)?;
    output::print(&answer.render(args.format))?;
    answer.check()
}
