//! What a run of a program was: the version of its code and of the software that it uses.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use foreglow_shared::CommandTemplate;
use serde_json::{Map, Value, json};

/// Time for a program that tells a version; a slower one is ended.
const PATIENCE: Duration = Duration::from_secs(20);
/// Prints the versions of the packages that decide how fast a program computes. None is imported,
/// which would take seconds.
const VERSIONS: &str = "
import json, platform
from importlib import metadata
found = {'python': platform.python_version()}
for name in ['torch', 'tensorflow', 'jax', 'jaxlib', 'keras', 'lightning', 'transformers', 'numpy',
             'nvidia-cuda-runtime-cu11', 'nvidia-cuda-runtime-cu12', 'nvidia-cuda-runtime']:
    try:
        found[name] = metadata.version(name)
    except Exception:
        pass
print(json.dumps(found))
";

/// Returns the field of a sample with the versions.
pub fn of(template: &CommandTemplate) -> Map<String, Value> {
    let mut fields = Map::new();
    if let Some(commit) = output("git", &["rev-parse", "HEAD"]) {
        let changes = output("git", &["status", "--porcelain", "--untracked-files=no"]);
        let is_clean = changes.map(|changes| changes.is_empty());
        fields.insert("git".into(), json!({ "commit": commit, "is_clean": is_clean }));
    }
    let versions = python(template).and_then(|python| output(&python, &["-c", VERSIONS]));
    let versions: Option<Map<String, Value>> = versions.and_then(|text| serde_json::from_str(&text).ok());
    fields.extend(versions.map(|versions| ("versions".to_owned(), Value::Object(versions))));
    fields
}

/// Returns the Python that runs the program: a word of the command, or that of the first line of
/// its script, such as `torchrun`.
fn python(template: &CommandTemplate) -> Option<String> {
    let line = template.words().join(" ");
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let is_python = |word: &&str| word.rsplit('/').next().is_some_and(|name| name.starts_with("python"));
    if let Some(python) = words.iter().copied().find(is_python) {
        return Some(python.to_owned());
    }
    words.iter().take(2).find_map(|word| interpreter(&found(word)?))
}

/// Returns the interpreter in the first line of a script, if it is Python.
fn interpreter(script: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut start = [0; 256];
    let length = std::fs::File::open(script).ok()?.read(&mut start).ok()?;
    let text = String::from_utf8_lossy(&start[..length]).into_owned();
    let mut words = text.lines().next()?.strip_prefix("#!")?.split_whitespace();
    words.find(|word| word.contains("python")).map(str::to_owned)
}

/// Returns the path of a program, which may be a name in the folders of `PATH`.
pub fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.exists());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Returns what a program prints, without white space around it; `None` if it fails or takes long.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let stream = child.stdout.take()?;
    let text = std::thread::spawn(move || std::io::read_to_string(std::io::Read::take(stream, 1 << 20)));
    let patience = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                return text.join().ok()?.ok().filter(|_| status.success()).map(|text| text.trim().to_owned());
            }
            Ok(None) if Instant::now() < patience => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(words: &[&str]) -> CommandTemplate {
        CommandTemplate::new(words.iter().map(|word| (*word).to_owned()).collect()).unwrap()
    }

    #[test]
    fn the_python_of_a_program_tells_its_versions() {
        let python = python(&template(&["env", "A=1", "python3", "train.py", "{steps}"]));
        assert_eq!(python.as_deref(), Some("python3"));
        let versions = &of(&template(&["python3", "train.py", "{steps}"]))["versions"];
        assert!(versions["python"].as_str().is_some_and(|version| version.starts_with("3.")), "{versions}");
    }

    #[test]
    fn a_script_names_its_interpreter_in_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("torchrun");
        std::fs::write(&script, "#!/opt/venv/bin/python3.12 -I\nimport torch\n").unwrap();
        let launcher = script.to_str().unwrap();
        assert_eq!(python(&template(&[launcher, "train.py"])).as_deref(), Some("/opt/venv/bin/python3.12"));
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        assert_eq!(python(&template(&[launcher, "{steps}"])), None);
        assert!(found("sh").is_some() && found("no-such-program").is_none());
    }

    #[test]
    fn a_program_that_fails_or_is_missing_tells_nothing() {
        assert_eq!(output("sh", &["-c", "echo a; exit 1"]), None);
        assert_eq!(output("no-such-program", &[]), None);
        assert_eq!(output("echo", &["a"]).as_deref(), Some("a"));
    }
}
