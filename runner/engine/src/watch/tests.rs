use super::*;

#[test]
fn memory_and_cpu_time_of_a_process_are_counted() {
    let own = std::process::id();
    let mut watch = Watch::new(vec![own, u32::MAX]);
    let before = processor_secs(own).unwrap();
    // Even on a busy machine the loop gets some CPU time eventually.
    let patience = Instant::now() + Duration::from_secs(60);
    while processor_secs(own).unwrap() < before + 0.03 {
        assert!(Instant::now() < patience);
        std::hint::black_box((0..10_000_u64).sum::<u64>());
    }
    watch.look();
    let usage = watch.usages()[0];
    assert!(usage.peak_memory_mib.unwrap() > 0 && usage.processor_secs >= before + 0.03, "{usage:?}");
    assert_eq!(watch.usages()[1], Usage::default(), "there is no such process");
    assert_eq!(watch.processor_secs(), usage.processor_secs);
    assert!(watch.processors_in_use() > 0.0);
    assert!(watch.memory_mib() > Some(0), "of the process that is there");
    watch.note(1, Some(7));
    watch.note(1, Some(3));
    watch.look();
    assert_eq!(watch.usages()[1].peak_memory_mib, Some(7));
}
