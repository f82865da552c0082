//! What the single-neuron controllers feed their neuron with.

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
