//! A network prepared for a size of its input: operations in order, with every shape known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::known::{MOST_KNOWN, numbers};
use crate::network::Network;
use crate::node::Node;
use crate::rules::{self, Call};
use crate::{Binary, Draw, Error, Known, MOST_AXES, Operation, Unary, fold, random};

/// Index of a computed tensor.
pub type ValueId = usize;
/// Index of a weight in [`Network::weights`].
pub type WeightId = usize;

/// The operations of a network for one shape of its input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Shape of each computed tensor; the first is the input.
    pub shapes: Vec<Vec<usize>>,
    /// Operations, in an order in which they can run.
    pub steps: Vec<Step>,
    /// Result of the network: its first output.
    pub output: ValueId,
}

/// An operation with its arguments and results.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Name of the node.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// The computation.
    pub operation: Operation,
    /// Arguments.
    pub arguments: Vec<Argument>,
    /// Results.
    pub results: Vec<ValueId>,
}

/// Argument of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The result of an earlier step, or the input.
    Value(ValueId),
    /// A weight.
    Weight(WeightId),
    /// Numbers that do not change.
    Known(Arc<Known>),
}

impl Network {
    /// Prepares the network for inputs `[batch, channels, height, width]`. Constants are folded,
    /// and steps without effect on the output are removed.
    ///
    /// # Errors
    /// A node is invalid, or uses a variant that is not supported.
    pub fn plan(&self, input: [usize; 4]) -> Result<Plan, Error> {
        self.check_input(input)?;
        let (mut plan, mut transposed) = (Plan { shapes: vec![input.to_vec()], ..Plan::default() }, BTreeMap::new());
        if self.is_channels_last {
            let [batch, channels, height, width] = input;
            plan.shapes.push(vec![batch, height, width, channels]);
            let order = vec![0, 2, 3, 1];
            transposed.insert(1, (0, order.clone()));
            plan.steps.push(Step {
                name: self.input_name.clone(),
                operator: "Transpose".to_owned(),
                operation: Operation::Transpose(order),
                arguments: vec![Argument::Value(0)],
                results: vec![1],
            });
        }
        let first = plan.shapes.len() - 1;
        let mut planner = Planner {
            network: self,
            batches: self.batch().map(|written| [written, input[0]]),
            plan,
            names: BTreeMap::from([(self.input_name.as_str(), Argument::Value(first))]),
            derived: BTreeSet::new(),
            batched: BTreeSet::from([0, first]),
            of_weights: BTreeMap::new(),
            transposed,
            draws: BTreeMap::new(),
            shared: self.read_twice(),
            shared_draws: BTreeSet::new(),
        };
        self.nodes.iter().try_for_each(|node| planner.node(node))?;
        let name = self.outputs.first().map_or("", String::as_str);
        match planner.names.get(name) {
            Some(Argument::Value(output)) => planner.plan.output = *output,
            _ => return Err(Error::Input(format!("its output {name} does not depend on its input"))),
        }
        planner.plan.leave_out_unused();
        Ok(planner.plan)
    }

    fn check_input(&self, input: [usize; 4]) -> Result<(), Error> {
        let [_, channels, height, width] = input;
        self.image_shape(Some(height)).and_then(|fixed| {
            let is_taken = fixed[0] == channels && fixed[1] == height && (fixed[2] == width || fixed[2] == height);
            let [c, h, w] = fixed;
            let said = format!("it takes {c} channels of {h}×{w} px, and not {channels} of {height}×{width} px");
            if is_taken { Ok(()) } else { Err(Error::Input(said)) }
        })?;
        if numbers(&input).is_none_or(|numbers| numbers == 0) {
            return Err(Error::Input(format!("a batch {input:?} is empty or too large")));
        }
        Ok(())
    }
}

impl Network {
    /// Returns the names read by several nodes, or by a node and the caller.
    fn read_twice(&self) -> BTreeSet<&str> {
        let (mut once, mut twice) = (BTreeSet::new(), BTreeSet::new());
        for name in self.nodes.iter().flat_map(|node| &node.inputs).chain(&self.outputs) {
            if !once.insert(name.as_str()) {
                twice.insert(name.as_str());
            }
        }
        twice
    }

    /// Returns the numbers of a weight if they are few and were read with the graph.
    pub fn small(&self, weight: WeightId) -> Option<Known> {
        let weight = &self.weights[weight];
        (weight.len() <= MOST_KNOWN).then(|| weight.known()).flatten()
    }
}

struct Planner<'a> {
    network: &'a Network,
    /// Batch size in the file and in the plan, if the file fixes it.
    batches: Option<[usize; 2]>,
    plan: Plan,
    names: BTreeMap<&'a str, Argument>,
    /// Computed tensors that depend on the images, or are random numbers per image.
    batched: BTreeSet<ValueId>,
    /// Numbers of computed tensors that depend on small weights alone.
    of_weights: BTreeMap<ValueId, Arc<Known>>,
    /// Tensors that are others with their axes in this order.
    transposed: BTreeMap<ValueId, (ValueId, Vec<usize>)>,
    /// Names of values computed from the shapes of the plan.
    derived: BTreeSet<&'a str>,
    /// Distribution of each computed tensor that is random.
    draws: BTreeMap<ValueId, Draw>,
    /// Names that several nodes read.
    shared: BTreeSet<&'a str>,
    /// Random tensors read by several nodes, which must all get the same numbers.
    shared_draws: BTreeSet<ValueId>,
}

