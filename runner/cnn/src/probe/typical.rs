//! The layers that a calibration times.

use super::Other::{
    AdaptivePool, Add, AveragePool, BatchNormalization, Concat, Gelu, GlobalAveragePool, HardSwish, LayerNormalization,
    LeakyRelu, MaxPool, Mul, Relu, Sigmoid, Softmax, Tanh, Transpose,
};
use super::{Other, Probe};

/// Input and output channels, kernel, stride, side of the input: first layers, and layers from few
/// channels and many pixels to many channels and one pixel.
const SPATIAL: [(usize, usize, usize, usize, usize); 26] = [
    (1, 6, 5, 1, 32),
    (3, 32, 3, 2, 64),
    (3, 32, 3, 2, 224),
    (3, 64, 7, 2, 64),
    (3, 20, 5, 1, 32),
    (3, 64, 3, 1, 32),
    (16, 16, 3, 1, 32),
    (20, 200, 3, 1, 14),
    (32, 32, 3, 1, 16),
    (32, 64, 3, 1, 45),
    (64, 64, 3, 1, 56),
    (64, 64, 3, 1, 16),
    (64, 64, 3, 1, 8),
    (64, 128, 3, 2, 16),
    (96, 96, 3, 1, 10),
    (128, 128, 3, 1, 28),
    (128, 128, 3, 1, 8),
    (224, 256, 3, 2, 10),
    (256, 256, 3, 1, 14),
    (256, 256, 3, 1, 4),
    (256, 512, 3, 2, 4),
    (256, 512, 3, 1, 2),
    (512, 512, 3, 1, 7),
    (512, 512, 3, 1, 4),
    (512, 512, 3, 1, 2),
    (512, 512, 3, 1, 1),
];

/// The same with kernels that are not square: input and output channels, kernel, side.
const RECTANGULAR: [(usize, usize, [usize; 2], usize); 5] = [
    (192, 224, [1, 7], 10),
    (224, 256, [7, 1], 4),
    (192, 192, [7, 1], 4),
    (384, 256, [1, 3], 1),
    (448, 512, [3, 1], 1),
];

/// Pointwise convolutions: input and output channels, stride, side of the input.
const POINTWISE: [(usize, usize, usize, usize); 32] = [
    (16, 96, 1, 80),
    (16, 96, 1, 32),
    (24, 144, 1, 56),
    (32, 192, 1, 8),
    (64, 64, 1, 56),
    (64, 128, 1, 45),
    (64, 256, 1, 16),
    (96, 24, 1, 16),
    (96, 24, 1, 1),
    (144, 32, 1, 8),
    (160, 960, 1, 2),
    (256, 64, 1, 28),
    (256, 64, 1, 16),
    (256, 512, 2, 16),
    (256, 728, 1, 12),
    (256, 1024, 1, 14),
    (256, 1024, 1, 4),
    (320, 1280, 1, 7),
    (320, 1280, 1, 2),
    (384, 64, 1, 4),
    (384, 96, 1, 10),
    (512, 128, 1, 8),
    (512, 2048, 1, 7),
    (512, 2048, 1, 2),
    (576, 96, 1, 4),
    (728, 728, 1, 6),
    (960, 160, 1, 2),
    (1024, 256, 1, 4),
    (1024, 2048, 2, 4),
    (1536, 256, 1, 1),
    (1536, 2048, 1, 3),
    (2048, 512, 1, 2),
];

