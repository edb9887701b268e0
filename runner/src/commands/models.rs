//! `foreglow models`: the CNNs and how big they are.

use burn::tensor::Device;
use serde::Serialize;

use crate::cnn::ALL;
use crate::output::{self, Format};
use crate::table::{Align, csv, table};

/// List the CNNs with their input, parameters and multiply-accumulates
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How the list is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct Model {
    name: &'static str,
    source: &'static str,
    channels: usize,
    image_px: u32,
    smallest_image_px: u32,
    largest_image_px: u32,
    classes: usize,
    parameters: usize,
    /// Of one image of `image_px`.
    multiply_accumulates: u64,
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let device = Device::flex();
    let models: Vec<Model> = ALL
        .iter()
        .map(|architecture| {
            let input = &architecture.input;
            let size = architecture.size(input.default_px, &device);
            Model {
                name: architecture.name,
                source: architecture.source,
                channels: input.colour.channels(),
                image_px: input.default_px,
                smallest_image_px: *input.px.start(),
                largest_image_px: *input.px.end(),
                classes: architecture.classes,
                parameters: size.parameters,
                multiply_accumulates: size.multiply_accumulates,
            }
        })
        .collect();
    output::print(&match args.format {
        Format::Table => show(&models),
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&serde_json::json!({ "models": models }))?),
        Format::Csv => write_csv(&models),
    })
}

fn show(models: &[Model]) -> String {
    let columns = [
        ("name", Align::Left),
        ("input", Align::Left),
        ("sizes px", Align::Right),
        ("classes", Align::Right),
        ("parameters", Align::Right),
        ("multiply-accumulates an image", Align::Right),
        ("source", Align::Left),
    ];
    let rows = models.iter().map(|model| {
        let (smallest, largest) = (model.smallest_image_px, model.largest_image_px);
        vec![
            model.name.to_owned(),
            format!("{px}×{px}×{channels}", px = model.image_px, channels = model.channels),
            if smallest == largest { smallest.to_string() } else { format!("{smallest}–{largest}") },
            model.classes.to_string(),
            thousands(model.parameters as u64),
            thousands(model.multiply_accumulates),
            model.source.to_owned(),
        ]
    });
    table(&columns, rows)
}

fn write_csv(models: &[Model]) -> String {
    let columns = [
        "name",
        "source",
        "channels",
        "image_px",
        "smallest_image_px",
        "largest_image_px",
        "classes",
        "parameters",
        "multiply_accumulates",
    ];
    let rows = models.iter().map(|model| {
        vec![
            model.name.to_owned(),
            model.source.to_owned(),
            model.channels.to_string(),
            model.image_px.to_string(),
            model.smallest_image_px.to_string(),
            model.largest_image_px.to_string(),
            model.classes.to_string(),
            model.parameters.to_string(),
            model.multiply_accumulates.to_string(),
        ]
    });
    csv(&columns, rows)
}

/// `11,689,512`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!(thousands(11_689_512), "11,689,512");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1000), "1,000");
    }
}
