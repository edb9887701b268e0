//! The costs of a network's layers, as input of the predictor for CNNs that were never run.

use foreglow_cnn::{Costs, LayerCost};
use foreglow_model::{ConvolutionSizes, CostedLayer, GraphCosts, Layer, LayerKind};

/// Operators fused into the previous convolution.
const AFTER_CONVOLUTION: [&str; 4] = ["BatchNormalization", "Add", "Relu", "Clip"];
/// Operators without effect in inference.
const IDLE: [&str; 3] = ["Dropout", "Identity", "Constant"];

/// Sums the costs of a network's layers for one input of this shape.
pub fn graph_costs(costs: &Costs, shape: [usize; 3]) -> GraphCosts {
    let layers = costs.layers.iter().filter(|layer| !layer.is_view).map(|layer| CostedLayer {
        kind: kind(layer),
        multiply_accumulates: layer.multiply_accumulates as f64,
        numbers: layer.numbers() as f64,
        weights: layer.weights as f64,
    });
    GraphCosts::of(layers, shape.iter().product::<usize>() as f64)
}

/// Returns the executed layers of a network, without the operators fused into a convolution.
pub fn layers(costs: &Costs) -> Vec<Layer> {
    let mut layers = Vec::new();
    let mut is_after_convolution = false;
    for cost in costs.layers.iter().filter(|cost| !cost.is_view && !IDLE.contains(&cost.operator.as_str())) {
        if is_after_convolution && AFTER_CONVOLUTION.contains(&cost.operator.as_str()) {
            continue;
        }
        is_after_convolution = cost.convolution.is_some();
        layers.push(layer(cost));
    }
    layers
}

/// Returns the sizes of a layer.
pub fn layer(cost: &LayerCost) -> Layer {
    let useful = cost.convolution.map_or(1.0, |sizes| sizes.useful as f64 / sizes.kernel.max(1) as f64);
    Layer {
        operator: cost.operator.clone(),
        convolution: cost.convolution.map(|sizes| ConvolutionSizes {
            kernel: sizes.kernel as f64,
            useful: sizes.useful as f64,
            channels: sizes.channels.map(|channels| channels as f64),
            groups: sizes.groups as f64,
        }),
        multiply_accumulates: cost.multiply_accumulates as f64 * useful,
        inputs: cost.numbers().saturating_sub(cost.activations) as f64,
        outputs: cost.activations as f64,
        planes: cost.output.get(1).copied().unwrap_or(1) as f64,
        weights: cost.weights as f64,
    }
}

/// Returns the kind of a layer, from the name of its operator in ONNX.
fn kind(layer: &LayerCost) -> LayerKind {
    if let Some(convolution) = layer.convolution {
        let foreglow_cnn::Convolution { kernel, channels, groups, .. } = convolution;
        return LayerKind::Convolution { kernel, channels, groups };
    }
    match layer.operator.as_str() {
        "Gemm" | "MatMul" if layer.weights > 0 => LayerKind::Linear,
        "Gemm" | "MatMul" => LayerKind::Product,
        "Softmax" | "LogSoftmax" => LayerKind::Softmax,
        "Concat" | "Split" | "Expand" | "Transpose" | "Slice" | "Gather" | "Pad" | "Resize" | "Upsample"
        | "DepthToSpace" | "SpaceToDepth" => LayerKind::Copy,
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Min" | "Max" | "Sum" | "Mean" => LayerKind::Arithmetic,
        name if name.ends_with("Normalization") => LayerKind::Normalisation,
        name if name.ends_with("Pool") || name.starts_with("Reduce") => LayerKind::Pooling,
        _ => LayerKind::Activation,
    }
}

#[cfg(test)]
mod tests {
    use foreglow_cnn::Network;

    use super::*;

    fn costs(name: &str, px: usize) -> GraphCosts {
        let shape = [3, px, px];
        graph_costs(&Network::named(name).unwrap().costs(shape).unwrap(), shape)
    }

    fn cost(costs: &GraphCosts, name: &str) -> f64 {
        let place = GraphCosts::NAMES.iter().position(|known| *known == name).unwrap();
        costs.values()[place]
    }

    #[test]
    fn every_multiply_accumulate_of_a_built_in_cnn_has_its_kind() {
        for name in ["vgg16", "resnet50", "mobilenet_v2"] {
            let network = Network::named(name).unwrap();
            let expected = network.size([3, 64, 64]).unwrap().multiply_accumulates as f64;
            assert_eq!(costs(name, 64).multiply_accumulates(), expected, "{name}");
        }
        assert!(cost(&costs("mobilenet_v2", 64), "macs_depthwise_3") > 0.0);
        assert_eq!(cost(&costs("vgg16", 64), "macs_depthwise_3"), 0.0);
        // The published count for images of 224 px: 123.6 million in the three last layers.
        assert_eq!(cost(&costs("vgg16", 224), "macs_linear"), 123_633_664.0);
    }

    #[test]
    fn batch_normalisation_and_relu_are_part_of_a_convolution() {
        let operators = |name: &str, shape| -> Vec<String> {
            let costs = Network::named(name).unwrap().costs(shape).unwrap();
            layers(&costs).into_iter().map(|layer| layer.operator).collect()
        };
        let resnet = operators("resnet18", [3, 64, 64]);
        assert!(!resnet.iter().any(|operator| operator == "BatchNormalization"), "{resnet:?}");
        assert_eq!(resnet.iter().filter(|operator| *operator == "Conv").count(), 20);
        let lenet = operators("lenet5", [1, 32, 32]);
        assert_eq!(lenet.iter().filter(|operator| *operator == "Tanh").count(), 4, "{lenet:?}");
    }

    #[test]
    fn weights_that_only_meet_padding_do_not_count() {
        // At 96 px the last layers see one pixel.
        let costs = Network::named("inception_v4").unwrap().costs([3, 96, 96]).unwrap();
        let layers = layers(&costs);
        let last = layers.iter().rev().find(|layer| layer.convolution.is_some_and(|it| it.kernel == 3.0)).unwrap();
        let sizes = last.convolution.unwrap();
        assert_eq!((sizes.kernel, sizes.useful), (3.0, 1.0));
        assert_eq!(last.multiply_accumulates, sizes.channels[0] * sizes.channels[1]);
    }

    #[test]
    fn a_network_from_a_file_costs_what_its_layers_do() {
        let path = format!("{}/../../shared/onnx/tests/exports/shufflenet_v2.onnx", env!("CARGO_MANIFEST_DIR"));
        let network = Network::named(&path).unwrap();
        let listed = network.costs([3, 32, 32]).unwrap();
        let costs = graph_costs(&listed, [3, 32, 32]);
        assert_eq!(costs.multiply_accumulates(), listed.multiply_accumulates() as f64);
        assert_eq!(cost(&costs, "launches"), listed.launches() as f64);
        assert!(cost(&costs, "macs_depthwise_3") > 0.0 && cost(&costs, "numbers_activation") > 0.0);
    }
}
