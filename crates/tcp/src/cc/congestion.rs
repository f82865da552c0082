//! Window and threshold of a sender, and the law by which they change.

use super::law_adapter::LawAdapter;
use super::reno::Reno;
use super::{CongestionControl, CongestionEvent, Facts, Needs, Window};
use crate::ack::Ack;
use crate::ecn::EcnFeedback;
use crate::params::{EcnResponse, ReductionBase};
use aqmlab_core::Time;

/// Any law. Most senders have Reno's, which comes without an indirect call and without memory of its own.
#[derive(Clone, Debug)]
pub(crate) enum AnyLaw {
    Reno(Reno),
    /// One that asks for nothing, so that there is nothing to keep for it.
    Plain(Box<dyn CongestionControl>),
    Other(Box<LawAdapter>),
}

impl AnyLaw {
    pub fn new(law: impl CongestionControl + 'static, needs: Needs) -> Self {
        match needs.is_plain() {
            true => Self::Plain(Box::new(law)),
            false => Self::Other(Box::new(LawAdapter::new(Box::new(law), needs))),
        }
    }

    /// The law itself.
    pub fn control(&self) -> &dyn CongestionControl {
        match self {
            Self::Reno(reno) => reno,
            Self::Plain(law) => &**law,
            Self::Other(adapter) => &*adapter.law,
        }
    }

    pub fn control_mut(&mut self) -> &mut dyn CongestionControl {
        match self {
            Self::Reno(reno) => reno,
            Self::Plain(law) => &mut **law,
            Self::Other(adapter) => &mut *adapter.law,
        }
    }
}

/// Window and threshold of one sender, and the law by which they change.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    pub window: Window,
    pub law: AnyLaw,
}

impl Congestion {
    /// Before the first ACK.
    pub fn new(cwnd: f64, ssthresh: f64, law: AnyLaw) -> Self {
        Self { window: Window { cwnd, ssthresh }, law }
    }

    /// An ACK of new data may open the window.
    #[inline(always)] // for each ACK; few facts are asked for
    pub fn on_ack(&mut self, facts: impl FnOnce() -> Facts) {
        match &mut self.law {
            AnyLaw::Reno(reno) => reno.on_ack(&mut self.window, &facts()),
            AnyLaw::Plain(law) => law.on_ack(&mut self.window, &facts()),
            AnyLaw::Other(law) => law.on_ack(&mut self.window, facts()),
        }
    }

    /// It paces at no more than so many segments per second.
    pub fn limit_pace(&mut self, rate: f64) {
        let plain = |law| Box::new(LawAdapter::new(law, Needs::NONE));
        let mut adapter = match std::mem::replace(&mut self.law, AnyLaw::Reno(Reno)) {
            AnyLaw::Reno(reno) => plain(Box::new(reno)),
            AnyLaw::Plain(law) => plain(law),
            AnyLaw::Other(adapter) => adapter,
        };
        adapter.limit_pace(rate);
        self.law = AnyLaw::Other(adapter);
    }

    /// The adapter of a law that has needs.
    #[inline]
    pub fn adapter(&mut self) -> Option<&mut LawAdapter> {
        if let AnyLaw::Other(law) = &mut self.law { Some(law) } else { None }
    }

    /// The adapter of a law that takes samples of the delivery rate.
    #[inline]
    pub fn sampled(&mut self) -> Option<&mut LawAdapter> {
        self.adapter().filter(|law| law.needs.rate_samples)
    }

    /// The form in which the receiver tells it of marks.
    pub fn feedback(&self) -> EcnFeedback {
        if let AnyLaw::Other(law) = &self.law { law.needs.feedback } else { EcnFeedback::Classic }
    }

    /// Any ACK comes, to a law that asks for it, while `una` is the first segment not acknowledged and `resent` have been sent
    /// again. True if it tells of a new mark.
    pub fn on_feedback(&mut self, ack: &Ack, facts: Facts, una: u32, resent: u32) -> bool {
        match &mut self.law {
            AnyLaw::Other(law) => law.on_feedback(&mut self.window, ack, facts, una, resent),
            _ => ack.ece,
        }
    }

    /// Loss recovery has seen an ACK: the law that owns the window sets it. `in_flight` are in the network after it; `report`
    /// adds the findings of loss recovery.
    pub fn set_window(&mut self, in_flight: u32, report: impl FnOnce(&mut Facts)) {
        if let AnyLaw::Other(law) = &mut self.law {
            report(&mut law.last_facts);
            law.set_window(&mut self.window, in_flight);
        }
    }

    /// The rate at which the law paces, of a law that does.
    pub fn pacing_rate(&self) -> Option<f64> {
        if let AnyLaw::Other(adapter) = &self.law { adapter.law.pacing_rate() } else { None }
    }

    /// The largest flight that the present ssthresh can have come from, were it set at a timeout.
    pub fn reduced_from(&self) -> u32 {
        (self.window.ssthresh / self.law.control().kept(CongestionEvent::Timeout)) as u32
    }

