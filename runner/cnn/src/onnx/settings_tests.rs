//! Attributes of operators against the formulas of their specification
//! (<https://onnx.ai/onnx/operators/>), written out number by number.

use burn::tensor::TensorData;

use super::writer::{Message, list, model, node};
use super::*;

pub const HEIGHT: usize = 7;
pub const WIDTH: usize = 9;

/// An attribute of one or several integers.
type Ints<'a> = (&'a str, &'a [i64]);

pub fn number(place: usize) -> f32 {
    ((place * 7919) % 1013) as f32 / 506.5 - 1.0
}

pub fn images(channels: usize) -> Vec<f32> {
    (0..channels * HEIGHT * WIDTH).map(number).collect()
}

pub fn floats(name: &str, dims: &[i64], floats: &[f32]) -> Message {
    let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    dims.iter().fold(Message::default(), |weight, dim| weight.int(1, *dim)).int(2, 1).text(8, name).bytes(9, &bytes)
}

pub fn float(name: &str, value: f32) -> Message {
    Message::default().text(1, name).float(2, value).int(20, 1)
}

pub fn text(name: &str, value: &str) -> Message {
    Message::default().text(1, name).text(4, value).int(20, 3)
}

pub fn with(node: Message, attributes: &[Message]) -> Message {
    attributes.iter().fold(node, |node, attribute| node.message(5, attribute))
}

/// Runs nodes on the images `[1, channels, 7, 9]`.
pub fn run(opset: i64, channels: usize, nodes: &[Message], weights: &[Message]) -> Vec<f32> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.onnx");
    let input = [0, channels as i64, HEIGHT as i64, WIDTH as i64];
    std::fs::write(&path, model(opset, &input, nodes, weights)).unwrap();
    let shape = [channels, HEIGHT, WIDTH];
    let device = Device::flex();
    let cnn = OnnxCnn::load(&Arc::new(OnnxFile::open(&path).unwrap()), shape, &device).unwrap();
    let images = Tensor::from_data(TensorData::new(images(channels), [1, channels, HEIGHT, WIDTH]), &device);
    cnn.forward(images).into_data().try_to_vec::<f32>().unwrap()
}

pub fn assert_close(ours: &[f32], expected: &[f32], what: &str) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    for (place, (a, b)) in ours.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{what}: {a} and {b} at {place}");
    }
}

/// A sliding window.
#[derive(Clone, Copy, Debug)]
struct Slide {
    kernel: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    /// Top, left, bottom, right.
    pads: [usize; 4],
    rounds_up: bool,
}

impl Slide {
    fn out(&self) -> [usize; 2] {
        [0, 1].map(|axis| {
            let (side, before) = ([HEIGHT, WIDTH][axis], self.pads[axis]);
            let room = side + before + self.pads[axis + 2] - (self.kernel[axis] - 1) * self.dilation[axis] - 1;
            let floor = room / self.stride[axis] + 1;
            let ceil = room.div_ceil(self.stride[axis]) + 1;
            // No window starts in the padding after the image.
            if self.rounds_up && (ceil - 1) * self.stride[axis] < side + before { ceil } else { floor }
        })
    }

    /// Returns the taps of each window: the place in the kernel and in the padded image, as
    /// distances from the first pixel.
    fn windows(&self) -> Vec<Vec<([usize; 2], [isize; 2])>> {
        let [rows, columns] = self.out();
        let mut all = Vec::new();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let mut taps = Vec::new();
            for (i, j) in (0..self.kernel[0]).flat_map(|i| (0..self.kernel[1]).map(move |j| (i, j))) {
                let at = [0, 1].map(|axis| {
                    let place = [row, column][axis] * self.stride[axis] + [i, j][axis] * self.dilation[axis];
                    place as isize - self.pads[axis] as isize
                });
                taps.push(([i, j], at));
            }
            all.push(taps);
        }
        all
    }
}

fn pixel(plane: &[f32], [row, column]: [isize; 2]) -> Option<f32> {
    let is_inside = (0..HEIGHT as isize).contains(&row) && (0..WIDTH as isize).contains(&column);
    is_inside.then(|| plane[row as usize * WIDTH + column as usize])
}

fn ints(numbers: &[usize]) -> Vec<i64> {
    numbers.iter().map(|number| *number as i64).collect()
}

