//! Operators of published networks against the formulas of their specification.

use super::settings_tests::{HEIGHT, WIDTH, assert_close, float, floats, images, number, run, text, with};
use super::writer::{self, Message, list, node};
use super::*;

const PIXELS: usize = HEIGHT * WIDTH;

/// A list of integers, also of one.
fn ints(name: &str, ints: &[i64]) -> Message {
    ints.iter().fold(Message::default().text(1, name), |list, int| list.int(8, *int)).int(20, 7)
}

/// Filters that make this number of channels from three, each with one pixel.
fn channels(count: usize) -> (Message, Message, Vec<f32>) {
    let weights: Vec<f32> = (0..count * 3).map(|place| number(place + 17)).collect();
    let x = images(3);
    let made = (0..count * PIXELS).map(|at| {
        let (output, pixel) = (at / PIXELS, at % PIXELS);
        (0..3).map(|input| weights[output * 3 + input] * x[input * PIXELS + pixel]).sum()
    });
    let made = made.collect();
    let conv = node("Conv", "conv", &["images", "filters"], "made", &[]);
    (conv, floats("filters", &[count as i64, 3, 1, 1], &weights), made)
}

#[test]
fn sums_means_and_extremes_take_any_number_of_inputs() {
    let (x, k) = (images(3), [0.25, -0.5, 0.125]);
    let weights = [floats("k", &[3, 1, 1], &k)];
    let nodes = |operator: &str, inputs: &[&str]| {
        [node("Neg", "n", &["images"], "negative", &[]), node(operator, "it", inputs, "scores", &[])]
    };
    type Of = fn([f32; 3]) -> f32;
    let cases: [(&str, Of); 4] = [
        ("Sum", |[x, k, y]| x + k + y),
        ("Mean", |[x, k, y]| (x + k + y) / 3.0),
        ("Max", |[x, k, y]| x.max(k).max(y)),
        ("Min", |[x, k, y]| x.min(k).min(y)),
    ];
    for (operator, of) in cases {
        let ours = run(13, 3, &nodes(operator, &["images", "k", "negative"]), &weights);
        let expected: Vec<f32> = x.iter().enumerate().map(|(at, x)| of([*x, k[at / PIXELS], -x])).collect();
        assert_close(&ours, &expected, operator);
        assert_close(&run(13, 3, &nodes(operator, &["images"]), &weights), &x, operator);
    }
}

#[test]
fn a_response_is_normalised_over_the_neighbouring_channels() {
    let (conv, filters, made) = channels(7);
    for size in [1, 2, 3, 5] {
        let settings = [float("alpha", 0.5), float("beta", 0.6), float("bias", 1.5)];
        let lrn = with(node("LRN", "it", &["made"], "scores", &[("size", &[size as i64])]), &settings);
        let ours = run(13, 3, &[conv.clone(), lrn], std::slice::from_ref(&filters));
        let value = |at: usize| {
            let (channel, pixel) = (at / PIXELS, at % PIXELS);
            let first = channel.saturating_sub((size - 1) / 2);
            let squares = (first..=(channel + size / 2).min(6)).map(|channel| made[channel * PIXELS + pixel].powi(2));
            made[at] / (1.5 + 0.5 / size as f32 * squares.sum::<f32>()).powf(0.6)
        };
        assert_close(&ours, &(0..made.len()).map(value).collect::<Vec<_>>(), &format!("{size} channels"));
    }
}

#[test]
fn pixels_move_to_channels_and_back() {
    let (conv, filters, made) = channels(12);
    let block: (&str, &[i64]) = ("blocksize", &[2]);
    for mode in ["DCR", "CRD"] {
        let to_space = with(node("DepthToSpace", "it", &["made"], "scores", &[block]), &[text("mode", mode)]);
        let ours = run(13, 3, &[conv.clone(), to_space], std::slice::from_ref(&filters));
        let value = |at: usize| {
            let (channel, row, column) = (at / (4 * PIXELS), at / (2 * WIDTH) % (2 * HEIGHT), at % (2 * WIDTH));
            let within = row % 2 * 2 + column % 2;
            let from = if mode == "DCR" { within * 3 + channel } else { channel * 4 + within };
            made[from * PIXELS + row / 2 * WIDTH + column / 2]
        };
        assert_close(&ours, &(0..made.len()).map(value).collect::<Vec<_>>(), mode);
    }
    let back = [
        conv,
        node("DepthToSpace", "to", &["made"], "large", &[block]),
        node("SpaceToDepth", "it", &["large"], "scores", &[block]),
    ];
    assert_close(&run(13, 3, &back, &[filters]), &made, "there and back");
}

#[test]
fn a_tensor_is_repeated_along_its_axes() {
    let tile = node("Tile", "it", &["images", "times"], "scores", &[]);
    let ours = run(13, 2, &[tile], &[list("times", &[1, 2, 1, 3])]);
    let x = images(2);
    let value = |at: usize| {
        let (channel, row, column) = (at / (3 * PIXELS), at / (3 * WIDTH) % HEIGHT, at % (3 * WIDTH));
        x[channel % 2 * PIXELS + row * WIDTH + column % WIDTH]
    };
    assert_close(&ours, &(0..2 * 2 * 3 * PIXELS).map(value).collect::<Vec<_>>(), "tile");
}

