//! Networks written field by field.

use std::io::Cursor;

use self::writer::{Message, float_weight, list, model, node};
use super::*;

#[path = "../tests/writer/mod.rs"]
pub mod writer;

pub fn read(bytes: &[u8]) -> Result<Network, Error> {
    Network::read(&mut Cursor::new(bytes))
}

/// The plan of one node with this operator, for images of 2×3×7×9.
fn planned(operator: &str, inputs: &[&str], ints: &[(&str, &[i64])], weights: &[Message]) -> Result<Plan, Error> {
    let nodes = [node(operator, "it", inputs, "scores", ints)];
    read(&model(18, &[0, 3, 7, 9], &nodes, weights))?.plan([2, 3, 7, 9])
}

pub fn output(plan: &Plan) -> &[usize] {
    &plan.shapes[plan.output]
}

#[test]
fn padding_is_explicit_or_follows_from_the_size() {
    let weights = [float_weight("w", &[4, 3, 3, 3])];
    let conv = |ints: &[(&str, &[i64])]| {
        let plan = planned("Conv", &["images", "w"], ints, &weights).unwrap();
        let Operation::Conv { window, .. } = plan.steps[0].operation else { panic!("{:?}", plan.steps) };
        (window.padding, output(&plan)[2..].to_vec())
    };
    assert_eq!(conv(&[("pads", &[1, 0, 2, 3]), ("strides", &[2, 1])]), ([1, 0, 2, 3], vec![4, 10]));
    assert_eq!(conv(&[("dilations", &[2, 3])]), ([0; 4], vec![3, 3]));
    let automatic = |mode: &str, strides: &[i64]| {
        let attribute = Message::default().text(1, "auto_pad").text(4, mode).int(20, 3);
        let strided = node("Conv", "it", &["images", "w"], "scores", &[("strides", strides)]).message(5, &attribute);
        let plan = read(&model(18, &[0, 3, 7, 9], &[strided], &weights)).unwrap().plan([1, 3, 7, 9]).unwrap();
        let Operation::Conv { window, .. } = plan.steps[0].operation else { panic!("{:?}", plan.steps) };
        (window.padding, output(&plan)[2..].to_vec())
    };
    assert_eq!(automatic("SAME_UPPER", &[2, 4]), ([1, 1, 1, 1], vec![4, 3]));
    assert_eq!(automatic("SAME_LOWER", &[1, 2]), ([1, 1, 1, 1], vec![7, 5]));
    assert_eq!(automatic("VALID", &[1, 1]), ([0; 4], vec![5, 7]));
}

#[test]
fn a_pool_that_rounds_up_has_no_window_that_starts_in_the_padding_after_the_image() {
    let pool = |pads: &[i64], rounds_up: i64| {
        let ints: [(&str, &[i64]); 4] =
            [("kernel_shape", &[2, 2]), ("strides", &[2, 2]), ("pads", pads), ("ceil_mode", &[rounds_up])];
        output(&planned("MaxPool", &["images"], &ints, &[]).unwrap())[2..].to_vec()
    };
    assert_eq!((pool(&[0, 0, 0, 0], 0), pool(&[0, 0, 0, 0], 1)), (vec![3, 4], vec![4, 5]));
    // With one pixel before, the last window would start at pixel 8 of 7, or 10 of 9.
    assert_eq!(pool(&[1, 1, 1, 1], 1), [4, 5]);
}

#[test]
fn shapes_computed_from_the_batch_are_folded_for_every_batch() {
    let nodes = [
        node("Shape", "a", &["images"], "shape", &[]),
        node("Gather", "b", &["shape", "zero"], "batch", &[]),
        node("Concat", "c", &["batch", "rest"], "target", &[("axis", &[0])]),
        node("Reshape", "d", &["images", "target"], "scores", &[]),
    ];
    let weights = [list("zero", &[0]), list("rest", &[-1])];
    let network = read(&model(18, &[0, 3, 7, 9], &nodes, &weights)).unwrap();
    for batch in [1, 2, 5] {
        let plan = network.plan([batch, 3, 7, 9]).unwrap();
        assert_eq!((output(&plan), plan.steps.len()), ([batch, 189].as_slice(), 1));
    }
}

