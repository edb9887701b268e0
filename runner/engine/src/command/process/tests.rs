use super::*;

fn start(line: &str, resources: &Resources) -> Process {
    let words = ["sh", "-c", line].map(str::to_owned);
    let output = Output::new(&foreglow_progress::Reader::new(), Instant::now());
    Process::start(&words, resources, output).unwrap()
}

fn wait(process: &mut Process, most: Duration) -> bool {
    let patience = Instant::now() + most;
    while Instant::now() < patience {
        if process.wait(Duration::from_millis(20)) {
            return true;
        }
    }
    false
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_program_that_ends_has_its_time_status_and_last_lines() {
    let mut process = start("echo out; echo bad >&2; sleep 0.2; exit 3", &Resources::default());
    assert!(wait(&mut process, LONG));
    let secs = process.elapsed().as_secs_f64();
    assert!(secs >= 0.2, "{secs}");
    let end = process.end();
    assert_eq!(end.status.and_then(|status| status.code()), Some(3));
    assert_eq!((end.last_lines.len(), end.left_behind, end.is_out_of_memory), (2, 0, false));
}

#[test]
fn the_input_of_a_program_is_closed() {
    let mut process = start("read line || echo closed", &Resources::default());
    assert!(wait(&mut process, LONG));
    assert_eq!(process.end().last_lines, ["closed"]);
}

#[test]
fn a_program_gets_its_processors_and_its_variables() {
    let first = crate::processors::of_executor(0, foreglow_shared::CoreSplit::even(1, 1));
    let variables = vec![("FOREGLOW_STEPS".to_owned(), "12".to_owned())];
    let resources = Resources { processors: first.clone(), variables, memory_mib: None };
    let mut process = start("nproc; echo $FOREGLOW_STEPS", &resources);
    assert!(wait(&mut process, LONG));
    assert_eq!(process.end().last_lines, ["1", "12"], "pinned to {first:?}");
}

#[test]
fn a_stopped_program_takes_its_children_with_it() {
    let process = start("sleep 1000 & sleep 1000", &Resources::default());
    let group = process.child.id();
    let patience = Instant::now() + LONG;
    while members(group).len() < 2 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    let end = process.end();
    assert!(end.status.is_some_and(|status| !status.success()));
    assert_eq!(members(group), [0_u32; 0]);
}

#[test]
fn children_that_a_program_leaves_behind_are_ended_and_counted() {
    let mut process = start("sleep 1000 >/dev/null 2>&1 & echo done", &Resources::default());
    assert!(wait(&mut process, LONG));
    let group = process.child.id();
    let end = process.end();
    assert_eq!((end.left_behind, end.last_lines), (1, vec!["done".to_owned()]));
    assert_eq!(members(group), [0_u32; 0]);
}

#[test]
fn a_program_that_ignores_a_polite_signal_is_killed() {
    let mut process = start("trap '' TERM; echo ready; while :; do sleep 0.05; done", &Resources::default());
    let patience = Instant::now() + LONG;
    while process.output.last_lines().is_empty() && Instant::now() < patience {
        process.wait(Duration::from_millis(10));
    }
    let (asked, group) = (Instant::now(), process.child.id());
    let end = process.end();
    assert!(asked.elapsed() >= GRACE);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&end.status.unwrap()), Some(9));
    assert_eq!(members(group), [0_u32; 0]);
}

#[test]
fn memory_and_cpu_time_of_all_processes_are_counted() {
    let line = "python3 -c 'import time; x = bytearray(100 << 20); time.sleep(2)' & \
        python3 -c 'x = 0\nwhile x < 5_000_000: x += 1' ; wait";
    let mut process = start(line, &Resources::default());
    assert!(wait(&mut process, LONG));
    process.look();
    let (peak, secs) = (process.tree().peak_memory_mib(), process.tree().processor_secs());
    assert!(peak.is_some_and(|mib| mib >= 100), "{peak:?}");
    assert!(secs > 0.05, "the shell has read the times of both: {secs}");
    let end = process.end();
    assert!(end.status.is_some_and(|status| status.success()), "{end:?}");
}
