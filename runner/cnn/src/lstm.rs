//! LSTM layer of BigDL's text classifier: Graves, Mohamed and Hinton, "Speech Recognition with Deep
//! Recurrent Neural Networks" (ICASSP 2013), without peepholes, as in BigDL 0.7 (`nn/LSTM.scala`
//! with `p` 0): one product of the input with the weights of all four gates, with a bias, and one
//! of the previous output, without a bias.
//!
//! Burn's own LSTM has a second bias, computes each gate separately, and writes each state into the
//! full sequence, which takes time quadratic in the length.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{DType, Device, Tensor, activation::sigmoid};

/// Steps whose input products are computed together. One product per step would leave the device
/// waiting; one for the whole sequence would give each step a gradient as large as the sequence.
const BLOCK: usize = 25;

/// Input, forget and output gates and the candidate, concatenated in this order.
#[derive(Module, Debug)]
pub struct Lstm {
    input: Linear,
    hidden: Linear,
}

impl Lstm {
    /// Creates the layer with Burn's initial weights.
    pub fn new(inputs: usize, units: usize, device: &Device) -> Self {
        Self {
            input: LinearConfig::new(inputs, 4 * units).init(device),
            hidden: LinearConfig::new(units, 4 * units).with_bias(false).init(device),
        }
    }

    /// Returns the size of an input.
    pub fn inputs(&self) -> usize {
        self.input.weight.dims()[0]
    }

    /// Returns the size of the state.
    pub fn units(&self) -> usize {
        self.hidden.weight.dims()[0]
    }

    /// Returns the multiply-accumulates of one step.
    pub fn products(&self) -> usize {
        (self.inputs() + self.units()) * 4 * self.units()
    }

    /// Returns the output after the last step: `[n, steps, inputs]` to `[n, units]`.
    pub fn last(&self, sequence: &Tensor<3>) -> Tensor<2> {
        let [n, steps, _] = sequence.dims();
        let units = self.units();
        let zeros = Tensor::<2>::zeros([n, units], (&sequence.device(), sequence.dtype()));
        let (mut state, mut output) = (zeros.clone(), zeros);
        for first in (0..steps).step_by(BLOCK) {
            let block = BLOCK.min(steps - first);
            (state, output) = (without_tiny_gradient(state), without_tiny_gradient(output));
            let from_input = self.input.forward(sequence.clone().narrow(1, first, block));
            for step in 0..block {
                let from_input = from_input.clone().narrow(1, step, 1).reshape([n, 4 * units]);
                let sums = from_input + self.hidden.forward(output);
                let gates = sigmoid(sums.clone().narrow(1, 0, 3 * units));
                let gate = |index: usize| gates.clone().narrow(1, index * units, units);
                let candidate = sums.narrow(1, 3 * units, units).tanh();
                state = gate(1) * state + gate(0) * candidate;
                output = gate(2) * state.clone().tanh();
            }
        }
        output
    }
}

/// Returns the tensor unchanged and flushes gradients below 2⁻⁷⁰ to zero. Over hundreds of steps
/// gradients become subnormal, which makes CPU arithmetic about a hundred times slower. Both
/// factors are powers of two, so that the forward pass rounds nothing; in the backward pass the
/// first product underflows.
fn without_tiny_gradient(x: Tensor<2>) -> Tensor<2> {
    if !x.is_autodiff() || x.dtype() != DType::F32 {
        return x;
    }
    let factor = f64::from(1_u32 << 20).powi(4);
    x.mul_scalar(factor).mul_scalar(1.0 / factor)
}

#[cfg(test)]
mod tests {
    use burn::module::Param;
    use burn::nn::{GateController, LstmConfig};
    use burn::tensor::{TensorData, Tolerance};

    use super::*;

