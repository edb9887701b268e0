//! `foreglow devices`: lists the devices of this machine.

use foreglow_console::output::{self, Format};
use foreglow_console::progress::note;
use foreglow_console::table::{aligned, csv_of, table};
use foreglow_machine::device::{self, Adapter, DeviceChoice};

/// List the devices that can run a CNN, with their limits and the default
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let adapters = device::adapters();
    let taken = device::pick(&DeviceChoice::Auto, &adapters)?.index();
    output::print(&match args.format {
        Format::Table => show(&adapters, taken),
        Format::Json => {
            let answer = serde_json::json!({ "schema": 1, "devices": adapters, "auto": taken });
            format!("{}\n", serde_json::to_string_pretty(&answer)?)
        }
        Format::Csv => write_csv(&adapters),
    })?;
    if let Some(reason) = device::UNSUPPORTED {
        note(&format!("note: {reason}"));
    }
    Ok(())
}

fn show(adapters: &[Adapter], taken: usize) -> String {
    let columns = aligned(["", "<name", "<kind", "<backend", "memory", "largest buffer", "<number formats", "<taken"]);
    let mib = |mib: Option<u64>| mib.map_or_else(|| "unknown".to_owned(), |mib| format!("{mib} MiB"));
    let rows = adapters.iter().map(|adapter| {
        vec![
            adapter.index.to_string(),
            adapter.name.clone(),
            adapter.kind.replace('_', " "),
            adapter.backend.clone(),
            mib(adapter.memory_mib),
            adapter.limits.as_ref().map_or_else(String::new, |limits| mib(Some(limits.buffer_mib))),
            number_formats(adapter),
            match adapter.place {
                _ if adapter.index == taken => "by default".to_owned(),
                device::DeviceId::Software => "only on request".to_owned(),
                _ if adapter.shortcoming().is_some() => "limits too small".to_owned(),
                _ => String::new(),
            },
        ]
    });
    table(&columns, rows)
}

fn number_formats(adapter: &Adapter) -> String {
    adapter.number_formats.iter().map(|format| format.as_str()).collect::<Vec<_>>().join(" ")
}

fn write_csv(adapters: &[Adapter]) -> String {
    let columns = "index,name,kind,backend,memory_mib,driver,buffer_mib=limits.buffer_mib,\
        binding_mib=limits.binding_mib,number_formats";
    csv_of(columns, adapters)
}