#[test]
fn a_shape_written_for_one_image_is_scaled_to_the_batch() {
    let nodes = [node("Reshape", "d", &["images", "target"], "scores", &[])];
    let network = read(&model(18, &[1, 4, 6, 6], &nodes, &[list("target", &[1, 2, 2, 36])])).unwrap();
    assert_eq!(output(&network.plan([8, 4, 6, 6]).unwrap()), [8, 2, 2, 36]);
    assert_eq!(output(&network.plan([1, 4, 6, 6]).unwrap()), [1, 2, 2, 36]);
}

#[test]
fn costs_are_those_of_the_formulas() {
    let nodes = [
        node("Conv", "conv", &["images", "w", "b"], "c", &[("pads", &[1, 1, 1, 1])]),
        node("Relu", "relu", &["c"], "r", &[]),
        node("Flatten", "flat", &["r"], "f", &[]),
        node("MatMul", "last", &["f", "m"], "scores", &[]),
    ];
    let weights = [float_weight("w", &[4, 3, 3, 3]), float_weight("b", &[4]), float_weight("m", &[252, 10])];
    let network = read(&model(18, &[0, 3, 7, 9], &nodes, &weights)).unwrap();
    let costs = network.costs(&network.plan([1, 3, 7, 9]).unwrap());
    let products: Vec<u64> = costs.layers.iter().map(|layer| layer.multiply_accumulates).collect();
    assert_eq!(products, [4 * 63 * 27, 0, 0, 2520]);
    assert_eq!((costs.parameters, costs.launches()), (108 + 4 + 2520, 3));
    // Input and convolution are alive together (189 + 252), then convolution and activation.
    assert_eq!(costs.inference_bytes, 4 * 504);
    assert_eq!(costs.training_bytes, 4 * (189 + 252 + 252 + 10));
    assert_eq!(costs.layers[0].traffic_bytes, 4 * (189 + 108 + 4 + 252));
}

#[test]
fn what_is_wrong_with_a_file_is_one_sentence_with_the_node() {
    let relu = node("Relu", "act", &["images"], "scores", &[]);
    let said = |bytes: &[u8]| match read(bytes).and_then(|network| network.plan([1, 3, 7, 9])) {
        Ok(plan) => format!("{plan:?}"),
        Err(error) => error.to_string(),
    };
    let ordinary = |nodes: &[Message], weights: &[Message]| said(&model(18, &[0, 3, 7, 9], nodes, weights));
    let whole = model(18, &[0, 3, 7, 9], std::slice::from_ref(&relu), &[]);
    assert!(said(&whole).starts_with("Plan"), "{}", said(&whole));
    for len in 1..whole.len() {
        let words = said(&whole[..len]);
        assert!(words.starts_with("the file is truncated") || words.starts_with("this is not an ONNX file"), "{words}");
    }
    assert!(
        said(&model(40, &[0, 3, 7, 9], std::slice::from_ref(&relu), &[]))
            .contains("operator set 40, and this version reads 7 to 24")
    );
    let missing =
        ordinary(&[node("Loop", "body", &["images"], "x", &[]), node("Unique", "", &["x"], "scores", &[])], &[]);
    assert_eq!(
        missing,
        "the network needs operators that are not supported: Loop (node body), Unique (node scores); export it for a \
        fixed image size and without control flow"
    );
    let unknown = ordinary(&[node("Relu", "act", &["nothing"], "scores", &[])], &[]);
    assert!(unknown.starts_with("the node act (Relu): its input nothing is neither"), "{unknown}");
    let unfit = ordinary(&[node("Conv", "c1", &["images", "w"], "scores", &[])], &[float_weight("w", &[4, 5, 3, 3])]);
    assert!(unfit.starts_with("the node c1 (Conv): its weights take 5 channels in 1 groups and give 4"), "{unfit}");
    let dynamic = ordinary(&[node("NonZero", "places", &["images"], "scores", &[])], &[]);
    assert!(
        dynamic.starts_with("the node places (NonZero): the length of its output depends on the image"),
        "{dynamic}"
    );
    let short = ordinary(std::slice::from_ref(&relu), &[float_weight("w", &[2]).int(1, 3)]);
    assert!(short.starts_with("the weight w: its shape [2, 3] needs 24, and the file has 8"), "{short}");
    let outside = |file: &str| {
        let place = Message::default().text(1, "location").text(2, file);
        ordinary(
            std::slice::from_ref(&relu),
            &[Message::default().int(1, 2).int(2, 1).text(8, "w").message(13, &place).int(14, 1)],
        )
    };
    assert!(outside("weights.bin").starts_with("Plan"));
    for file in ["../secret", "/etc/passwd", "..", ""] {
        assert!(outside(file).contains("not in the folder of the network"), "{file}");
    }
    let open = read(&model(18, &[0, 3, 0, 0], &[relu], &[])).unwrap();
    assert!(open.image_shape(None).unwrap_err().to_string().contains("give it with --image-px"));
    assert_eq!(open.image_shape(Some(64)).unwrap(), [3, 64, 64]);
}

