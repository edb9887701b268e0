//! Samples as other programs and earlier versions write them.

use foreglow_shared::{Sample, read_samples, write_csv, write_jsonl};
use serde_json::{Value, json};

use crate::samples::{complete, read};
use crate::words::{EXAMPLE, numbered, sample};

#[test]
fn what_spreadsheets_and_pandas_write_for_a_missing_value_is_none() {
    let table = write_csv(&[numbered(1)]);
    let mut rows = csv_cells(&table);
    let secs = rows[0].iter().position(|name| name == "completion_time_secs").unwrap();
    for nothing in ["", "\"\"", "NaN", "NA", "N/A", "n/a", "#N/A", "NULL", "None", "-", "<NA>"] {
        rows[0].extend(["configuration.accelerator", "host.machine", "host.processors"].map(str::to_owned));
        rows[1].extend([nothing; 3].map(str::to_owned));
        let text: String = rows.iter().map(|row| row.join(",") + "\n").collect();
        let [read] = read(&text).unwrap().try_into().unwrap();
        assert_eq!((read.configuration.accelerator, read.host.machine), (None, None), "{nothing}");
        assert_eq!(read.completion_time_secs.map(|secs| secs.to_string()).as_ref(), Some(&rows[1][secs]));
        rows.iter_mut().for_each(|row| row.truncate(row.len() - 3));
    }
}

#[test]
fn rows_without_a_value_and_whole_numbers_with_decimals_are_read() {
    let table = write_csv(&[numbered(1), numbered(2)]);
    let mut rows = csv_cells(&table);
    let places = ["schema", "workload.images", "configuration.executors", "workload.epochs"]
        .map(|name| rows[0].iter().position(|own| own == name).unwrap());
    for row in &mut rows[1..] {
        places.into_iter().for_each(|place| row[place].push_str(".0"));
    }
    let text: String = rows.iter().map(|row| row.join(";") + "\r\n").collect();
    let empty = ";".repeat(rows[0].len() - 1);
    assert_eq!(read(&format!("sep=;\r\n{text}{empty}\r\n;;\r\n")).unwrap(), [numbered(1), numbered(2)]);
    let json = write_jsonl([&numbered(1)]).replace("\"executors\":2,", "\"executors\":2.0,");
    assert!(json.contains("2.0,"), "{json}");
    assert_eq!(read(&json).unwrap(), [numbered(1)]);
}

#[test]
fn json_of_another_form_is_named() {
    let line = write_jsonl([&sample()]);
    for text in [format!("[{line}]"), format!("{{\"samples\":\n[{line}]}}")] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains("JSON Lines") && error.contains("jq -c '."), "{error}");
    }
}

#[test]
fn samples_with_semicolons_and_decimal_commas_are_read() {
    let samples = [numbered(1), numbered(2)];
    let table = write_csv(&samples);
    // Other cells with a point or a comma, such as versions and timestamps, stay unchanged.
    let mut rows = csv_cells(&table);
    let secs = rows[0].iter().position(|name| name == "completion_time_secs").unwrap();
    let rate = rows[0].iter().position(|name| name == "sampling_rate").unwrap();
    for row in &mut rows[1..] {
        for place in [secs, rate] {
            row[place] = row[place].replace('.', ",");
        }
    }
    let text: String = rows.iter().map(|row| row.join(";") + "\r\n").collect();
    assert_eq!(read(&text).unwrap(), samples);
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(read_samples(&utf16).unwrap(), samples);
}

#[test]
fn a_text_that_looks_like_a_number_is_read_from_a_csv_of_an_earlier_version() {
    let csv = |cell: &str| {
        write_csv(&[sample()]).replacen('\n', ",workload.data_fingerprint\n", 1).trim_end().to_owned() + "," + cell
    };
    for cell in ["1234567890123456", "\"\"\"1234567890123456\"\"\""] {
        let read = read(&csv(cell)).unwrap();
        assert_eq!(read[0].workload.data_fingerprint.as_deref(), Some("1234567890123456"), "{cell}");
    }
    assert_eq!(read(&csv("null")).unwrap()[0].workload.data_fingerprint, None);
}

/// Splits an unquoted CSV text into cells.
fn csv_cells(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn every_number_may_have_a_decimal_comma_and_every_name_may_look_like_one() {
    let sample = complete();
    let fields = serde_json::to_value(&sample).unwrap();
    let written = write_csv(std::slice::from_ref(&sample));
    assert_eq!(read(&written).unwrap(), std::slice::from_ref(&sample));
    let rows: Vec<csv::StringRecord> = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(written.as_bytes())
        .into_records()
        .map(Result::unwrap)
        .collect();
    let is_number = |name: &str| fields.pointer(&format!("/{}", name.replace('.', "/"))).is_some_and(Value::is_number);
    for delimiter in [b',', b';', b'\t'] {
        let mut table = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        table.write_record(&rows[0]).unwrap();
        let with_comma =
            |(name, cell): (&str, &str)| if is_number(name) { cell.replace('.', ",") } else { cell.to_owned() };
        table.write_record(rows[0].iter().zip(&rows[1]).map(with_comma)).unwrap();
        assert_eq!(read_samples(&table.into_inner().unwrap()).unwrap(), std::slice::from_ref(&sample));
    }
}

#[test]
fn csv_columns_may_be_in_any_order_and_text_may_look_like_numbers() {
    let mut value: Value = serde_json::from_str(EXAMPLE).unwrap();
    value["host"]["cpu"] = json!("6502");
    value["runner_version"] = json!("1");
    let sample: Sample = serde_json::from_value(value).unwrap();
    let text = write_csv(std::slice::from_ref(&sample));
    let reversed: String =
        text.lines().map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + "\r\n").collect();
    assert_eq!(read(&format!("\u{feff}{reversed}")).unwrap(), [sample]);
}
