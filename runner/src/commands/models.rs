//! `foreglow models`: lists the CNNs with their sizes.

use foreglow_architectures::{ALL, Architecture, Input, USUAL_VECTOR_DIMS};
use foreglow_cnn::{Build as _, Network};
use foreglow_exit::unusable;
use foreglow_shared::format_integer;
use serde::Serialize;

use super::models_layers as layers;
use crate::grammar;
use crate::output::{self, Format};
use crate::table::{Align, csv, table};

/// List the CNNs and text classifiers with their inputs, parameters and multiply-accumulates
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List the layers of one network, a CNN or an ONNX file, with what each costs per image
    #[arg(long, value_name = "NAME|FILE")]
    layers: Option<String>,

    /// Side of the square input for --layers, pixels [default: that of the network]
    #[arg(long, value_name = "PX", requires = "layers", value_parser = grammar::count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// An entry of the list. The fields for texts are `null` for a CNN that takes images, and vice
/// versa.
#[derive(Serialize)]
struct Model {
    name: &'static str,
    source: &'static str,
    channels: Option<usize>,
    image_px: Option<u32>,
    smallest_image_px: Option<u32>,
    largest_image_px: Option<u32>,
    classes: usize,
    parameters: usize,
    /// For one image of `image_px`, or one text of `words`.
    multiply_accumulates: u64,
    words: Option<u32>,
    fewest_words: Option<u32>,
    most_words: Option<u32>,
    /// Dimensions of the word vectors, which determine the parameters and the multiply-accumulates.
    vector_dims: Option<usize>,
}

impl Model {
    fn of(architecture: &Architecture) -> Self {
        let size = architecture.size(architecture.input.usual());
        let model = Self {
            name: architecture.name,
            source: architecture.source,
            channels: None,
            image_px: None,
            smallest_image_px: None,
            largest_image_px: None,
            classes: architecture.classes,
            parameters: size.parameters,
            multiply_accumulates: size.multiply_accumulates,
            words: None,
            fewest_words: None,
            most_words: None,
            vector_dims: None,
        };
        match &architecture.input {
            Input::Images { colour, default_px, px } => Self {
                channels: Some(colour.channels()),
                image_px: Some(*default_px),
                smallest_image_px: Some(*px.start()),
                largest_image_px: Some(*px.end()),
                ..model
            },
            Input::Texts { default_words, words } => Self {
                words: Some(*default_words),
                fewest_words: Some(*words.start()),
                most_words: Some(*words.end()),
                vector_dims: Some(USUAL_VECTOR_DIMS),
                ..model
            },
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(name) = &args.layers {
        let network = Network::named(name)?;
        let shape = shape(&network, args.image_px)?;
        let layers = layers::Layers { name: network.name(), shape, costs: network.costs(shape)? };
        return output::print(&layers.render(args.format)?);
    }
    let models: Vec<Model> = ALL.iter().map(|architecture| Model::of(architecture)).collect();
    output::print(&match args.format {
        Format::Table => show(&models),
        Format::Json => {
            format!("{}\n", serde_json::to_string_pretty(&serde_json::json!({ "schema": 1, "models": models }))?)
        }
        Format::Csv => write_csv(&models),
    })
}

/// Returns the shape of the inputs for `--layers`.
fn shape(network: &Network, image_px: Option<u32>) -> anyhow::Result<[usize; 3]> {
    let (name, input) = (network.name(), network.input()?);
    let Input::Images { colour, default_px, px } = &input else {
        return match image_px {
            None => Ok(input.usual()),
            Some(_) => Err(unusable(format!("--image-px is for images, and {name} takes texts; leave it out"))),
        };
    };
    let side = image_px.unwrap_or(*default_px);
    if side == 0 {
        return Err(unusable(format!("{name} leaves the size of its images open; give --image-px")));
    }
    if !px.contains(&side) {
        let (smallest, largest) = (px.start(), px.end());
        return Err(unusable(format!("{name} takes images of {smallest} to {largest} px, and --image-px is {side}")));
    }
    Ok(colour.shape(side))
}

fn show(models: &[Model]) -> String {
    let columns = [
        ("name", Align::Left),
        ("input", Align::Left),
        ("sizes", Align::Right),
        ("classes", Align::Right),
        ("parameters", Align::Right),
        ("multiply-accumulates per input", Align::Right),
        ("source", Align::Left),
    ];
    let rows = ALL.iter().zip(models).map(|(architecture, model)| {
        let (input, range, unit) = match &architecture.input {
            Input::Images { colour, default_px, px } => {
                (format!("{default_px}×{default_px}×{}", colour.channels()), px, "px")
            }
            Input::Texts { default_words, words } => (format!("{default_words} words"), words, "words"),
        };
        let (smallest, largest) = (range.start(), range.end());
        let sizes = if smallest == largest { smallest.to_string() } else { format!("{smallest}–{largest}") };
        vec![
            model.name.to_owned(),
            input,
            format!("{sizes} {unit}"),
            model.classes.to_string(),
            format_integer(model.parameters as u64),
            format_integer(model.multiply_accumulates),
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
        "words",
        "fewest_words",
        "most_words",
        "vector_dims",
    ];
    let rows = models.iter().map(|model| {
        let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        let count = |count: Option<usize>| count.map_or_else(String::new, |count| count.to_string());
        vec![
            model.name.to_owned(),
            model.source.to_owned(),
            count(model.channels),
            number(model.image_px),
            number(model.smallest_image_px),
            number(model.largest_image_px),
            model.classes.to_string(),
            model.parameters.to_string(),
            model.multiply_accumulates.to_string(),
            number(model.words),
            number(model.fewest_words),
            number(model.most_words),
            count(model.vector_dims),
        ]
    });
    csv(&columns, rows)
}
