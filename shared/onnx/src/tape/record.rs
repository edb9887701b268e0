//! The tape of a plan.

use super::{Operand, Rule, Tape};
use crate::network::Network;
use crate::plan::{Argument, Plan, Step};
use crate::{Binary, Operation, Unary, ValueId};

impl Tape {
    /// Records the operations of a plan for one image.
    pub fn of_plan(network: &Network, plan: &Plan) -> Self {
        let batch = plan.shapes[0].first().copied().unwrap_or(1).max(1) as u64;
        let numbers = |value: ValueId| count(&plan.shapes[value]) / batch;
        let mut recorder = Recorder {
            network,
            tape: Self::new(numbers(0)),
            values: vec![None; plan.shapes.len()],
            producers: vec![None; plan.shapes.len()],
            readers: vec![0; plan.shapes.len()],
            gates: vec![None; plan.shapes.len()],
        };
        recorder.values[0] = Some(Operand::Tensor(0));
        for (place, step) in plan.steps.iter().enumerate() {
            step.values().for_each(|value| recorder.readers[value] += 1);
            step.results.iter().for_each(|result| recorder.producers[*result] = Some(place));
        }
        for step in &plan.steps {
            if let Some([x, gate]) = recorder.gated(plan, step) {
                recorder.gates[gate] = Some(x);
            }
        }
        for step in &plan.steps {
            recorder.step(plan, step, &numbers);
        }
        recorder.tape
    }
}

struct Recorder<'a> {
    network: &'a Network,
    tape: Tape,
    /// The operand of each value; `None` before it is computed.
    values: Vec<Option<Operand>>,
    /// The step that computes each value.
    producers: Vec<Option<usize>>,
    /// Number of steps that read each value.
    readers: Vec<usize>,
    /// The value that each sigmoid is a factor of, if it is of the same value and of no other.
    gates: Vec<Option<ValueId>>,
}

impl Recorder<'_> {
    fn step(&mut self, plan: &Plan, step: &Step, numbers: &impl Fn(ValueId) -> u64) {
        let operands: Vec<Operand> = step.arguments.iter().map(|argument| self.operand(argument)).collect();
        let tensors = || operands.iter().filter_map(|operand| operand.tensor());
        if tensors().next().is_none() {
            // It depends on weights alone.
            step.results.iter().for_each(|result| {
                self.values[*result] = Some(Operand::Parameter(count(&plan.shapes[*result])));
            });
            return;
        }
        if let [gate] = step.results.as_slice()
            && let Some(x) = self.gates[*gate]
        {
            self.values[*gate] = self.values[x];
            return;
        }
        let is_permuted = operands.iter().any(|operand| matches!(operand, Operand::Permuted(_)));
        for result in &step.results {
            let mut rule = Rule::of(&step.operation, numbers(*result));
            let mut operands = operands.clone();
            match &step.operation {
                Operation::Reshape if is_permuted => rule = Rule::MEAN,
                Operation::Binary(Binary::Mul) if step.values().any(|value| self.gates[value].is_some()) => {
                    (rule, operands) = (Rule::FUNCTION, vec![operands[0]]);
                }
                Operation::Binary(Binary::Add) => {
                    if let Some(product) = self.product(plan, step) {
                        (rule, operands) = (Rule::BIAS, vec![product]);
                    }
                }
                _ => {}
            }
            let tensor = self.tape.push(rule, operands, numbers(*result));
            let keeps_order = matches!(step.operation, Operation::Slice(_) | Operation::Split(..) | Operation::Expand);
            let permutes = matches!(step.operation, Operation::Transpose(_)) || keeps_order && is_permuted;
            self.values[*result] = Some(if permutes { Operand::Permuted(tensor) } else { Operand::Tensor(tensor) });
        }
    }

    fn operand(&self, argument: &Argument) -> Operand {
        match argument {
            Argument::Value(value) => self.values[*value].unwrap_or(Operand::Constant),
            Argument::Weight(weight) if self.network.is_learned(*weight) => {
                Operand::Parameter(self.network.weights[*weight].len() as u64)
            }
            Argument::Weight(_) | Argument::Known(_) => Operand::Constant,
        }
    }

    /// Returns x and the sigmoid of x · sigmoid(x), which frameworks compute at once as SiLU, or as
    /// hard-swish.
    fn gated(&self, plan: &Plan, step: &Step) -> Option<[ValueId; 2]> {
        let (Operation::Binary(Binary::Mul), [Argument::Value(left), Argument::Value(right)]) =
            (&step.operation, step.arguments.as_slice())
        else {
            return None;
        };
        let is_gate = |x: ValueId, gate: ValueId| {
            self.producers[gate].map(|place| &plan.steps[place]).is_some_and(|producer| {
                let is_sigmoid =
                    matches!(producer.operation, Operation::Unary(Unary::Sigmoid | Unary::HardSigmoid(..)));
                is_sigmoid && self.readers[gate] == 1 && producer.values().eq([x])
            })
        };
        [[*left, *right], [*right, *left]].into_iter().find(|[x, gate]| is_gate(*x, *gate))
    }

    /// Returns the product that a step adds a bias to.
    fn product(&self, plan: &Plan, step: &Step) -> Option<Operand> {
        let product = step.values().next()?;
        let producer = &plan.steps[self.producers[product]?];
        let has_weight =
            producer.arguments.iter().any(|argument| matches!(self.operand(argument), Operand::Parameter(_)));
        let is_product = matches!(producer.operation, Operation::MatMul) && has_weight && self.readers[product] == 1;
        let is_bias = |argument: &Argument| match argument {
            Argument::Weight(weight) => self.network.weights[*weight].dims.len() == 1,
            _ => false,
        };
        (is_product && step.arguments.iter().any(is_bias)).then(|| self.values[product]).flatten()
    }
}

fn count(dims: &[usize]) -> u64 {
    dims.iter().fold(1, |product, dim| product.saturating_mul(*dim as u64))
}
