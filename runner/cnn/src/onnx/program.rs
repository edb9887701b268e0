//! The instructions of a network for one batch size, fused from the steps of its plan.

use burn::tensor::{Device, Tensor, TensorData};
use foreglow_architectures::Shape;
use foreglow_onnx::{Argument, Binary, Draw, Operation, Plan, Step, Unary, ValueId, WeightId};

use super::file::OnnxFile;
use super::value::to_rank6;
use crate::activation::Activation;

/// Instructions in the order in which they run.
#[derive(Debug)]
pub struct Program {
    pub plan: Plan,
    pub instructions: Vec<Instruction>,
    /// Convolutions, each with its step.
    pub convs: Vec<usize>,
    /// Batch normalisations, each with its step.
    pub norms: Vec<usize>,
    /// Fully connected layers, each with its step.
    pub linears: Vec<usize>,
    /// Probability of each dropout.
    pub dropouts: Vec<f64>,
    /// Weights of the other operations.
    pub tensors: Vec<WeightId>,
    /// Numbers that training does not change.
    pub constants: Vec<Tensor<6>>,
}

/// An operation with its sources and results.
#[derive(Debug)]
pub struct Instruction {
    pub work: Work,
    pub sources: Vec<Source>,
    /// Axes of the first source.
    pub axes: usize,
    pub results: Vec<ValueId>,
    /// Values that no later instruction reads.
    pub ended: Vec<ValueId>,
}

/// The computation of an instruction; numbers are indices into the lists of [`Program`].
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Convolution, then batch normalisation, a summand (the second source) and an activation.
    Conv { conv: usize, norm: Option<usize>, then: Activation },
    /// Batch normalisation and an activation.
    Norm { norm: usize, then: Activation },
    /// Fully connected layer.
    Linear(usize),
    /// Dropout, with the shape of its mask.
    Dropout(usize, Vec<usize>),
    /// Random numbers.
    Random(Draw),
    /// Another operation.
    Other(Operation),
}

/// Source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A computed tensor.
    Value(ValueId),
    /// A weight, by its place in `tensors`.
    Tensor(usize),
    /// A constant, by its place in `constants`.
    Constant(usize),
    /// A single number.
    Scalar(f32),
}

impl Program {
    /// Plans the network for this batch size and fuses its steps.
    ///
    /// # Errors
    /// The network does not take the shape.
    pub fn new(file: &OnnxFile, shape: Shape, batch: usize, device: &Device) -> anyhow::Result<Self> {
        let [channels, height, width] = shape;
        let plan = file.network.plan([batch, channels, height, width])?;
        let mut program = Self {
            plan: Plan { shapes: Vec::new(), steps: Vec::new(), output: 0 },
            instructions: Vec::new(),
            convs: Vec::new(),
            norms: Vec::new(),
            linears: Vec::new(),
            dropouts: Vec::new(),
            tensors: Vec::new(),
            constants: Vec::new(),
        };
        let readers = Readers::of(&plan);
        let mut is_done = vec![false; plan.steps.len()];
        let mut is_computed = vec![false; plan.shapes.len()];
        is_computed[0] = true;
        for (place, step) in plan.steps.iter().enumerate() {
            if std::mem::replace(&mut is_done[place], true) {
                continue;
            }
            let mut sources = Vec::new();
            let mut results = step.results.clone();
            let work = match &step.operation {
                Operation::Conv { .. } if step.values().count() == 1 && plan.shapes[results[0]].len() == 4 => {
                    sources.extend(step.values().next().map(Source::Value));
                    program.convs.push(place);
                    let mut chain = Chain { plan: &plan, readers: &readers, is_done: &mut is_done, last: results[0] };
                    let norm = chain.norm().map(|norm| program.place_norm(norm));
                    sources.extend(chain.summand(&is_computed).map(Source::Value));
                    let then = chain.activation();
                    results = vec![chain.last];
                    Work::Conv { conv: program.convs.len() - 1, norm, then }
                }
                Operation::BatchNorm { .. } => {
                    sources.extend(step.values().next().map(Source::Value));
                    let norm = program.place_norm(place);
                    let mut chain = Chain { plan: &plan, readers: &readers, is_done: &mut is_done, last: results[0] };
                    let then = chain.activation();
                    results = vec![chain.last];
                    Work::Norm { norm, then }
                }
                Operation::Gemm { .. } if is_linear(file, step) => {
                    sources.extend(step.values().next().map(Source::Value));
                    program.linears.push(place);
                    Work::Linear(program.linears.len() - 1)
                }
                Operation::Dropout { probability, mask } => {
                    sources.push(program.source(file, &step.arguments[0], false, device)?);
                    program.dropouts.push(*probability);
                    Work::Dropout(program.dropouts.len() - 1, mask.clone())
                }
                Operation::Random(draw) => Work::Random(*draw),
                other => {
                    let takes_scalars = matches!(other, Operation::Binary(_)) && step.values().next().is_some();
                    for argument in &step.arguments {
                        sources.push(program.source(file, argument, takes_scalars, device)?);
                    }
                    Work::Other(other.clone())
                }
            };
            results.iter().for_each(|result| is_computed[*result] = true);
            let axes = step.arguments.first().map_or(0, |argument| axes(file, &plan, argument));
            program.instructions.push(Instruction { work, sources, axes, results, ended: Vec::new() });
        }
        program.plan = plan;
        program.mark_ends();
        Ok(program)
    }

