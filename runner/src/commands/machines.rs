//! `foreglow machines`: lists machine types with prices.

use std::path::PathBuf;

use anyhow::Context as _;
use foreglow_console::answer::SCHEMA;
use foreglow_console::catalog::{self, CatalogArgs, updated};
use foreglow_console::grammar::{count, mib, money};
use foreglow_console::output::{self, Format};
use foreglow_console::table::{aligned, csv, narrowing_table, number, wrapped};
use foreglow_exit::unusable;
use foreglow_shared::{BillingTerms, Catalog, MachineType, OWN, format_count, format_price};
use serde_json::json;

/// List machine types that can be rented, with their prices per hour
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    catalog: CatalogArgs,

    /// Only machine types with GPUs whose name has this in it, such as T4; `any` for all GPUs
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,

    /// Only machine types of this provider, such as aws
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Only machine types with at least this many processors
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    processors: Option<u32>,

    /// Only machine types with at least this much memory: 8192 (MiB), 8g
    #[arg(long, value_name = "SIZE", value_parser = mib, allow_negative_numbers = true)]
    memory: Option<u32>,

    /// Only machine types that cost at most this much per hour
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    max_hourly_cost: Option<f64>,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Use these machine types and prices from now on, in place of the built-in table
    Update(UpdateArgs),
}

#[derive(Debug, clap::Args)]
struct UpdateArgs {
    /// A CSV of own hardware, a vms.csv of SkyPilot, or a folder of these, such as
    /// ~/.sky/catalogs
    #[arg(value_name = "FILE|FOLDER", required_unless_present = "built_in")]
    path: Option<PathBuf>,

    /// Region of the prices in a vms.csv [default: the region with the most machine types]
    #[arg(long, value_name = "NAME", requires = "path")]
    region: Option<String>,

    /// Use the built-in table again
    #[arg(long, conflicts_with = "path")]
    built_in: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(Command::Update(args)) = &args.command {
        return update(args);
    }
    let mut catalog = args.catalog.read()?.retain(|machine| args.keeps(machine));
    if catalog.machines.is_empty() {
        return Err(unusable("no machine type in the catalog matches your choice; ask for less"));
    }
    catalog.machines.sort_by(|a, b| a.hourly_price.total_cmp(&b.hourly_price).then_with(|| a.name.cmp(&b.name)));
    output::print(&match args.format {
        Format::Table => show(&catalog),
        Format::Json => {
            let Catalog { currency, machines, left_out, several_prices } = &catalog;
            let answer = json!({
                "schema": SCHEMA,
                "currency": currency,
                "left_out": left_out,
                "several_prices": several_prices,
                "machines": machines,
            });
            format!("{}\n", serde_json::to_string_pretty(&answer)?)
        }
        Format::Csv => write_csv(&catalog),
    })
}

/// Replaces the default catalog.
fn update(args: &UpdateArgs) -> anyhow::Result<()> {
    let Some(path) = &args.path else {
        if let Some(file) = updated() {
            std::fs::remove_file(&file).with_context(|| format!("{} cannot be removed", file.display()))?;
        }
        return output::print("The built-in machine types are used.\n");
    };
    let catalog = CatalogArgs::new(path.clone(), args.region.clone()).read()?;
    let file = catalog::update(&write_csv(&catalog))?;
    let newest = catalog.machines.iter().filter_map(|machine| machine.date).max();
    let dates = newest.map_or_else(|| "without dates".to_owned(), |date| format!("the newest of {date}"));
    output::print(&format!(
        "{} with prices, {dates}, are in {} and used without --catalog; `foreglow machines update --built-in` goes back \
         to the built-in ones.\n",
        format_count(catalog.machines.len(), "machine type"),
        file.display()
    ))
}

