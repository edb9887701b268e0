//! Initial weights from a seed, and the number of parameters.
//!
//! Burn draws weights with a generator per device, so that the same seed gives different weights on
//! different devices. Here they are drawn on the CPU: every executor holds the same CNN, whatever
//! its device.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

/// Keeps the names of the modules around a parameter in the `path` of a visitor or mapper.
macro_rules! track_path {
    () => {
        fn enter_module(&mut self, name: &str, _container_type: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _name: &str, _container_type: &str) {
            self.path.pop();
        }
    };
}
pub(crate) use track_path;

/// Whether the parameter at this path is a running statistic of batch normalisation.
pub(crate) fn is_running(path: &[String]) -> bool {
    path.last().is_some_and(|name| name.starts_with("running_"))
}

/// Draws every weight and sets every bias to 0; the scales and statistics of batch normalisation
/// stay 1 and 0.
pub fn draw<M: Module>(module: M, seed: u64) -> M {
    module.map(&mut Draw { random: ChaCha8Rng::seed_from_u64(seed), path: Vec::new() })
}

/// Returns the number of learned parameters of a module.
pub fn count<M: Module>(module: &M) -> usize {
    // Burn counts the running statistics of batch normalisation as parameters, but they are not
    // learned.
    let mut list = List::default();
    module.visit(&mut list);
    list.learned.iter().map(|parameter| parameter.dims.iter().product::<usize>()).sum()
}

struct Draw {
    random: ChaCha8Rng,
    path: Vec<String>,
}

impl ModuleMapper for Draw {
    track_path!();

    /// He et al., "Delving Deep into Rectifiers" (ICCV 2015), eq. 10, uniform: a variance of 2 ÷
    /// fan-in keeps the scale of the activations through the layers.
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.last().map(String::as_str);
        if D < 2 && name != Some("bias") {
            return param;
        }
        let dims: [usize; D] = param.lazy_shape().dims();
        let device = param.lazy_device();
        let numbers = dims.iter().product::<usize>();
        let values = if D < 2 {
            vec![0.0; numbers]
        } else {
            // Convolutions are stored as [out, in, height, width], fully connected layers as [in,
            // out].
            let fan_in = if D == 2 { dims[0] } else { dims[1..].iter().product() };
            let bound = (6.0 / fan_in as f32).sqrt();
            (0..numbers).map(|_| (self.random.random::<f32>() * 2.0 - 1.0) * bound).collect()
        };
        Param::initialized(param.id, Tensor::from_data(TensorData::new(values, dims), &device))
    }
}

/// A parameter of a CNN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Names of the modules around it and its own, separated by dots.
    pub path: String,
    /// Its dimensions.
    pub dims: Vec<usize>,
}

/// Returns the parameters of a module, the running statistics of batch normalisation last.
pub fn layout<M: Module>(module: &M) -> Vec<Parameter> {
    let mut list = List::default();
    module.visit(&mut list);
    list.learned.append(&mut list.running);
    list.learned
}

#[derive(Default)]
struct List {
    learned: Vec<Parameter>,
    running: Vec<Parameter>,
    path: Vec<String>,
}

impl ModuleVisitor for List {
    track_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let list = if is_running(&self.path) { &mut self.running } else { &mut self.learned };
        list.push(Parameter { path: self.path.join("."), dims: param.lazy_shape().to_vec() });
    }
}
