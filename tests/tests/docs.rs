//! The documentation: its links, the commands in it, and the list of its pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use foreglow_tests::{foreglow, workspace_dir};

/// A page with its path relative to the root.
struct Page {
    path: PathBuf,
    text: String,
}

/// Returns the pages of the project.
fn pages() -> anyhow::Result<Vec<Page>> {
    let root = workspace_dir();
    let mut paths = vec![PathBuf::from("python/README.md")];
    for folder in ["", "docs"] {
        let entries = std::fs::read_dir(root.join(folder))?.collect::<Result<Vec<_>, _>>()?;
        let names = entries.iter().map(std::fs::DirEntry::file_name);
        paths.extend(
            names
                .map(|name| Path::new(folder).join(name))
                .filter(|path| path.extension().is_some_and(|end| end == "md")),
        );
    }
    paths.into_iter().map(|path| Ok(Page { text: std::fs::read_to_string(root.join(&path))?, path })).collect()
}

impl Page {
    /// Returns the lines with their numbers and the language of the block of code around them.
    fn lines(&self) -> impl Iterator<Item = (usize, Option<&str>, &str)> {
        let mut language = None;
        self.text.lines().enumerate().filter_map(move |(index, line)| {
            if let Some(named) = line.trim_start().strip_prefix("```") {
                language = language.is_none().then(|| named.trim());
                return None;
            }
            Some((index + 1, language, line))
        })
    }

    /// Returns the names by which links reach the headings, as GitHub and mdBook make them.
    fn anchors(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let headings = self.lines().filter(|(_, language, line)| language.is_none() && line.starts_with('#'));
        for (.., line) in headings {
            let text = without_targets(line.trim_start_matches('#').trim());
            let letter = |letter: char| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                _ => letter.is_alphanumeric().then_some(letter),
            };
            let name: String = text.to_lowercase().chars().filter_map(letter).collect();
            let numbered = (1..).map(|number| format!("{name}-{number}"));
            let free = std::iter::once(name.clone()).chain(numbered).find(|name| !found.contains(name));
            found.extend(free);
        }
        found
    }

    /// Returns the targets of links with their lines.
    fn links(&self) -> Vec<(usize, &str)> {
        let prose = self.lines().filter(|(_, language, _)| language.is_none());
        prose
            .flat_map(|(number, _, line)| {
                let after = line.split("](").skip(1);
                after.filter_map(move |rest| Some((number, rest.split_once(')')?.0)))
            })
            .collect()
    }
}

/// Returns the text of a heading without the targets of its links.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, after)| after))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() -> anyhow::Result<()> {
    let pages = pages()?;
    let mut broken = Vec::new();
    for page in &pages {
        for (line, link) in
            page.links().into_iter().filter(|(_, link)| !link.contains("://") && !link.starts_with("mailto:"))
        {
            let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
            let target = match path {
                "" => page.path.clone(),
                _ => normal(&page.path.with_file_name(path)),
            };
            let is_there = workspace_dir().join(&target).exists();
            let named = pages.iter().find(|other| other.path == target);
            let has = anchor.is_none_or(|anchor| named.is_none_or(|page| page.anchors().contains(anchor)));
            if !is_there || !has {
                broken.push(format!("{}:{line}: {link}", page.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    Ok(())
}

/// Returns a relative path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            parts.pop();
        } else {
            parts.push(part)
        }
    }
    parts
}

/// Splits a line of a shell into commands of words. Quotes are removed; redirections and comments
/// are left out.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut is_word, mut quote) = (String::new(), false, None);
    let mut letters = line.chars().peekable();
    let mut skipped = false;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => (quote, is_word) = (Some(letter), true),
            (None, '\\') => word.extend(letters.next()),
            (None, '#') if !is_word => break,
            (None, ' ' | '|' | ';' | '&' | '<' | '>') => {
                if std::mem::take(&mut is_word) && !std::mem::take(&mut skipped) {
                    commands.last_mut().expect("the list is never empty").push(std::mem::take(&mut word));
                }
                word.clear();
                match letter {
                    '<' | '>' => (skipped, _) = (true, letters.next_if_eq(&' ')),
                    ' ' => {}
                    _ => commands.push(Vec::new()),
                }
            }
            _ => {
                word.push(letter);
                is_word = true;
            }
        }
    }
    if is_word && !skipped {
        commands.last_mut().expect("the list is never empty").push(word);
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// Returns the commands in the blocks of shell code of a page, with their lines.
fn shell(page: &Page) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut joined = String::new();
    for (number, language, line) in page.lines() {
        if language != Some("sh") {
            continue;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            joined += begun;
            continue;
        }
        joined += line;
        found.extend(commands(&std::mem::take(&mut joined)).into_iter().map(|words| (number, words)));
    }
    found
}