#[test]
fn weights_are_not_read_with_the_graph() {
    let bytes =
        model(18, &[0, 3, 7, 9], &[node("Relu", "a", &["images"], "scores", &[])], &[float_weight("w", &[2000])]);
    let network = read(&bytes).unwrap();
    let WeightRange::Inside(at, len) = network.weights[0].place else { panic!("{:?}", network.weights[0].place) };
    assert_eq!((len, bytes[at as usize..][..len as usize].iter().all(|byte| *byte == 0)), (8000, true));
}

/// Random numbers of one per image and what follows, written as PyTorch exports stochastic depth.
fn stochastic_depth(last: &[Message]) -> Vec<Message> {
    let nodes = [
        node("RandomUniformLike", "uniform", &["one_each"], "uniform", &[("dtype", &[1])]),
        node("Less", "less", &["uniform", "kept"], "less", &[]),
        node("Cast", "mask", &["less"], "mask", &[("to", &[1])]),
        node("Div", "scaled", &["mask", "kept"], "scaled", &[]),
    ];
    nodes.iter().chain(last).cloned().collect()
}

fn number(name: &str, number: f32) -> Message {
    Message::default().int(2, 1).text(8, name).bytes(9, &number.to_le_bytes())
}

#[test]
fn the_masks_of_stochastic_depth_are_a_dropout_with_one_draw_per_image() {
    let product = node("Mul", "product", &["images", "scaled"], "scores", &[]);
    let weights = [number("kept", 0.8), float_weight("one_each", &[1, 1, 1, 1])];
    let network = read(&model(18, &[1, 3, 7, 9], &stochastic_depth(&[product]), &weights)).unwrap();
    for batch in [1, 5] {
        let plan = network.plan([batch, 3, 7, 9]).unwrap();
        let [step] = plan.steps.as_slice() else { panic!("{:?}", plan.steps) };
        let Operation::Dropout { probability, mask } = &step.operation else { panic!("{step:?}") };
        assert!((probability - 0.2).abs() < 1e-7, "{probability}");
        assert_eq!((mask.as_slice(), output(&plan)), ([batch, 1, 1, 1].as_slice(), [batch, 3, 7, 9].as_slice()));
        assert_eq!(network.costs(&plan).launches(), 0);
    }
}

#[test]
fn a_product_with_a_mask_as_third_factor_is_refused() {
    let product = node("Mul", "product", &["images", "kept", "scaled"], "scores", &[]);
    let weights = [number("kept", 0.8), float_weight("one_each", &[1, 1, 1, 1])];
    let network = read(&model(18, &[1, 3, 7, 9], &stochastic_depth(&[product]), &weights)).unwrap();
    let error = network.plan([1, 3, 7, 9]).unwrap_err().to_string();
    assert!(error.contains("it has 3 inputs"), "{error}");
}

#[test]
fn a_mask_that_two_nodes_read_is_drawn_once() {
    let last = [
        node("Mul", "first", &["images", "scaled"], "first", &[]),
        node("Relu", "relu", &["images"], "relu", &[]),
        node("Mul", "second", &["relu", "scaled"], "second", &[]),
        node("Add", "sum", &["first", "second"], "scores", &[]),
    ];
    let weights = [number("kept", 0.5), float_weight("one_each", &[2, 1, 1, 1])];
    let network = read(&model(18, &[2, 3, 7, 9], &stochastic_depth(&last), &weights)).unwrap();
    let plan = network.plan([2, 3, 7, 9]).unwrap();
    let random: Vec<&Step> = plan.steps.iter().filter(|step| matches!(step.operation, Operation::Random(_))).collect();
    let [step] = random.as_slice() else { panic!("{:?}", plan.steps) };
    assert_eq!(step.operation, Operation::Random(Draw::Either { probability: 0.5, values: [2.0, 0.0] }));
    assert_eq!(plan.steps.iter().filter(|other| other.values().any(|value| value == step.results[0])).count(), 2);
}

