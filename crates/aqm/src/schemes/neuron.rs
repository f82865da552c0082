//! The adaptive neuron that Neuron PID and AN-AQM share, and what such controllers feed it with.

use aqmlab_core::choice;

choice! {
    /// The divisor of the weighted sum of the inputs.
    pub enum Normaliser {
        /// The sum of the weights.
        Sum = "sum",
        /// Nothing.
        None = "none",
    }
}

/// A neuron whose output is the change of a drop probability and whose weights learn by a supervised Hebb rule.
#[derive(Clone)]
pub(super) struct Neuron<const N: usize> {
    pub weights: [f64; N],
    /// The drop probability.
    pub p: f64,
}

/// The gain and the learning rates of a neuron.
pub(super) struct Gains<const N: usize> {
    /// Gain of the output.
    pub gain: f64,
    /// Learning rate of each weight.
    pub rates: [f64; N],
    pub normalise: Normaliser,
}

impl<const N: usize> Neuron<N> {
    /// One step with inputs `x` under the teacher `e`: first the output, then the weights with the new p.
    pub fn step(&mut self, e: f64, x: [f64; N], gains: &Gains<N>) {
        let weighted: f64 = self.weights.iter().zip(x).map(|(w, x)| w * x).sum();
        let divisor = match gains.normalise {
            // Weights may go negative, so their sum could cross zero.
            Normaliser::Sum => self.weights.iter().sum::<f64>().max(1e-12),
            Normaliser::None => 1.0,
        };
        self.p = (self.p + gains.gain * weighted / divisor).clamp(0.0, 1.0);
        for ((w, d), x) in self.weights.iter_mut().zip(gains.rates).zip(x) {
            *w += d * e * self.p * x;
        }
    }
}

/// Remembers the last two values of a signal and forms its three PID inputs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PidInputs {
    last: f64,
    before_last: f64,
}

impl PidInputs {
    /// First difference (proportional), value (integral) and second difference (derivative) of the signal.
    pub fn next(&mut self, value: f64) -> [f64; 3] {
        let inputs = [value - self.last, value, value - 2.0 * self.last + self.before_last];
        self.before_last = self.last;
        self.last = value;
        inputs
    }
}

#[test]
fn forms_differences() {
    let mut inputs = PidInputs::default();
    assert_eq!(inputs.next(5.0), [5.0, 5.0, 5.0]);
    assert_eq!(inputs.next(7.0), [2.0, 7.0, -3.0]);
    assert_eq!(inputs.next(6.0), [-1.0, 6.0, -3.0]);
}
