//! CPU clock rate: frequency governors and thermal throttling.

/// Drivers whose `powersave` governor follows the load, like `schedutil` (Linux,
/// Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst).
const ADAPTIVE_DRIVERS: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];

/// Returns the distinct governors of these processors; empty if the system does not report them, as
/// in most virtual machines.
pub fn governors(processors: &[u32]) -> Vec<String> {
    let mut governors: Vec<String> = processors.iter().filter_map(|number| read(*number, "scaling_governor")).collect();
    governors.sort_unstable();
    governors.dedup();
    governors
}

/// Returns a governor that keeps one of these processors slow under load.
pub fn slow_governor(processors: &[u32]) -> Option<String> {
    processors.iter().find_map(|number| {
        let governor = read(*number, "scaling_governor")?;
        let driver = read(*number, "scaling_driver").unwrap_or_default();
        let preference = read(*number, "energy_performance_preference").unwrap_or_default();
        is_slow(&governor, &driver, &preference).then_some(governor)
    })
}

fn is_slow(governor: &str, driver: &str, preference: &str) -> bool {
    governor == "powersave" && (preference == "power" || !ADAPTIVE_DRIVERS.contains(&driver))
}

/// Returns how often these processors were throttled by heat since boot; `None` if unknown.
pub fn throttles(processors: &[u32]) -> Option<u64> {
    let count = |number: &u32| {
        let path = format!("/sys/devices/system/cpu/cpu{number}/thermal_throttle/core_throttle_count");
        std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
    };
    processors.iter().filter_map(count).reduce(|a, b| a + b)
}

fn read(processor: u32, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{processor}/cpufreq/{name}")).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powersave_is_slow_unless_its_driver_is_adaptive() {
        assert!(is_slow("powersave", "acpi-cpufreq", ""));
        assert!(is_slow("powersave", "intel_cpufreq", "balance_performance"));
        assert!(is_slow("powersave", "intel_pstate", "power"));
        assert!(!is_slow("powersave", "intel_pstate", "balance_performance"));
        assert!(!is_slow("performance", "acpi-cpufreq", "") && !is_slow("schedutil", "acpi-cpufreq", ""));
    }

    #[test]
    fn missing_processors_have_no_clock_rate_state() {
        assert_eq!((governors(&[u32::MAX]), throttles(&[u32::MAX])), (vec![], None));
        assert_eq!(slow_governor(&[u32::MAX]), None);
    }
}
