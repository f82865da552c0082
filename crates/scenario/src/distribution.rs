//! Distributions that times, sizes and numbers are drawn from.

use crate::table_reader::{kind, scalar};
use aqmlab_core::problem::unknown;
use aqmlab_core::{Packets, Quantity, Span, Stream};
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use toml::{Table, Value};

/// A quantity that a distribution can be over.
pub trait RandomQuantity: Quantity {
    /// The nouns for one and several, for messages.
    const NAMES: (&'static str, &'static str);
    /// Beyond this nothing is drawn: a run would not end.
    const LARGEST: f64;
    /// True if a uniform distribution draws whole numbers.
    const IS_COUNT: bool;
    /// In the base unit.
    fn number(self) -> f64;
    /// From the base unit.
    fn from_number(number: f64) -> Self;
}

impl RandomQuantity for Span {
    const NAMES: (&'static str, &'static str) = ("time", "times");
    const LARGEST: f64 = 1e6;
    const IS_COUNT: bool = false;
    fn number(self) -> f64 {
        self.seconds()
    }
    fn from_number(seconds: f64) -> Self {
        Span::from_seconds(seconds)
    }
}

impl RandomQuantity for Packets {
    const NAMES: (&'static str, &'static str) = ("number of packets", "numbers of packets");
    const LARGEST: f64 = 1e9;
    const IS_COUNT: bool = true;
    fn number(self) -> f64 {
        self.0
    }
    fn from_number(number: f64) -> Self {
        Packets(number)
    }
}

impl RandomQuantity for f64 {
    const NAMES: (&'static str, &'static str) = ("number", "numbers");
    const LARGEST: f64 = 1e9;
    const IS_COUNT: bool = true;
    fn number(self) -> f64 {
        self
    }
    fn from_number(number: f64) -> Self {
        number
    }
}

/// A fixed quantity, or a distribution of quantities; all are 0 or more.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution<Q> {
    /// Always the same.
    Fixed(Q),
    /// Uniform between two; of a count, every whole number from one to the other is as likely.
    Uniform(Q, Q),
    /// Exponential with this mean.
    Exponential(Q),
    /// Lognormal with this median; `sigma` is the standard deviation of the natural logarithm.
    Lognormal {
        /// Half of all draws lie below.
        median: Q,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Pareto with this mean: heavy tail P(X > x) = (least / x)^shape, least = mean (shape - 1) / shape.
    Pareto {
        /// Mean; the tail makes a sample's mean approach it slowly.
        mean: Q,
        /// Above 1; at 2 or below the variance is infinite.
        shape: f64,
    },
    /// Pareto of the second kind, from 0 on: P(X > x) = (1 + x / scale)^-shape, scale = mean (shape - 1). ns-2's ParetoII.
    Lomax {
        /// Mean.
        mean: Q,
        /// Above 1; at 2 or below the variance is infinite.
        shape: f64,
    },
    /// The i-th entity takes the i-th value; after the last the list begins again.
    Values(Vec<Q>),
}

impl<Q: RandomQuantity> Distribution<Q> {
    /// The quantity of the `i`-th entity, or the `i`-th one of one entity.
    pub fn draw(&self, i: usize, stream: &mut Stream) -> Q {
        let number = match self {
            Distribution::Fixed(quantity) => return *quantity,
            Distribution::Values(values) => return values[i % values.len()],
            Distribution::Uniform(low, high) if Q::IS_COUNT => {
                let (least, greatest) = (low.number().ceil(), high.number().floor());
                least + (stream.uniform() * (greatest - least + 1.0)).floor()
            }
            Distribution::Uniform(low, high) => low.number() + stream.uniform() * (high.number() - low.number()),
            Distribution::Exponential(mean) => {
                let unit: f64 = Exp1.sample(stream.generator());
                mean.number() * unit
            }
            Distribution::Lognormal { median, sigma } => {
                let normal: f64 = StandardNormal.sample(stream.generator());
                median.number() * libm::exp(sigma * normal)
            }
            Distribution::Pareto { mean, shape } => {
                let least = mean.number() * (shape - 1.0) / shape;
                least * libm::pow(1.0 - stream.uniform(), -1.0 / shape)
            }
            Distribution::Lomax { mean, shape } => {
                let scale = mean.number() * (shape - 1.0);
                scale * (libm::pow(1.0 - stream.uniform(), -1.0 / shape) - 1.0)
            }
        };
        Q::from_number(number.min(Q::LARGEST))
    }

    /// The least that can be drawn.
    pub fn least(&self) -> Q {
        match self {
            Distribution::Fixed(least) | Distribution::Uniform(least, _) => *least,
            Distribution::Exponential(_) | Distribution::Lognormal { .. } | Distribution::Lomax { .. } => {
                Q::from_number(0.0)
            }
            Distribution::Pareto { mean, shape } => Q::from_number(mean.number() * (shape - 1.0) / shape),
            Distribution::Values(values) => {
                Q::from_number(values.iter().map(|v| v.number()).fold(f64::INFINITY, f64::min))
            }
        }
    }

