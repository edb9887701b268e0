//! Tables in JSON Lines, and the names of other forms of JSON.

use serde_json::Value;

use super::{Table, TableError, is_nothing};

/// Reads one object a line. The columns are the names of all objects, with nested names joined by
/// dots, in the order of their first appearance.
pub(super) fn read(text: &str) -> Result<Table, TableError> {
    if let Some(form) = other_form(text) {
        return Err(TableError::Form(form));
    }
    let mut table = Table::default();
    let mut objects = Vec::new();
    for (line, content) in (1..).zip(text.lines()).filter(|(_, content)| !content.trim().is_empty()) {
        let row = |reason: String| TableError::Row { line, reason };
        let object = match serde_json::from_str(content) {
            Ok(Value::Object(object)) => Value::Object(object),
            Ok(_) => return Err(row("it is not a JSON object".to_owned())),
            Err(error) if error.is_eof() => {
                return Err(row("the JSON object does not end on this line; write one object a line".to_owned()));
            }
            Err(error) => return Err(row(format!("it is not JSON: {error}"))),
        };
        let mut cells = Vec::new();
        flatten("", object, &mut cells);
        for (name, _) in &cells {
            if !table.header.contains(name) {
                table.header.push(name.clone());
            }
        }
        objects.push(cells);
        table.lines.push(line);
    }
    for cells in objects {
        for name in table.header.clone() {
            table.push(cells.iter().find(|(own, _)| *own == name).map_or("", |(_, cell)| cell));
        }
    }
    Ok(table)
}

/// Says what a JSON text is that does not have one object a line, and how to convert it; `None` for
/// JSON Lines and for texts that are not JSON.
pub(crate) fn other_form(text: &str) -> Option<String> {
    let text = text.trim();
    let convert = |what: &str, filter: &str| {
        Some(format!("it is {what}; write one object a line (JSON Lines), for example with `jq -c '{filter}'`"))
    };
    if text.starts_with('[') {
        return convert("a JSON array", ".[]");
    }
    // In JSON Lines with several lines, the first object is followed by another.
    let Value::Object(object) = serde_json::from_str(text).ok()? else { return None };
    let is_list = |value: &Value| value.as_array().is_some_and(|list| list.first().is_some_and(Value::is_object));
    if let Some((name, _)) = object.iter().find(|(_, value)| is_list(value)) {
        return convert(&format!("one JSON object with the list {name:?}"), &format!(".{name}[]"));
    }
    let size = |value: &Value| value.as_object().map(serde_json::Map::len).or_else(|| value.as_array().map(Vec::len));
    let names = |value: &Value| value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
    let mut values = object.values();
    let is_by_column = values.next().is_some_and(|first| {
        size(first).is_some_and(|size| size > 0)
            && values.len() > 0
            && values.all(|other| size(other) == size(first) && names(other) == names(first))
    });
    if is_by_column || (object.contains_key("columns") && object.contains_key("data")) {
        return Some(
            "it is one JSON object with the whole table, as pandas writes by default; write one object a line (JSON \
             Lines), with to_json(orient=\"records\", lines=True)"
                .to_owned(),
        );
    }
    if text.contains('\n') { convert("one JSON object over several lines", ".") } else { None }
}

fn flatten(prefix: &str, value: Value, cells: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                let path = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
                flatten(&path, inner, cells);
            }
        }
        Value::Null => cells.push((prefix.to_owned(), String::new())),
        Value::String(text) if is_nothing(text.trim()) => cells.push((prefix.to_owned(), String::new())),
        Value::String(text) => cells.push((prefix.to_owned(), text.trim().to_owned())),
        other => cells.push((prefix.to_owned(), other.to_string())),
    }
}
