//! Compares ONNX exports with PyTorch: reads the files that `runner/parity/export.py` wrote, and
//! fails if scores differ by more than the limit. With a second argument, the number of passes, it
//! also measures the exports of built-in CNNs against these.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use burn::tensor::{Device, Tensor, TensorData};
use foreglow_architectures::Architecture;
use foreglow_cnn::{Cnn, Network};

const LIMIT: f32 = 1e-4;
const IMAGES: usize = 2;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context("the first argument is the folder of the exports")?);
    let passes: usize = arguments.next().map_or(Ok(0), |passes| passes.parse())?;
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "onnx") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    anyhow::ensure!(!names.is_empty(), "there are no exports in {}", folder.display());
    let mut table =
        String::from("| export | px | parameters | multiply-accumulates | scores |\n|---|---|---|---|---|\n");
    let mut apart = Vec::new();
    for name in &names {
        let compared = compare(&folder, name).with_context(|| name.clone());
        let Compared { network, cnn, shape, off } = match compared {
            Ok(compared) => compared,
            Err(error) => {
                eprintln!("{error:#}");
                apart.push(name.as_str());
                continue;
            }
        };
        let size = network.size(shape)?;
        table.push_str(&format!(
            "| {name} | {} | {} | {} | {off:.1e} |\n",
            shape[1], size.parameters, size.multiply_accumulates
        ));
        if off.is_nan() || off > LIMIT {
            apart.push(name.as_str());
        }
        if let Some(built_in) = Architecture::named(name).filter(|_| passes > 0) {
            let (px, device) = (shape[1], Device::flex());
            let built_in = Network::named(built_in.name)?.build(0, shape, &device)?;
            let [own, other] = alternate(&[built_in.as_ref(), cnn.as_ref()], px, passes, &device);
            eprintln!(
                "{name}: built in {:.1} ms, from the file {:.1} ms a batch of 8, {:+.1} %",
                own * 1e3,
                other * 1e3,
                100.0 * (other / own - 1.0)
            );
        }
    }
    #[expect(clippy::print_stdout, reason = "the table is the result of the command")]
    {
        println!("{table}");
    }
    anyhow::ensure!(apart.is_empty(), "not within {LIMIT:.0e}: {}", apart.join(", "));
    Ok(())
}

/// A network with the difference between its scores and PyTorch's.
struct Compared {
    network: Network,
    cnn: Box<dyn Cnn>,
    shape: [usize; 3],
    /// Largest difference divided by the largest score.
    off: f32,
}

fn compare(folder: &Path, name: &str) -> anyhow::Result<Compared> {
    let answer: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join(format!("{name}.json")))?).context("the answer is JSON")?;
    let px = answer["px"].as_u64().context("the answer has a size")? as usize;
    let network = Network::open(&folder.join(format!("{name}.onnx")))?;
    let (shape, device) = ([3, px, px], Device::flex());
    let cnn = network.build(0, shape, &device)?;
    let ours = cnn.forward(images(IMAGES, px, &device)).into_data().iter::<f32>().collect::<Vec<_>>();
    let theirs: Vec<f32> = answer["scores"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|score| score.as_f64())
        .map(|score| score as f32)
        .collect();
    anyhow::ensure!(ours.len() == theirs.len(), "it gives {} scores and PyTorch {}", ours.len(), theirs.len());
    let largest = theirs.iter().fold(0.0_f32, |max, score| max.max(score.abs()));
    let off = ours.iter().zip(&theirs).fold(0.0_f32, |max, (a, b)| max.max((a - b).abs())) / largest;
    Ok(Compared { network, cnn, shape, off })
}

fn images(count: usize, px: usize, device: &Device) -> Tensor<4> {
    let values: Vec<f32> = (0..count * 3 * px * px).map(|i| ((i * 7919) % 1013) as f32 / 506.5 - 1.0).collect();
    Tensor::from_data(TensorData::new(values, [count, 3, px, px]), device)
}

/// Returns the fastest pass of each network, in seconds; their passes alternate.
fn alternate(cnns: &[&dyn Cnn; 2], px: usize, passes: usize, device: &Device) -> [f64; 2] {
    let batch = images(8, px, device);
    let mut fastest = [f64::INFINITY; 2];
    for _ in 0..=passes {
        for (cnn, fastest) in cnns.iter().zip(&mut fastest) {
            let start = Instant::now();
            let _ = cnn.forward(batch.clone()).into_data();
            *fastest = fastest.min(start.elapsed().as_secs_f64());
        }
    }
    fastest
}