    /// It has a tail towards zero (of Pareto: towards a least value that no path demands), which paths cut off.
    pub fn is_drawn_from_zero(&self) -> bool {
        matches!(
            self,
            Distribution::Exponential(_)
                | Distribution::Lognormal { .. }
                | Distribution::Pareto { .. }
                | Distribution::Lomax { .. }
        )
    }

    /// One that stands for the largest: the greatest, the mean of an exponential or Pareto, the median of a lognormal.
    pub fn typical_largest(&self) -> Q {
        match self {
            Distribution::Fixed(largest) | Distribution::Uniform(_, largest) => *largest,
            Distribution::Exponential(mean) | Distribution::Pareto { mean, .. } | Distribution::Lomax { mean, .. } => {
                *mean
            }
            Distribution::Lognormal { median, .. } => *median,
            Distribution::Values(values) => Q::from_number(values.iter().map(|v| v.number()).fold(0.0, f64::max)),
        }
    }

    /// As a scenario writes it, in words.
    pub fn text(&self) -> String {
        match self {
            Distribution::Fixed(quantity) => quantity.text(),
            Distribution::Uniform(low, high) => format!("uniform {} to {}", low.text(), high.text()),
            Distribution::Exponential(mean) => format!("exponential, mean {}", mean.text()),
            Distribution::Lognormal { median, sigma } => format!("lognormal, median {}, sigma {sigma}", median.text()),
            Distribution::Pareto { mean, shape } => format!("Pareto, mean {}, shape {shape}", mean.text()),
            Distribution::Lomax { mean, shape } => format!("Lomax, mean {}, shape {shape}", mean.text()),
            Distribution::Values(values) => values.iter().map(|v| v.text()).collect::<Vec<_>>().join(", "),
        }
    }

    /// Reads a distribution as a scenario writes it: a quantity, or a table with the name of a distribution.
    pub fn read(value: &Value) -> Result<Self, String> {
        let distribution = match value {
            Value::Table(table) => Self::read_named(table)?,
            other => match scalar(other) {
                Some(text) => Distribution::Fixed(Q::parse(&text)?),
                None => return Err(format!("expected a {} or a distribution, found {}", Q::NAMES.0, kind(other))),
            },
        };
        match distribution.least() {
            least if least.number() >= 0.0 => Ok(distribution),
            least => Err(format!("\"{}\" is negative", least.text())),
        }
    }

    fn read_named(table: &Table) -> Result<Self, String> {
        const KNOWN: [&str; 6] = ["uniform", "exponential", "lognormal", "pareto", "lomax", "values"];
        let (name, value) = match table.iter().collect::<Vec<_>>()[..] {
            [one] => one,
            _ => return Err(format!("a distribution has one name; known: {}", KNOWN.join(", "))),
        };
        match name.as_str() {
            "uniform" => match quantities::<Q>(value)?[..] {
                [low, high] if Q::IS_COUNT && low <= high && low.number().ceil() > high.number().floor() => {
                    Err(format!("no whole number lies between \"{}\" and \"{}\"", low.text(), high.text()))
                }
                [low, high] if low <= high => Ok(Distribution::Uniform(low, high)),
                _ => Err(format!("uniform takes two {}, the smaller first", Q::NAMES.1)),
            },
            "exponential" => quantity(value).map(Distribution::Exponential),
            "values" => quantities(value).map(Distribution::Values),
            "lognormal" => {
                let (median, sigma) = pair(value, "lognormal", "median", "sigma", 0.0, 10.0)?;
                Ok(Distribution::Lognormal { median, sigma })
            }
            "pareto" => {
                let (mean, shape) = pair(value, "pareto", "mean", "shape", 1.01, 100.0)?;
                Ok(Distribution::Pareto { mean, shape })
            }
            "lomax" => {
                let (mean, shape) = pair(value, "lomax", "mean", "shape", 1.01, 100.0)?;
                Ok(Distribution::Lomax { mean, shape })
            }
            other => Err(unknown("distribution", other, &KNOWN)),
        }
    }
}

fn quantity<Q: RandomQuantity>(value: &Value) -> Result<Q, String> {
    scalar(value).ok_or_else(|| format!("expected a {}, found {}", Q::NAMES.0, kind(value))).and_then(|t| Q::parse(&t))
}

fn quantities<Q: RandomQuantity>(value: &Value) -> Result<Vec<Q>, String> {
    match value {
        Value::Array(items) if !items.is_empty() => items.iter().map(quantity).collect(),
        other => Err(format!("expected a list of {}, found {}", Q::NAMES.1, kind(other))),
    }
}