/// Convolutions with groups: channels, groups, kernel, stride, side of the input.
const GROUPED: [(usize, usize, usize, usize, usize); 21] = [
    (96, 96, 3, 2, 80),
    (32, 32, 3, 1, 32),
    (64, 64, 3, 1, 64),
    (96, 96, 3, 2, 32),
    (96, 96, 5, 2, 28),
    (96, 96, 7, 1, 14),
    (120, 120, 5, 1, 14),
    (128, 128, 3, 1, 45),
    (144, 144, 3, 1, 16),
    (144, 144, 3, 2, 56),
    (384, 384, 3, 1, 4),
    (384, 384, 7, 1, 4),
    (728, 728, 3, 1, 6),
    (960, 960, 3, 1, 2),
    (960, 960, 5, 1, 7),
    (1536, 1536, 3, 1, 3),
    (64, 2, 1, 1, 14),
    (128, 32, 3, 1, 28),
    (256, 4, 3, 1, 14),
    (512, 32, 3, 1, 7),
    (48, 2, 3, 2, 28),
];

/// Fully connected layers: inputs and outputs.
const LINEAR: [[usize; 2]; 11] = [
    [64, 10],
    [128, 128],
    [400, 120],
    [4500, 128],
    [512, 1000],
    [1280, 1000],
    [2048, 1000],
    [4096, 1000],
    [2048, 4096],
    [4096, 4096],
    [16384, 2048],
];

/// Pools, with channels and side.
const POOLS: [(Other, [usize; 2]); 20] = [
    (MaxPool(2, 2), [16, 10]),
    (MaxPool(2, 2), [64, 32]),
    (MaxPool(2, 2), [512, 2]),
    (MaxPool(2, 2), [512, 4]),
    (MaxPool(3, 2), [48, 40]),
    (MaxPool(3, 2), [64, 112]),
    (MaxPool(3, 2), [384, 10]),
    (MaxPool(3, 2), [728, 12]),
    (AveragePool(2, 2), [6, 28]),
    (AveragePool(2, 2), [16, 10]),
    (AveragePool(2, 2), [128, 28]),
    (AveragePool(3, 1), [384, 10]),
    (AveragePool(3, 1), [1024, 4]),
    (AveragePool(3, 1), [1536, 1]),
    (AdaptivePool, [512, 1]),
    (AdaptivePool, [512, 7]),
    (GlobalAveragePool, [96, 14]),
    (GlobalAveragePool, [512, 2]),
    (GlobalAveragePool, [960, 1]),
    (GlobalAveragePool, [2048, 7]),
];

/// Operations on each number, and the channels and sides on which each is timed.
const ON_NUMBERS: [Other; 13] = [
    Relu,
    LeakyRelu,
    Tanh,
    Sigmoid,
    HardSwish,
    Gelu,
    Add,
    Mul,
    Concat,
    Transpose,
    BatchNormalization,
    LayerNormalization,
    Softmax,
];
const SIZES: [[usize; 2]; 4] = [[84, 1], [96, 10], [256, 16], [96, 56]];

/// Returns the layers.
pub fn typical() -> Vec<Probe> {
    let square = |channels, kernel, stride, groups, side| Probe::Conv {
        channels,
        kernel: [kernel, kernel],
        stride,
        groups,
        side,
    };
    let spatial =
        SPATIAL.map(|(inputs, outputs, kernel, stride, side)| square([inputs, outputs], kernel, stride, 1, side));
    let rectangular = RECTANGULAR.map(|(inputs, outputs, kernel, side)| Probe::Conv {
        channels: [inputs, outputs],
        kernel,
        stride: 1,
        groups: 1,
        side,
    });
    let pointwise = POINTWISE.map(|(inputs, outputs, stride, side)| square([inputs, outputs], 1, stride, 1, side));
    let grouped = GROUPED
        .map(|(channels, groups, kernel, stride, side)| square([channels, channels], kernel, stride, groups, side));
    let pools = POOLS.map(|(pool, size)| Probe::Other(pool, size));
    let on_numbers = ON_NUMBERS.into_iter().flat_map(|other| SIZES.map(|size| Probe::Other(other, size)));
    let convolutions = spatial.into_iter().chain(rectangular).chain(pointwise).chain(grouped);
    convolutions.chain(LINEAR.map(Probe::Linear)).chain(pools).chain(on_numbers).collect()
}
