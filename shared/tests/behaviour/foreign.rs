//! Tables of other tools.

use foreglow_shared::{
    Extent, Field, FieldSource, IncompleteOutcome, Job, Mapping, MappingError, Table, TableError, TimeUnit,
};
use proptest::prelude::*;

const TABLE: &str = "Nodes;Executor cores;Percent;Elapsed (ms);Note\n2;4;10;12500,5;a\n1;1;100;1.000.000,25;b\n";

fn mapping(table: &Table) -> Mapping {
    let mut mapping = Mapping::guess(table.header());
    mapping.time_unit = TimeUnit::Millis;
    mapping.places.insert(Field::Images, FieldSource::Fixed("5000".into()));
    mapping
}

fn jobs(text: &str) -> Result<Vec<Job>, MappingError> {
    let table = Table::read(text.as_bytes())?;
    mapping(&table).jobs(&table)
}

#[test]
fn columns_of_other_tools_are_guessed_by_name() {
    let table = Table::read(TABLE.as_bytes()).unwrap();
    let guess = Mapping::guess(table.header());
    let column = |field| guess.places.get(&field).cloned();
    assert_eq!(column(Field::Executors), Some(FieldSource::Column(0)));
    assert_eq!(column(Field::CoresPerExecutor), Some(FieldSource::Column(1)));
    assert_eq!(column(Field::Extent), Some(FieldSource::Column(2)));
    assert_eq!(column(Field::CompletionTime), Some(FieldSource::Column(3)));
    assert_eq!(guess.extent, Extent::Percent);
    assert_eq!(guess.time_unit, TimeUnit::Millis);
    assert_eq!(guess.missing(), [Field::Images], "only the table or the user knows it");
    assert_eq!(table.rows().next().unwrap().iter().collect::<Vec<_>>(), ["2", "4", "10", "12500.5", "a"]);
}

#[test]
fn a_table_with_decimal_commas_and_milliseconds_is_read() {
    let jobs = jobs(TABLE).unwrap();
    let [job] = jobs.as_slice() else { unreachable!("{jobs:?}") };
    assert_eq!((job.context.workload.images, job.context.workload.model.as_str()), (5000, "unnamed"));
    let run = |executors, cores, rate, secs: f64| (executors, cores, rate, (secs * 1e6).round());
    let seen: Vec<_> = job
        .observations
        .iter()
        .map(|o| run(o.executors, o.cores_per_executor, o.sampling_rate, o.completion_time_secs))
        .collect();
    assert_eq!(seen, [run(1, 1, 1.0, 1_000.000_25), run(2, 4, 0.1, 12.5005)]);
}

#[test]
fn an_incomplete_run_never_counts_as_completed() {
    let jobs = jobs(
        "nodes,cores,percent,elapsed ms,outcome\n1,1,10,1000,completed\n1,2,10,,out_of_memory\n2,1,10,60000,timed_out\n",
    );
    let incomplete = &jobs.unwrap()[0].incomplete;
    assert_eq!(incomplete[0].outcome, IncompleteOutcome::OutOfMemory);
    assert_eq!((incomplete[1].outcome, incomplete[1].at_least_secs), (IncompleteOutcome::TimedOut, Some(60.0)));
}

#[test]
fn the_first_invalid_cell_is_reported_with_its_line() {
    for (row, expected) in [
        ("2,x,10,1", r#"line 3: cores per executor is "x"; it must be a number above 0"#),
        ("2.5,1,10,1", r#"executors is "2.5"; it must be a whole number, 1 or more"#),
        ("4294967295,1,10,1", r#"executors is "4294967295"; it must be at most 10000"#),
        ("2,1,101,1", r#"how much of the job ran is "101"; it must be at most 100"#),
        ("2,1,10,0", r#"completion time is "0"; it must be a number above 0"#),
        ("2,1,10,inf", r#"completion time is "inf""#),
        ("2,1,10", "line 3: this is not a row of the table"),
    ] {
        let error = jobs(&format!("nodes,cores,percent,time\n1,1,10,5\n{row}\n")).unwrap_err().to_string();
        assert!(error.contains(expected), "{row}: {error}");
    }
    assert_eq!(jobs("nodes,cores,percent,time\n"), Err(TableError::Empty.into()));
    assert_eq!(Table::read(b""), Err(TableError::Empty));
    assert!(matches!(Table::read(b"PK\x03\x04"), Err(TableError::NotText(_))));
}

#[test]
fn lines_are_counted_alike_with_every_line_end() {
    for end in ["\n", "\r\n"] {
        let error =
            |row: &str| jobs(&["nodes,cores,percent,time", "1,1,10,5", "", row].join(end)).unwrap_err().to_string();
        assert!(error("2,x,10,1").starts_with("line 4: cores per executor"), "{end:?}");
        let said = "line 4: this is not a row of the table (3 cells, the header has 4)";
        assert_eq!(error("2,1,10"), said, "{end:?}");
    }
}

proptest! {
    #[test]
    fn no_table_makes_the_importer_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), start in "[a-z,;\t\n\"0-9.]{0,40}") {
        let bytes = [start.as_bytes(), &bytes].concat();
        if let Ok(table) = Table::read(&bytes) {
            let _ = mapping(&table).jobs(&table);
        }
    }
}
