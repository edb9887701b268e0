//! Executes the instructions of a program.

use burn::tensor::{Device, Tensor, TensorData};
use foreglow_onnx::Operation;

use super::compute;
use super::parameters::Parameters;
use super::program::{Instruction, Program, Source, Work};
use super::value::{Operand, Value, to_rank6};
use crate::convolution::{convolve_and_normalise, convolve_then};
use crate::dropout;
use crate::layers::connect;
use crate::normalisation::normalise;

/// Runs the program on a mini-batch; returns one row per image.
///
/// # Panics
/// The inputs do not have the shape of the program.
pub fn run(program: &Program, parameters: &Parameters, inputs: Tensor<4>) -> Tensor<2> {
    let mut values = Values(vec![None; program.plan.shapes.len()]);
    let device = inputs.device();
    values.0[0] = Some(Value::Image(inputs));
    for instruction in &program.instructions {
        let results = step(program, parameters, instruction, &mut values, &device);
        for (place, result) in instruction.results.iter().zip(results) {
            values.0[*place] = Some(result);
        }
    }
    let shape = &program.plan.shapes[program.plan.output];
    let rows = program.plan.shapes[0][0];
    let output = values.take(program.plan.output);
    output.matrix([rows, shape.iter().product::<usize>() / rows])
}

/// The computed tensors.
struct Values(Vec<Option<Value>>);

impl Values {
    fn take(&mut self, place: usize) -> Value {
        self.0[place].take().expect("a plan computes a value before it is read, and marks its last reader")
    }

    fn read(&mut self, place: usize, instruction: &Instruction) -> Value {
        if instruction.ended.contains(&place) {
            // An instruction may read a value twice.
            let reads = instruction.sources.iter().filter(|source| **source == Source::Value(place)).count();
            if reads == 1 {
                return self.take(place);
            }
        }
        self.0[place].clone().expect("a plan computes a value before it is read, and marks its last reader")
    }
}

fn step(
    program: &Program,
    parameters: &Parameters,
    instruction: &Instruction,
    values: &mut Values,
    device: &Device,
) -> Vec<Value> {
    let shapes: Vec<&[usize]> =
        instruction.results.iter().map(|result| program.plan.shapes[*result].as_slice()).collect();
    let mut sources = instruction.sources.iter().map(|source| match source {
        Source::Value(place) => Operand::Tensor(values.read(*place, instruction)),
        Source::Tensor(place) => Operand::Tensor(Value::Any(parameters.tensors[*place].val())),
        Source::Constant(place) => Operand::Tensor(Value::Any(program.constants[*place].clone())),
        Source::Scalar(number) => Operand::Scalar(*number),
    });
    match &instruction.work {
        Work::Conv { conv, norm, then } => {
            let (conv, images) = (&parameters.convs[*conv], first(&mut sources).image());
            let residual = sources.next().map(|residual| residual.tensor().image());
            vec![Value::Image(match norm {
                Some(norm) => convolve_and_normalise(conv, &parameters.norms[*norm], images, residual, *then),
                None => convolve_then(conv, images, residual.as_ref(), *then),
            })]
        }
        Work::Norm { norm, then } => {
            let rows = first(&mut sources).rows(instruction.axes);
            vec![Value::of_rows(normalise(&parameters.norms[*norm], rows, *then), shapes[0])]
        }
        Work::Linear(linear) => {
            let linear = &parameters.linears[*linear];
            let [inputs, _] = linear.weight.dims();
            let rows = shapes[0][0];
            vec![Value::of_matrix(connect(linear, first(&mut sources).matrix([rows, inputs])))]
        }
        Work::Dropout(place, mask) => {
            let dropout = &parameters.dropouts[*place];
            vec![match (first(&mut sources), mask.as_slice()) {
                (Value::Image(image), [n, c, h, w]) => Value::Image(dropout.forward_along(image, [*n, *c, *h, *w])),
                (other, mask) => Value::Any(dropout.forward_along(other.any(), to_rank6(mask))),
            }]
        }
        Work::Random(draw) => {
            let count = shapes[0].iter().product();
            let numbers = match device.is_autodiff() {
                true => dropout::draws(count, |uniform| draw.at(uniform) as f32),
                false => vec![draw.mean() as f32; count],
            };
            let tensor = Tensor::from_data(TensorData::new(numbers, to_rank6(shapes[0])), device);
            vec![Value::shaped(tensor, shapes[0])]
        }
        Work::Other(Operation::Split(axis, lengths)) => compute::split(first(&mut sources), *axis, lengths, &shapes),
        Work::Other(operation) => vec![compute::compute(operation, sources.collect(), instruction.axes, shapes[0])],
    }
}

fn first(sources: &mut impl Iterator<Item = Operand>) -> Value {
    sources.next().map(Operand::tensor).expect("every layer has a source")
}