#[test]
fn dropout_written_with_rand_and_floor_or_where_has_its_probability() {
    let floor = [
        node("RandomUniformLike", "uniform", &["images"], "uniform", &[]),
        node("Add", "shifted", &["kept", "uniform"], "shifted", &[]),
        node("Floor", "mask", &["shifted"], "mask", &[]),
        node("Mul", "product", &["mask", "images"], "product", &[]),
        node("Div", "scaled", &["product", "kept"], "scores", &[]),
    ];
    let network = read(&model(18, &[0, 3, 7, 9], &floor, &[number("kept", 0.75)])).unwrap();
    let plan = network.plan([2, 3, 7, 9]).unwrap();
    let operations: Vec<&Operation> = plan.steps.iter().map(|step| &step.operation).collect();
    let mask = Operation::Random(Draw::Either { probability: 0.75, values: [1.0, 0.0] });
    assert_eq!(operations, [&mask, &Operation::Binary(Binary::Mul), &Operation::Binary(Binary::Div)]);

    let choice = [
        node("RandomUniformLike", "uniform", &["images"], "uniform", &[]),
        node("Greater", "is_kept", &["uniform", "dropped"], "is_kept", &[]),
        node("Where", "choice", &["is_kept", "scale", "zero"], "choice", &[]),
        node("Mul", "product", &["images", "choice"], "scores", &[]),
    ];
    let weights = [number("dropped", 0.25), number("scale", 4.0 / 3.0), number("zero", 0.0)];
    let plan = read(&model(18, &[0, 3, 7, 9], &choice, &weights)).unwrap().plan([2, 3, 7, 9]).unwrap();
    let [step] = plan.steps.as_slice() else { panic!("{:?}", plan.steps) };
    let Operation::Dropout { probability, mask } = &step.operation else { panic!("{step:?}") };
    assert_eq!((*probability, mask.as_slice()), (0.25, [2, 3, 7, 9].as_slice()));
}

#[test]
fn a_shape_computed_from_the_batch_of_the_plan_is_not_scaled_again() {
    let nodes = [
        node("Shape", "a", &["images"], "shape", &[]),
        node("Slice", "b", &["shape", "zero", "two"], "first", &[]),
        node("Concat", "c", &["first", "rest"], "target", &[("axis", &[0])]),
        node("Reshape", "d", &["images", "target"], "scores", &[]),
    ];
    let weights = [list("zero", &[0]), list("two", &[2]), list("rest", &[-1])];
    let network = read(&model(18, &[1, 4, 6, 6], &nodes, &weights)).unwrap();
    for batch in [1, 2, 8] {
        assert_eq!(output(&network.plan([batch, 4, 6, 6]).unwrap()), [batch, 4, 36]);
    }
}

#[test]
fn a_shape_of_weights_is_not_scaled_to_the_batch() {
    let nodes = [
        node("Reshape", "scale", &["w", "target"], "scale", &[]),
        node("Mul", "scaled", &["images", "scale"], "scores", &[]),
    ];
    let weights = [list("target", &[1, -1, 1, 1]), float_weight("w", &[4])];
    let network = read(&model(18, &[1, 4, 6, 6], &nodes, &weights)).unwrap();
    assert_eq!(output(&network.plan([2, 4, 6, 6]).unwrap()), [2, 4, 6, 6]);
}