/// The two parameters of a distribution: a quantity, and a number that must lie in a range.
fn pair<Q: RandomQuantity>(
    value: &Value,
    name: &str,
    of: &str,
    number: &str,
    low: f64,
    high: f64,
) -> Result<(Q, f64), String> {
    let table = value.as_table().filter(|table| table.len() == 2);
    let Some((first, second)) = table.and_then(|t| Some((t.get(of)?, t.get(number).and_then(scalar)?))) else {
        return Err(format!("{name} takes {{ {of} = a {}, {number} = a number }}", Q::NAMES.0));
    };
    let parameter = f64::parse(&second)?;
    if !(low..=high).contains(&parameter) {
        return Err(format!("{number} \"{parameter}\" is out of range: must lie in {low} ..= {high}"));
    }
    Ok((quantity(first)?, parameter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(distribution: &Distribution<Span>) -> f64 {
        let mut stream = Stream::new(1, "law", 0);
        (0..20_000).map(|i| distribution.draw(i, &mut stream).seconds()).sum::<f64>() / 20_000.0
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let s = Span::from_seconds;
        assert_eq!(mean(&Distribution::Fixed(s(2.0))), 2.0);
        assert_eq!(mean(&Distribution::Values(vec![s(1.0), s(3.0)])), 2.0);
        // Four standard errors each: sqrt(1/12), 1 and sqrt((e^0.25 - 1) e^0.25) over sqrt(20000).
        assert!((mean(&Distribution::Uniform(s(1.0), s(2.0))) - 1.5).abs() < 0.0082);
        assert!((mean(&Distribution::Exponential(s(1.0))) - 1.0).abs() < 0.029);
        let lognormal = Distribution::Lognormal { median: s(1.0), sigma: 0.5 };
        assert!((mean(&lognormal) - 1.1331).abs() < 0.018, "exp(sigma^2/2)");
        // Shape 3 has variance mean^2 / 3: four standard errors are 0.0163.
        assert!((mean(&Distribution::Pareto { mean: s(1.0), shape: 3.0 }) - 1.0).abs() < 0.0163);
    }

    #[test]
    fn a_uniform_count_takes_every_whole_number_from_end_to_end() {
        let mut stream = Stream::new(3, "law", 0);
        let mut shares = |distribution: Distribution<f64>| {
            let mut counts = [0; 9];
            (0..70_000).for_each(|i| counts[distribution.draw(i, &mut stream) as usize] += 1);
            counts.map(|count| f64::from(count) / 70_000.0)
        };
        // A share of 1/7 has a standard error of sqrt(6/49/70000) = 0.0013.
        for distribution in [Distribution::Uniform(1.0, 7.0), Distribution::Uniform(0.5, 7.9)] {
            let shares = shares(distribution);
            assert!(shares[0] == 0.0 && shares[8] == 0.0, "{shares:?}");
            assert!(shares[1..8].iter().all(|share| (share - 1.0 / 7.0).abs() < 0.0053), "{shares:?}");
        }
        assert_eq!(shares(Distribution::Uniform(4.0, 4.0))[4], 1.0);
        let packets = Distribution::Uniform(Packets(2.0), Packets(3.0));
        assert!((0..100).all(|i| [2.0, 3.0].contains(&packets.draw(i, &mut stream).0)));
    }

    #[test]
    fn a_pareto_tail_falls_with_its_shape() {
        let pareto = Distribution::Pareto { mean: Packets(12.0), shape: 1.2 };
        let mut stream = Stream::new(2, "law", 0);
        let draws: Vec<f64> = (0..20_000).map(|i| pareto.draw(i, &mut stream).0).collect();
        let above = |x: f64| draws.iter().filter(|d| **d > x).count() as f64 / 20_000.0;
        // least = 12 * 0.2 / 1.2 = 2; P(X > 20) = (2/20)^1.2 = 0.0631; four standard errors are 0.0069.
        assert!(draws.iter().all(|d| *d >= 2.0));
        assert!((above(20.0) - 0.0631).abs() < 0.0069);
        let lomax = Distribution::Lomax { mean: Packets(12.0), shape: 1.2 };
        let draws: Vec<f64> = (0..20_000).map(|i| lomax.draw(i, &mut stream).0).collect();
        let above = |x: f64| draws.iter().filter(|d| **d > x).count() as f64 / 20_000.0;
        // scale = 12 * 0.2 = 2.4; P(X > 2.4) = 2^-1.2 = 0.4353, P(X > 21.6) = 10^-1.2 = 0.0631.
        assert!((above(2.4) - 0.4353).abs() < 0.014);
        assert!((above(21.6) - 0.0631).abs() < 0.0069);
    }
}
