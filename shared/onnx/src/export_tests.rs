//! The same network as several programs export it.

use super::tests::writer::{Message, float_weight, graph, heading, list, model, node, value};
use super::tests::{output, read};
use super::*;

/// A node whose value is a tensor.
fn constant(name: &str, tensor: &Message) -> Message {
    let attribute = Message::default().text(1, "value").message(5, tensor).int(20, 4);
    Message::default().text(2, name).text(4, "Constant").message(5, &attribute)
}

fn layers() -> [Message; 3] {
    [
        node("Conv", "conv", &["images", "w", "b"], "c", &[]),
        node("GlobalAveragePool", "pool", &["c"], "p", &[]),
        node("Flatten", "flat", &["p"], "scores", &[]),
    ]
}

#[test]
fn weights_in_constants_are_the_weights_of_initialisers() {
    let [w, b] = [float_weight("w", &[4, 3, 3, 3]), float_weight("b", &[4])];
    let stored = read(&model(13, &[0, 3, 8, 8], &layers(), &[w.clone(), b.clone()])).unwrap();
    let mut nodes = vec![constant("w", &w), constant("b", &b)];
    nodes.extend(layers());
    let constants = read(&model(13, &[0, 3, 8, 8], &nodes, &[])).unwrap();
    let costs = |network: &Network| network.costs(&network.plan([2, 3, 8, 8]).unwrap());
    assert_eq!(costs(&stored), costs(&constants));
    assert_eq!(costs(&constants).parameters, 4 * 27 + 4);
    // More numbers than a folded constant may have.
    let large = float_weight("m", &[3 * 64, 400]);
    let nodes = [
        constant("m", &large),
        node("Flatten", "f", &["images"], "f", &[]),
        node("MatMul", "fc", &["f", "m"], "scores", &[]),
    ];
    let large = read(&model(13, &[0, 3, 8, 8], &nodes, &[])).unwrap();
    assert_eq!(costs(&large).parameters, 3 * 64 * 400);
}

#[test]
fn weights_in_another_shape_or_type_are_still_learned() {
    for (first, shape) in [
        (node("Transpose", "t", &["stored"], "w", &[("perm", &[3, 2, 0, 1])]), [3, 3, 3, 4]),
        (node("Reshape", "r", &["stored", "shape"], "w", &[]), [4, 9, 3, 1]),
        (node("Cast", "c", &["stored"], "w", &[("to", &[1])]), [4, 3, 3, 3]),
        (node("Mul", "m", &["stored", "stored"], "w", &[]), [4, 3, 3, 3]),
    ] {
        let mut nodes = vec![first];
        nodes.extend(layers());
        let weights = [float_weight("stored", &shape), list("shape", &[4, 3, 3, 3]), float_weight("b", &[4])];
        let network = read(&model(13, &[0, 3, 8, 8], &nodes, &weights)).unwrap();
        let plan = network.plan([2, 3, 8, 8]).unwrap();
        assert_eq!((output(&plan), network.costs(&plan).parameters), ([2, 4].as_slice(), 4 * 27 + 4), "{plan:?}");
    }
}

#[test]
fn the_scale_and_bias_of_a_normalisation_of_groups_are_no_weights() {
    let floats = |name: &str, number: f32| {
        let bytes: Vec<u8> = [number; 3].iter().flat_map(|float| float.to_le_bytes()).collect();
        Message::default().int(1, 3).int(2, 1).text(8, name).bytes(9, &bytes)
    };
    let nodes = [
        constant("ones", &floats("ones", 1.0)),
        constant("zeros", &floats("zeros", 0.0)),
        node("InstanceNormalization", "n", &["images", "ones", "zeros"], "scores", &[]),
    ];
    let network = read(&model(13, &[0, 3, 8, 8], &nodes, &[])).unwrap();
    assert_eq!(network.costs(&network.plan([1, 3, 8, 8]).unwrap()).parameters, 0);
}

#[test]
fn channels_in_the_last_axis_are_read_and_said() {
    let mut nodes = vec![node("Transpose", "first", &["images"], "t", &[("perm", &[0, 3, 1, 2])])];
    nodes.push(node("Conv", "conv", &["t", "w"], "c", &[]));
    nodes.push(node("Transpose", "back", &["c"], "b", &[("perm", &[0, 2, 3, 1])]));
    nodes.push(node("Transpose", "again", &["b"], "scores", &[("perm", &[0, 3, 1, 2])]));
    let network = read(&model(13, &[0, 16, 16, 3], &nodes, &[float_weight("w", &[4, 3, 3, 3])])).unwrap();
    assert_eq!(network.image_shape(None).unwrap(), [3, 16, 16]);
    let plan = network.plan([2, 3, 16, 16]).unwrap();
    let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!((names, output(&plan)), (vec!["conv"], [2, 4, 14, 14].as_slice()), "transposes cancel");
    let said = network.remarks().concat();
    assert!(
        said.starts_with("its input images has the channels last (NHWC)") && said.contains("--inputs-as-nchw"),
        "{said}"
    );
    let first = read(&model(13, &[0, 3, 16, 16], &[node("Relu", "r", &["images"], "scores", &[])], &[])).unwrap();
    assert_eq!((first.is_channels_last, first.remarks()), (false, Vec::new()));
}

