//! Bills of whole machines, against bills made by hand.

use foreglow_model::{ExecutorSize, PackingError, pack, pack_split};
use foreglow_shared::{Catalog, CoreSplit, MachineType, Rate};

/// One job on one machine type: executors, cores, memory in MiB, on GPUs or not; seconds of run and
/// start-up; spot or not.
#[derive(Clone, Copy)]
struct Case {
    machine: &'static str,
    executors: (u32, u32, u32, bool),
    secs: (f64, f64),
    spot: bool,
    /// By hand: machines, charged seconds of each, and the charge in US dollars.
    machines: u32,
    billed_secs: f64,
    dollars: f64,
}

const fn case(
    machine: &'static str,
    executors: (u32, u32, u32, bool),
    secs: (f64, f64),
    (machines, billed_secs, dollars): (u32, f64, f64),
) -> Case {
    Case { machine, executors, secs, spot: false, machines, billed_secs, dollars }
}

const fn spot(case: Case) -> Case {
    Case { spot: true, ..case }
}

/// Prices per hour are in `machines.csv`, such as c5.large 0.085, c5.xlarge 0.17 (spot 0.0704),
/// c5.4xlarge 0.68, m5.large 0.096, m5.xlarge 0.192 and gpu_1x_a10 1.29.
const CASES: [Case; 24] = [
    // One executor fills the machine by its processors: 4 of 4.
    case("c5.xlarge", (1, 4, 1024, false), (3600.0, 0.0), (1, 3600.0, 0.17)),
    // Two executors of two cores share a machine: 3 machines hold 6.
    case("c5.xlarge", (6, 2, 1024, false), (250.0, 0.0), (3, 250.0, 0.17 * 3.0 * 250.0 / 3600.0)),
    // A seventh executor takes a fourth machine, and the whole machine is billed.
    case("c5.xlarge", (7, 2, 1024, false), (250.0, 0.0), (4, 250.0, 0.17 * 4.0 * 250.0 / 3600.0)),
    // Three cores of four: one executor a machine, and the fourth processor is paid for.
    case("c5.xlarge", (2, 3, 1024, false), (1800.0, 0.0), (2, 1800.0, 0.17)),
    // Memory binds: 8 GiB less 512 MiB hold one executor of 4 GiB, not two.
    case("c5.xlarge", (2, 1, 4096, false), (3600.0, 0.0), (2, 3600.0, 0.34)),
    // 16 GiB less 512 MiB hold three executors of 4 GiB; four take two machines.
    case("m5.xlarge", (4, 1, 4096, false), (3600.0, 0.0), (2, 3600.0, 0.384)),
    // Exactly as much memory as is left: 7680 MiB.
    case("c5.xlarge", (1, 1, 7680, false), (3600.0, 0.0), (1, 3600.0, 0.17)),
    // A short job is billed for a minute.
    case("c5.xlarge", (1, 4, 1024, false), (3.0, 0.0), (1, 60.0, 0.17 / 60.0)),
    // On each of two machines.
    case("c5.large", (2, 2, 1024, false), (59.9, 0.0), (2, 60.0, 0.085 * 2.0 / 60.0)),
    // Fractions of a second are rounded up.
    case("c5.large", (1, 2, 1024, false), (60.2, 0.0), (1, 61.0, 0.085 * 61.0 / 3600.0)),
    // Start-up is billed: 50 s of it and 100 s of run.
    case("c5.large", (1, 2, 1024, false), (100.0, 50.0), (1, 150.0, 0.085 * 150.0 / 3600.0)),
    // Start-up counts towards the minimum.
    case("c5.large", (1, 2, 1024, false), (10.0, 45.0), (1, 60.0, 0.085 / 60.0)),
    // Half a second of run after half a second of start-up is one second beyond the minimum.
    case("c5.large", (1, 2, 1024, false), (60.5, 0.5), (1, 61.0, 0.085 * 61.0 / 3600.0)),
    // A large machine holds eight executors of two cores.
    case("c5.4xlarge", (8, 2, 2048, false), (7200.0, 0.0), (1, 7200.0, 1.36)),
    // Nine take two, for twice the price.
    case("c5.4xlarge", (9, 2, 2048, false), (7200.0, 0.0), (2, 7200.0, 2.72)),
    // Many small machines: 100 executors of one core on machines of two processors.
    case("c5.large", (100, 1, 512, false), (360.0, 0.0), (50, 360.0, 0.425)),
    // One GPU a machine: three executors take three machines, regardless of their cores.
    case("g4dn.xlarge", (3, 1, 2048, true), (3600.0, 0.0), (3, 3600.0, 1.578)),
    // Four GPUs a machine: three executors share one.
    case("p3.8xlarge", (3, 4, 8192, true), (3600.0, 0.0), (1, 3600.0, 12.24)),
    // Five executors take two machines of four GPUs.
    case("p3.8xlarge", (5, 4, 8192, true), (1800.0, 0.0), (2, 1800.0, 12.24)),
    // Without GPUs the processors bind: a GPU machine runs a CPU job too, at its whole price.
    case("g4dn.xlarge", (2, 2, 2048, false), (3600.0, 0.0), (1, 3600.0, 0.526)),
    // Lambda rounds up to minutes: 61 s are billed as two.
    case("gpu_1x_a10", (1, 8, 8192, true), (61.0, 0.0), (1, 120.0, 1.29 / 30.0)),
    // 3,600 s are exactly sixty minutes.
    case("gpu_1x_a10", (2, 8, 8192, true), (3600.0, 0.0), (2, 3600.0, 2.58)),
    // Spot: the same machines at the spot price.
    spot(case("c5.xlarge", (6, 2, 1024, false), (250.0, 0.0), (3, 250.0, 0.0704 * 3.0 * 250.0 / 3600.0))),
    // Spot has the same minimum.
    spot(case("c5.xlarge", (1, 2, 1024, false), (5.0, 0.0), (1, 60.0, 0.0704 / 60.0))),
];