#[test]
fn functions_that_are_made_from_others_follow_their_formulas() {
    let x = images(3);
    let of = |nodes: &[Message], weights: &[Message], value: &dyn Fn(usize) -> f32, what: &str| {
        let ours = run(13, 3, nodes, weights);
        assert_close(&ours, &(0..ours.len()).map(value).collect::<Vec<_>>(), what);
    };
    let alone = |operator: &str, ints: &[(&str, &[i64])]| node(operator, "it", &["images"], "scores", ints);
    let above = with(alone("ThresholdedRelu", &[]), &[float("alpha", 0.3)]);
    of(&[above], &[], &|at| if x[at] > 0.3 { x[at] } else { 0.0 }, "thresholded");
    let of_pixel = |at: usize| [0, 1, 2].map(|channel| x[channel * PIXELS + at % PIXELS]);
    let length = |at: usize| of_pixel(at).iter().map(|x| x * x).sum::<f32>().sqrt();
    of(&[alone("LpNormalization", &[("axis", &[1])])], &[], &|at| x[at] / length(at), "by the length");
    let sum = |at: usize| of_pixel(at).iter().map(|x| x.abs()).sum::<f32>();
    of(&[alone("LpNormalization", &[("axis", &[1]), ("p", &[1])])], &[], &|at| x[at] / sum(at), "by the sum");
    let zero = [
        node("Sub", "zero", &["images", "images"], "zero", &[]),
        node("LpNormalization", "it", &["zero"], "scores", &[]),
    ];
    of(&zero, &[], &|_| 0.0, "zeros");
    let plane = |at: usize| &x[at / PIXELS * PIXELS..][..PIXELS];
    let mean = |at: usize| plane(at).iter().sum::<f32>() / PIXELS as f32;
    let deviation = |at: usize| {
        let mean = mean(at);
        (plane(at).iter().map(|x| (x - mean).powi(2)).sum::<f32>() / PIXELS as f32).sqrt()
    };
    let normal = alone("MeanVarianceNormalization", &[("axes", &[2, 3])]);
    of(&[normal], &[], &|at| (x[at] - mean(at)) / deviation(at), "mean and variance");
    let exponents = alone("ReduceLogSumExp", &[("axes", &[2, 3])]);
    of(&[exponents], &[], &|at| plane(at * PIXELS).iter().map(|x| x.exp()).sum::<f32>().ln(), "exponents");
    let product = with(alone("ReduceProd", &[]), &[ints("axes", &[1])]);
    of(&[product], &[], &|at| of_pixel(at).iter().product(), "product");
    let norm = alone("GlobalLpPool", &[]);
    of(&[norm], &[], &|at| plane(at * PIXELS).iter().map(|x| x * x).sum::<f32>().sqrt(), "pool");
}

/// A sequence is an image of one row, whose settings have one number per axis less.
#[test]
fn layers_on_sequences_are_those_on_images_of_one_row() {
    let filters: Vec<f32> = (0..4 * 3 * 3).map(|place| number(place + 5)).collect();
    let weights = |kernel: &[i64]| floats("w", &[&[4, 3], kernel].concat(), &filters);
    let up = |kernel: &[i64]| floats("w", &[&[3, 4], kernel].concat(), &filters);
    // Each setting of a sequence, and of an image.
    let strided = [ints("strides", &[2]), ints("strides", &[1, 2])];
    let padded = [ints("pads", &[2, 1]), ints("pads", &[0, 2, 0, 1])];
    let kernel = [ints("kernel_shape", &[3]), ints("kernel_shape", &[1, 3])];
    let dilated = [ints("dilations", &[2]), ints("dilations", &[1, 2])];
    let more = [ints("output_padding", &[1]), ints("output_padding", &[0, 1])];
    let ceiled = [1, 1].map(|ceiled| Message::default().text(1, "ceil_mode").int(3, ceiled).int(20, 2));
    let cases = [
        ("Conv", vec![&strided, &padded, &dilated, &kernel], Some([weights(&[3]), weights(&[1, 3])])),
        ("ConvTranspose", vec![&strided, &padded, &more], Some([up(&[3]), up(&[1, 3])])),
        ("MaxPool", vec![&kernel, &strided, &padded, &ceiled], None),
        ("AveragePool", vec![&kernel, &strided, &padded], None),
        ("GlobalAveragePool", vec![], None),
        ("GlobalMaxPool", vec![], None),
    ];
    for (operator, settings, weight) in cases {
        let of = |place: usize, target: &[i64]| {
            let inputs = if weight.is_some() { &["line", "w"][..] } else { &["line"] };
            let settings: Vec<Message> = settings.iter().map(|pair| pair[place].clone()).collect();
            let layer = with(node(operator, "it", inputs, "scores", &[]), &settings);
            let nodes = [node("Reshape", "r", &["images", "target"], "line", &[]), layer];
            let weight = weight.as_ref().map(|pair| pair[place].clone());
            let weights: Vec<Message> = weight.into_iter().chain([list("target", target)]).collect();
            run(13, 3, &nodes, &weights)
        };
        assert_close(&of(0, &[0, 3, -1]), &of(1, &[0, 3, 1, -1]), operator);
    }
}