const PLAIN: Slide = Slide { kernel: [3, 2], stride: [1, 1], dilation: [1, 1], pads: [0; 4], rounds_up: false };

fn convolved(slide: &Slide, channels: usize, outputs: usize, groups: usize, weights: &[f32]) -> Vec<f32> {
    let (per_group, images) = (channels / groups, images(channels));
    let planes: Vec<&[f32]> = images.chunks(HEIGHT * WIDTH).collect();
    let mut all = Vec::new();
    for output in 0..outputs {
        let first = output / (outputs / groups) * per_group;
        for taps in slide.windows() {
            let mut sum = 0.0;
            for (channel, ([i, j], at)) in (0..per_group).flat_map(|channel| taps.iter().map(move |tap| (channel, tap)))
            {
                let place = ((output * per_group + channel) * slide.kernel[0] + i) * slide.kernel[1] + j;
                sum += weights[place] * pixel(planes[first + channel], *at).unwrap_or(0.0);
            }
            all.push(sum);
        }
    }
    all
}

#[test]
fn a_convolution_follows_pads_strides_dilations_and_groups() {
    for (slide, groups) in [
        (PLAIN, 1),
        (Slide { pads: [2, 0, 1, 3], ..PLAIN }, 1),
        (Slide { pads: [0, 3, 2, 1], stride: [2, 3], ..PLAIN }, 2),
        (Slide { pads: [1, 2, 3, 0], dilation: [2, 3], ..PLAIN }, 4),
        (Slide { pads: [1, 0, 0, 2], stride: [2, 1], dilation: [1, 2], ..PLAIN }, 2),
    ] {
        let weights: Vec<f32> = (0..8 * (4 / groups) * 6).map(|place| number(place + 500)).collect();
        let dims = [8, 4 / groups as i64, 3, 2];
        let [strides, dilations, pads] = [&slide.stride[..], &slide.dilation, &slide.pads].map(ints);
        let attributes: [Ints<'_>; 4] =
            [("strides", &strides), ("dilations", &dilations), ("pads", &pads), ("group", &[groups as i64])];
        let conv = node("Conv", "it", &["images", "w"], "scores", &attributes);
        let ours = run(18, 4, &[conv], &[floats("w", &dims, &weights)]);
        assert_close(&ours, &convolved(&slide, 4, 8, groups, &weights), &format!("{slide:?} in {groups} groups"));
    }
}

#[test]
fn automatic_padding_puts_the_odd_pixel_where_it_says() {
    let weights: Vec<f32> = (0..2 * 3 * 6).map(number).collect();
    // Seven rows need two pixels with a kernel and a stride of 3, nine columns one with 2 and 1.
    for (mode, pads) in [("SAME_UPPER", [1, 0, 1, 1]), ("SAME_LOWER", [1, 1, 1, 0]), ("VALID", [0; 4])] {
        let conv = node("Conv", "it", &["images", "w"], "scores", &[("strides", &[3, 1])]);
        let ours = run(18, 3, &[with(conv, &[text("auto_pad", mode)])], &[floats("w", &[2, 3, 3, 2], &weights)]);
        let slide = Slide { pads, stride: [3, 1], ..PLAIN };
        assert_close(&ours, &convolved(&slide, 3, 2, 1, &weights), mode);
    }
}

#[test]
fn pools_follow_pads_dilations_the_ceiling_and_what_counts() {
    let slides = [
        PLAIN,
        Slide { pads: [1, 0, 2, 1], stride: [2, 2], ..PLAIN },
        Slide { pads: [1, 1, 1, 1], stride: [2, 3], rounds_up: true, kernel: [3, 3], ..PLAIN },
        Slide { pads: [0, 1, 1, 0], stride: [3, 2], rounds_up: true, ..PLAIN },
        Slide { stride: [3, 2], rounds_up: true, ..PLAIN },
    ];
    let attributes = |slide: &Slide| {
        let [kernel, strides, pads] = [&slide.kernel[..], &slide.stride, &slide.pads].map(ints);
        [
            ("kernel_shape", kernel),
            ("strides", strides),
            ("pads", pads),
            ("ceil_mode", vec![i64::from(slide.rounds_up)]),
        ]
    };
    let named = |all: &[(&'static str, Vec<i64>)], more: &[(&'static str, Vec<i64>)], operator: &str| {
        let all: Vec<Ints<'_>> = all.iter().chain(more).map(|(name, ints)| (*name, ints.as_slice())).collect();
        run(19, 2, &[node(operator, "it", &["images"], "scores", &all)], &[])
    };
    let images = images(2);
    for slide in slides {
        for counts in [false, true] {
            let ours = named(&attributes(&slide), &[("count_include_pad", vec![i64::from(counts)])], "AveragePool");
            // Padding counts, but not what only the ceiling adds.
            let is_padded =
                |at: &[isize; 2]| (0..2).all(|axis| at[axis] < ([HEIGHT, WIDTH][axis] + slide.pads[axis + 2]) as isize);
            let mut expected = Vec::new();
            for plane in images.chunks(HEIGHT * WIDTH) {
                expected.extend(slide.windows().iter().map(|taps| {
                    let there: Vec<f32> = taps.iter().filter_map(|(_, at)| pixel(plane, *at)).collect();
                    let padded = taps.iter().filter(|(_, at)| is_padded(at)).count();
                    there.iter().sum::<f32>() / if counts { padded } else { there.len() } as f32
                }));
            }
            assert_close(&ours, &expected, &format!("{slide:?}, count_include_pad {counts}"));
        }
        for dilation in [[1, 1], [2, 3]] {
            let slide = Slide { dilation, ..slide };
            let ours = named(&attributes(&slide), &[("dilations", ints(&dilation))], "MaxPool");
            let mut expected = Vec::new();
            for plane in images.chunks(HEIGHT * WIDTH) {
                expected.extend(
                    slide.windows().iter().map(|taps| {
                        taps.iter().filter_map(|(_, at)| pixel(plane, *at)).fold(f32::NEG_INFINITY, f32::max)
                    }),
                );
            }
            assert_close(&ours, &expected, &format!("largest of {slide:?}"));
        }
    }
}

#[test]
fn borders_of_every_mode_are_those_of_numpy() {
    let (top, left, bottom, right) = (2_isize, 1_isize, 3_isize, 4_isize);
    let image = images(1);
    let mirrored = |at: isize, side: isize| {
        let at = at.abs();
        if at < side { at } else { 2 * (side - 1) - at }
    };
    for mode in ["constant", "reflect", "edge"] {
        let pad = node("Pad", "it", &["images", "pads", "value"], "scores", &[]);
        let weights = [list("pads", &[0, 0, 2, 1, 0, 0, 3, 4]), floats("value", &[1], &[0.25])];
        let ours = run(18, 1, &[with(pad, &[text("mode", mode)])], &weights);
        let (height, width) = (HEIGHT as isize, WIDTH as isize);
        let mut expected = Vec::new();
        for (row, column) in (-top..height + bottom).flat_map(|row| (-left..width + right).map(move |it| (row, it))) {
            expected.push(match mode {
                "constant" => pixel(&image, [row, column]).unwrap_or(0.25),
                "reflect" => pixel(&image, [mirrored(row, height), mirrored(column, width)]).unwrap(),
                _ => pixel(&image, [row.clamp(0, height - 1), column.clamp(0, width - 1)]).unwrap(),
            });
        }
        assert_close(&ours, &expected, mode);
    }
}

#[test]
fn a_product_follows_its_factors_and_transposes() {
    let x = images(1);
    let inner = x.len();
    let flat = || node("Flatten", "flat", &["images"], "f", &[]);
    let gemm = |attributes: &[Ints<'_>], factors: &[Message]| {
        with(node("Gemm", "it", &["f", "w", "b"], "scores", attributes), factors)
    };
    let weights: Vec<f32> = (0..inner * 3).map(|place| number(place + 77)).collect();
    let transposed: Vec<f32> =
        (0..3).flat_map(|j| (0..inner).map(move |i| (i, j))).map(|(i, j)| weights[i * 3 + j]).collect();
    let bias = [0.5, -1.5, 2.0];
    for (alpha, beta) in [(1.0, 1.0), (0.5, 1.0), (1.0, 3.0), (-2.0, 0.25)] {
        let product = |column: usize| (0..inner).map(|i| x[i] * weights[i * 3 + column]).sum::<f32>();
        let expected: Vec<f32> = (0..3).map(|column| alpha * product(column) + beta * bias[column]).collect();
        let factors = [float("alpha", alpha), float("beta", beta)];
        let bias = floats("b", &[3], &bias);
        let plain = [floats("w", &[inner as i64, 3], &weights), bias.clone()];
        assert_close(&run(18, 1, &[flat(), gemm(&[], &factors)], &plain), &expected, "as stored");
        let turned = [floats("w", &[3, inner as i64], &transposed), bias];
        let attributes: [Ints<'_>; 1] = [("transB", &[1])];
        assert_close(&run(18, 1, &[flat(), gemm(&attributes, &factors)], &turned), &expected, "transB");
    }
    // The column of the image by a row of weights.
    let weights = [floats("w", &[1, 3], &bias), floats("b", &[1], &[0.75])];
    let ours = run(18, 1, &[flat(), gemm(&[("transA", &[1])], &[float("alpha", 2.0)])], &weights);
    let expected: Vec<f32> = x.iter().flat_map(|x| bias.map(|weight| 2.0 * x * weight + 0.75)).collect();
    assert_close(&ours, &expected, "transA");
}

#[test]
fn a_batch_normalisation_adds_its_epsilon_to_the_variance() {
    let weights = [("s", [1.5, -0.5]), ("b", [0.25, 1.0]), ("m", [0.1, -0.2]), ("v", [0.02, 2.0])];
    let inputs = ["images", "s", "b", "m", "v"];
    for epsilon in [None, Some(0.3)] {
        let norm = node("BatchNormalization", "it", &inputs, "scores", &[]);
        let given: Vec<Message> = epsilon.iter().map(|value| float("epsilon", *value)).collect();
        let ours = run(15, 2, &[with(norm, &given)], &weights.map(|(name, numbers)| floats(name, &[2], &numbers)));
        let [(_, scale), (_, bias), (_, mean), (_, variance)] = weights;
        let expected: Vec<f32> = images(2)
            .into_iter()
            .enumerate()
            .map(|(place, x)| {
                let channel = place / (HEIGHT * WIDTH);
                let deviation = (variance[channel] + epsilon.unwrap_or(1e-5)).sqrt();
                (x - mean[channel]) / deviation * scale[channel] + bias[channel]
            })
            .collect();
        assert_close(&ours, &expected, &format!("epsilon {epsilon:?}"));
    }
}

#[test]
fn a_clip_may_lack_either_bound() {
    let weights = [floats("low", &[], &[-0.25]), floats("high", &[], &[0.5])];
    let clipped = |inputs: &[&str]| run(18, 1, &[node("Clip", "it", inputs, "scores", &[])], &weights);
    let expected = |low: f32, high: f32| images(1).into_iter().map(|x| x.max(low).min(high)).collect::<Vec<_>>();
    assert_close(&clipped(&["images", "low", "high"]), &expected(-0.25, 0.5), "both");
    assert_close(&clipped(&["images", "low"]), &expected(-0.25, f32::MAX), "low");
    assert_close(&clipped(&["images", "", "high"]), &expected(f32::MIN, 0.5), "high");
    assert_close(&clipped(&["images"]), &images(1), "neither");
    let old = with(node("Clip", "it", &["images"], "scores", &[]), &[float("max", 0.5)]);
    assert_close(&run(10, 1, &[old], &[]), &expected(f32::MIN, 0.5), "an attribute");
}

#[test]
fn a_clip_with_a_minimum_above_its_maximum_gives_the_maximum() {
    let weights = [floats("low", &[], &[0.5]), floats("high", &[], &[-0.25])];
    let clipped = run(18, 1, &[node("Clip", "it", &["images", "low", "high"], "scores", &[])], &weights);
    assert_eq!(clipped, vec![-0.25; clipped.len()]);
}

#[test]
fn softmax_is_along_its_axis_and_before_operator_set_13_over_all_from_it_on() {
    let x = images(2);
    let softmax = |opset: i64, attributes: &[Ints<'_>]| {
        run(opset, 2, &[node("Softmax", "it", &["images"], "scores", attributes)], &[])
    };
    let plane = HEIGHT * WIDTH;
    // Normalises the numbers whose places have the same key.
    let along = |key: &dyn Fn(usize) -> usize| {
        let mut sums = vec![0.0; x.len()];
        x.iter().enumerate().for_each(|(place, x)| sums[key(place)] += x.exp());
        x.iter().enumerate().map(|(place, x)| x.exp() / sums[key(place)]).collect::<Vec<_>>()
    };
    let (rows, channels) = (along(&|place| place / WIDTH), along(&|place| place % plane));
    assert_close(&softmax(13, &[]), &rows, "the last axis");
    assert_close(&softmax(13, &[("axis", &[1])]), &channels, "channels");
    assert_close(&softmax(13, &[("axis", &[-3])]), &channels, "channels from the end");
    assert_close(&softmax(11, &[]), &along(&|_| 0), "everything of an image");
    assert_close(&softmax(11, &[("axis", &[2])]), &along(&|place| place / plane), "an old axis");
}

#[test]
fn flatten_divides_the_axes_at_its_own() {
    // The matrix is multiplied by its columns' weights, which tells its shape.
    for (axis, columns) in [(1, 2 * HEIGHT * WIDTH), (2, HEIGHT * WIDTH), (-1, WIDTH)] {
        let weights: Vec<f32> = (0..columns).map(|place| number(place + 9)).collect();
        let flat = node("Flatten", "flat", &["images"], "f", &[("axis", &[axis])]);
        let product = node("MatMul", "it", &["f", "w"], "scores", &[]);
        let ours = run(18, 2, &[flat, product], &[floats("w", &[columns as i64, 1], &weights)]);
        let dot = |row: &[f32]| row.iter().zip(&weights).map(|(x, weight)| x * weight).sum::<f32>();
        let expected: Vec<f32> = images(2).chunks(columns).map(dot).collect();
        assert_close(&ours, &expected, &format!("axis {axis}"));
    }
}

#[test]
fn functions_follow_their_coefficients() {
    let shown = |operator: &str, floats: &[Message], function: &dyn Fn(f32) -> f32| {
        let node = with(node(operator, "it", &["images"], "scores", &[]), floats);
        let expected: Vec<f32> = images(1).into_iter().map(function).collect();
        assert_close(&run(18, 1, &[node], &[]), &expected, &format!("{operator} with {} attributes", floats.len()));
    };
    let (alpha, beta) = (float("alpha", 0.3), float("beta", 0.7));
    let elu = |alpha: f32| move |x: f32| if x > 0.0 { x } else { alpha * x.exp_m1() };
    let celu = |alpha: f32| move |x: f32| x.max(0.0) + (alpha * (x / alpha).exp_m1()).min(0.0);
    shown("LeakyRelu", &[], &|x| if x > 0.0 { x } else { 0.01 * x });
    shown("LeakyRelu", std::slice::from_ref(&alpha), &|x| if x > 0.0 { x } else { 0.3 * x });
    shown("Elu", &[], &elu(1.0));
    shown("Elu", std::slice::from_ref(&alpha), &elu(0.3));
    shown("Celu", &[], &celu(1.0));
    shown("Celu", std::slice::from_ref(&alpha), &celu(0.3));
    shown("Selu", &[], &|x| 1.050_701 * elu(1.673_263_2)(x));
    shown("Selu", &[alpha.clone(), float("gamma", 2.0)], &|x| 2.0 * elu(0.3)(x));
    shown("HardSigmoid", &[], &|x| (0.2 * x + 0.5).clamp(0.0, 1.0));
    shown("HardSigmoid", &[alpha, beta], &|x| (0.3 * x + 0.7).clamp(0.0, 1.0));
}

#[test]
fn a_transposed_convolution_follows_all_its_settings() {
    for (pads, strides, dilations, extra, groups) in [
        ([0, 0, 0, 0], [1, 1], [1, 1], [0, 0], 1),
        ([1, 1, 1, 1], [2, 3], [1, 1], [1, 2], 1),
        ([1, 2, 0, 1], [3, 2], [2, 1], [0, 1], 2),
    ] {
        let per_group = 3;
        let weights: Vec<f32> = (0..4 * per_group * 6).map(|place| number(place + 31)).collect();
        let [all_pads, all_strides, all_dilations, all_extra] = [&pads[..], &strides, &dilations, &extra].map(ints);
        let attributes: [Ints<'_>; 5] = [
            ("pads", &all_pads),
            ("strides", &all_strides),
            ("dilations", &all_dilations),
            ("output_padding", &all_extra),
            ("group", &[groups as i64]),
        ];
        let conv = node("ConvTranspose", "it", &["images", "w"], "scores", &attributes);
        let ours = run(18, 4, &[conv], &[floats("w", &[4, per_group as i64, 3, 2], &weights)]);
        let side = |axis: usize| {
            let full = ([HEIGHT, WIDTH][axis] - 1) * strides[axis] + ([3, 2][axis] - 1) * dilations[axis] + 1;
            full + extra[axis] - pads[axis] - pads[axis + 2]
        };
        let (height, width) = (side(0), side(1));
        let mut expected = vec![0.0; groups * per_group * height * width];
        // Each pixel adds the kernel at its place.
        for (channel, plane) in images(4).chunks(HEIGHT * WIDTH).enumerate() {
            for (place, x) in plane.iter().enumerate() {
                for (output, tap) in (0..per_group).flat_map(|output| (0..6).map(move |tap| (output, tap))) {
                    let row = place / WIDTH * strides[0] + tap / 2 * dilations[0];
                    let column = place % WIDTH * strides[1] + tap % 2 * dilations[1];
                    let (Some(row), Some(column)) = (row.checked_sub(pads[0]), column.checked_sub(pads[1])) else {
                        continue;
                    };
                    if row < height && column < width {
                        let plane = channel / (4 / groups) * per_group + output;
                        expected[(plane * height + row) * width + column] +=
                            x * weights[(channel * per_group + output) * 6 + tap];
                    }
                }
            }
        }
        assert_close(&ours, &expected, &format!("{pads:?} {strides:?} {dilations:?} {extra:?} {groups}"));
    }
}

#[test]
fn a_resize_follows_its_coordinates_and_its_rounding() {
    let x = images(1);
    let sizes = list("sizes", &[1, 1, 14, 5]);
    let place = |at: usize, from: usize, to: usize, coordinates: &str| {
        let (at, from, to) = (at as f32, from as f32, to as f32);
        match coordinates {
            "half_pixel" => (at + 0.5) * from / to - 0.5,
            "asymmetric" => at * from / to,
            _ => at * (from - 1.0) / (to - 1.0),
        }
    };
    let resized = |attributes: &[(&str, &str)]| {
        let texts: Vec<Message> = attributes.iter().map(|(name, value)| text(name, value)).collect();
        let node = with(node("Resize", "it", &["images", "", "", "sizes"], "scores", &[]), &texts);
        run(13, 1, &[node], std::slice::from_ref(&sizes))
    };
    let mode = "coordinate_transformation_mode";
    for coordinates in ["half_pixel", "asymmetric", "align_corners"] {
        for rounding in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] {
            let whole = |at: f32, side: usize| {
                let at = match rounding {
                    "round_prefer_floor" => (at - 0.5).ceil(),
                    "round_prefer_ceil" => (at + 0.5).floor(),
                    "floor" => at.floor(),
                    _ => at.ceil(),
                };
                at.clamp(0.0, side as f32 - 1.0) as usize
            };
            let pixel = |row: usize, column: usize| {
                let row = whole(place(row, HEIGHT, 14, coordinates), HEIGHT);
                x[row * WIDTH + whole(place(column, WIDTH, 5, coordinates), WIDTH)]
            };
            let expected: Vec<f32> = (0..14 * 5).map(|at| pixel(at / 5, at % 5)).collect();
            let ours = resized(&[(mode, coordinates), ("nearest_mode", rounding)]);
            assert_close(&ours, &expected, &format!("{coordinates} {rounding}"));
        }
        // Between the two pixels of each axis; those outside are the edge.
        let two = |at: f32, side: usize| {
            let (low, last) = (at.floor(), side as f32 - 1.0);
            (low.clamp(0.0, last) as usize, (low + 1.0).clamp(0.0, last) as usize, at - low)
        };
        let pixel = |row: usize, column: usize| {
            let (top, bottom, down) = two(place(row, HEIGHT, 14, coordinates), HEIGHT);
            let (left, right, across) = two(place(column, WIDTH, 5, coordinates), WIDTH);
            let between = |row: usize| x[row * WIDTH + left] * (1.0 - across) + x[row * WIDTH + right] * across;
            between(top) * (1.0 - down) + between(bottom) * down
        };
        let expected: Vec<f32> = (0..14 * 5).map(|at| pixel(at / 5, at % 5)).collect();
        assert_close(&resized(&[(mode, coordinates), ("mode", "linear")]), &expected, coordinates);
    }
}
