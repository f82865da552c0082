//! Laws that times are drawn from.

use aqmlab_core::{Quantity, Span, Stream};
use rand_distr::{Distribution, Exp1, StandardNormal};

/// A fixed time, or a distribution of times.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Always the same.
    Fixed(Span),
    /// Uniform between two times.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Lognormal with this median; `sigma` is the standard deviation of the logarithm.
    Lognormal {
        /// Half of all draws lie below.
        median: Span,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// The i-th flow takes the i-th value; after the last the list begins again.
    Values(Vec<Span>),
}

/// Longest time drawn: beyond it a run would not end.
const LONGEST: Span = Span(1_000_000_000_000_000_000);

impl Law {
    /// The time of the `i`-th entity.
    pub fn draw(&self, i: usize, stream: &mut Stream) -> Span {
        let seconds = match self {
            Law::Fixed(span) => return *span,
            Law::Values(values) => return values[i % values.len()],
            Law::Uniform(low, high) => low.seconds() + stream.uniform() * (high.seconds() - low.seconds()),
            Law::Exponential(mean) => {
                let unit: f64 = Exp1.sample(stream.generator());
                mean.seconds() * unit
            }
            Law::Lognormal { median, sigma } => {
                let normal: f64 = StandardNormal.sample(stream.generator());
                median.seconds() * libm::exp(sigma * normal)
            }
        };
        Span::from_seconds(seconds).min(LONGEST)
    }

    /// The least time that can be drawn.
    pub fn least(&self) -> Span {
        match self {
            Law::Fixed(span) | Law::Uniform(span, _) => *span,
            Law::Exponential(_) | Law::Lognormal { .. } => Span::ZERO,
            Law::Values(values) => values.iter().copied().min().unwrap_or(Span::ZERO),
        }
    }

    /// A time that stands for the longest: the greatest, the mean of an exponential, the median of a lognormal.
    pub fn typical_longest(&self) -> Span {
        match self {
            Law::Fixed(span) | Law::Uniform(_, span) | Law::Exponential(span) | Law::Lognormal { median: span, .. } => {
                *span
            }
            Law::Values(values) => values.iter().copied().max().unwrap_or(Span::ZERO),
        }
    }

    /// As a scenario writes it, in words.
    pub fn text(&self) -> String {
        match self {
            Law::Fixed(span) => span.text(),
            Law::Uniform(low, high) => format!("uniform {} to {}", low.text(), high.text()),
            Law::Exponential(mean) => format!("exponential, mean {}", mean.text()),
            Law::Lognormal { median, sigma } => format!("lognormal, median {}, sigma {sigma}", median.text()),
            Law::Values(values) => values.iter().map(|v| v.text()).collect::<Vec<_>>().join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(law: &Law) -> f64 {
        let mut stream = Stream::new(1, "law", 0);
        (0..20_000).map(|i| law.draw(i, &mut stream).seconds()).sum::<f64>() / 20_000.0
    }

    #[test]
    fn means_are_those_of_the_laws() {
        let s = Span::from_seconds;
        assert_eq!(mean(&Law::Fixed(s(2.0))), 2.0);
        assert_eq!(mean(&Law::Values(vec![s(1.0), s(3.0)])), 2.0);
        // Four standard errors each: sqrt(1/12), 1 and sqrt((e^0.25 - 1) e^0.25) over sqrt(20000).
        assert!((mean(&Law::Uniform(s(1.0), s(2.0))) - 1.5).abs() < 0.0082);
        assert!((mean(&Law::Exponential(s(1.0))) - 1.0).abs() < 0.029);
        let lognormal = Law::Lognormal { median: s(1.0), sigma: 0.5 };
        assert!((mean(&lognormal) - 1.1331).abs() < 0.018, "exp(sigma^2/2)");
    }
}