#[test]
fn a_batch_normalisation_takes_vectors_and_sequences() {
    let [scale, bias, mean, variance] = [[0.5, 2.0, -1.0], [0.1, 0.2, 0.3], [0.25, -0.5, 0.0], [1.0, 4.0, 0.25]];
    let weights = [
        floats("s", &[3], &scale),
        floats("b", &[3], &bias),
        floats("m", &[3], &mean),
        floats("v", &[3], &variance),
        list("line", &[0, 3, -1]),
        list("vector", &[0, 3]),
    ];
    let x = images(3);
    let normal = |x: f32, channel: usize| {
        (x - mean[channel]) / (variance[channel] + 1e-5_f32).sqrt() * scale[channel] + bias[channel]
    };
    let norm = |from: &str| node("BatchNormalization", "it", &[from, "s", "b", "m", "v"], "scores", &[]);
    let nodes = [node("Reshape", "r", &["images", "line"], "line", &[]), norm("line")];
    let expected: Vec<f32> = x.iter().enumerate().map(|(at, x)| normal(*x, at / PIXELS)).collect();
    assert_close(&run(13, 3, &nodes, &weights), &expected, "sequence");
    let means = x.chunks(PIXELS).map(|plane| plane.iter().sum::<f32>() / PIXELS as f32);
    let expected: Vec<f32> = means.enumerate().map(|(channel, mean)| normal(mean, channel)).collect();
    let nodes = [
        node("GlobalAveragePool", "p", &["images"], "p", &[]),
        node("Flatten", "f", &["p"], "vector", &[]),
        norm("vector"),
    ];
    assert_close(&run(13, 3, &nodes, &weights), &expected, "vector");
}

#[test]
fn a_negative_border_cuts_rows_off_and_a_transposed_convolution_may_have_more_padding_at_its_end() {
    let x = images(2);
    let pad = node("Pad", "it", &["images", "pads"], "scores", &[]);
    let ours = run(13, 2, &[pad], &[list("pads", &[0, 0, -1, 2, 0, 0, 1, -3])]);
    let value = |at: usize| {
        let (plane, row, column) = (at / (HEIGHT * (WIDTH - 1)), at / (WIDTH - 1) % HEIGHT, at % (WIDTH - 1));
        match (row + 1 < HEIGHT, column.checked_sub(2)) {
            (true, Some(column)) => x[plane * PIXELS + (row + 1) * WIDTH + column],
            _ => 0.0,
        }
    };
    assert_close(&ours, &(0..2 * HEIGHT * (WIDTH - 1)).map(value).collect::<Vec<_>>(), "a negative border");

    let filters: Vec<f32> = (0..2 * 9).map(|place| number(place + 3)).collect();
    let weights = [floats("w", &[2, 1, 3, 3], &filters)];
    let up = |pads: &[i64]| {
        let settings: [(&str, &[i64]); 2] = [("strides", &[2, 2]), ("pads", pads)];
        run(13, 2, &[node("ConvTranspose", "it", &["images", "w"], "scores", &settings)], &weights)
    };
    let whole = up(&[0, 0, 0, 0]);
    let (height, width) = (2 * HEIGHT + 1, 2 * WIDTH + 1);
    let inside = (0..height - 1).flat_map(|row| (1..width - 2).map(move |column| row * width + column));
    assert_close(&up(&[0, 1, 1, 2]), &inside.map(|at| whole[at]).collect::<Vec<_>>(), "more padding at the end");
}

#[test]
fn an_input_with_its_channels_last_gets_the_same_images() {
    let folder = tempfile::tempdir().unwrap();
    let scores = |input: &[i64], nodes: &[Message], what: &str| {
        let path = folder.path().join(format!("{what}.onnx"));
        std::fs::write(&path, writer::model(13, input, nodes, &[])).unwrap();
        let cnn = OnnxCnn::load(&Arc::new(OnnxFile::open(&path).unwrap()), [3, 8, 9], &Device::flex()).unwrap();
        let x: Vec<f32> = (0..2 * 3 * 72).map(number).collect();
        let x = Tensor::from_data(burn::tensor::TensorData::new(x, [2, 3, 8, 9]), &Device::flex());
        cnn.forward(x).into_data().try_to_vec::<f32>().unwrap()
    };
    let reduce = |axes: &[i64]| [node("ReduceMax", "it", &["images"], "scores", &[("axes", axes), ("keepdims", &[0])])];
    let first = scores(&[0, 3, 8, 9], &reduce(&[2, 3]), "first");
    assert_close(&scores(&[0, 8, 9, 3], &reduce(&[1, 2]), "last"), &first, "channels last");
}
