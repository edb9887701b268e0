//! The weights of a network as a Burn module.

use burn::module::{Flag, Module, Param, RunningState};
use burn::nn::conv::Conv2d;
use burn::nn::{BatchNorm, Linear, PaddingConfig2d};
use burn::tensor::{Device, Tensor, TensorData};
use foreglow_onnx::{Argument, Operation, Step};

use super::file::{OnnxFile, Reader};
use super::program::Program;
use super::value::to_rank6;
use crate::dropout::Dropout;

/// Layers with weights, in the order of [`Program`]'s lists.
#[derive(Module, Debug)]
pub struct Parameters {
    pub convs: Vec<Conv2d>,
    pub norms: Vec<BatchNorm>,
    pub linears: Vec<Linear>,
    pub tensors: Vec<Param<Tensor<6>>>,
    pub dropouts: Vec<Dropout>,
}

impl Parameters {
    /// Reads the weights.
    ///
    /// # Errors
    /// A file of weights is missing, or a weight is NaN or infinite.
    pub fn load(file: &OnnxFile, program: &Program, device: &Device) -> anyhow::Result<Self> {
        let mut load = Load { file, reader: file.reader()?, device };
        let steps = &program.plan.steps;
        Ok(Self {
            convs: program.convs.iter().map(|step| load.conv(&steps[*step])).collect::<anyhow::Result<_>>()?,
            norms: program.norms.iter().map(|step| load.norm(&steps[*step])).collect::<anyhow::Result<_>>()?,
            linears: program.linears.iter().map(|step| load.linear(&steps[*step])).collect::<anyhow::Result<_>>()?,
            tensors: program.tensors.iter().map(|weight| load.tensor(*weight)).collect::<anyhow::Result<_>>()?,
            dropouts: program.dropouts.iter().map(|probability| Dropout::new(*probability)).collect(),
        })
    }
}

struct Load<'a> {
    file: &'a OnnxFile,
    reader: Reader<'a>,
    device: &'a Device,
}

impl Load<'_> {
    fn conv(&mut self, step: &Step) -> anyhow::Result<Conv2d> {
        let Operation::Conv { window, groups } = step.operation else {
            anyhow::bail!("{} is no convolution", step.name)
        };
        let [top, left, bottom, right] = window.padding;
        Ok(Conv2d {
            weight: Param::from_tensor(self.read::<4>(step, 1)?),
            bias: if step.arguments.len() > 2 { Some(Param::from_tensor(self.read(step, 2)?)) } else { None },
            stride: window.stride,
            kernel_size: window.kernel,
            dilation: window.dilation,
            groups,
            padding: PaddingConfig2d::Explicit(top, left, bottom, right),
        })
    }

    fn norm(&mut self, step: &Step) -> anyhow::Result<BatchNorm> {
        let Operation::BatchNorm { epsilon, momentum } = step.operation else {
            anyhow::bail!("{} is no batch normalisation", step.name)
        };
        let flag: Param<Flag> = Param::from_bool(true);
        Ok(BatchNorm {
            gamma: Param::from_tensor(self.read(step, 1)?),
            beta: Param::from_tensor(self.read(step, 2)?),
            training: flag,
            running_mean: RunningState::new(self.read(step, 3)?),
            running_var: RunningState::new(self.read(step, 4)?),
            // Burn's momentum is the share of the new mini-batch.
            momentum: 1.0 - momentum,
            epsilon,
        })
    }

    /// Burn stores the weights as `[in, out]`.
    fn linear(&mut self, step: &Step) -> anyhow::Result<Linear> {
        let Operation::Gemm { transposed: [_, is_stored_transposed], .. } = step.operation else {
            anyhow::bail!("{} is no fully connected layer", step.name)
        };
        let weight = self.read::<2>(step, 1)?;
        let weight = if is_stored_transposed { weight.transpose() } else { weight };
        // A transposed view would be copied in every pass.
        let data = weight.try_into_data().map_err(crate::device::failure)?;
        let bias = if step.arguments.len() > 2 { Some(Param::from_tensor(self.bias(step)?)) } else { None };
        Ok(Linear { weight: Param::from_tensor(Tensor::from_data(data, self.device)), bias })
    }

    fn bias(&mut self, step: &Step) -> anyhow::Result<Tensor<1>> {
        let floats = self.floats(step, 2)?;
        let count = floats.len();
        Ok(Tensor::from_data(TensorData::new(floats, [count]), self.device))
    }

    fn tensor(&mut self, weight: usize) -> anyhow::Result<Param<Tensor<6>>> {
        let dims = to_rank6(&self.file.network.weights[weight].dims);
        let floats = self.reader.floats(weight)?;
        Ok(Param::from_tensor(Tensor::from_data(TensorData::new(floats, dims), self.device)))
    }

    fn read<const D: usize>(&mut self, step: &Step, place: usize) -> anyhow::Result<Tensor<D>> {
        let dims: Vec<usize> = match &step.arguments[place] {
            Argument::Weight(weight) => self.file.network.weights[*weight].dims.clone(),
            Argument::Known(known) => known.dims.clone(),
            Argument::Value(_) => Vec::new(),
        };
        let floats = self.floats(step, place)?;
        anyhow::ensure!(dims.len() == D, "the node {}: its input {} has {} axes", step.name, place + 1, dims.len());
        Ok(Tensor::from_data(TensorData::new(floats, dims), self.device))
    }

    fn floats(&mut self, step: &Step, place: usize) -> anyhow::Result<Vec<f32>> {
        match &step.arguments[place] {
            Argument::Weight(weight) => self.reader.floats(*weight),
            Argument::Known(known) => Ok(known.floats()),
            Argument::Value(_) => {
                anyhow::bail!("the node {} ({}): computed weights are not supported", step.name, step.operator)
            }
        }
    }
}