#[test]
fn a_token_written_for_one_image_is_repeated_for_each_image_of_the_batch() {
    let nodes = [
        node("Reshape", "rows", &["images", "target"], "rows", &[]),
        node("Concat", "tokens", &["token", "rows"], "scores", &[("axis", &[1])]),
    ];
    let weights = [list("target", &[1, 4, 36]), float_weight("token", &[1, 1, 36])];
    let network = read(&model(18, &[1, 4, 6, 6], &nodes, &weights)).unwrap();
    assert_eq!(output(&network.plan([1, 4, 6, 6]).unwrap()), [1, 5, 36]);
    assert_eq!(output(&network.plan([3, 4, 6, 6]).unwrap()), [3, 5, 36]);
    let three = read(&model(18, &[1, 4, 6, 6], &nodes, &[weights[0].clone(), float_weight("token", &[3, 1, 36])]));
    assert!(three.unwrap().plan([2, 4, 6, 6]).is_err(), "three tokens are not for one image");
}

#[test]
fn a_token_expanded_for_a_fixed_batch_is_repeated_for_each_image_of_another() {
    let join = |token| node("Concat", "tokens", &[token, "rows"], "scores", &[("axis", &[1])]);
    let rows = node("Reshape", "rows", &["images", "target"], "rows", &[]);
    let weights = [list("target", &[2, 4, 36]), list("repeated", &[2, 1, 36]), float_weight("token", &[1, 1, 36])];
    let nodes = [rows.clone(), node("Expand", "all", &["token", "repeated"], "all", &[]), join("all")];
    let network = read(&model(18, &[2, 4, 6, 6], &nodes, &weights)).unwrap();
    for batch in [1, 2, 5] {
        assert_eq!(output(&network.plan([batch, 4, 6, 6]).unwrap()), [batch, 5, 36]);
    }
    let two = [weights[0].clone(), float_weight("token", &[2, 1, 36])];
    let network = read(&model(18, &[2, 4, 6, 6], &[rows, join("token")], &two)).unwrap();
    assert!(network.plan([2, 4, 6, 6]).is_ok());
    assert!(network.plan([4, 4, 6, 6]).is_err(), "two rows of weights cannot be those of four images");
}

#[test]
fn a_convolution_along_one_axis_is_that_of_an_image_of_one_row() {
    let nodes = |pads: &[i64]| {
        [
            node("Reshape", "line", &["images", "target"], "line", &[]),
            node("Conv", "eca", &["line", "w"], "scores", &[("pads", pads), ("kernel_shape", &[3])]),
        ]
    };
    let weights = [list("target", &[0, 1, -1]), float_weight("w", &[2, 1, 3])];
    let planned = |pads: &[i64]| {
        let network = read(&model(18, &[0, 4, 5, 1], &nodes(pads), &weights)).unwrap();
        network.plan([3, 4, 5, 1]).map(|plan| (output(&plan).to_vec(), network.costs(&plan).multiply_accumulates()))
    };
    assert_eq!(planned(&[1, 1]).unwrap(), (vec![3, 2, 20], 3 * 2 * 20 * 3));
    assert_eq!(planned(&[0, 0]).unwrap().0, [3, 2, 18]);
    assert!(planned(&[1, 1, 1, 1]).unwrap_err().to_string().contains("its pads are [1, 1, 1, 1]"));
}

#[test]
fn bounds_and_comparisons_of_known_numbers_are_folded() {
    let nodes = [
        node("Shape", "a", &["images"], "shape", &[]),
        node("Gather", "b", &["shape", "two"], "height", &[]),
        node("Clip", "c", &["height", "", "most"], "clipped", &[]),
        node("Less", "d", &["clipped", "height"], "is_less", &[]),
        node("Where", "e", &["is_less", "clipped", "height"], "side", &[]),
        node("Concat", "f", &["batch", "rest", "side"], "target", &[("axis", &[0])]),
        node("Reshape", "g", &["images", "target"], "scores", &[]),
    ];
    let weights = [list("two", &[2]), list("most", &[6]), list("batch", &[0]), list("rest", &[-1])];
    let network = read(&model(18, &[0, 3, 12, 2], &nodes, &weights)).unwrap();
    assert_eq!(output(&network.plan([2, 3, 12, 2]).unwrap()), [2, 12, 6]);
}