fn machine(name: &str) -> MachineType {
    Catalog::built_in().find(name).unwrap().clone()
}

fn rate(case: &Case) -> Rate {
    let machine = machine(case.machine);
    let (executors, cores, memory_mib, holds_accelerator) = case.executors;
    let packing = pack(&machine, executors, ExecutorSize { cores, memory_mib, holds_accelerator }).unwrap();
    assert_eq!(packing.machines, case.machines, "{} for {executors} executors", case.machine);
    machine.rate(packing.machines, case.spot, case.secs.1).unwrap()
}

#[test]
fn every_bill_equals_the_one_made_by_hand() {
    for (number, case) in (1..).zip(&CASES) {
        let cost = rate(case).cost(case.secs.0);
        assert_eq!(rate(case).billed_secs(case.secs.0), case.billed_secs, "case {number}");
        assert!((cost - case.dollars).abs() < 1e-9, "case {number}: {cost} for {}", case.dollars);
    }
}

#[test]
fn a_budget_of_exactly_one_bill_pays_for_that_run_and_no_longer_one() {
    for (number, case) in (1..).zip(&CASES) {
        let rate = rate(case);
        let longest = rate.affordable_secs(case.dollars).unwrap();
        assert!(longest >= case.secs.0, "case {number}: {longest}");
        assert!(rate.cost(longest) <= case.dollars * (1.0 + 1e-9), "case {number}");
        assert!(rate.cost(longest + 1.5) > case.dollars, "case {number}");
        // Less than the minimum buys nothing.
        assert_eq!(rate.affordable_secs(rate.cost(1e-9) * 0.99), None, "case {number}");
    }
}

#[test]
fn a_machine_type_without_a_spot_price_has_no_spot_bill() {
    assert_eq!(machine("gpu_1x_a10").rate(1, true, 0.0), None);
}

#[test]
fn executors_that_do_not_fit_are_refused_in_one_sentence() {
    let refused = |name: &str, cores: u32, memory_mib: u32, holds_accelerator: bool| {
        let error = pack(&machine(name), 1, ExecutorSize { cores, memory_mib, holds_accelerator }).unwrap_err();
        let said = error.to_string();
        assert!(!said.contains(". ") && !said.ends_with('.'), "{said}");
        (error, said)
    };
    let (_, said) = refused("c5.large", 1, 4096, false);
    assert_eq!(
        said,
        "c5.large has 4096 MiB of memory, of which the system keeps 512, and an executor takes 4096 MiB; choose less \
         memory or a larger machine"
    );
    let (_, said) = refused("m5.large", 1, 1024, true);
    assert_eq!(said, "the job runs on GPUs, and m5.large has none; choose a machine type with GPUs");
    let (error, said) = refused("c5.large", 4, 1024, false);
    assert!(matches!(error, PackingError::TooFewProcessors { processors: 2, cores: 4, .. }), "{said}");
    let (error, _) = refused("c5.large", 0, 1024, false);
    assert!(matches!(error, PackingError::Nothing { .. }));
}

#[test]
fn more_executors_never_take_fewer_machines_and_no_machine_is_left_empty() {
    for machine in &Catalog::built_in().machines {
        let size = ExecutorSize { cores: 1, memory_mib: 1024, holds_accelerator: machine.accelerator_count() > 0 };
        let mut last = 0;
        for executors in 1..200 {
            let packing = pack(machine, executors, size).unwrap();
            assert!(packing.machines >= last, "{}", machine.name);
            let held = |machines: u32| machines * packing.executors_per_machine;
            assert!(held(packing.machines) >= executors && held(packing.machines - 1) < executors);
            last = packing.machines;
        }
    }
}

/// Returns the fewest machines that hold executors of these sizes, by trying every placement.
fn fewest_machines(processors: u32, most: u32, larger: u32, smaller: u32, cores: u32) -> u32 {
    if larger + smaller == 0 {
        return 0;
    }
    let fits = |a: u32, b: u32| a + b > 0 && a + b <= most && a * cores + b * (cores - 1) <= processors;
    let ways = (0..=larger).flat_map(|a| (0..=smaller).map(move |b| (a, b))).filter(|(a, b)| fits(*a, *b));
    // Only full machines matter.
    let is_full = |(a, b): &(u32, u32)| (*a == larger || !fits(a + 1, *b)) && (*b == smaller || !fits(*a, b + 1));
    ways.filter(is_full)
        .map(|(a, b)| 1 + fewest_machines(processors, most, larger - a, smaller - b, cores))
        .min()
        .unwrap()
}

#[test]
fn an_uneven_split_takes_as_few_machines_as_any_placement() {
    for name in ["c5.large", "c5.xlarge", "c5.2xlarge", "m5.xlarge"] {
        let machine = machine(name);
        for memory_mib in [512, 2048] {
            for executors in 1..=7 {
                for total in executors..=machine.processors * 3 {
                    let split = CoreSplit::of_total(executors, total).unwrap();
                    let cores = split.cores_per_executor;
                    let size = ExecutorSize { cores, memory_mib, holds_accelerator: false };
                    let Ok(packing) = pack_split(&machine, split, size) else { continue };
                    let most = pack(&machine, 1, ExecutorSize { cores: 1, ..size }).unwrap().executors_per_machine;
                    let larger = split.larger_executors();
                    let fewest = fewest_machines(machine.processors, most, larger, executors - larger, cores);
                    assert_eq!(packing.machines, fewest, "{split} on {name}");
                    assert!(packing.machines * packing.executors_per_machine >= executors);
                }
            }
        }
    }
}
