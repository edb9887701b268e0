//! Tables of other programs.

use foreglow_shared::{Table, TableError};

fn cells(text: &str) -> Vec<Vec<String>> {
    cells_of(text.as_bytes())
}

fn cells_of(bytes: &[u8]) -> Vec<Vec<String>> {
    let table = Table::read(bytes).unwrap();
    table.rows().map(|row| row.iter().map(str::to_owned).collect()).collect()
}

fn refused(text: &str) -> String {
    Table::parse(text).unwrap_err().to_string()
}

#[test]
fn a_german_column_means_the_same_as_one_with_points() {
    let german = "machines;seconds\n1;30.280,6\n2;61.217\n4;3.952\n8;300\n";
    assert_eq!(cells(german), cells("machines,seconds\n1,30280.6\n2,61217\n4,3952\n8,300\n"));
}

#[test]
fn a_number_with_two_meanings_is_refused_with_its_line_where_numbers_are_wanted() {
    let comma = "sep=;\nnodes;secs\n1;12\n2;3,000\n";
    for text in [comma, "sep=;\nnodes;secs\n1;12\n2;3.000\n", "nodes,secs\n1,12\n\n2,\"3,000\"\n"] {
        let table = Table::parse(text).unwrap();
        assert_eq!(table.check_numbers(0), Ok(()));
        let error = table.check_numbers(1).unwrap_err().to_string();
        assert!(error.starts_with("line 4: secs is \"3"), "{error}");
        assert!(error.ends_with("which may be 3000 or 3.000; write 3000 or 3.0000"), "{error}");
    }
}

#[test]
fn rows_and_columns_without_a_value_are_none() {
    let expected = vec![vec!["1".to_owned(), "2".to_owned()]];
    for text in [
        "a,b\n1,2\n,\n\"\",\"\"\n",
        "a;b;;\n1;2;;\n;;;\n;\n",
        "a,b\n1,2\nNaN,NaN\n",
        "\u{feff}\"sep=,\"\r\na,b\r\n1,2\r\n",
    ] {
        assert_eq!(cells(text), expected, "{text:?}");
    }
}

#[test]
fn missing_values_are_empty_cells_in_every_form() {
    for nothing in ["NaN", "n/a", "-", "NULL", "None", "#N/A", "#NV", "\"\"", "null"] {
        let expected = vec![vec!["1".to_owned(), String::new()], vec!["2".to_owned(), "x".to_owned()]];
        assert_eq!(cells(&format!("a,b\n1,{nothing}\n2,x\n")), expected, "{nothing}");
        let json = nothing.trim_matches('"');
        assert_eq!(cells(&format!("{{\"a\":1,\"b\":\"{json}\"}}\n{{\"a\":2,\"b\":\"x\"}}\n")), expected, "{nothing}");
    }
    assert_eq!(cells("{\"a\":1}\n{\"a\":null,\"b\":2}\n"), [["1", ""], ["", "2"]], "columns of later objects");
}

#[test]
fn a_table_is_read_in_every_encoding_and_with_every_delimiter() {
    let text = "Größe;s\n1\u{a0}234,5;2\n";
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    for bytes in [text.as_bytes().to_vec(), utf16, text.replace(';', "\t").into_bytes()] {
        assert_eq!(cells_of(&bytes), [["1234.5", "2"]]);
    }
}

#[test]
fn other_forms_of_json_are_named_with_the_conversion() {
    for (text, expected) in [
        (r#"[{"machines": 1, "seconds": 101.0}]"#, "a JSON array; write one object a line (JSON Lines)"),
        ("[[1, 2], [3, 4]]", "a JSON array"),
        ("{\n\"results\": [\n{\"mean\": 1.5}\n]\n}\n", "jq -c '.results[]'"),
        (r#"{"items":[{"kind":"Pod"}]}"#, "with the list \"items\""),
        (r#"{"machines":{"0":1,"1":2},"seconds":{"0":9,"1":5}}"#, "to_json(orient=\"records\", lines=True)"),
        (r#"{"0":{"machines":1,"seconds":9},"1":{"machines":2,"seconds":5}}"#, "as pandas writes by default"),
        (r#"{"columns":["a"],"index":[0],"data":[[1]]}"#, "as pandas writes by default"),
        ("{\n\"a\": 1\n}\n", "jq -c '.'"),
        ("{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n", "line 1: this is not a row of the table (the JSON object does not end"),
        ("{\"a\": 1}\n[2]\n", "line 2: this is not a row of the table (it is not a JSON object)"),
    ] {
        assert!(refused(text).contains(expected), "{text}: {}", refused(text));
    }
    assert_eq!(cells(r#"{"config":{"n":1},"result":{"secs":3}}"#), [["1", "3"]], "JSON Lines of one line");
}

#[test]
fn a_file_that_is_no_table_is_named() {
    assert_eq!(
        Table::read(b"\xff\xd8\xff\xe0\0").unwrap_err().to_string(),
        "it is a JPEG image; give a table as CSV or JSON Lines"
    );
    assert_eq!(Table::parse(""), Err(TableError::Empty));
    assert!(refused("a,b\n1\n").contains("line 2: this is not a row of the table (1 cells, the header has 2)"));
    assert!(refused("a,b\n1,2,3\n").contains("(3 cells, the header has 2)"));
}