impl<'a> Planner<'a> {
    /// Runs the branch of a condition that is known before the run.
    fn branch(&mut self, node: &'a Node) -> Result<(), Error> {
        let wrong = || {
            node.wrong("its condition depends on the image; export it for a fixed image size and without control flow")
        };
        let condition = self.argument(node, node.inputs.first().map_or("", String::as_str))?;
        let holds = self.known(&condition).and_then(|known| known.scalar()).ok_or_else(wrong)? != 0.0;
        let branch = node.attributes.branch(if holds { "then_branch" } else { "else_branch" });
        let branch = branch.ok_or_else(|| node.wrong("it has no graph for this case"))?;
        branch.nodes.iter().try_for_each(|node| self.node(node))?;
        for (name, inner) in node.outputs.iter().zip(&branch.outputs) {
            let result = self.argument(node, inner)?;
            if self.derived.contains(inner.as_str()) {
                self.derived.insert(name);
            }
            self.names.insert(name, result);
        }
        Ok(())
    }

    fn node(&mut self, node: &'a Node) -> Result<(), Error> {
        if node.is("If") {
            return self.branch(node);
        }
        let mut arguments = Vec::with_capacity(node.inputs.len());
        for name in &node.inputs {
            arguments.push(if name.is_empty() { None } else { Some(self.argument(node, name)?) });
            if let (Some(Some(Argument::Value(value))), true) = (arguments.last(), self.shared.contains(name.as_str()))
                && self.draws.contains_key(value)
            {
                self.shared_draws.insert(*value);
            }
        }
        let shapes: Vec<Vec<usize>> =
            arguments.iter().map(|argument| argument.as_ref().map_or_else(Vec::new, |it| self.shape(it))).collect();
        let known: Vec<Option<Arc<Known>>> =
            arguments.iter().map(|argument| argument.as_ref().and_then(|it| self.known(it))).collect();
        let derived: Vec<bool> = node.inputs.iter().map(|name| self.derived.contains(name.as_str())).collect();
        let batched: Vec<bool> = arguments
            .iter()
            .map(|argument| matches!(argument, Some(Argument::Value(value)) if self.batched.contains(value)))
            .collect();
        let call = Call {
            node,
            batched: &batched,
            opset: self.network.opset,
            shapes: &shapes,
            known: &known,
            derived: &derived,
            batches: self.batches,
        };
        let first = node.outputs.first().ok_or_else(|| node.wrong("it has no output"))?;
        let folded = fold::fold(&call)?;
        // What is computed from weights stays a step, so that training changes the weights.
        let is_of_weights = arguments.iter().flatten().any(|argument| self.is_learned(argument));
        let (folded, of_weights) = if is_of_weights { (None, folded) } else { (folded, None) };
        if let Some(folded) = folded {
            let is_derived = matches!(node.operator.as_str(), "Shape" | "Size") || derived.contains(&true);
            self.set_known(node, folded, is_derived);
            return Ok(());
        }
        if rules::is_identity(&call) {
            let same = arguments.into_iter().next().flatten().ok_or_else(|| node.wrong("it has no input"))?;
            if derived.first() == Some(&true) {
                self.derived.insert(first);
            }
            self.names.insert(first, same);
            return Ok(());
        }
        let draws: Vec<Option<Draw>> = arguments.iter().map(|argument| self.draw(argument.as_ref())).collect();
        let ready = match (random::drawn(&call)?, random::followed(&call, &draws)?) {
            (Some(ready), _) | (None, Some(ready)) => Ok(ready),
            (None, None) => rules::resolve(&call),
        };
        let mut ready = match (ready, of_weights.clone()) {
            (Ok(ready), _) => ready,
            (Err(_), Some(known)) => {
                self.set_known(node, known, derived.contains(&true));
                return Ok(());
            }
            (Err(error), None) => return Err(error),
        };
        if let (Operation::Transpose(order), Some(Some(Argument::Value(value)))) =
            (&mut ready.operation, arguments.first())
        {
            let mut from = *value;
            if let Some((first, before)) = self.transposed.get(value) {
                from = *first;
                order.iter_mut().for_each(|axis| *axis = before[*axis]);
            }
            if order.is_sorted() {
                self.names.insert(first, Argument::Value(from));
                return Ok(());
            }
            self.transposed.insert(self.plan.shapes.len(), (from, order.clone()));
            arguments[0] = Some(Argument::Value(from));
        }
        let is_norm = matches!(ready.operation, Operation::BatchNorm { .. });
        let mut used = Vec::with_capacity(ready.arguments.len());
        for place in ready.arguments {
            let argument = match arguments.get(place).cloned().flatten() {
                // A batch normalisation has its own parameters.
                Some(Argument::Value(value)) if is_norm && place > 0 => {
                    self.of_weights.get(&value).cloned().map(Argument::Known).or(Some(Argument::Value(value)))
                }
                argument => argument,
            };
            used.push(argument.ok_or_else(|| node.wrong(format!("its input {} is missing", place + 1)))?);
            if shapes[place].contains(&0) {
                return Err(node.wrong(format!("its input {} is empty", place + 1)));
            }
        }
        let mut results = Vec::with_capacity(ready.shapes.len());
        for (place, shape) in ready.shapes.into_iter().enumerate() {
            if shape.len() > MOST_AXES || numbers(&shape).is_none_or(|numbers| numbers == 0) {
                return Err(node.wrong(format!("its output {shape:?} is empty or too large")));
            }
            if let Operation::Random(draw) = ready.operation {
                self.draws.insert(self.plan.shapes.len(), draw);
            }
            if batched.contains(&true) || matches!(ready.operation, Operation::Random(_)) {
                self.batched.insert(self.plan.shapes.len());
            }
            results.push(self.plan.shapes.len());
            if let Some(name) = node.outputs.get(place) {
                self.names.insert(name, Argument::Value(self.plan.shapes.len()));
            }
            self.plan.shapes.push(shape);
        }
        self.of_weights.extend(results.iter().copied().zip(of_weights.into_iter().flatten().map(Arc::new)));
        self.plan.steps.push(Step {
            name: node.title().to_owned(),
            operator: node.operator.clone(),
            operation: ready.operation,
            arguments: used,
            results,
        });
        Ok(())
    }

