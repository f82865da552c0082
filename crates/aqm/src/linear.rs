//! A scheme as control theory sees it: where it rests, and its answer to a small change of the queue.
//!
//! A law that acts every T seconds is taken as it is: D(e^{sT}) and the hold (1 - e^{-sT})/(sT) between two samples. What
//! sampling folds back from above half the sampling frequency is neglected. z stands for e^{-sT}, one sample ago.

pub use num_complex::Complex64;

/// The link around a scheme, in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Rate of the link, bit/s.
    pub rate: f64,
    /// Size of a packet on the wire, bytes.
    pub packet: f64,
    /// Queue that schemes with a reference aim at, packets.
    pub target: f64,
    /// Capacity of the queue, packets.
    pub buffer: f64,
    /// Signals are marks; otherwise drops.
    pub ecn: bool,
}

impl Network {
    /// Packets a second that the link sends.
    pub fn capacity(&self) -> f64 {
        self.rate / (8.0 * self.packet)
    }
}

/// The equilibrium of a scheme and its network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatingPoint {
    /// The link.
    pub network: Network,
    /// Share of the offered packets that is signalled.
    pub p: f64,
    /// Queue, packets.
    pub queue: f64,
}

impl OperatingPoint {
    /// Share of the offered packets that joins the queue.
    pub fn kept(&self) -> f64 {
        if self.network.ecn { 1.0 } else { 1.0 - self.p }
    }

    /// Packets a second that ask to join.
    pub fn offered(&self) -> f64 {
        self.network.capacity() / self.kept()
    }
}

/// A scheme's linear law; its parameters know it.
pub trait LinearLaw: Send + Sync {
    /// `Ok` if it comes to rest at all; the error says which parameters keep it from that.
    fn rests(&self) -> Result<(), String> {
        Ok(())
    }
    /// The queue at rest while it signals the share `p`, packets; infinite if it never rests. A scheme that integrates the
    /// error rests at the target.
    fn queue(&self, p: f64, network: &Network) -> f64 {
        let _ = p;
        network.target
    }
    /// Mean gap between signals times the p that the scheme shows; 1 where signals are independent.
    fn spacing(&self) -> f64 {
        1.0
    }
    /// Parameters that may be "auto", with what they come to in this network.
    fn auto(&self, network: &Network) -> Vec<(&'static str, f64)> {
        let _ = network;
        Vec::new()
    }
    /// Its answer to small changes at an operating point; the error says why there is none.
    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String>;
}

/// The linear law of a scheme with parameters `P`, if it has one.
pub type LinearLawOf<P> = Option<fn(P) -> Box<dyn LinearLaw>>;

/// A function of s, 1/s.
pub type TransferFunction = Box<dyn Fn(Complex64) -> Complex64 + Send + Sync>;

/// The answer to small changes: p = feed(s) q + inner(s) p.
pub struct LinearResponse {
    /// To a change of the queue, 1/packet.
    pub feed: TransferFunction,
    /// To a change of its own signals: what a scheme sees of them beside the queue, such as drops that it counts.
    pub inner: TransferFunction,
    /// Poles at s = 0.
    pub integrators: u32,
}

impl LinearResponse {
    /// An answer to the queue alone.
    pub fn new(integrators: u32, feed: impl Fn(Complex64) -> Complex64 + Send + Sync + 'static) -> Self {
        Self { feed: Box::new(feed), inner: Box::new(|_| Complex64::ZERO), integrators }
    }

    /// The same with an answer to its own signals.
    pub fn with_inner(self, inner: impl Fn(Complex64) -> Complex64 + Send + Sync + 'static) -> Self {
        Self { inner: Box::new(inner), ..self }
    }
}

/// z, one sample ago.
pub fn delay(s: Complex64, period: f64) -> Complex64 {
    (-s * period).exp()
}

/// A sample less the one before: 1 - z.
pub fn change(s: Complex64, period: f64) -> Complex64 {
    1.0 - delay(s, period)
}

/// A sample held until the next.
pub fn hold(s: Complex64, period: f64) -> Complex64 {
    change(s, period) / (s * period)
}

/// An exponentially weighted average, one sample a period.
pub fn lag(s: Complex64, weight: f64, period: f64) -> Complex64 {
    weight / (1.0 - (1.0 - weight) * delay(s, period))
}

/// Packets offered in an interval, against the queue: offered = (q' + C)/kept, whose change is s q/kept.
pub fn offered_by_queue(s: Complex64, point: &OperatingPoint, period: f64) -> Complex64 {
    change(s, period) / point.kept()
}

/// Packets offered in an interval, against p: a drop is offered and does not join, which comes to C p/kept^2.
pub fn offered_by_signals(s: Complex64, point: &OperatingPoint, period: f64) -> Complex64 {
    let own = if point.network.ecn { 0.0 } else { point.network.capacity() / point.kept().powi(2) };
    own * period * hold(s, period)
}

/// Refuses a law that has no place of rest.
pub(crate) fn needs(condition: bool, text: impl std::fmt::Display) -> Result<(), String> {
    if condition { Ok(()) } else { Err(format!("{text}, so nothing holds the queue at an operating point")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At sT = i pi/2, z = -i.
    #[test]
    fn pieces_at_a_quarter_of_the_sampling_frequency() {
        let (s, period) = (Complex64::new(0.0, std::f64::consts::PI), 0.5);
        let close = |a: Complex64, b: Complex64| assert!((a - b).norm() < 1e-12, "{a} is not {b}");
        close(delay(s, period), Complex64::new(0.0, -1.0));
        close(change(s, period), Complex64::new(1.0, 1.0));
        close(hold(s, period), Complex64::new(1.0, 1.0) / Complex64::new(0.0, std::f64::consts::FRAC_PI_2));
        // 1/4 / (1 + 3/4 i) = (4 - 3i)/25.
        close(lag(s, 0.25, period), Complex64::new(0.16, -0.12));
    }

    /// 1000 packets/s of 1000 B, of which a fifth is dropped: 1250 are offered, and 1000/0.8^2 more for each p.
    #[test]
    fn drops_are_offered_and_do_not_join() {
        let network = Network { rate: 8e6, packet: 1000.0, target: 50.0, buffer: 100.0, ecn: false };
        let point = OperatingPoint { network, p: 0.2, queue: 50.0 };
        assert_eq!((network.capacity(), point.offered()), (1000.0, 1250.0));
        let (s, period) = (Complex64::new(0.0, 1e-6), 0.1);
        assert!((offered_by_signals(s, &point, period) - 156.25).norm() < 1e-3);
        assert!((offered_by_queue(s, &point, period) - s * period / 0.8).norm() < 1e-12);
        let marking = OperatingPoint { network: Network { ecn: true, ..network }, ..point };
        assert_eq!(offered_by_signals(s, &marking, period), Complex64::ZERO);
    }
}
