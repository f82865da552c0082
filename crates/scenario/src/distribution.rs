//! Distributions that times, sizes and numbers are drawn from.

use crate::table_reader::{kind, scalar};
use aqmlab_core::problem::unknown;
use aqmlab_core::{Packets, Quantity, Span, Stream};
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use toml::{Table, Value};

/// Names of distributions.
const NAMES: [&str; 8] = ["uniform", "exponential", "lognormal", "pareto", "lomax", "values", "cdf", "published"];
/// The standard deviations that the logarithm of a lognormal may have.
pub const SIGMAS: (f64, f64) = (0.0, 10.0);
/// The shapes that a Pareto distribution may have.
pub const SHAPES: (f64, f64) = (1.01, 100.0);

/// A quantity that a distribution can be over.
pub trait RandomQuantity: Quantity {
    /// The nouns for one and several, for messages.
    const NAMES: (&'static str, &'static str);
    /// Beyond this nothing is drawn: a run would not end.
    const LARGEST: f64;
    /// True if a uniform distribution draws whole numbers.
    const IS_COUNT: bool;
    /// Measured distributions that were published, by name.
    const PUBLISHED: &'static [(&'static str, &'static [(f64, f64)])] = &[];
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
    const PUBLISHED: &'static [(&'static str, &'static [(f64, f64)])] =
        &[("web-search", &WEB_SEARCH), ("data-mining", &DATA_MINING)];
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

/// Sizes of flows in a cluster that answers web searches, packets of 1460 B: Alizadeh et al. 2010 (DCTCP), as tabulated with PIAS (Bai et
/// al. 2015, `conf/CDF_dctcp.txt` of HKUST-SING/TrafficGenerator).
const WEB_SEARCH: [(f64, f64); 11] = [
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20000.0, 1.0),
];

/// Sizes of flows in a cluster that mines data, packets of 1460 B: Greenberg et al. 2009 (VL2), as tabulated with PIAS
/// (`conf/CDF_vl2.txt` there).
const DATA_MINING: [(f64, f64); 8] =
    [(1.0, 0.5), (2.0, 0.6), (3.0, 0.7), (7.0, 0.8), (267.0, 0.9), (2107.0, 0.95), (66667.0, 0.99), (666667.0, 1.0)];

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
    /// A measured distribution: quantities and the share of all that do not exceed each, both ascending, the last share 1. Draws below
    /// the first share are the first quantity; straight lines join the points.
    Cdf(Vec<(Q, f64)>),
}

