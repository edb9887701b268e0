//! Names of a CNN's tensors in files: torchvision's for the CNNs that it has, otherwise the path in
//! the module with PyTorch's names for the parameters of batch normalisation.

use super::resnet::{RESNET18_BLOCKS, RESNET50_BLOCKS};
use super::vgg::STAGES;

/// Returns the name of the tensor at a path in the CNN with this name.
pub fn of(cnn: &str, path: &str) -> String {
    let (module, parameter) = path.rsplit_once('.').unwrap_or(("", path));
    let parameter = match parameter {
        "gamma" => "weight",
        "beta" => "bias",
        other => other,
    };
    let parts: Vec<&str> = module.split('.').collect();
    let module = match cnn {
        "resnet18" => resnet(&parts, RESNET18_BLOCKS),
        "resnet50" => resnet(&parts, RESNET50_BLOCKS),
        "vgg16" => vgg(&parts),
        "mobilenet_v2" => mobilenet(&parts),
        _ => None,
    };
    format!("{}.{parameter}", module.unwrap_or_else(|| parts.join(".")))
}

/// `stem.conv` is `conv1`, `blocks.2.convs.0.norm` of ResNet-18 is `layer2.0.bn1`.
fn resnet(parts: &[&str], blocks: [usize; 4]) -> Option<String> {
    Some(match parts {
        ["stem", "conv"] => "conv1".to_owned(),
        ["stem", "norm"] => "bn1".to_owned(),
        ["blocks", block, rest @ ..] => {
            let (mut stage, mut block) = (0, block.parse::<usize>().ok()?);
            while block >= *blocks.get(stage)? {
                block -= blocks[stage];
                stage += 1;
            }
            let layer = match rest {
                ["convs", conv, kind] => {
                    let kind = if *kind == "conv" { "conv" } else { "bn" };
                    format!("{kind}{}", conv.parse::<usize>().ok()? + 1)
                }
                ["projection", kind] => format!("downsample.{}", usize::from(*kind == "norm")),
                _ => return None,
            };
            format!("layer{}.{block}.{layer}", stage + 1)
        }
        _ => return None,
    })
}

/// `features` counts convolutions, activations and pools; `classifier` counts linear layers,
/// activations and dropouts.
fn vgg(parts: &[&str]) -> Option<String> {
    Some(match parts {
        ["stages", stage, conv] => {
            let (stage, conv) = (stage.parse::<usize>().ok()?, conv.parse::<usize>().ok()?);
            let before: usize = STAGES.iter().take(stage).map(|(_, convs)| 2 * convs + 1).sum();
            format!("features.{}", before + 2 * conv)
        }
        ["fc1"] => "classifier.0".to_owned(),
        ["fc2"] => "classifier.3".to_owned(),
        ["fc3"] => "classifier.6".to_owned(),
        _ => return None,
    })
}

/// The first block has no expansion, so its layers have other numbers.
fn mobilenet(parts: &[&str]) -> Option<String> {
    let norm = |kind: &str| usize::from(kind == "norm");
    Some(match parts {
        ["stem", kind] => format!("features.0.{}", norm(kind)),
        ["last", kind] => format!("features.18.{}", norm(kind)),
        ["fc"] => "classifier.1".to_owned(),
        ["blocks", block, layer, kind] => {
            let block = block.parse::<usize>().ok()?;
            let first = usize::from(block > 0);
            let layer = match *layer {
                "expand" => format!("0.{}", norm(kind)),
                "depthwise" => format!("{first}.{}", norm(kind)),
                "project" => (first + 1 + norm(kind)).to_string(),
                _ => return None,
            };
            format!("features.{}.conv.{layer}", block + 1)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use foreglow_architectures::{ALL, Architecture};

    use super::*;
    use crate::Build as _;

    fn names(cnn: &str) -> Vec<String> {
        let architecture = Architecture::named(cnn).unwrap();
        let built = architecture.build_empty(architecture.input.usual(), &Device::flex());
        built.layout().iter().map(|parameter| of(cnn, &parameter.path)).collect()
    }

    /// Names from the keys of torchvision's `state_dict()`, which has `num_batches_tracked` of each
    /// batch normalisation in addition.
    #[test]
    fn names_are_those_of_torchvision() {
        for (cnn, tensors, some) in [
            (
                "resnet18",
                102,
                &[
                    "conv1.weight",
                    "bn1.running_var",
                    "layer1.0.conv1.weight",
                    "layer2.0.downsample.0.weight",
                    "fc.bias",
                ][..],
            ),
            ("resnet18", 102, &["layer4.1.bn2.weight", "layer2.0.downsample.1.running_mean", "layer3.1.conv2.weight"]),
            ("resnet50", 267, &["layer1.0.conv3.weight", "layer1.0.downsample.1.bias", "layer3.5.bn3.running_mean"]),
            ("vgg16", 32, &["features.0.weight", "features.2.bias", "features.5.weight", "features.28.bias"]),
            ("vgg16", 32, &["features.10.weight", "features.24.weight", "classifier.0.weight", "classifier.6.bias"]),
            ("mobilenet_v2", 262, &["features.0.0.weight", "features.0.1.bias", "features.1.conv.0.0.weight"]),
            ("mobilenet_v2", 262, &["features.1.conv.1.weight", "features.1.conv.2.running_var"]),
            ("mobilenet_v2", 262, &["features.2.conv.1.0.weight", "features.17.conv.3.weight", "classifier.1.weight"]),
            ("mobilenet_v2", 262, &["features.2.conv.2.weight", "features.18.0.weight", "features.18.1.running_mean"]),
        ] {
            let names = names(cnn);
            assert_eq!(names.len(), tensors, "{cnn}");
            for name in some {
                assert!(names.iter().any(|own| own == name), "{cnn}: {name} is not among {names:?}");
            }
        }
    }

    #[test]
    fn no_two_tensors_of_a_cnn_have_the_same_name() {
        for architecture in ALL {
            let mut names = names(architecture.name);
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{}", architecture.name);
        }
    }
}
