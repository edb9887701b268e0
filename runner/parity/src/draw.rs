//! Random weights, including biases and the statistics of batch normalisation, irregular, because
//! regular ones could hide an error.

use burn::module::{Flag, ModuleMapper, Param};
use burn::tensor::{FloatDType, Tensor, TensorData};
use rand::{RngExt as _, rngs::ChaCha8Rng};

/// Returns uniform numbers between `-bound` and `bound`.
pub fn numbers(random: &mut ChaCha8Rng, count: usize, bound: f32) -> Vec<f32> {
    (0..count).map(|_| (random.random::<f32>() * 2.0 - 1.0) * bound).collect()
}

/// Draws all parameters of a module.
pub struct Draw<'a> {
    random: &'a mut ChaCha8Rng,
    path: Vec<String>,
}

impl<'a> Draw<'a> {
    /// Draws from this generator.
    pub fn new(random: &'a mut ChaCha8Rng) -> Self {
        Self { random, path: Vec::new() }
    }
}

impl ModuleMapper for Draw<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let dims: [usize; D] = param.lazy_shape().dims();
        let count = dims.iter().product();
        let values = match self.path.last().map(String::as_str) {
            Some("gamma" | "running_var") => {
                numbers(self.random, count, 0.5).into_iter().map(|number| 1.0 + number).collect()
            }
            Some("beta" | "bias" | "running_mean") => numbers(self.random, count, 0.1),
            _ => {
                let fan_in = if D == 2 { dims[0] } else { dims[1..].iter().product() };
                numbers(self.random, count, (6.0 / fan_in as f32).sqrt())
            }
        };
        let device = param.lazy_device();
        Param::initialized(param.id, Tensor::from_data(TensorData::new(values, dims), &device))
    }
}

/// Converts all parameters of a module to another precision.
pub struct As(pub FloatDType);

impl ModuleMapper for As {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let numbers = param.val().detach().cast(self.0).detach();
        Param::initialized(param.id, numbers.set_require_grad(param.is_require_grad()))
    }
}

/// Turns dropout off, because each side would draw different masks, and keeps batch normalisation
/// on.
#[derive(Default)]
pub struct WithoutDropout {
    containers: Vec<String>,
}

impl ModuleMapper for WithoutDropout {
    fn enter_module(&mut self, _name: &str, container_type: &str) {
        self.containers.push(container_type.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.containers.pop();
    }

    fn map_flag(&mut self, flag: Param<Flag>) -> Param<Flag> {
        let is_dropout = self.containers.iter().any(|container| container == "Struct:Dropout");
        if is_dropout { flag.with_value(false) } else { flag }
    }
}
