//! The built-in CNNs and text classifiers.

use crate::{Architecture, Colour, Input};

/// All architectures, in the order in which `foreglow models` lists them.
pub const ALL: &[&Architecture] = &[
    &LENET5,
    &CNN11,
    &VGG16,
    &RESNET18,
    &RESNET50,
    &INCEPTION_V4,
    &XCEPTION,
    &MOBILENET_V2,
    &RESNET20_CIFAR,
    &VGG16_CIFAR,
    &TEXT_CNN,
    &TEXT_LSTM,
];

/// Groups in 20 Newsgroups.
const NEWSGROUPS: usize = 20;

/// Architecture of LeNet-5.
pub const LENET5: Architecture = Architecture {
    name: "lenet5",
    source: "LeCun et al. 1998",
    // The fully connected layers fix the image size.
    input: Input::Images { colour: Colour::Grey, default_px: 32, px: 32..=32 },
    classes: 10,
    parameters: 61_706,
    multiply_accumulates: 416_520,
};

/// Architecture of the 11-layer CNN.
pub const CNN11: Architecture = Architecture {
    name: "cnn11",
    source: "Bagari 2018",
    // The dense layers fix the image size.
    input: Input::Images { colour: Colour::Rgb, default_px: 32, px: 32..=32 },
    classes: 143,
    parameters: 1_922_023,
    multiply_accumulates: 61_353_884,
};

/// Architecture of VGG-16.
pub const VGG16: Architecture = Architecture {
    name: "vgg16",
    source: "Simonyan and Zisserman 2015",
    // Five pools halve the side: 32 px is the smallest side that leaves one pixel per channel.
    input: Input::Images { colour: Colour::Rgb, default_px: 224, px: 32..=1024 },
    classes: 1000,
    parameters: 138_357_544,
    multiply_accumulates: 15_470_264_320,
};

/// Architecture of ResNet-18.
pub const RESNET18: Architecture = Architecture {
    name: "resnet18",
    source: "He et al. 2016",
    // The stem and the stages halve the side five times: 32 px is the smallest side that leaves one
    // pixel per channel.
    input: Input::Images { colour: Colour::Rgb, default_px: 64, px: 32..=1024 },
    classes: 1000,
    parameters: 11_689_512,
    multiply_accumulates: 148_557_824,
};

/// Architecture of ResNet-50.
pub const RESNET50: Architecture = Architecture {
    name: "resnet50",
    source: "He et al. 2016",
    input: Input::Images { colour: Colour::Rgb, default_px: 224, px: 32..=1024 },
    classes: 1000,
    parameters: 25_557_032,
    multiply_accumulates: 4_089_184_256,
};

/// Architecture of Inception-v4.
pub const INCEPTION_V4: Architecture = Architecture {
    name: "inception_v4",
    source: "Szegedy et al. 2017",
    // 75 px is the smallest side that leaves one pixel per channel at the end.
    input: Input::Images { colour: Colour::Rgb, default_px: 299, px: 75..=1024 },
    classes: 1000,
    parameters: 42_679_816,
    multiply_accumulates: 12_253_974_624,
};

/// Architecture of Xception.
pub const XCEPTION: Architecture = Architecture {
    name: "xception",
    source: "Chollet 2017",
    // The minimum side of Keras, 71 px, leaves three pixels a side at the end.
    input: Input::Images { colour: Colour::Rgb, default_px: 299, px: 71..=1024 },
    classes: 1000,
    parameters: 22_855_952,
    multiply_accumulates: 8_357_403_496,
};

/// Architecture of MobileNet-v2.
pub const MOBILENET_V2: Architecture = Architecture {
    name: "mobilenet_v2",
    source: "Sandler et al. 2018",
    // Five layers halve the side.
    input: Input::Images { colour: Colour::Rgb, default_px: 224, px: 32..=1024 },
    classes: 1000,
    parameters: 3_504_872,
    multiply_accumulates: 300_774_272,
};

/// Architecture of ResNet-20 for CIFAR-10.
pub const RESNET20_CIFAR: Architecture = Architecture {
    name: "resnet20_cifar",
    source: "BigDL 0.7.1",
    input: Input::Images { colour: Colour::Rgb, default_px: 32, px: 32..=1024 },
    classes: 10,
    parameters: 269_722,
    multiply_accumulates: 40_551_040,
};

/// Architecture of VGG-16 for CIFAR-10.
pub const VGG16_CIFAR: Architecture = Architecture {
    name: "vgg16_cifar",
    source: "BigDL 0.7.1",
    // The fully connected layers fix the image size.
    input: Input::Images { colour: Colour::Rgb, default_px: 32, px: 32..=32 },
    classes: 10,
    parameters: 14_991_946,
    multiply_accumulates: 313_463_808,
};

/// Architecture of the convolutional classifier.
pub const TEXT_CNN: Architecture = Architecture {
    name: "text_cnn",
    source: "BigDL 0.7.1",
    // A filter spans five words.
    input: Input::Texts { default_words: 500, words: 5..=10_000 },
    classes: NEWSGROUPS,
    parameters: 291_732,
    multiply_accumulates: 127_011_328,
};

/// Architecture of the recurrent classifier.
pub const TEXT_LSTM: Architecture = Architecture {
    name: "text_lstm",
    source: "BigDL 0.7.1",
    input: Input::Texts { default_words: 500, words: 1..=10_000 },
    classes: NEWSGROUPS,
    parameters: 503_444,
    multiply_accumulates: 233_507_328,
};
