//! Gradients of all learned parameters of a module.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

/// Collects gradients in the order of the layers.
pub struct Gradients<'a> {
    all: &'a burn::tensor::Gradients,
    path: Vec<String>,
    found: Vec<(String, TensorData)>,
    missing: Vec<String>,
}

impl<'a> Gradients<'a> {
    /// Returns the gradients, named `gradient.0`, `gradient.1` and so on.
    ///
    /// # Errors
    /// A learned parameter has no gradient.
    pub fn of<M: Module>(module: &M, all: &'a burn::tensor::Gradients) -> anyhow::Result<Vec<(String, TensorData)>> {
        let mut gradients = Self { all, path: Vec::new(), found: Vec::new(), missing: Vec::new() };
        module.visit(&mut gradients);
        anyhow::ensure!(gradients.missing.is_empty(), "there is no gradient of {}", gradients.missing.join(", "));
        Ok(gradients.found)
    }
}

impl ModuleVisitor for Gradients<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.path.last().is_some_and(|name| name.starts_with("running_")) {
            return;
        }
        match param.val().grad(self.all) {
            Some(gradient) => self.found.push((format!("gradient.{}", self.found.len()), gradient.into_data())),
            None => self.missing.push(self.path.join(".")),
        }
    }
}
