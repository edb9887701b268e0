//! Parameters of a CNN and their gradients as lists that can be added, averaged and exchanged.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};

use crate::weights::{is_running, track_path};

/// Constants of a step of Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR
/// 2015, algorithm 1).
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// Learning rate.
    pub rate: f64,
    /// β₁ and β₂.
    pub betas: [f64; 2],
    /// Bias corrections of the two moments: 1 − βᵗ.
    pub biases: [f64; 2],
    /// ε.
    pub epsilon: f64,
}

/// Parameters of a CNN: one flat tensor each, in the order of the layers, detached from autodiff.
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    /// Weights and biases.
    pub learned: Vec<Tensor<1>>,
    /// Running statistics of batch normalisation, which follow the images and have no gradient.
    pub running: Vec<Tensor<1>>,
}

/// Returns the parameters of a module, with the running statistics of the last forward pass.
pub fn numbers<M: Module>(module: &M) -> StateDict {
    let mut collect = Collect::default();
    // Burn updates the running statistics only when it makes this copy.
    module.valid().visit(&mut collect);
    collect.numbers
}

/// Returns the module with these parameters. On a device with autodiff each learned parameter
/// becomes a leaf of its own: modules with the same parameters share no graph, so that threads can
/// differentiate in parallel.
pub fn with_numbers<M: Module>(module: M, numbers: &StateDict) -> M {
    let (learned, running) = (numbers.learned.iter(), numbers.running.iter());
    module.map(&mut Replace { learned, running, path: Vec::new() })
}

/// Takes the gradients of the learned parameters, in the order of [`StateDict::learned`].
/// Parameters that the loss does not depend on have a gradient of zero.
pub fn gradients<M: Module>(module: &M, all: &mut Gradients) -> Vec<Tensor<1>> {
    let mut take = Take { all, found: Vec::new(), path: Vec::new() };
    module.visit(&mut take);
    take.found
}

fn flat<const D: usize>(tensor: Tensor<D>) -> Tensor<1> {
    let count = tensor.shape().num_elements();
    tensor.reshape([count])
}

#[derive(Default)]
struct Collect {
    numbers: StateDict,
    path: Vec<String>,
}

impl ModuleVisitor for Collect {
    track_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let list = if is_running(&self.path) { &mut self.numbers.running } else { &mut self.numbers.learned };
        list.push(flat(param.val().without_autodiff()));
    }
}

struct Replace<'a> {
    learned: std::slice::Iter<'a, Tensor<1>>,
    running: std::slice::Iter<'a, Tensor<1>>,
    path: Vec<String>,
}

impl ModuleMapper for Replace<'_> {
    track_path!();

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let is_running = is_running(&self.path);
        let next = if is_running { self.running.next() } else { self.learned.next() };
        let Some(numbers) = next else { return param };
        let dims: [usize; D] = param.lazy_shape().dims();
        let mut value = numbers.clone().reshape(dims);
        if param.lazy_device().is_autodiff() {
            value = value.autodiff().set_require_grad(!is_running);
        }
        Param::initialized(param.id, value)
    }
}

struct Take<'a> {
    all: &'a mut Gradients,
    found: Vec<Tensor<1>>,
    path: Vec<String>,
}

impl ModuleVisitor for Take<'_> {
    track_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !is_running(&self.path) {
            let value = param.val();
            let gradient = value.grad_remove(self.all).unwrap_or_else(|| value.without_autodiff().zeros_like());
            self.found.push(flat(gradient));
        }
    }
}