    /// ssthresh becomes the share kept of what `halve` says; returns that share, which ssthresh may not be below 2 for.
    pub fn reduce_ssthresh(&mut self, event: CongestionEvent, halve: ReductionBase, window: f64, flight: u32) -> f64 {
        let before = self.window;
        let own = self.law.control().threshold(event, &before);
        let kept = own.unwrap_or_else(|| self.law.control().kept(event) * halve.reduced(window, flight));
        self.window.ssthresh = own.unwrap_or_else(|| halve.threshold(kept)).max(2.0);
        self.law.control_mut().on_congestion(event, &before);
        kept
    }

    /// Window after a fast retransmit.
    pub fn enter_recovery(&mut self, halve: ReductionBase, window: f64, flight: u32) {
        let kept = self.reduce_ssthresh(CongestionEvent::Loss, halve, window, flight);
        self.window.cwnd = halve.window(kept, self.window.ssthresh);
    }

    /// Window after fast recovery.
    pub fn leave_recovery(&mut self) {
        self.law.control_mut().on_recovered(&mut self.window);
    }

    /// Window after the echo of a congestion mark.
    pub fn on_ecn_echo(&mut self, response: EcnResponse, halve: ReductionBase, window: f64, flight: u32) {
        // Data in flight beyond the window, as in fast recovery, must not make the half a whole.
        let flight = flight.min(self.window.cwnd as u32);
        let kept = self.reduce_ssthresh(CongestionEvent::Echo, halve, window, flight);
        self.window.cwnd = response.window(kept, self.window.cwnd);
    }

    /// Window after a retransmission timeout: one segment (RFC 5681, section 3.1).
    pub fn on_timeout(&mut self, halve: ReductionBase, window: f64, flight: u32) {
        self.reduce_ssthresh(CongestionEvent::Timeout, halve, window, flight);
        self.collapse();
    }

    /// One segment again, after a timeout whose window of data has been answered.
    pub fn collapse(&mut self) {
        self.window.cwnd = 1.0;
        self.law.control_mut().on_timeout();
    }

    /// A pause ends in which there was nothing to send.
    pub fn resume(&mut self, now: Time) {
        self.law.control_mut().on_resume(&mut self.window, now);
    }

    /// A segment is sent while others are outstanding, but none is in the network.
    pub fn restart(&mut self, now: Time) {
        if let AnyLaw::Other(adapter) = &mut self.law {
            adapter.on_restart(&mut self.window, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reno(cwnd: f64, ssthresh: f64) -> Congestion {
        Congestion::new(cwnd, ssthresh, AnyLaw::Reno(Reno))
    }

    fn values(cc: &Congestion) -> (f64, f64) {
        (cc.window.ssthresh, cc.window.cwnd)
    }

    #[test]
    fn a_law_that_asks_for_nothing_takes_no_memory_but_its_own() {
        assert_eq!(size_of::<Congestion>(), size_of::<Window>() + size_of::<[usize; 3]>());
        let is_plain = |name| {
            crate::cc::entries().iter().find(|law| law.info.name == name).is_some_and(|law| law.needs.is_plain())
        };
        assert!(is_plain("reno") && is_plain("cubic") && !is_plain("bbr"));
    }

    #[test]
    fn an_echo_halves_down_to_one_segment_then_closes() {
        let after = |response, halve, window: f64, flight| {
            let mut reno = reno(window, 100.0);
            reno.on_ecn_echo(response, halve, window, flight);
            values(&reno)
        };
        let rfc = |window, flight| after(EcnResponse::Rfc3168, ReductionBase::Flight, window, flight);
        assert_eq!(rfc(9.5, 7), (3.5, 3.5));
        assert_eq!(rfc(9.5, 15), (4.5, 4.5), "9 of the flight are the window's");
        assert_eq!(rfc(1.5, 1), (2.0, 1.0));
        assert_eq!(rfc(1.0, 1), (2.0, 0.5), "closed");
        let ns2 = |window| after(EcnResponse::Ns2, ReductionBase::Window, window, 0);
        assert_eq!([ns2(9.5), ns2(1.5), ns2(1.0)], [(4.0, 4.75), (2.0, 0.75), (2.0, 0.5)]);
    }

    #[test]
    fn halves_the_window_or_the_flight() {
        let mut a = reno(9.0, 100.0);
        a.enter_recovery(ReductionBase::Window, 9.0, 6);
        assert_eq!(values(&a), (4.0, 4.5));
        let mut b = reno(9.0, 100.0);
        b.enter_recovery(ReductionBase::Flight, 9.0, 7);
        assert_eq!(values(&b), (3.5, 3.5));
        b.on_timeout(ReductionBase::Flight, 3.0, 1);
        assert_eq!(values(&b), (2.0, 1.0));
    }
}