#[test]
fn cumulative_sums_and_places_of_known_numbers_are_folded() {
    // Height 12 and width 1: the sums 12 and 13, the places 0 and 1, and together 12 and 14.
    let nodes = [
        node("Shape", "a", &["images"], "shape", &[("start", &[2])]),
        node("CumSum", "b", &["shape", "zero"], "sums", &[]),
        node("NonZero", "c", &["shape"], "places", &[]),
        node("Reshape", "d", &["places", "minus_one"], "list", &[]),
        node("Add", "e", &["sums", "list"], "lengths", &[]),
        node("Concat", "f", &["batch", "lengths"], "target", &[("axis", &[0])]),
        node("Expand", "g", &["images", "target"], "scores", &[]),
    ];
    let weights = [list("zero", &[0]), list("minus_one", &[-1]), list("batch", &[1, 1])];
    let network = read(&model(18, &[0, 1, 12, 1], &nodes, &weights)).unwrap();
    assert_eq!(output(&network.plan([1, 1, 12, 1]).unwrap()), [1, 1, 12, 14]);
}

#[test]
fn a_cumulative_sum_of_images_keeps_their_shape_and_needs_an_axis() {
    let weights = [list("axis", &[-1]), list("axes", &[2, 3])];
    let sum = |axis| planned("CumSum", &["images", axis], &[("reverse", &[1])], &weights);
    let plan = sum("axis").unwrap();
    let expected = CumSum { axis: 3, is_exclusive: false, is_reversed: true };
    assert_eq!((&plan.steps[0].operation, output(&plan)), (&Operation::CumSum(expected), &[2, 3, 7, 9][..]));
    assert!(sum("axes").unwrap_err().to_string().contains("its axis is not one integer"));
}

/// A node of images of 2×3×7×9 with an attribute that is a text or a float.
fn planned_with(node: Message, attributes: &[Message], weights: &[Message]) -> Result<Plan, Error> {
    let node = attributes.iter().fold(node, |node, attribute| node.message(5, attribute));
    read(&model(18, &[0, 3, 7, 9], &[node], weights))?.plan([2, 3, 7, 9])
}

fn text(name: &str, value: &str) -> Message {
    Message::default().text(1, name).text(4, value).int(20, 3)
}

fn floats(name: &str, floats: &[f32]) -> Message {
    let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    Message::default().int(1, floats.len() as i64).int(2, 1).text(8, name).bytes(9, &bytes)
}

#[test]
fn a_reduction_without_axes_reduces_all_or_by_its_attribute_nothing() {
    let reduced = |ints: &[(&str, &[i64])]| output(&planned("ReduceSum", &["images"], ints, &[]).unwrap()).to_vec();
    assert_eq!(reduced(&[]), [1, 1, 1, 1]);
    assert_eq!(reduced(&[("noop_with_empty_axes", &[1])]), [2, 3, 7, 9]);
}

#[test]
fn an_operation_on_an_empty_weight_is_refused() {
    let planned = |operator, weights: &[Message]| {
        let names = ["nothing", "filters"];
        let nodes = [
            node(operator, "it", &names[..weights.len()], "few", &[]),
            node("Add", "sum", &["images", "few"], "scores", &[]),
        ];
        read(&model(18, &[0, 3, 7, 9], &nodes, weights)).unwrap().plan([2, 3, 7, 9])
    };
    let nothing = float_weight("nothing", &[1, 1, 0, 1]);
    for (operator, weights) in [
        ("ReduceMin", [nothing.clone()].as_slice()),
        ("ConvTranspose", &[nothing, float_weight("filters", &[1, 1, 2, 2])]),
    ] {
        let error = planned(operator, weights).unwrap_err().to_string();
        assert!(error.contains("its input 1 is empty"), "{error}");
    }
}

#[test]
fn what_a_resize_cannot_do_is_refused_in_one_sentence() {
    let resize = |scales: &[f32], attributes: &[Message]| {
        let node = node("Resize", "it", &["images", "", "scales"], "scores", &[]);
        planned_with(node, attributes, &[floats("scales", scales)])
    };
    assert_eq!(output(&resize(&[1.0, 1.0, 2.0, 3.0], &[]).unwrap()), [2, 3, 14, 27]);
    let said = |scales: &[f32], attributes: &[Message]| resize(scales, attributes).unwrap_err().to_string();
    let whole = [1.0, 1.0, 2.0, 2.0];
    let crop = said(&whole, &[text("coordinate_transformation_mode", "tf_crop_and_resize")]);
    assert!(crop.contains("the coordinates tf_crop_and_resize are not supported; export it with half_pixel"), "{crop}");
    let other = said(&whole, &[text("mode", "sinc")]);
    assert!(other.contains("the interpolation sinc is not supported; export it with linear"), "{other}");
}

