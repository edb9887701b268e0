//! `foreglow plan` from event logs, by the real binary.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use foreglow::Foreglow;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/spark-log/tests/event-logs/3.5-measured.zstd");

#[test]
fn plan_takes_event_logs_in_the_place_of_samples() {
    let home = Foreglow::new();
    let answer = home.run(&["plan", LOG, "--deadline", "1h"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(
        answer.stdout.contains("RECOMMENDED") && answer.stdout.contains("What the logs used:"),
        "{}",
        answer.stdout
    );
    let late = home.run(&["plan", LOG, "--deadline", "1ms"]);
    assert_eq!(late.code, 1, "{}", late.stderr);
    let public = home.run(&["plan", LOG, "--public"]);
    assert_eq!((public.code, public.stdout.as_str()), (2, ""), "{}", public.stderr);
}
