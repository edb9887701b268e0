//! Random numbers of a graph, and the dropout that networks build from them.
//!
//! PyTorch writes stochastic depth as `RandomUniformLike`, `Less`, `Cast`, `Div` and `Mul`. Each of
//! the first four only changes a distribution that is known before the run, so that the product is
//! a [`Operation::Dropout`] with one draw per image, which costs nothing in inference.

use crate::rules::{Call, Ready, broadcast};
use crate::{Binary, Error, Operation};

/// Distribution of independent random numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Uniform from the first number to the second.
    Uniform(f64, f64),
    /// The first value with this probability, else the second.
    Either {
        /// Probability of the first value.
        probability: f64,
        /// The values.
        values: [f64; 2],
    },
}

impl Draw {
    /// Returns the mean, which inference uses in place of draws.
    pub fn mean(self) -> f64 {
        match self {
            Self::Uniform(low, high) => (low + high) / 2.0,
            Self::Either { probability, values: [yes, no] } => probability * yes + (1.0 - probability) * no,
        }
    }

    /// Returns the number that a uniform draw from [0, 1) selects.
    pub fn at(self, uniform: f64) -> f64 {
        match self {
            Self::Uniform(low, high) => low + (high - low) * uniform,
            Self::Either { probability, values: [yes, no] } => {
                if uniform < probability {
                    yes
                } else {
                    no
                }
            }
        }
    }

    /// Returns the distribution of a function of the values; `None` for a continuous one, or if a
    /// value is infinite.
    fn map(self, function: impl Fn(f64) -> f64) -> Option<Self> {
        let Self::Either { probability, values } = self else { return None };
        let values = values.map(function);
        values.iter().all(|value| value.is_finite()).then_some(Self::Either { probability, values })
    }

    /// Returns the distribution of `factor × x + summand`.
    fn affine(self, factor: f64, summand: f64) -> Option<Self> {
        let of = |x: f64| factor * x + summand;
        match self {
            Self::Uniform(low, high) => {
                let (low, high) = if factor < 0.0 { (of(high), of(low)) } else { (of(low), of(high)) };
                (low.is_finite() && high.is_finite()).then_some(Self::Uniform(low, high))
            }
            Self::Either { .. } => self.map(of),
        }
    }

    /// Returns the distribution of 1 where a comparison with the limit holds, else 0.
    fn compared(self, function: Binary, limit: f64) -> Option<Self> {
        let is_below = matches!(function, Binary::Less | Binary::LessOrEqual);
        match self {
            Self::Uniform(low, high) if high > low => {
                let probability = ((limit - low) / (high - low)).clamp(0.0, 1.0);
                Some(Self::Either { probability, values: if is_below { [1.0, 0.0] } else { [0.0, 1.0] } })
            }
            Self::Uniform(..) => None,
            Self::Either { .. } => self.map(|x| {
                truth(match function {
                    Binary::Less => x < limit,
                    Binary::LessOrEqual => x <= limit,
                    Binary::Greater => x > limit,
                    _ => x >= limit,
                })
            }),
        }
    }

    /// Returns the distribution of the numbers rounded down; `None` if there are more than two.
    fn floor(self) -> Option<Self> {
        match self {
            Self::Uniform(low, high) => {
                let first = low.floor();
                let probability = ((high - first - 1.0) / (high - low)).max(0.0);
                (high > low && high <= first + 2.0)
                    .then_some(Self::Either { probability, values: [first + 1.0, first] })
            }
            Self::Either { .. } => self.map(f64::floor),
        }
    }
}