impl Args {
    fn keeps(&self, machine: &MachineType) -> bool {
        let has_gpu = |wanted: &String| {
            let gpus = machine.accelerators.as_ref();
            let has_name = |name: &str| name.to_ascii_lowercase().contains(&wanted.to_ascii_lowercase());
            gpus.is_some_and(|gpus| wanted == "any" || has_name(&gpus.name))
        };
        self.gpu.as_ref().is_none_or(has_gpu)
            && self.provider.as_ref().is_none_or(|provider| machine.provider.eq_ignore_ascii_case(provider))
            && self.processors.is_none_or(|least| machine.processors >= least)
            && self.memory.is_none_or(|least| machine.memory_mib >= least)
            && self.max_hourly_cost.is_none_or(|most| machine.hourly_price <= most)
    }
}

fn show(catalog: &Catalog) -> String {
    let columns = aligned([
        "<machine type",
        "<provider",
        "<region",
        "processors",
        "memory",
        "<GPUs",
        "per hour",
        "spot",
        "<date",
    ]);
    let money = |price: f64| format_price(price, &catalog.currency);
    let rows = catalog.machines.iter().map(|machine| {
        vec![
            machine.name.clone(),
            machine.provider.clone(),
            machine.region.clone(),
            machine.processors.to_string(),
            format!("{} GiB", gib(machine.memory_mib)),
            machine.accelerators.as_ref().map_or_else(String::new, |gpus| format!("{} × {}", gpus.count, gpus.name)),
            money(machine.hourly_price),
            machine.spot_price.map_or_else(|| "none".to_owned(), money),
            machine.date.map_or_else(|| "unknown".to_owned(), |date| date.to_string()),
        ]
    });
    let mut text = narrowing_table(&columns, &["date", "region", "spot", "provider"], &rows.collect::<Vec<_>>());
    if catalog.machines.iter().any(|machine| machine.provider != OWN) {
        text.push_str(
            "\nPrices are of whole machines, in the region shown. A spot machine is cheaper, and its provider may take it \
             back at any time.\n",
        );
    }
    if catalog.left_out > 0 {
        text.push_str(&format!(
            "Left out: {} of the catalog without a usable price or region, with a part or an unknown number of GPUs, or \
             with two descriptions of one machine type.\n",
            format_count(catalog.left_out, "line")
        ));
    }
    if catalog.several_prices > 0 {
        text.push_str(&format!(
            "The highest price in the region is shown of {} with several.\n",
            format_count(catalog.several_prices, "machine type")
        ));
    }
    wrapped(&text)
}

fn gib(mib: u32) -> String {
    let gib = format!("{:.1}", f64::from(mib) / 1024.0);
    gib.strip_suffix(".0").unwrap_or(&gib).to_owned()
}

/// Writes the format that `--catalog` reads.
fn write_csv(catalog: &Catalog) -> String {
    let header = "name,provider,region,processors,memory_gib,accelerator,accelerators,accelerator_memory_gib,\
        hourly_price,spot_price,currency,date,minimum_secs,increment_secs";
    let rows = catalog.machines.iter().map(|machine| {
        let gpus = machine.accelerators.as_ref();
        let in_gib = |mib: u32| (f64::from(mib) / 1024.0).to_string();
        let secs = |of: &dyn Fn(&BillingTerms) -> u32| {
            machine.billing.as_ref().map_or_else(String::new, |terms| of(terms).to_string())
        };
        vec![
            machine.name.clone(),
            machine.provider.clone(),
            machine.region.clone(),
            machine.processors.to_string(),
            in_gib(machine.memory_mib),
            gpus.map_or_else(String::new, |gpus| gpus.name.clone()),
            gpus.map_or_else(String::new, |gpus| gpus.count.to_string()),
            gpus.and_then(|gpus| gpus.memory_mib).map_or_else(String::new, in_gib),
            machine.hourly_price.to_string(),
            number(machine.spot_price),
            catalog.currency.clone(),
            machine.date.map_or_else(String::new, |date| date.to_string()),
            secs(&|terms| terms.minimum_secs),
            secs(&|terms| terms.increment_secs),
        ]
    });
    csv(header, rows)
}
