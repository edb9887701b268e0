//! Parameters of a replica on the CPU, divided into pieces that the threads update in place.
//!
//! Every thread has a gradient of all parameters, and their sum is needed for one step only. Each
//! piece is summed in the cache and used at once. A step therefore passes over the memory once and
//! allocates no tensor.

use anyhow::Context as _;
use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::{DType, Tensor};

use super::team::{sharding, together};

/// Numbers per piece, so that all operands of a step fit into the cache.
const PIECE: usize = 1 << 13;

/// A parameter with its gradients from all threads and the optimiser's state.
pub struct Parameter {
    weights: FlexTensor,
    gradients: Vec<FlexTensor>,
    state: Vec<FlexTensor>,
}

/// A piece of a [`Parameter`].
struct Piece<'a> {
    weights: &'a mut [f32],
    gradients: Vec<&'a [f32]>,
    state: Vec<&'a mut [f32]>,
}

impl Parameter {
    /// Creates a parameter from tensors of the same length.
    ///
    /// # Errors
    /// A tensor is not on the CPU.
    pub fn new(weights: Tensor<1>, gradients: Vec<Tensor<1>>, state: Vec<Tensor<1>>) -> anyhow::Result<Self> {
        let all = |tensors: Vec<Tensor<1>>| tensors.into_iter().map(on_processor).collect::<anyhow::Result<Vec<_>>>();
        Ok(Self { weights: on_processor(weights)?, gradients: all(gradients)?, state: all(state)? })
    }

    fn pieces(&mut self) -> impl Iterator<Item = Piece<'_>> {
        let mut gradients: Vec<_> = self.gradients.iter().map(|tensor| tensor.storage().chunks(PIECE)).collect();
        let mut state: Vec<_> = self.state.iter_mut().map(|tensor| tensor.storage_mut().chunks_mut(PIECE)).collect();
        self.weights.storage_mut().chunks_mut(PIECE).map(move |weights| Piece {
            weights,
            gradients: gradients.iter_mut().filter_map(Iterator::next).collect(),
            state: state.iter_mut().filter_map(Iterator::next).collect(),
        })
    }

    /// Returns the weights and the state.
    pub fn into_tensors(self) -> (Tensor<1>, Vec<Tensor<1>>) {
        (
            Tensor::from_primitive::<Flex>(self.weights),
            self.state.into_iter().map(Tensor::from_primitive::<Flex>).collect(),
        )
    }
}

/// Updates all numbers by a function of weights, gradient and state, divided evenly among the
/// workers.
///
/// # Errors
/// A worker panicked.
pub fn change<W: Send>(
    workers: &mut [W],
    parameters: &mut [Parameter],
    step: impl Fn(&mut [f32], &[f32], &mut [&mut [f32]]) + Sync,
) -> anyhow::Result<()> {
    let pieces = sharding(parameters.iter_mut().flat_map(Parameter::pieces).collect(), workers.len());
    let work = |_: &mut W, pieces: Vec<Piece<'_>>| {
        pieces.into_iter().for_each(|piece| piece.change(&step));
        Ok(())
    };
    together(workers, pieces, work).map(drop)
}

impl Piece<'_> {
    fn change(mut self, step: impl FnOnce(&mut [f32], &[f32], &mut [&mut [f32]])) {
        let mut room = [0.0; PIECE];
        let sum = match self.gradients.as_slice() {
            [one] => *one,
            several => {
                let sum = &mut room[..self.weights.len()];
                for gradient in several {
                    sum.iter_mut().zip(*gradient).for_each(|(sum, number)| *sum += number);
                }
                &*sum
            }
        };
        step(self.weights, sum, &mut self.state);
    }
}

/// Converts a tensor to contiguous f32 storage of its own.
fn on_processor(tensor: Tensor<1>) -> anyhow::Result<FlexTensor> {
    let tensor = tensor.try_into_primitive::<Flex>().ok().context("the numbers are not on the processor")?;
    // `to_contiguous` also copies a view into a larger tensor, so that the storage holds exactly
    // its numbers. A second handle would cause a copy before the update.
    let handle = tensor.to_contiguous();
    drop(tensor);
    anyhow::ensure!(handle.dtype() == DType::F32, "the numbers of the CNN are not 32-bit floats");
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Distribution};

    use super::*;

    fn random(numbers: usize) -> Tensor<1> {
        Tensor::random([numbers], Distribution::Normal(0.0, 1.0), &Device::flex())
    }

    fn numbers(tensor: &Tensor<1>) -> Vec<f32> {
        tensor.to_data().try_to_vec().unwrap()
    }

    fn place(tensor: &Tensor<1>) -> *const f32 {
        let tensor = tensor.clone().try_into_primitive::<Flex>().unwrap();
        tensor.storage::<f32>().as_ptr()
    }

    #[test]
    fn every_number_is_changed_once_in_place() {
        for (count, threads) in [(1, 1), (PIECE, 2), (3 * PIECE + 5, 3)] {
            let several = |tensors: usize| (0..tensors).map(|_| random(count)).collect::<Vec<_>>();
            let (weights, gradients, state) = (random(count), several(threads), several(2));
            let before: Vec<_> = [&weights].into_iter().chain(&gradients).chain(&state).map(numbers).collect();
            let places: Vec<_> = [&weights].into_iter().chain(&state).map(place).collect();
            let mut parameter = Parameter::new(weights, gradients, state).unwrap();
            change(&mut vec![(); threads], std::slice::from_mut(&mut parameter), |weights, gradient, state| {
                for (index, gradient) in gradient.iter().enumerate() {
                    weights[index] += 2.0 * gradient;
                    state[0][index] = *gradient;
                    state[1][index] += 1.0;
                }
            })
            .unwrap();
            let (weights, state) = parameter.into_tensors();
            assert_eq!([&weights].into_iter().chain(&state).map(place).collect::<Vec<_>>(), places);
            for index in 0..count {
                let sum = before[1..=threads].iter().fold(0.0, |sum, gradient| sum + gradient[index]);
                assert_eq!(numbers(&weights)[index], before[0][index] + 2.0 * sum);
                assert_eq!(numbers(&state[0])[index], sum);
                assert_eq!(numbers(&state[1])[index], before[threads + 2][index] + 1.0);
            }
        }
    }

    #[test]
    fn a_view_of_a_larger_tensor_is_copied() {
        for part in [0..10, 5..15] {
            let (weights, gradient) = (random(20).slice(part.clone()), random(20).slice(part));
            let [before, added] = [&weights, &gradient].map(numbers);
            let mut parameters = [Parameter::new(weights, vec![gradient], Vec::new()).unwrap()];
            change(&mut [()], &mut parameters, |weights, gradient, _| {
                weights.iter_mut().zip(gradient).for_each(|(weight, gradient)| *weight += gradient);
            })
            .unwrap();
            let expected: Vec<f32> = before.iter().zip(&added).map(|(weight, gradient)| weight + gradient).collect();
            assert_eq!(numbers(&parameters.map(Parameter::into_tensors)[0].0), expected);
        }
    }

    #[test]
    fn shared_numbers_are_not_changed() {
        let weights = random(10);
        let before = numbers(&weights);
        let mut parameters = [Parameter::new(weights.clone(), vec![random(10)], Vec::new()).unwrap()];
        change(&mut [()], &mut parameters, |weights, _, _| weights.fill(7.0)).unwrap();
        assert_eq!(numbers(&weights), before);
        assert_eq!(numbers(&parameters.map(Parameter::into_tensors)[0].0), [7.0; 10]);
    }
}