/// Returns the draws of a node that makes random numbers; `None` for other operators.
pub fn drawn(call: &Call<'_>) -> Result<Option<Ready>, Error> {
    let attributes = &call.node.attributes;
    let draw = match call.node.operator.as_str() {
        "RandomUniform" | "RandomUniformLike" => {
            let (low, high) = (f64::from(attributes.float("low", 0.0)), f64::from(attributes.float("high", 1.0)));
            if !(low < high && (high - low).is_finite()) {
                return Err(call.wrong(format!("its numbers are from {low} to {high}")));
            }
            Draw::Uniform(low, high)
        }
        "Bernoulli" => {
            let numbers = call.known(0)?.map(|known| known.floats()).unwrap_or_default();
            let probability = numbers.first().map(|first| f64::from(*first));
            let probability = probability.filter(|first| numbers.iter().all(|other| f64::from(*other) == *first));
            let probability = probability.filter(|probability| (0.0..=1.0).contains(probability));
            let probability = probability.ok_or_else(|| call.wrong("its probabilities are not one number"))?;
            Draw::Either { probability, values: [1.0, 0.0] }
        }
        _ => return Ok(None),
    };
    let mut shape = match attributes.ints("shape") {
        Some(shape) => shape
            .iter()
            .map(|length| usize::try_from(*length).ok())
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| call.wrong(format!("its shape is {shape:?}")))?,
        None => call.shape(0)?.to_vec(),
    };
    // A shape that the file fixes begins with its batch size; the plan may have another.
    let is_fixed = attributes.ints("shape").is_some() || call.known.first().is_some_and(Option::is_some);
    if let (Some([written, planned]), true, Some(first)) = (call.batches, is_fixed, shape.first_mut())
        && *first == written
    {
        *first = planned;
    }
    Ok(Some(Ready { operation: Operation::Random(draw), arguments: Vec::new(), shapes: vec![shape] }))
}

/// Returns the distribution after a node, or its equivalent dropout, for random numbers with a
/// single reader. `draws` has the distribution of each input that is random. `None` if the numbers
/// must be drawn before the node.
pub fn followed(call: &Call<'_>, draws: &[Option<Draw>]) -> Result<Option<Ready>, Error> {
    // The operators below take random numbers only as their first or second input.
    let Some(place) = draws.iter().take(2).position(Option::is_some) else { return Ok(None) };
    let Some(draw) = draws[place].filter(|_| draws.iter().flatten().count() == 1) else { return Ok(None) };
    let other = 1 - place;
    let number = |place: usize| call.known.get(place)?.as_ref()?.scalar().map(f64::from);
    let shape = call.shape(place)?.to_vec();
    let operator = call.node.operator.as_str();
    let followed = match operator {
        "Cast" => match call.node.attributes.int("to") {
            Some(9) => draw.map(|x| truth(x != 0.0)),
            _ => draw.map(f64::trunc),
        },
        "Not" => draw.map(|x| truth(x == 0.0)),
        "Floor" => draw.floor(),
        "Ceil" => draw.map(f64::ceil),
        "Neg" => draw.affine(-1.0, 0.0),
        "Reshape" | "Unsqueeze" | "Squeeze" | "Flatten" if place == 0 => {
            let ready = crate::rules::resolve(call)?;
            return Ok(Some(Ready { operation: Operation::Random(draw), arguments: Vec::new(), ..ready }));
        }
        "Where" if place == 0 => return where_drawn(call, draw),
        _ => match (number(other), operator) {
            (Some(c), "Add") => draw.affine(1.0, c),
            (Some(c), "Sub") if place == 0 => draw.affine(1.0, -c),
            (Some(c), "Sub") => draw.affine(-1.0, c),
            (Some(c), "Mul") => draw.affine(c, 0.0),
            (Some(c), "Div") if place == 0 => draw.affine(1.0 / c, 0.0),
            (Some(c), _) => comparison(operator, place == 1).and_then(|function| draw.compared(function, c)),
            (None, "Mul") => return Ok(dropout(call, place, draw)),
            _ => None,
        },
    };
    // A comparison with a tensor of one number and more axes would have another shape.
    let same = operator == "Cast" || call.node.inputs.len() == 1 || number_fits(call, other, &shape);
    Ok(followed.filter(|_| same).map(|draw| Ready::new(Operation::Random(draw), 0, shape)))
}

