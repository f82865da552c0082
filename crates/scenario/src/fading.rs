//! A rate that fades: the lognormal shadowing of a radio channel, with a memory.

use crate::keys::{KeySpec, Section};
use crate::table_reader::TableReader;
use aqmlab_core::{Quantity, Rate, Ratio, Span, Stream};
use rand_distr::{Distribution as _, StandardNormal};

/// A rate whose logarithm is a Gauss-Markov process: normal at any time, with a correlation that decays exponentially (Gudmundson,
/// Electronics Letters 27(23), 1991, for shadowing).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// Standard deviation of the rate over its mean.
    pub deviation: Ratio,
    /// Time after which the correlation of the logarithm is 1/e.
    pub memory: Span,
    /// Time for which a rate holds.
    pub every: Span,
}

/// Keys of `fading`.
pub const FADING: Section = Section::new(&[&[
    KeySpec::of::<f64>("deviation", "Standard deviation of the rate over its mean.")
        .within("0.001", "5")
        .required("0.6"),
    KeySpec::of::<Span>("memory", "Time after which the correlation of the rate's logarithm is 1/e.")
        .within("1 us", "1000 s")
        .required("\"5 s\""),
    KeySpec::of::<Span>("every", "Time for which a rate holds.").within("100 us", "1000 s").required("\"20 ms\""),
]]);

impl Fading {
    /// The fading of one `[[links]]`, whose `rate` is then the mean.
    pub(super) fn read(link: &mut TableReader) -> Option<Self> {
        let mut fading = link.inner("fading")?;
        let deviation = fading.required("deviation").map(Ratio);
        let memory = fading.required("memory");
        let every = fading.required("every");
        fading.finish();
        Some(Self { deviation: deviation?, memory: memory?, every: every? })
    }

    /// Standard deviation of the logarithm of the rate.
    fn sigma(&self) -> f64 {
        libm::log(1.0 + self.deviation.0 * self.deviation.0).sqrt()
    }

    /// The logarithm of the rate over its median, a step later.
    pub fn step(&self, level: f64, rng: &mut Stream) -> f64 {
        let kept = libm::exp(-self.every.seconds() / self.memory.seconds());
        let normal: f64 = StandardNormal.sample(rng.generator());
        kept * level + (1.0 - kept * kept).sqrt() * self.sigma() * normal
    }

    /// The rate at a level, where the mean is `mean`.
    pub fn rate(&self, mean: Rate, level: f64) -> Rate {
        let sigma = self.sigma();
        Rate((mean.0 * libm::exp(level - sigma * sigma / 2.0)).clamp(1.0, 1e13))
    }

    /// The rates that are not exceeded in 5, 50 and 95 % of the time.
    pub fn typical(&self, mean: Rate) -> [Rate; 3] {
        [-1.645, 0.0, 1.645].map(|deviations| self.rate(mean, deviations * self.sigma()))
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { deviation, memory, every } = self;
        format!("deviation {}, memory {}, each {}", deviation.0, memory.text(), every.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_the_deviation_and_the_memory_are_those_that_were_asked_for() {
        let fading = Fading { deviation: Ratio(0.5), memory: Span::from_seconds(0.1), every: Span::from_seconds(0.02) };
        let (mut rng, mut level) = (Stream::new(1, "fading", 0), 0.0);
        let rates: Vec<f64> = (0..400_000)
            .map(|_| {
                level = fading.step(level, &mut rng);
                fading.rate(Rate(10.0), level).0
            })
            .collect();
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / n;
        // A memory of 5 steps leaves about n/10 independent values: standard errors are 5/sqrt(40000) = 0.025 of the mean.
        assert!((mean - 10.0).abs() < 0.1, "{mean}");
        assert!((variance.sqrt() / mean - 0.5).abs() < 0.02, "{variance}");
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let centre = logs.iter().sum::<f64>() / n;
        let lag = |k: usize| logs.iter().zip(&logs[k..]).map(|(a, b)| (a - centre) * (b - centre)).sum::<f64>() / n;
        // exp(-5 * 0.02 / 0.1) = 1/e.
        assert!((lag(5) / lag(0) - (-1f64).exp()).abs() < 0.02, "{}", lag(5) / lag(0));
        // Lognormal: sigma^2 = ln 1.25 = 0.22314, so the median is 10 exp(-0.11157) = 8.944.
        assert!((fading.typical(Rate(10.0))[1].0 - 8.944).abs() < 0.001);
    }
}