#[test]
fn settings_of_a_resize_that_only_a_matrix_has_get_one() {
    let matrices = |scales: &[f32], attributes: &[Message]| {
        let node = node("Resize", "it", &["images", "", "scales"], "scores", &[]);
        let plan = planned_with(node, attributes, &[floats("scales", scales)]).unwrap();
        match &plan.steps[0].operation {
            Operation::Resample(it) => Some([it.matrix(0, 7, output(&plan)[2]), it.matrix(1, 9, output(&plan)[3])]),
            _ => None,
        }
    };
    let whole = [1.0, 1.0, 2.0, 1.0];
    let coefficient = Message::default().text(1, "cubic_coeff_a").float(2, -0.5).int(20, 1);
    assert_eq!(matrices(&whole, std::slice::from_ref(&coefficient)), None, "the nearest pixel has no coefficient");
    let [rows, columns] = matrices(&whole, &[text("mode", "cubic"), coefficient]).unwrap();
    assert_eq!((rows.len(), columns.len()), (14 * 7, 9 * 9));
    // A quarter of a pixel after the first, by the formula of the cubic.
    let near = |a: f32, b: f32| (a - b).abs() < 1e-6;
    assert!(near(rows[7], 0.867_187_5 - 0.070_312_5) && near(rows[8], 0.226_562_5), "{:?}", &rows[7..14]);
    let linear = text("mode", "linear");
    let [rows, _] = matrices(&whole, &[linear.clone(), text("coordinate_transformation_mode", "asymmetric")]).unwrap();
    assert_eq!(rows[7..14], [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // 3 of 3.5 rows, each twice as high, from the place 0.5 on.
    let [rows, _] = matrices(&[1.0, 1.0, 0.5, 1.0], std::slice::from_ref(&linear)).unwrap();
    assert_eq!(
        rows,
        [[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0]]
            .concat()
    );
    let antialias = Message::default().text(1, "antialias").int(3, 1).int(20, 2);
    let [rows, _] = matrices(&[1.0, 1.0, 0.5, 1.0], &[linear, antialias]).unwrap();
    assert_eq!(rows[7..14], [0.0, 0.125, 0.375, 0.375, 0.125, 0.0, 0.0]);
}

#[test]
fn a_transposed_convolution_has_no_padding_with_valid_and_refuses_what_it_cannot_reach() {
    let weights = [float_weight("w", &[3, 2, 3, 3])];
    let transposed = |ints: &[(&str, &[i64])], mode: &str| {
        let node = node("ConvTranspose", "it", &["images", "w"], "scores", ints);
        planned_with(node, &[text("auto_pad", mode)], &weights)
    };
    let pads: (&str, &[i64]) = ("pads", &[1, 1, 1, 1]);
    assert_eq!(output(&transposed(&[pads], "NOTSET").unwrap()), [2, 2, 7, 9]);
    assert_eq!(output(&transposed(&[pads], "VALID").unwrap()), [2, 2, 9, 11]);
    let said = transposed(&[], "SAME").unwrap_err().to_string();
    assert!(said.contains("the padding SAME is unknown"), "{said}");
    assert_eq!(output(&transposed(&[("output_shape", &[8, 10])], "NOTSET").unwrap()), [2, 2, 8, 10]);
    let said = transposed(&[("output_shape", &[10, 12])], "NOTSET").unwrap_err().to_string();
    assert!(said.contains("an output of [10, 12] px is larger than its windows cover"), "{said}");
}

#[test]
fn the_value_of_a_border_is_one_number() {
    let pad = |value: &[f32]| {
        let node = node("Pad", "it", &["images", "pads", "value"], "scores", &[]);
        planned_with(node, &[], &[list("pads", &[0, 0, 1, 2, 0, 0, 3, 4]), floats("value", value)])
    };
    assert_eq!(output(&pad(&[0.5]).unwrap()), [2, 3, 11, 15]);
    assert!(pad(&[0.5, 1.0]).unwrap_err().to_string().contains("its value is not one number"));
}
