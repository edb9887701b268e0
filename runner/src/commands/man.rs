//! `foreglow man`: the manual pages.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::CommandFactory;
use clap_mangen::Man;
use foreglow_console::output;
use foreglow_exit::unusable;

/// Print a manual page, or write all of them into a folder
///
/// To read one: foreglow man predict | man -l -
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Command that the page describes [default: foreglow itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,

    /// Folder that every page is written into, such as ~/.local/share/man/man1
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    output: Option<PathBuf>,
}

/// Prints or writes the pages of a command line.
pub fn run<C: CommandFactory>(args: &Args) -> anyhow::Result<()> {
    match &args.output {
        Some(folder) => write_all::<C>(folder),
        None => output::print(&page::<C>(args.command.as_deref())?),
    }
}

/// The command line with the full names of the commands, such as `foreglow-predict`.
fn root<C: CommandFactory>() -> clap::Command {
    let mut root = C::command().disable_help_subcommand(true);
    root.build();
    root
}

fn write_all<C: CommandFactory>(folder: &Path) -> anyhow::Result<()> {
    let wrong = || format!("the manual pages cannot be written into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(wrong)?;
    clap_mangen::generate_to(C::command(), folder).with_context(wrong)
}

fn page<C: CommandFactory>(name: Option<&str>) -> anyhow::Result<String> {
    let root = root::<C>();
    let mut commands = root.get_subcommands().filter(|command| !command.is_hide_set());
    let command = match name {
        None => root.clone(),
        Some(name) => commands
            .find(|command| command.get_name() == name)
            .cloned()
            .ok_or_else(|| unusable(format!("there is no command {name}; `foreglow help` lists the commands")))?,
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("the manual page cannot be written")?;
    Ok(String::from_utf8(page).expect("the help texts are UTF-8, and so is what is generated from them"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_page_has_the_name_and_the_options_of_its_command() {
        let page = page::<Cli>(Some("predict")).unwrap();
        assert!(page.contains(".TH foreglow-predict 1"), "{page}");
        assert!(page.contains(r"\-\-executors"), "{page}");
    }

    #[test]
    fn the_page_of_the_program_lists_the_visible_commands() {
        let page = page::<Cli>(None).unwrap();
        assert!(page.contains("foreglow\\-predict(1)") && !page.contains("foreglow\\-executor(1)"), "{page}");
    }

    #[test]
    fn an_unknown_command_is_named() {
        let error = page::<Cli>(Some("prophesy")).unwrap_err().to_string();
        assert!(error.contains("there is no command prophesy"), "{error}");
        assert!(page::<Cli>(Some("executor")).is_err(), "a hidden command has no page");
    }

    #[test]
    fn every_visible_command_gets_a_file() {
        let folder = tempfile::tempdir().unwrap();
        write_all::<Cli>(&folder.path().join("man1")).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder.path().join("man1"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names[0], "foreglow-advise.1");
        assert!(names.contains(&"foreglow.1".to_owned()), "{names:?}");
        assert!(!names.contains(&"foreglow-executor.1".to_owned()), "{names:?}");
    }
}
