//! Benchmark of Burn's CPU devices, flex and ndarray, on the CNNs with one thread. The devices
//! alternate within each round, so that a temporary load slows both; the medians are compared.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release --locked --manifest-path bench/cpu-devices/Cargo.toml`
//!
//! It is a separate workspace, because a second device would compile the runner's dependencies
//! twice. Burn's third CPU device, `cpu`, is excluded because it downloads LLVM at build time.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Context as _;
use burn::tensor::{Device, Tensor, TensorData};
use foreglow_architectures::{Architecture, Input, Shape};
use foreglow_cnn::Build as _;

const ROUNDS: usize = 9;
const ROUND_SECS: f64 = 0.6;
/// CNN, image side in pixels, mini-batch size.
const WORK: [(&str, u32, usize); 3] = [("lenet5", 32, 8), ("resnet18", 64, 4), ("resnet18", 224, 1)];

#[allow(deprecated, reason = "Burn deprecates ndarray in favour of flex, which this benchmark compares with it")]
fn main() -> anyhow::Result<()> {
    let devices = [("flex", Device::flex()), ("ndarray", Device::ndarray())];
    let mut entries = Vec::new();
    for (model, px, batch) in WORK {
        let architecture = Architecture::named(model).context("the benchmark names a CNN that is not there")?;
        let Input::Images { colour, .. } = architecture.input else {
            anyhow::bail!("{model} takes no images");
        };
        let shape = colour.shape(px);
        let runners: Vec<_> = devices.iter().map(|(_, device)| runner(architecture, shape, batch, device)).collect();
        let mut rates = vec![Vec::new(); devices.len()];
        for _round in 0..=ROUNDS {
            for (rates, run) in rates.iter_mut().zip(&runners) {
                rates.push(images_per_sec(run.as_ref(), batch));
            }
        }
        // The first round is the warm-up.
        let medians: Vec<f64> = rates.iter().map(|rates| median(&rates[1..])).collect();
        for ((peer_name, _), peer) in devices.iter().zip(&medians).skip(1) {
            let (ours, ratio) = (medians[0], medians[0] / peer);
            eprintln!(
                "{model} {px} px batch {batch}: flex {ours:.1} images/s, {peer_name} {peer:.1}, ratio {ratio:.2}"
            );
            entries.push(serde_json::json!({
                "name": format!("{model} {px} px inference, batch {batch}, 1 thread"),
                "unit": "images/s",
                "ours": ours,
                "peer_name": format!("burn {peer_name}"),
                "peer": peer,
                "ratio": ratio,
            }));
        }
    }
    let text = serde_json::to_string_pretty(&entries)?;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("cpu_devices.json"), &text)?;
    eprintln!("{text}");
    Ok(())
}

fn runner(architecture: &Architecture, shape: Shape, batch: usize, device: &Device) -> Box<dyn Fn()> {
    let [channels, height, width] = shape;
    let cnn = architecture.build(0, shape, device);
    let device = device.clone();
    Box::new(move || {
        let numbers = vec![0.5_f32; batch * channels * height * width];
        let images = Tensor::<4>::from_data(TensorData::new(numbers, [batch, channels, height, width]), &device);
        black_box(cnn.forward(images).into_data());
    })
}

fn images_per_sec(run: &dyn Fn(), batch: usize) -> f64 {
    let (start, mut images) = (Instant::now(), 0);
    while images == 0 || start.elapsed().as_secs_f64() < ROUND_SECS {
        run();
        images += batch;
    }
    images as f64 / start.elapsed().as_secs_f64()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
