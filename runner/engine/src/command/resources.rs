//! Resources of a program: its processors, its GPUs, and the values of its placeholders as
//! environment variables.

use foreglow_shared::{Configuration, Placeholder, ProgramRun};

use super::process::Resources;
use crate::processors;

/// Environment variables with the GPUs that a process may see, of NVIDIA, AMD and Intel.
const VISIBLE: [&str; 3] = ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"];
/// A number that no GPU has.
const NO_GPU: &str = "-1";

/// Returns the resources of a run. `has_limited_memory` is whether the user limits the memory.
pub fn of(run: &ProgramRun<'_>, is_on_this_machine: bool, has_limited_memory: bool) -> Resources {
    let configuration = run.configuration;
    let value = |placeholder: Placeholder| Some((placeholder.variable(), run.value(placeholder)?));
    let mut variables: Vec<_> = Placeholder::ALL.into_iter().filter_map(value).collect();
    // A program that prints its progress into a pipe would otherwise keep it in a buffer.
    variables.push(("PYTHONUNBUFFERED".to_owned(), "1".to_owned()));
    if !is_on_this_machine {
        return Resources { variables, ..Resources::default() };
    }
    variables.extend(gpus(configuration, &|name| std::env::var(name).ok()));
    let split = configuration.split();
    let memory_mib =
        has_limited_memory.then(|| configuration.memory_per_executor_mib.saturating_mul(configuration.executors));
    Resources {
        processors: (0..split.executors).flat_map(|executor| processors::of_executor(executor, split)).collect(),
        memory_mib,
        variables,
    }
}

/// Returns the variables that show a program as many GPUs as its configuration has: the first ones
/// of those that this process may see.
fn gpus(configuration: &Configuration, own: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let Some(count) = configuration.accelerators_per_machine() else {
        return VISIBLE[..2].iter().map(|name| ((*name).to_owned(), NO_GPU.to_owned())).collect();
    };
    let visible = |name: &&str| {
        let given = own(name).filter(|given| !given.trim().is_empty());
        let numbers: Vec<String> = match &given {
            Some(given) => given.split(',').take(count as usize).map(str::to_owned).collect(),
            None => (0..count).map(|number| number.to_string()).collect(),
        };
        ((*name).to_owned(), numbers.join(","))
    };
    let mut variables: Vec<_> = VISIBLE.iter().map(visible).collect();
    if own(VISIBLE[0]).is_none() {
        // Otherwise CUDA numbers the fastest GPU first, and the driver by the bus.
        variables.push(("CUDA_DEVICE_ORDER".to_owned(), "PCI_BUS_ID".to_owned()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(json: &str) -> Configuration {
        let common = r#""cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":1"#;
        serde_json::from_str(&format!("{{{common},{json}}}")).unwrap()
    }

    #[test]
    fn a_program_sees_as_many_gpus_as_its_configuration_has() {
        let four = configuration(r#""executors":2,"accelerators_per_executor":2,"accelerator":"A100""#);
        let of = |configuration: &Configuration, own: Option<&str>| {
            gpus(configuration, &|name| own.filter(|_| name == VISIBLE[0]).map(str::to_owned))
        };
        let shown: Vec<String> = of(&four, None).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            shown,
            [
                "CUDA_VISIBLE_DEVICES=0,1,2,3",
                "HIP_VISIBLE_DEVICES=0,1,2,3",
                "ZE_AFFINITY_MASK=0,1,2,3",
                "CUDA_DEVICE_ORDER=PCI_BUS_ID"
            ]
        );
        let within = of(&four, Some("GPU-a,GPU-b,GPU-c,GPU-d,GPU-e"));
        assert_eq!((within[0].1.as_str(), within.len()), ("GPU-a,GPU-b,GPU-c,GPU-d", 3));
        let none = configuration(r#""executors":2,"accelerator":null"#);
        assert_eq!(of(&none, None)[0], (VISIBLE[0].to_owned(), "-1".to_owned()));
    }
}
