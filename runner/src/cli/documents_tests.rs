//! Tests of the documents: their commands parse, and the targets of their links exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser as _};

use super::Cli;

/// A Markdown file of the repository.
struct Document {
    path: PathBuf,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn documents() -> Vec<Document> {
    let entries = [root(), root().join("docs")].into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let documents: Vec<Document> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| Document { text: std::fs::read_to_string(&path).unwrap(), path })
        .collect();
    assert!(documents.len() > 8, "the documents have moved");
    documents
}

impl Document {
    /// The lines inside code fences (`true`) or outside of them.
    fn lines(&self, in_code: bool) -> Vec<&str> {
        let mut is_code = false;
        let mut lines = Vec::new();
        for line in self.text.lines() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if is_code == in_code {
                lines.push(line);
            }
        }
        lines
    }

    /// The commands inside code fences, as a shell would split them.
    fn commands(&self) -> Vec<Vec<String>> {
        let code = self.lines(true).join("\n").replace("\\\n", " ");
        code.lines().flat_map(split).filter(|words| words.first().is_some_and(|word| word == "foreglow")).collect()
    }

    /// Code in the text that begins with `foreglow`.
    fn inline_commands(&self) -> Vec<String> {
        let text = self.lines(false).join("\n");
        let code = text.split('`').skip(1).step_by(2).map(str::to_owned);
        code.filter(|code| code.starts_with("foreglow ")).collect()
    }

    /// Anchors of the headings, as GitHub makes them.
    fn anchors(&self) -> BTreeSet<String> {
        let headings = self.lines(false).into_iter().filter(|line| line.starts_with('#'));
        let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
        let anchor = |line: &str| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title.chars().filter(kept).collect::<String>().replace(' ', "-")
        };
        headings.map(anchor).collect()
    }

    /// The targets of relative links.
    fn links(&self) -> Vec<String> {
        let text = self.lines(false).join("\n");
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        targets.map(|(target, _)| target.to_owned()).filter(|target| !target.contains("://")).collect()
    }
}

/// The commands of a line of shell. A redirection or a comment ends the command.
fn split(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '&' | '|' | ';' | '>' | '#') => {
                let is_inside_word = c == '#' && word.is_some();
                if is_inside_word {
                    word.get_or_insert_default().push(c);
                    continue;
                }
                if let Some(word) = word.take() {
                    commands.last_mut().unwrap().push(word);
                }
                match c {
                    '#' => break,
                    ' ' => {}
                    // The word after a redirection is a file name: it starts a list that is not a
                    // command.
                    _ => commands.push(Vec::new()),
                }
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    commands.last_mut().unwrap().extend(word);
    let is_assignment = |word: &String| word.split_once('=').is_some_and(|(name, _)| name == name.to_uppercase());
    for command in &mut commands {
        let assignments = command.iter().take_while(|word| is_assignment(word)).count();
        command.drain(..assignments);
    }
    commands
}

#[test]
fn a_line_of_shell_is_split_as_a_shell_does() {
    let line = "FOREGLOW_TOKEN=a foreglow serve & foreglow link --open 'http://x/#v1.a b' | cat > f  # why";
    let commands = split(line);
    assert_eq!(commands[0], ["foreglow", "serve"]);
    assert_eq!(commands[1], ["foreglow", "link", "--open", "http://x/#v1.a b"]);
    assert_eq!(commands[2], ["cat"]);
}

#[test]
fn every_command_of_the_documents_parses() {
    let mut parsed = 0;
    for document in documents() {
        for command in document.commands() {
            if let Err(error) = Cli::try_parse_from(&command) {
                let is_answer = matches!(
                    error.kind(),
                    clap::error::ErrorKind::DisplayVersion | clap::error::ErrorKind::DisplayHelp
                );
                assert!(is_answer, "{}: {}: {error}", document.path.display(), command.join(" "));
            }
            parsed += 1;
        }
    }
    assert!(parsed > 30, "only {parsed} commands were found");
}

#[test]
fn commands_within_the_text_name_what_there_is() {
    let root = Cli::command();
    for document in documents() {
        for code in document.inline_commands() {
            let words: Vec<&str> = code.split_whitespace().skip(1).collect();
            let name = words[0];
            if name == "…" || name.starts_with('-') {
                continue;
            }
            let path = document.path.display();
            let command = root.find_subcommand(name).unwrap_or_else(|| panic!("{path}: no command in `{code}`"));
            let command = words.get(1).and_then(|word| command.find_subcommand(word)).unwrap_or(command);
            // What follows `--` is the user's own program.
            let own = words.iter().take_while(|word| **word != "--");
            for option in own.filter_map(|word| word.strip_prefix("--")) {
                let is_known = command.get_arguments().any(|argument| argument.get_long() == Some(option));
                assert!(is_known || option == "help", "{path}: no option --{option} in `{code}`");
            }
        }
    }
}

#[test]
fn every_link_of_the_documents_leads_to_a_file_and_a_heading() {
    for document in documents() {
        for link in document.links() {
            let (file, anchor) = link.split_once('#').map_or((link.as_str(), None), |(f, a)| (f, Some(a)));
            let folder = document.path.parent().unwrap();
            let target = if file.is_empty() { document.path.clone() } else { folder.join(file) };
            let path = document.path.display();
            assert!(target.exists(), "{path}: {link} leads to no file");
            if let Some(anchor) = anchor {
                let text = std::fs::read_to_string(&target).unwrap();
                let anchors = Document { path: target, text }.anchors();
                assert!(anchors.contains(anchor), "{path}: {link} leads to no heading");
            }
        }
    }
}

#[test]
fn the_site_lists_every_document() {
    let summary = std::fs::read_to_string(root().join("docs/site/SUMMARY.md")).unwrap();
    for document in documents() {
        let path = document.path.strip_prefix(root()).unwrap().display().to_string();
        assert!(summary.contains(&format!("]({path})")), "{path} is not in docs/site/SUMMARY.md");
    }
}

#[test]
fn make_has_every_target_of_the_documents() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let rules = makefile.lines().filter_map(|line| line.split_once(':')).map(|(names, _)| names);
    let targets: BTreeSet<&str> = rules.flat_map(str::split_whitespace).collect();
    for document in documents() {
        let code = document.lines(true).join("\n").replace("\\\n", " ");
        for words in code.lines().flat_map(split).filter(|words| words.first().is_some_and(|word| word == "make")) {
            for target in words[1..].iter().filter(|word| !word.contains('=') && !word.starts_with('-')) {
                let path = document.path.display();
                assert!(targets.contains(target.as_str()), "{path}: make has no target {target}");
            }
        }
    }
}