    fn place_norm(&mut self, step: usize) -> usize {
        self.norms.push(step);
        self.norms.len() - 1
    }

    fn source(
        &mut self,
        file: &OnnxFile,
        argument: &Argument,
        takes_scalars: bool,
        device: &Device,
    ) -> anyhow::Result<Source> {
        let network = &file.network;
        let known = match argument {
            Argument::Value(value) => return Ok(Source::Value(*value)),
            Argument::Weight(weight) if network.is_learned(*weight) => {
                let there = self.tensors.iter().position(|other| other == weight);
                return Ok(Source::Tensor(there.unwrap_or_else(|| {
                    self.tensors.push(*weight);
                    self.tensors.len() - 1
                })));
            }
            Argument::Weight(weight) => network.small(*weight).ok_or_else(|| {
                network.weights[*weight].wrong("it holds integers, which are supported only for shapes")
            })?,
            Argument::Known(known) => foreglow_onnx::Known::clone(known),
        };
        if let Some(number) = known.scalar().filter(|_| takes_scalars) {
            return Ok(Source::Scalar(number));
        }
        let tensor = Tensor::from_data(TensorData::new(known.floats(), to_rank6(&known.dims)), device);
        self.constants.push(tensor.without_autodiff());
        Ok(Source::Constant(self.constants.len() - 1))
    }

    /// Finds the last reader of each value, which then frees it.
    fn mark_ends(&mut self) {
        let mut is_read = vec![false; self.plan.shapes.len()];
        is_read[self.plan.output] = true;
        for instruction in self.instructions.iter_mut().rev() {
            for source in &instruction.sources {
                if let Source::Value(value) = source
                    && !std::mem::replace(&mut is_read[*value], true)
                {
                    instruction.ended.push(*value);
                }
            }
        }
    }
}

fn axes(file: &OnnxFile, plan: &Plan, argument: &Argument) -> usize {
    match argument {
        Argument::Value(value) => plan.shapes[*value].len(),
        Argument::Weight(weight) => file.network.weights[*weight].dims.len(),
        Argument::Known(known) => known.dims.len(),
    }
}

/// Whether a product is a fully connected layer that Burn supports.
fn is_linear(file: &OnnxFile, step: &Step) -> bool {
    let Operation::Gemm { alpha, beta, transposed: [false, _] } = step.operation else { return false };
    match *step.arguments.as_slice() {
        [Argument::Value(_), Argument::Weight(_)] => alpha == 1.0,
        [Argument::Value(_), Argument::Weight(_), Argument::Weight(bias)] => {
            // Burn's bias has a number per output, not a single one.
            let is_list = file.network.weights[bias].dims.len() == 1 && file.network.weights[bias].len() > 1;
            alpha == 1.0 && beta == 1.0 && is_list
        }
        _ => false,
    }
}

/// The only reader of each value, if it has one reader and is not the output.
struct Readers(Vec<Option<usize>>);

impl Readers {
    fn of(plan: &Plan) -> Self {
        let mut only = vec![None; plan.shapes.len()];
        let mut counts = vec![0; plan.shapes.len()];
        counts[plan.output] = 1;
        for (place, step) in plan.steps.iter().enumerate() {
            for value in step.values() {
                counts[value] += 1;
                only[value] = Some(place);
            }
        }
        Self(only.into_iter().zip(counts).map(|(reader, count)| reader.filter(|_| count == 1)).collect())
    }
}

/// A chain of steps, each the only reader of the previous one.
struct Chain<'a> {
    plan: &'a Plan,
    readers: &'a Readers,
    is_done: &'a mut [bool],
    last: ValueId,
}

impl<'a> Chain<'a> {
    fn next(&self) -> Option<(usize, &'a Step)> {
        let place = self.readers.0[self.last]?;
        Some((place, &self.plan.steps[place]))
    }

    fn follow(&mut self, place: usize) {
        self.is_done[place] = true;
        self.last = self.plan.steps[place].results[0];
    }

    fn norm(&mut self) -> Option<usize> {
        let (place, step) = self.next()?;
        matches!(step.operation, Operation::BatchNorm { .. }).then(|| {
            self.follow(place);
            place
        })
    }

    /// Returns the other summand of a following addition, if it is computed and has the same size.
    fn summand(&mut self, is_computed: &[bool]) -> Option<ValueId> {
        let (place, step) = self.next()?;
        let Operation::Binary(Binary::Add) = step.operation else { return None };
        let other = step.values().find(|value| *value != self.last)?;
        if !is_computed[other] || self.plan.shapes[other] != self.plan.shapes[self.last] {
            return None;
        }
        self.follow(place);
        Some(other)
    }

    fn activation(&mut self) -> Activation {
        let Some((place, step)) = self.next() else { return Activation::None };
        let activation = match step.operation {
            Operation::Unary(Unary::Relu) => Activation::Relu,
            Operation::Unary(Unary::Clip(0.0, 6.0)) => Activation::Relu6,
            _ => return Activation::None,
        };
        self.follow(place);
        activation
    }
}