/// Returns the comparison of random numbers, which may be on the right, with a number.
fn comparison(operator: &str, is_on_the_right: bool) -> Option<Binary> {
    Some(match (operator, is_on_the_right) {
        ("Less", false) | ("Greater", true) => Binary::Less,
        ("LessOrEqual", false) | ("GreaterOrEqual", true) => Binary::LessOrEqual,
        ("Greater", false) | ("Less", true) => Binary::Greater,
        ("GreaterOrEqual", false) | ("LessOrEqual", true) => Binary::GreaterOrEqual,
        _ => return None,
    })
}

fn truth(is_true: bool) -> f64 {
    if is_true { 1.0 } else { 0.0 }
}

fn number_fits(call: &Call<'_>, place: usize, shape: &[usize]) -> bool {
    call.shapes.get(place).is_some_and(|number| number.len() <= shape.len())
}

/// A tensor times inverted dropout's mask: kept numbers are divided by their probability.
fn dropout(call: &Call<'_>, place: usize, draw: Draw) -> Option<Ready> {
    let Draw::Either { probability, values } = draw else { return None };
    let (kept, scale) = match values {
        [scale, 0.0] => (probability, scale),
        [0.0, scale] => (1.0 - probability, scale),
        _ => return None,
    };
    let (tensor, mask) = (call.shapes.get(1 - place)?, call.shapes.get(place)?);
    let is_inverted = kept > 0.0 && (kept * scale - 1.0).abs() < 1e-6;
    if !is_inverted || broadcast(tensor, mask).as_ref() != Some(tensor) {
        return None;
    }
    let mut repeated = vec![1; tensor.len() - mask.len()];
    repeated.extend(mask);
    let operation = Operation::Dropout { probability: 1.0 - kept, mask: repeated };
    Some(Ready { operation, arguments: vec![1 - place], shapes: vec![tensor.clone()] })
}

/// A choice between two numbers.
fn where_drawn(call: &Call<'_>, draw: Draw) -> Result<Option<Ready>, Error> {
    let number = |place: usize| call.known.get(place)?.as_ref()?.scalar().map(f64::from);
    let (Some(yes), Some(no)) = (number(1), number(2)) else { return Ok(None) };
    let chosen = draw.map(|x| if x == 0.0 { no } else { yes });
    let shape = call.shape(0)?.to_vec();
    let fits = number_fits(call, 1, &shape) && number_fits(call, 2, &shape);
    Ok(chosen.filter(|_| fits).map(|draw| Ready::new(Operation::Random(draw), 0, shape)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(draw: Option<Draw>, expected: f64, values: [f64; 2]) {
        let Some(Draw::Either { probability, values: of }) = draw else { panic!("{draw:?}") };
        assert!((probability - expected).abs() < 1e-12, "{probability} and {expected}");
        assert_eq!(of, values);
    }

    #[test]
    fn functions_of_uniform_numbers_have_their_probabilities() {
        let uniform = Draw::Uniform(0.0, 1.0);
        is_near(uniform.compared(Binary::Less, 0.8), 0.8, [1.0, 0.0]);
        is_near(uniform.compared(Binary::GreaterOrEqual, 0.8), 0.8, [0.0, 1.0]);
        is_near(uniform.affine(2.0, -1.0).and_then(|wide| wide.compared(Binary::Less, 0.5)), 0.75, [1.0, 0.0]);
        is_near(uniform.affine(1.0, 0.7).and_then(Draw::floor), 0.7, [1.0, 0.0]);
        is_near(uniform.affine(-1.0, 0.0).and_then(Draw::floor), 0.0, [0.0, -1.0]);
        assert_eq!(uniform.affine(3.0, 0.0).and_then(Draw::floor), None, "three values");
        assert_eq!(uniform.affine(1.0, f64::INFINITY), None);
        assert_eq!((uniform.at(0.25), uniform.mean()), (0.25, 0.5));
        let mask = uniform.compared(Binary::Less, 0.8).and_then(|mask| mask.affine(1.0 / 0.8, 0.0)).unwrap();
        assert!((mask.mean() - 1.0).abs() < 1e-12);
        assert_eq!([0.1, 0.9].map(|uniform| mask.at(uniform)), [1.25, 0.0]);
    }
}