    /// One unit, one input, three steps, by hand: h = o·tanh(c), c = f·c + i·g.
    #[test]
    fn the_gates_are_those_of_the_textbook() {
        let device = Device::flex();
        let mut lstm = Lstm::new(1, 1, &device);
        let (w, u, b) = ([0.5_f64, -0.3, 0.8, 0.9], [0.4_f64, 0.7, -0.6, 0.2], [0.1_f64, 0.2, -0.1, 0.05]);
        let row = |numbers: [f64; 4]| {
            Tensor::<2>::from_data(TensorData::new(numbers.map(|n| n as f32).to_vec(), [1, 4]), &device)
        };
        lstm.input.weight = Param::from_tensor(row(w));
        lstm.hidden.weight = Param::from_tensor(row(u));
        lstm.input.bias = Some(Param::from_tensor(row(b).reshape([4])));
        let (mut c, mut h) = (0.0_f64, 0.0_f64);
        let inputs = [0.7, -1.2, 2.0];
        for x in inputs {
            let sum = |index: usize| w[index] * x + u[index] * h + b[index];
            let gate = |index: usize| 1.0 / (1.0 + (-sum(index)).exp());
            c = gate(1) * c + gate(0) * sum(3).tanh();
            h = gate(2) * c.tanh();
        }
        let sequence = Tensor::<3>::from_data(TensorData::new(inputs.map(|x| x as f32).to_vec(), [1, 3, 1]), &device);
        let last = lstm.last(&sequence).into_data().try_to_vec::<f32>().unwrap();
        assert!((f64::from(last[0]) - h).abs() < 1e-6, "{last:?} and {h}");
    }

    /// Burn's layer with the same weights, over more steps than a block.
    #[test]
    fn a_long_sequence_gives_the_output_of_burns_lstm() {
        let device = Device::flex();
        let (inputs, units, steps) = (3, 4, 2 * BLOCK + 3);
        let lstm = Lstm::new(inputs, units, &device);
        let mut theirs = LstmConfig::new(inputs, units, true).init(&device);
        let take = |gate: &mut GateController, place: usize| {
            let columns = |weight: Tensor<2>| Param::from_tensor(weight.narrow(1, place * units, units));
            let bias = lstm.input.bias.as_ref().unwrap().val().narrow(0, place * units, units);
            gate.hidden_transform.bias = Some(Param::from_tensor(bias.zeros_like()));
            gate.input_transform.bias = Some(Param::from_tensor(bias));
            gate.input_transform.weight = columns(lstm.input.weight.val());
            gate.hidden_transform.weight = columns(lstm.hidden.weight.val());
        };
        take(&mut theirs.input_gate, 0);
        take(theirs.forget_gate.as_mut().unwrap(), 1);
        take(&mut theirs.output_gate, 2);
        take(&mut theirs.cell_gate, 3);
        let numbers: Vec<f32> = (0..2 * steps * inputs).map(|place| ((place * 37) % 19) as f32 / 10.0 - 0.9).collect();
        let sequence = Tensor::<3>::from_data(TensorData::new(numbers, [2, steps, inputs]), &device);
        let expected = theirs.forward(sequence.clone(), None).1.hidden.into_data();
        lstm.last(&sequence).into_data().assert_approx_eq::<f32>(&expected, Tolerance::absolute(1e-5));
    }

    #[test]
    fn tiny_gradients_are_flushed_to_zero() {
        let device = Device::flex().autodiff();
        let numbers = [1.0_f32, -0.37, 1e-12, 3e3];
        let x = Tensor::<2>::from_data(TensorData::new(numbers.to_vec(), [1, 4]), &device).require_grad();
        let shares = Tensor::<2>::from_data(TensorData::new(vec![1.0_f32, 1e-15, 1e-25, 0.3], [1, 4]), &device);
        let through = without_tiny_gradient(x.clone());
        assert_eq!(through.clone().into_data().try_to_vec::<f32>().unwrap(), numbers, "to the last bit");
        let gradient = x.grad(&(through * shares).sum().backward()).unwrap().into_data().try_to_vec::<f32>().unwrap();
        assert_eq!((gradient[0], gradient[2], gradient[3]), (1.0, 0.0, 0.3));
        assert!((gradient[1] - 1e-15).abs() < 1e-20, "{gradient:?}");
    }
}