/// Whether a word assigns a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
    })
}

/// Each command with `--help` at its end: the program reads all words before it, and refuses
/// unknown ones.
#[test]
fn the_program_knows_every_command_of_the_docs() -> anyhow::Result<()> {
    let mut tried = 0;
    let mut refused = Vec::new();
    for page in pages()? {
        for (line, words) in shell(&page) {
            let mut words = words.iter().skip_while(|word| is_assignment(word) || *word == "time" || *word == "exec");
            if !words.next().is_some_and(|word| word == "foreglow" || word.ends_with("/foreglow")) {
                continue;
            }
            let asked: Vec<&String> = words.take_while(|word| *word != "--").collect();
            let answer = Command::new(foreglow()?).args(&asked).arg("--help").output()?;
            tried += 1;
            if !answer.status.success() {
                let said = String::from_utf8_lossy(&answer.stderr).lines().next().unwrap_or_default().to_owned();
                refused.push(format!("{}:{line}: {asked:?}: {said}", page.path.display()));
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(tried > 100, "{tried}");
    Ok(())
}

#[test]
fn make_has_every_target_of_the_docs() -> anyhow::Result<()> {
    let makefile = std::fs::read_to_string(workspace_dir().join("Makefile"))?;
    let rules =
        makefile.lines().filter_map(|line| line.split_once(':')).filter(|(names, _)| !names.contains(['\t', '=', '$']));
    let targets: BTreeSet<&str> = rules.flat_map(|(names, _)| names.split_whitespace()).collect();
    for page in pages()? {
        for (line, words) in shell(&page) {
            let mut words = words.iter().skip_while(|word| is_assignment(word));
            if !words.next().is_some_and(|word| word == "make") {
                continue;
            }
            for target in words.filter(|word| !word.contains('=')) {
                assert!(
                    targets.contains(target.as_str()),
                    "{}:{line}: make has no target {target}",
                    page.path.display()
                );
            }
        }
    }
    Ok(())
}

#[test]
fn the_site_lists_every_page() -> anyhow::Result<()> {
    let summary = std::fs::read_to_string(workspace_dir().join("docs/SUMMARY.md")).context("docs/SUMMARY.md")?;
    for page in pages()? {
        let path = page.path.display().to_string();
        let is_listed = summary.contains(&format!("]({path})"));
        assert!(
            is_listed || path == "docs/SUMMARY.md" || path == "python/README.md",
            "{path} is not in docs/SUMMARY.md"
        );
    }
    Ok(())
}

#[test]
fn lines_of_a_shell_are_divided_into_words() {
    let words = |line| commands(line).iter().map(|words| words.join("·")).collect::<Vec<_>>();
    assert_eq!(words("A=1 foreglow plan --cores 1,2 > plan.json  # a comment"), ["A=1·foreglow·plan·--cores·1,2"]);
    assert_eq!(words("foreglow x 'a b' \"c # d\" | foreglow y; z"), ["foreglow·x·a b·c # d", "foreglow·y", "z"]);
    assert_eq!(words("cat <in >out && b"), ["cat", "b"]);
    assert_eq!(words(""), Vec::<String>::new());
}
