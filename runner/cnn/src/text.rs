//! The text classifiers of BigDL that Matteussi et al. ("Analysis and Performance Evaluation of
//! Deep Learning on Big Data", 2019) ran: release 0.7.1,
//! `pyspark/bigdl/models/textclassifier/textclassifier.py`, `build_model` with `cnn` and with
//! `lstm`. The word vectors are GloVe's (Pennington, Socher and Manning, EMNLP 2014) and are not
//! learned.
//!
//! The program reads 500 words per text, uses 200-dimensional vectors in its README (300 by
//! default), and classifies the 20 groups of 20 Newsgroups. Here the dimensions are those of the
//! vector file. Its log-softmax is part of the cross-entropy here.

use burn::module::Module;
use burn::nn::{
    Linear, LinearConfig,
    conv::{Conv2d, Conv2dConfig},
};
use burn::tensor::{Device, Tensor, activation::relu};
use foreglow_architectures::Shape;

use super::Trace;
use super::dropout::Dropout;
use super::layers::connect;
use super::lstm::Lstm;

/// Filters of the convolution and units of the recurrent layer.
const FEATURES: usize = 256;
/// Words per filter.
const WINDOW: usize = 5;

/// Filters over five words each, with a max-pool over all positions.
#[derive(Module, Debug)]
pub struct TextCnn {
    conv: Conv2d,
    head: Head,
}

impl TextCnn {
    /// Creates the network with Burn's initial weights, for word vectors of this shape.
    pub fn new([_, _, dims]: Shape, classes: usize, device: &Device) -> Self {
        Self { conv: Conv2dConfig::new([1, FEATURES], [WINDOW, dims]).init(device), head: Head::new(classes, device) }
    }

    /// Returns the class scores: texts `[n, 1, words, dims]` to `[n, classes]`.
    pub fn forward(&self, texts: Tensor<4>) -> Tensor<2> {
        let answers = relu(self.conv.forward(texts));
        let [n, features, _, _] = answers.dims();
        self.head.forward(answers.max_dim(2).reshape([n, features]))
    }

    fn trace(&self, trace: &mut Trace) {
        self.head.trace(trace.conv(&self.conv).global_pool());
    }
}

super::burn_cnn!(TextCnn);

/// LSTM over the words; its last output is classified.
#[derive(Module, Debug)]
pub struct TextLstm {
    lstm: Lstm,
    head: Head,
}

impl TextLstm {
    /// Creates the network with Burn's initial weights, for word vectors of this shape.
    pub fn new([_, _, dims]: Shape, classes: usize, device: &Device) -> Self {
        Self { lstm: Lstm::new(dims, FEATURES, device), head: Head::new(classes, device) }
    }

    /// Returns the class scores: texts `[n, 1, words, dims]` to `[n, classes]`.
    pub fn forward(&self, texts: Tensor<4>) -> Tensor<2> {
        let [n, _, words, dims] = texts.dims();
        self.head.forward(self.lstm.last(&texts.reshape([n, words, dims])))
    }

    fn trace(&self, trace: &mut Trace) {
        self.head.trace(trace.lstm(&self.lstm));
    }
}

super::burn_cnn!(TextLstm);

/// Final layers of both classifiers.
#[derive(Module, Debug)]
struct Head {
    hidden: Linear,
    dropout: Dropout,
    output: Linear,
}

impl Head {
    fn new(classes: usize, device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(FEATURES, 128).init(device),
            dropout: Dropout::new(0.2),
            output: LinearConfig::new(128, classes).init(device),
        }
    }

    fn forward(&self, features: Tensor<2>) -> Tensor<2> {
        connect(&self.output, relu(self.dropout.forward(connect(&self.hidden, features))))
    }

    fn trace(&self, trace: &mut Trace) {
        trace.linear(&self.hidden).linear(&self.output);
    }
}

#[cfg(test)]
mod tests {
    use foreglow_architectures::{Architecture, TEXT_CNN, TEXT_LSTM};

    use super::*;
    use crate::Build as _;

    /// 256·128 + 128 + 128·20 + 20 parameters; one multiply-accumulate per weight.
    const HEAD: (usize, u64) = (35_476, 35_328);

    fn size(architecture: &Architecture, words: usize, dims: usize) -> (usize, u64) {
        let size = architecture.size([1, words, dims]);
        (size.parameters, size.multiply_accumulates)
    }

    /// Derived from the program's layers, because no count is published.
    /// `TemporalConvolution(dims, 256, 5)` has 256·5·dims + 256 parameters and is applied at words
    /// − 4 positions.
    #[test]
    fn the_text_cnn_has_the_size_of_the_programs_layers() {
        assert_eq!(size(&TEXT_CNN, 500, 200), (256_256 + HEAD.0, 496 * 256_000 + HEAD.1));
        assert_eq!(size(&TEXT_CNN, 500, 300), (384_256 + HEAD.0, 496 * 384_000 + HEAD.1));
        assert_eq!(size(&TEXT_CNN, 5, 50), (64_256 + HEAD.0, 64_000 + HEAD.1));
    }

    /// `LSTM(dims, 256)` with `p` 0: a linear layer from the input to 4·256 numbers, and one
    /// without bias from the previous output.
    #[test]
    fn the_text_lstm_has_the_size_of_the_programs_layers() {
        assert_eq!(size(&TEXT_LSTM, 500, 200), (205_824 + 262_144 + HEAD.0, 500 * 466_944 + HEAD.1));
        assert_eq!(size(&TEXT_LSTM, 500, 300), (308_224 + 262_144 + HEAD.0, 500 * 569_344 + HEAD.1));
    }

    /// Shapes layer by layer: channels, height, width.
    #[test]
    fn layer_shapes_are_those_of_the_program() {
        let device = Device::flex();
        let cnn = TextCnn::new([1, 500, 200], 20, &device);
        let mut trace = Trace::new([1, 500, 200]);
        assert_eq!((trace.conv(&cnn.conv).channels, trace.px), (256, [496, 1]));
        assert_eq!((trace.global_pool().channels, trace.px), (256, [1, 1]));
        assert_eq!((trace.linear(&cnn.head.hidden).channels, trace.px), (128, [1, 1]));
        assert_eq!((trace.linear(&cnn.head.output).channels, trace.px), (20, [1, 1]));
        let lstm = TextLstm::new([1, 500, 200], 20, &device);
        let mut trace = Trace::new([1, 500, 200]);
        assert_eq!((trace.lstm(&lstm.lstm).channels, trace.px), (256, [1, 1]));
    }
}
