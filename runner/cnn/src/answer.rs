//! Answers of a CNN on their way from the device to the CPU.

use burn::tensor::{ExecutionError, Int, Tensor};

use super::graphics::{self, Copy};
use super::predictions::Predictions;

/// Pending classes and loss of a mini-batch, which the device still computes and copies. Waiting
/// for them does not wait for later work of the device.
pub struct Answer(State);

enum State {
    /// The CPU computes synchronously.
    Here(Result<Predictions, ExecutionError>),
    OnTheWay(Copy),
}

impl Answer {
    /// Starts to copy the classes, `[images, 1]`, and the loss, one number.
    pub fn of(classes: Tensor<2, Int>, loss: Option<Tensor<1>>) -> Self {
        Self(match graphics::copy(&classes, loss.as_ref()) {
            Some(copy) => State::OnTheWay(copy),
            None => State::Here(read(classes, loss)),
        })
    }

    /// Waits for the numbers.
    ///
    /// # Errors
    /// The device fails.
    pub fn wait(self) -> Result<Predictions, ExecutionError> {
        match self.0 {
            State::Here(predictions) => predictions,
            State::OnTheWay(copy) => copy.wait(),
        }
    }
}

fn read(classes: Tensor<2, Int>, loss: Option<Tensor<1>>) -> Result<Predictions, ExecutionError> {
    let classes = classes.try_into_data()?.iter::<i64>().collect();
    let loss = loss.map(Tensor::try_into_data).transpose()?.and_then(|loss| loss.iter::<f32>().next());
    Ok(Predictions { classes, loss })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn the_cpu_answers_at_once() {
        let device = Device::flex();
        let scores = Tensor::<2>::from_data([[0.1f32, 0.9], [3.0, -2.5]], &device);
        let loss = Tensor::from_data([0.75f32], &device);
        let answer = Answer::of(scores.clone().argmax(1), Some(loss));
        assert_eq!(answer.wait().unwrap(), Predictions { classes: vec![1, 0], loss: Some(0.75) });
        assert_eq!(Answer::of(scores.argmax(1), None).wait().unwrap().loss, None);
    }
}
