//! Detects the kind of event from the first bytes of a line.

/// Events that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    LogStart,
    ApplicationStart,
    ApplicationEnd,
    EnvironmentUpdate,
    ResourceProfileAdded,
    ExecutorAdded,
    ExecutorRemoved,
    JobStart,
    JobEnd,
    StageSubmitted,
    StageCompleted,
    StageExecutorMetrics,
    TaskEnd,
}

/// Classification of the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// An event to read.
    Wanted(Kind),
    /// An event to skip.
    Unwanted,
    /// Only white space so far.
    Blank,
    /// Too short to decide.
    Short,
    /// Not an event.
    NoEvent,
}

/// Limit on the bytes up to the end of the event's name, after white space. Spark writes `"Event"`
/// first, and no supported name is longer.
const LONGEST: usize = 256;

/// Classifies the line that begins with `line`. More bytes of the line do not change the result,
/// unless it is [`Start::Blank`] or [`Start::Short`].
pub(crate) fn start(line: &[u8]) -> Start {
    let line = line.trim_ascii_start();
    let line = &line[..line.len().min(LONGEST)];
    let Some(name) = name(line) else {
        return match line.len() {
            0 => Start::Blank,
            1..LONGEST if could_begin(line) => Start::Short,
            _ => Start::NoEvent,
        };
    };
    let kind = match name {
        b"SparkListenerLogStart" => Kind::LogStart,
        b"SparkListenerApplicationStart" => Kind::ApplicationStart,
        b"SparkListenerApplicationEnd" => Kind::ApplicationEnd,
        b"SparkListenerEnvironmentUpdate" => Kind::EnvironmentUpdate,
        b"SparkListenerResourceProfileAdded" => Kind::ResourceProfileAdded,
        b"SparkListenerExecutorAdded" => Kind::ExecutorAdded,
        b"SparkListenerExecutorRemoved" => Kind::ExecutorRemoved,
        b"SparkListenerJobStart" => Kind::JobStart,
        b"SparkListenerJobEnd" => Kind::JobEnd,
        b"SparkListenerStageSubmitted" => Kind::StageSubmitted,
        b"SparkListenerStageCompleted" => Kind::StageCompleted,
        b"SparkListenerStageExecutorMetrics" => Kind::StageExecutorMetrics,
        b"SparkListenerTaskEnd" => Kind::TaskEnd,
        _ => return Start::Unwanted,
    };
    Start::Wanted(kind)
}

/// Returns the complete value of `"Event"` if the line begins with it.
fn name(line: &[u8]) -> Option<&[u8]> {
    let value = TOKENS.iter().try_fold(line, |rest, token| rest.trim_ascii_start().strip_prefix(*token))?;
    let value = value.trim_ascii_start().strip_prefix(b"\"")?;
    let end = value.iter().position(|byte| *byte == b'"')?;
    value.get(..end)
}

const TOKENS: [&[u8]; 3] = [b"{", b"\"Event\"", b":"];

/// Whether more bytes could complete it to the beginning of an event.
fn could_begin(line: &[u8]) -> bool {
    let mut rest = line.trim_ascii_start();
    for token in TOKENS {
        match rest.strip_prefix(token) {
            Some(after) => rest = after.trim_ascii_start(),
            None => return token.starts_with(rest),
        }
    }
    rest.is_empty() || rest.starts_with(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_classified_by_its_first_bytes() {
        let starts: [(&[u8], Start); 8] = [
            (b"{\"Event\":\"SparkListenerTaskEnd\",", Start::Wanted(Kind::TaskEnd)),
            (b" { \"Event\" : \"SparkListenerJobEnd\"", Start::Wanted(Kind::JobEnd)),
            (b"{\"Event\":\"SparkListenerTaskStart\"", Start::Unwanted),
            (b"{\"Event\":\"SparkListenerTas", Start::Short),
            (b"{\"Eve", Start::Short),
            (b" \r", Start::Blank),
            (b"{\"schema\":1", Start::NoEvent),
            (b"\x28\xb5\x2f\xfd", Start::NoEvent),
        ];
        for (line, expected) in starts {
            assert_eq!(start(line), expected, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn more_bytes_of_a_line_do_not_change_its_kind() {
        let spaces = " ".repeat(LONGEST);
        let lines = [
            format!("{spaces}{{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":0}}"),
            format!("{{{spaces}\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":0}}"),
            format!("{{\"Event\":\"{}\",\"Stage ID\":0}}", "a".repeat(LONGEST)),
        ];
        for (line, expected) in lines.iter().zip([Start::Wanted(Kind::TaskEnd), Start::NoEvent, Start::NoEvent]) {
            for end in 0..=line.len() {
                let found = start(&line.as_bytes()[..end]);
                assert!(
                    found == expected || matches!(found, Start::Blank | Start::Short),
                    "{found:?} after {end} bytes"
                );
            }
            assert_eq!(start(line.as_bytes()), expected);
        }
    }
}
