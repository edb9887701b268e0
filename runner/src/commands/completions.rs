//! `foreglow completions`: the completion script of a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use foreglow_console::output;

/// Print the completion script of a shell
///
/// Bash: foreglow completions bash > ~/.local/share/bash-completion/completions/foreglow
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell that completes the commands and options
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Prints the script for a command line.
pub fn run<C: CommandFactory>(args: &Args) -> anyhow::Result<()> {
    output::print(&script::<C>(args.shell))
}

fn script<C: CommandFactory>(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut C::command(), "foreglow", &mut script);
    String::from_utf8(script).expect("the help texts are UTF-8, and so is what is generated from them")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_shell_completes_every_visible_command() {
        let command = Cli::command();
        let names: Vec<&str> =
            command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        assert!(names.len() > 15);
        for shell in Shell::value_variants() {
            let script = script::<Cli>(*shell);
            let missing: Vec<_> = names.iter().filter(|name| !script.contains(**name)).collect();
            assert!(missing.is_empty(), "{shell}: {missing:?}");
        }
    }
}