    /// Records outputs that are known; `is_derived` if they are computed from shapes of the plan.
    fn set_known(&mut self, node: &'a Node, outputs: Vec<Known>, is_derived: bool) {
        for (name, known) in node.outputs.iter().zip(outputs) {
            if is_derived {
                self.derived.insert(name);
            }
            self.names.insert(name, Argument::Known(Arc::new(known)));
        }
    }

    /// Returns whether training changes an argument that does not depend on the images.
    fn is_learned(&self, argument: &Argument) -> bool {
        match argument {
            Argument::Weight(weight) => self.network.is_learned(*weight),
            Argument::Value(value) => self.of_weights.contains_key(value),
            Argument::Known(_) => false,
        }
    }

    /// Returns the distribution of a random argument with a single reader.
    fn draw(&self, argument: Option<&Argument>) -> Option<Draw> {
        let Some(Argument::Value(value)) = argument else { return None };
        self.draws.get(value).filter(|_| !self.shared_draws.contains(value)).copied()
    }

    fn argument(&self, node: &Node, name: &str) -> Result<Argument, Error> {
        if let Some(argument) = self.names.get(name) {
            return Ok(argument.clone());
        }
        let weight = self.network.weight_places.get(name);
        weight.map(|place| Argument::Weight(*place)).ok_or_else(|| {
            node.wrong(format!("its input {name} is neither the network's input nor a result of an earlier node"))
        })
    }

    fn shape(&self, argument: &Argument) -> Vec<usize> {
        match argument {
            Argument::Value(value) => self.plan.shapes[*value].clone(),
            Argument::Weight(weight) => self.network.weights[*weight].dims.clone(),
            Argument::Known(known) => known.dims.clone(),
        }
    }

    fn known(&self, argument: &Argument) -> Option<Arc<Known>> {
        match argument {
            Argument::Value(value) => self.of_weights.get(value).cloned(),
            Argument::Weight(weight) => self.network.small(*weight).map(Arc::new),
            Argument::Known(known) => Some(Arc::clone(known)),
        }
    }
}

impl Plan {
    /// Removes the steps that the output does not depend on.
    fn leave_out_unused(&mut self) {
        let mut is_used = vec![false; self.shapes.len()];
        is_used[self.output] = true;
        let mut kept = Vec::with_capacity(self.steps.len());
        for step in std::mem::take(&mut self.steps).into_iter().rev() {
            if step.results.iter().any(|result| is_used[*result]) {
                step.values().for_each(|value| is_used[value] = true);
                kept.push(step);
            }
        }
        kept.reverse();
        self.steps = kept;
    }
}

impl Step {
    /// Returns the computed tensors among the arguments.
    pub fn values(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Value(value) => Some(*value),
            _ => None,
        })
    }

    /// Returns the arguments by which the results have a derivative; that of rounding is 0.
    pub fn differentiable(&self) -> impl Iterator<Item = &Argument> {
        let first = match self.operation {
            Operation::Unary(Unary::IsNonZero | Unary::Not)
            | Operation::Binary(
                Binary::Less
                | Binary::LessOrEqual
                | Binary::Greater
                | Binary::GreaterOrEqual
                | Binary::Equal
                | Binary::Xor,
            ) => self.arguments.len(),
            // The condition.
            Operation::Where => 1,
            _ => 0,
        };
        self.arguments.iter().skip(first)
    }

    /// Returns the weights among the arguments.
    pub fn weights(&self) -> impl Iterator<Item = WeightId> + '_ {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Weight(weight) => Some(*weight),
            _ => None,
        })
    }
}