#[test]
fn outputs_that_are_left_out_are_said() {
    let nodes = [node("Relu", "r", &["images"], "scores", &[]), node("Exp", "e", &["images"], "aux", &[])];
    let both = graph(&[0, 3, 8, 8], &nodes, &[]).message(12, &value("aux", &[]));
    let network = read(&heading(13).message(7, &both).0).unwrap();
    assert_eq!(network.plan([1, 3, 8, 8]).unwrap().steps.len(), 1);
    assert_eq!(network.remarks(), ["only its first output scores is computed; aux is left out"]);
}

#[test]
fn a_branch_whose_condition_is_known_runs_with_its_weights() {
    let branch = |operator: &str, inputs: &[&str], weights: &[Message]| {
        let inner = node(operator, "inner", inputs, "result", &[]);
        let inner =
            weights.iter().fold(Message::default().message(1, &inner), |graph, weight| graph.message(5, weight));
        inner.message(12, &value("result", &[]))
    };
    let with = |name: &str, graph: &Message| Message::default().text(1, name).message(6, graph).int(20, 5);
    let then = branch("Conv", &["images", "w"], &[float_weight("w", &[4, 3, 1, 1])]);
    let choice = |condition: &str| {
        node("If", "choice", &[condition], "scores", &[])
            .message(5, &with("then_branch", &then))
            .message(5, &with("else_branch", &branch("Relu", &["images"], &[])))
    };
    let planned = |nodes: &[Message], truth: i64| {
        let weights = [Message::default().int(2, 9).text(8, "is_so").bytes(9, &[truth as u8])];
        let network = read(&model(13, &[0, 3, 8, 8], nodes, &weights))?;
        let plan = network.plan([2, 3, 8, 8])?;
        Ok::<_, Error>((output(&plan).to_vec(), network.costs(&plan).parameters))
    };
    assert_eq!(planned(&[choice("is_so")], 1).unwrap(), (vec![2, 4, 8, 8], 12));
    assert_eq!(planned(&[choice("is_so")], 0).unwrap(), (vec![2, 3, 8, 8], 0));
    let unknown = planned(&[choice("images")], 0).unwrap_err().to_string();
    assert!(unknown.contains("its condition depends on the image; export it for a fixed image size"), "{unknown}");
    // Graphs in graphs, deeper than any exporter writes them, are left out.
    let mut deep = branch("Relu", &["images"], &[]);
    for _ in 0..100 {
        let nested = node("If", "choice", &["is_so"], "result", &[]).message(5, &with("then_branch", &deep));
        deep = Message::default().message(1, &nested).message(12, &value("result", &[]));
    }
    let deep = node("If", "choice", &["is_so"], "scores", &[]).message(5, &with("then_branch", &deep));
    assert!(planned(&[deep], 1).unwrap_err().to_string().contains("it has no graph for this case"));
}

#[test]
fn operators_of_any_number_of_inputs_become_operators_of_two() {
    let planned = |operator: &str, inputs: &[&str]| {
        let nodes = [node("Relu", "r", &["images"], "r", &[]), node(operator, "it", inputs, "scores", &[])];
        let network = read(&model(13, &[0, 3, 8, 8], &nodes, &[float_weight("w", &[3, 1, 1])])).unwrap();
        let plan = network.plan([2, 3, 8, 8]).unwrap();
        plan.steps.iter().map(|step| step.operator.clone()).collect::<Vec<_>>()
    };
    assert_eq!(planned("Sum", &["images", "r", "w"]), ["Relu", "Sum", "Sum"]);
    assert_eq!(planned("Max", &["images", "r", "w", "r"]), ["Relu", "Max", "Max", "Max"]);
    assert_eq!(planned("Mean", &["images", "r"]), ["Relu", "Sum", "Div"]);
    assert_eq!(planned("Min", &["r"]), ["Relu"]);
}

#[test]
fn a_refusal_names_what_to_change_at_the_export() {
    let said = |operator: &str, domain: &str| {
        let node = node(operator, "it", &["images"], "scores", &[]).text(7, domain);
        read(&model(13, &[0, 3, 8, 8], &[node], &[])).unwrap_err().to_string()
    };
    for (operator, domain, advice) in [
        ("QLinearConv", "", "export it before its quantisation"),
        ("FusedConv", "com.microsoft", "export it without the optimisations of a runtime"),
        ("Loop", "", "export it for a fixed image size and without control flow"),
        ("NonMaxSuppression", "", "export it without this post-processing"),
        ("Det", "", "export it with other layers in their place"),
    ] {
        let said = said(operator, domain);
        assert!(said.contains(operator) && said.contains(advice), "{said}");
    }
}