impl<Q: RandomQuantity> Distribution<Q> {
    /// The quantity of the `i`-th entity, or the `i`-th one of one entity.
    pub fn draw(&self, i: usize, stream: &mut Stream) -> Q {
        let number = match self {
            Distribution::Fixed(quantity) => return *quantity,
            Distribution::Values(values) => return values[i % values.len()],
            Distribution::Cdf(points) => {
                let share = stream.uniform();
                let next = points.partition_point(|(_, to)| *to <= share).min(points.len() - 1);
                match (next.checked_sub(1).map(|before| points[before]), points[next]) {
                    (None, (first, _)) => first.number(),
                    (Some((low, from)), (high, to)) => {
                        low.number() + (high.number() - low.number()) * (share - from) / (to - from)
                    }
                }
            }
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

    /// The mean of what is drawn, in the base unit.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Fixed(quantity) => quantity.number(),
            Distribution::Uniform(low, high) => (low.number() + high.number()) / 2.0,
            Distribution::Exponential(mean) | Distribution::Pareto { mean, .. } | Distribution::Lomax { mean, .. } => {
                mean.number()
            }
            Distribution::Lognormal { median, sigma } => median.number() * libm::exp(sigma * sigma / 2.0),
            Distribution::Values(values) => values.iter().map(|v| v.number()).sum::<f64>() / values.len() as f64,
            Distribution::Cdf(points) => {
                let below = points[0].0.number() * points[0].1;
                let between = points.windows(2).map(|pair| match pair {
                    [(low, from), (high, to)] => (to - from) * (low.number() + high.number()) / 2.0,
                    _ => 0.0,
                });
                below + between.sum::<f64>()
            }
        }
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
            Distribution::Cdf(points) => points[0].0,
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
            Distribution::Cdf(points) => points[points.len() - 1].0,
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
            Distribution::Cdf(points) => {
                let published = Q::PUBLISHED
                    .iter()
                    .find(|(_, known)| known.iter().map(|(q, s)| (Q::from_number(*q), *s)).eq(points.iter().copied()));
                let text = |(q, share): &(Q, f64)| format!("{} {share}", q.text());
                match published {
                    Some((name, _)) => name.to_string(),
                    None => format!("cdf {}", points.iter().map(text).collect::<Vec<_>>().join(", ")),
                }
            }
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
        let (name, value) = match table.iter().collect::<Vec<_>>()[..] {
            [one] => one,
            _ => return Err(format!("a distribution has one name; known: {}", NAMES.join(", "))),
        };
        match name.as_str() {
            "uniform" => match quantities::<Q>(value)?[..] {
                [low, high] if Q::IS_COUNT && low <= high && low.number().ceil() > high.number().floor() => {
                    Err(format!("there is no whole number between \"{}\" and \"{}\"", low.text(), high.text()))
                }
                [low, high] if low <= high => Ok(Distribution::Uniform(low, high)),
                _ => Err(format!("uniform takes two {}, the smaller first", Q::NAMES.1)),
            },
            "exponential" => quantity(value).map(Distribution::Exponential),
            "values" => quantities(value).map(Distribution::Values),
            "cdf" => points(value).map(Distribution::Cdf),
            "published" => published(value).map(Distribution::Cdf),
            "lognormal" => {
                let (median, sigma) = pair(value, "lognormal", "median", "sigma", SIGMAS)?;
                Ok(Distribution::Lognormal { median, sigma })
            }
            "pareto" => {
                let (mean, shape) = pair(value, "pareto", "mean", "shape", SHAPES)?;
                Ok(Distribution::Pareto { mean, shape })
            }
            "lomax" => {
                let (mean, shape) = pair(value, "lomax", "mean", "shape", SHAPES)?;
                Ok(Distribution::Lomax { mean, shape })
            }
            other => Err(unknown("distribution", other, &NAMES)),
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

/// Quantities with the share of all that do not exceed each.
fn points<Q: RandomQuantity>(value: &Value) -> Result<Vec<(Q, f64)>, String> {
    let point = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([of, share]) => {
            let share = scalar(share).ok_or_else(|| format!("expected a share, found {}", kind(share)))?;
            Ok((quantity::<Q>(of)?, f64::parse(&share)?))
        }
        _ => Err(format!("cdf takes pairs of a {} and the share up to it", Q::NAMES.0)),
    };
    let points =
        value.as_array().map_or(Ok(Vec::new()), |items| items.iter().map(point).collect::<Result<Vec<_>, _>>())?;
    if let Some([(_, before), (of, share)]) = points
        .windows(2)
        .find(|pair| pair[1].0 <= pair[0].0 || pair[1].1 <= pair[0].1)
        .and_then(|pair| pair.first_chunk::<2>())
    {
        return Err(format!("cdf is out of order: [\"{}\", {share}] follows a share of {before}", of.text()));
    }
    match (points.first(), points.last()) {
        (Some((_, first)), Some((_, last))) if *first >= 0.0 && *last == 1.0 => Ok(points),
        _ => Err("the last share of a cdf is 1, and no share is below 0".into()),
    }
}

/// A measured distribution by the name under which it was published.
fn published<Q: RandomQuantity>(value: &Value) -> Result<Vec<(Q, f64)>, String> {
    let name = scalar(value).ok_or_else(|| format!("expected the name of a distribution, found {}", kind(value)))?;
    let known: Vec<&str> = Q::PUBLISHED.iter().map(|(name, _)| *name).collect();
    if known.is_empty() {
        return Err(format!("there is no published distribution of {}", Q::NAMES.1));
    }
    let (_, points) = Q::PUBLISHED
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| unknown("published distribution", &name, &known))?;
    Ok(points.iter().map(|(of, share)| (Q::from_number(*of), *share)).collect())
}

/// The two parameters of a distribution: a quantity, and a number that must lie in a range.
fn pair<Q: RandomQuantity>(
    value: &Value,
    name: &str,
    of: &str,
    number: &str,
    (low, high): (f64, f64),
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

    fn law(text: &str) -> Result<Distribution<Packets>, String> {
        Distribution::read(&text.parse::<Table>().unwrap()["size"])
    }

    #[test]
    fn a_measured_distribution_is_joined_by_straight_lines() {
        let cdf = law("size = { cdf = [[\"2 packets\", 0.5], [\"4 packets\", 0.75], [\"12 packets\", 1]] }").unwrap();
        assert_eq!(
            (cdf.mean(), cdf.least().0, cdf.typical_largest().0),
            (0.5 * 2.0 + 0.25 * 3.0 + 0.25 * 8.0, 2.0, 12.0)
        );
        let mut stream = Stream::new(4, "law", 0);
        let draws: Vec<f64> = (0..40_000).map(|i| cdf.draw(i, &mut stream).0).collect();
        // Four standard errors of a share of a half are 0.01, of the mean of a deviation of 2.9 0.058.
        for (x, share) in [(2.0, 0.5), (3.0, 0.625), (4.0, 0.75), (8.0, 0.875), (12.0, 1.0)] {
            let below = draws.iter().filter(|draw| **draw <= x).count() as f64 / 40_000.0;
            assert!((below - share).abs() < 0.01, "{x}: {below}, not {share}");
        }
        assert!((draws.iter().sum::<f64>() / 40_000.0 - 3.75).abs() < 0.058);
    }

    #[test]
    fn published_distributions_have_the_means_that_their_simulators_print() {
        let mean = |name: &str| {
            law(&format!("size = {{ published = \"{name}\" }}")).map(|law| (law.mean().round(), law.text()))
        };
        // PIAS prints 5117 packets for data mining, and 1138 for web search, whose table it has finer: within a per cent.
        assert_eq!(mean("data-mining"), Ok((5117.0, "data-mining".into())));
        assert_eq!(mean("web-search"), Ok((1141.0, "web-search".into())));
        assert!(mean("web-serach").unwrap_err().contains("did you mean \"web-search\""));
    }

    #[test]
    fn a_measured_distribution_out_of_order_is_refused() {
        for (points, message) in [
            ("[[\"2 packets\", 0.5], [\"1 packet\", 1]]", "out of order"),
            ("[[\"2 packets\", 0.5], [\"3 packets\", 0.9]]", "the last share of a cdf is 1"),
            ("[]", "the last share of a cdf is 1"),
            ("[\"2 packets\"]", "cdf takes pairs"),
        ] {
            let found = law(&format!("size = {{ cdf = {points} }}")).unwrap_err();
            assert!(found.contains(message), "{points}: {found}");
        }
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
