//! Congestion control: a law is told facts and answers with a window and, if it paces, a rate.
//!
//! ```text
//!   reno, cubic, ...   one file per law, reading like its RFC
//!   catalogue          every law by name, and the choice of one: "cubic:beta=0.8"
//!   law_host           the state that a sender keeps for a law other than Reno's
//!   path               the model of a path that BBR has
//!   arrivals           segments that have arrived, where loss recovery does not tell
//!   rate               samples of the delivery rate, for the laws that ask for them
//! ```
//!
//! A law touches no segment and no timer. Loss recovery, ECN and the retransmission timer are the sender's: it calls the
//! law, and does what the window says. The sender itself sets the window in four cases: to the initial window after the
//! handshake, to the share that [`CongestionControl::kept`] leaves at a loss or an echo, to one segment at a timeout, and to the
//! initial window at most after a long pause. A law that keeps its own window sets it again in
//! [`CongestionControl::on_feedback`], or asks for [`Needs::owns_window`].

mod arrivals;
pub mod catalogue;
mod hystart;
mod hystart_plus_plus;
mod law_host;
mod path;
pub mod rate;

use crate::ack::Ack;
use crate::ecn::EcnFeedback;
use crate::params::{EcnResponse, ReductionBase};
use aqmlab_core::{ParamSet, Span, Time};
use std::fmt::Debug;

pub use catalogue::{LawChoice, LawEntry, entries, entry, register};
pub(crate) use law_host::{AckContext, LawHost, RecoveryReport};
pub use rate::{LostSegment, RateSample};
pub use reno::Reno;

catalogue::laws! {
    reno::RenoLaw
    cubic::Cubic
    ledbat::Ledbat
    dctcp::Dctcp
    prague::Prague
    vegas::Vegas
    westwood::Westwood
    abe::Abe
    bbr::Bbr
    bbr3::Bbr3
}

/// The window and threshold that a law sets, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window; a real number. Below 1 it is closed until the retransmission timer expires.
    pub cwnd: f64,
    /// Slow start threshold.
    pub ssthresh: f64,
}

/// The facts of an ACK, for a law. Counts are in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Segments that it acknowledges, or in variant `rack` that it newly tells of; 0 for a duplicate ACK.
    pub acked: u32,
    /// The window grows by what is acknowledged (RFC 3465), not by ACKs.
    pub byte_counting: bool,
    /// Segments known to be CE-marked since the ACK before. Classic feedback does not count marks: then it is 0, and
    /// [`CongestionEvent::Echo`] tells of a mark. Known to laws that are told of every ACK.
    pub marked: u32,
    /// Segments that loss recovery has sent again since the ACK before; those that it has found lost at this ACK, of a law that
    /// owns the window. Known to laws that are told of every ACK.
    pub lost: u32,
    /// The state of loss recovery, of a law that owns the window.
    pub recovery: Recovery,
    /// Segments outstanding before it: sent and not acknowledged, those that are SACKed included; in variant `rack`, segments
    /// in the network. A law that limits the data in flight takes [`RateSample::in_flight`].
    pub flight: u32,
    /// The application has nothing more to send at present.
    pub is_app_limited: bool,
    /// One-way delay of the segment that caused it; zero unless the law asks for it.
    pub delay: Span,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// A round-trip time that it measures; in variants other than `rack` none does.
    pub rtt: Option<Span>,
    /// The first segment not acknowledged, after it. Known in variant `rack` and to laws that are told of every ACK.
    pub hole: u32,
    /// The first segment never sent, before it. Known as `hole` is.
    pub sent: u32,
    /// Delivery rate and round-trip time, if the law asks for them and the ACK tells of an arrival.
    pub sample: Option<RateSample>,
    /// Time of its arrival.
    pub now: Time,
}

impl Facts {
    /// The credit towards growth: an ACK, or the segments that it acknowledges.
    #[inline]
    pub fn credit(&self) -> f64 {
        if self.byte_counting { f64::from(self.acked) } else { 1.0 }
    }
}

/// The state of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing is missing.
    #[default]
    None,
    /// Fast recovery.
    Fast,
    /// The retransmission timer has expired.
    Timeout,
}

/// A sign of congestion. The window is reduced for one of them at most once per window of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// Fast retransmit (RFC 5681, section 3.2).
    Loss,
    /// The receiver tells of a CE mark (RFC 3168, section 6.1.2).
    Echo,
    /// The retransmission timer expired (RFC 5681, section 3.1).
    Timeout,
}

/// The needs of a law, beyond what every sender knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// The receiver's feedback of CE marks.
    pub feedback: EcnFeedback,
    /// ACKs carry the one-way delay of the segment that caused them.
    pub delay: bool,
    /// [`CongestionControl::on_feedback`] is called with every ACK, in recovery too.
    pub every_ack: bool,
    /// An ACK that tells of an arrival comes with a [`RateSample`]; implies `every_ack`.
    pub rate_samples: bool,
    /// The sender asks for [`CongestionControl::pacing_rate`] and keeps to it.
    pub pacing: bool,
    /// The sender leaves the window alone at a mark: the law answers in [`CongestionControl::on_feedback`], where it sets
    /// `ssthresh`, too, if it reduces the window.
    pub answers_marks: bool,
    /// Its packets carry ECT(1), the codepoint of L4S (RFC 9331), and ECN is on unless it is turned off.
    pub l4s: bool,
    /// The law alone sets the window, in recovery and after a pause too: [`CongestionControl::on_feedback`] is called once loss
    /// recovery has seen the ACK, [`CongestionControl::on_ack`] never. Only the handshake and a timeout set it besides. Such a
    /// law goes with loss recovery `rack`.
    pub owns_window: bool,
}

impl Needs {
    /// Reno's needs: none.
    pub const NONE: Needs = Needs {
        feedback: EcnFeedback::Classic,
        delay: false,
        every_ack: false,
        rate_samples: false,
        pacing: false,
        answers_marks: false,
        l4s: false,
        owns_window: false,
    };

    /// It is told how many segments were marked, so that it can answer in proportion (RFC 9331, section 4.3).
    pub fn is_scalable(&self) -> bool {
        self.feedback != EcnFeedback::Classic
    }

    /// The sender keeps nothing for the law: it hears of new data acknowledged and of losses, and sets no pace.
    fn is_plain(&self) -> bool {
        !self.needs_feedback() && !self.pacing && !self.answers_marks
    }

    /// Some ACK must be looked into before loss recovery sees it.
    fn needs_feedback(&self) -> bool {
        self.every_ack || self.rate_samples || self.owns_window || self.feedback != EcnFeedback::Classic
    }
}

/// A law's entry in the catalogue: names and sources.
#[derive(Clone, Copy, Debug)]
pub struct LawInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// Name in print.
    pub title: &'static str,
    /// Year of publication.
    pub year: u32,
    /// Publication.
    pub source: &'static str,
}

/// A law at work in one sender: facts in, window and pacing rate out.
#[allow(unused_variables)]
pub trait CongestionControl: Debug + Send + Sync + CloneLaw {
    /// An ACK of new data outside fast recovery that tells of no new mark: the window may grow.
    fn on_ack(&mut self, window: &mut Window, ack: &Facts);
    /// Any ACK, before loss recovery sees it; called only if [`Needs::every_ack`] or [`Needs::rate_samples`] asks for it.
    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {}
    /// A number of this sender's own, before the first segment: what a law draws at random comes from it.
    fn seed(&mut self, seed: u64) {}
    /// Loss recovery `rack` has found a segment lost; called before the ACK's [`CongestionControl::on_feedback`], and only if
    /// [`Needs::rate_samples`] asks for it.
    fn on_lost(&mut self, lost: &LostSegment) {}
    /// The share of the window (RFC 5681: of the data in flight) that `event` leaves.
    fn kept(&self, event: CongestionEvent) -> f64 {
        0.5
    }
    /// The threshold after `event`, if it is not a share of what the sender reduces; at least 2 segments are left.
    fn threshold(&self, event: CongestionEvent, window: &Window) -> Option<f64> {
        None
    }
    /// The window is about to be reduced to that share or threshold.
    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {}
    /// Fast recovery has ended (RFC 5681, section 3.2, step 6; ns-2 leaves the window alone).
    fn on_recovered(&mut self, window: &mut Window) {
        window.cwnd = window.ssthresh;
    }
    /// A timeout has brought the window down to one segment.
    fn on_timeout(&mut self) {}
    /// A supposed loss was none: recovery ends without [`CongestionControl::on_recovered`], and the sender restores
    /// the window (variant `rack`).
    fn on_undo(&mut self) {}
    /// A pause ends in which the application had nothing to send.
    fn on_resume(&mut self, window: &mut Window, now: Time) {}
    /// Segments per second at which to send, more than 0 (the sender panics at others), if the law has a rate yet; asked at
    /// each segment sent, and only if [`Needs::pacing`] says so.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Segments that are sent at once at that rate.
    fn send_quantum(&self) -> u32 {
        1
    }
}

/// A copy of a law whose type is not known; every law that is `Clone` has it.
pub trait CloneLaw {
    /// The copy.
    fn boxed(&self) -> Box<dyn CongestionControl>;
}

impl<L: CongestionControl + Clone + 'static> CloneLaw for L {
    fn boxed(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CongestionControl> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// A law that can be built from declared parameters. The doc comment of its parameters is its page.
pub trait CongestionControlLaw: CongestionControl + Clone + 'static {
    /// Its entry in the catalogue.
    const INFO: LawInfo;
    /// Its needs.
    const NEEDS: Needs = Needs::NONE;
    /// Constants of TCP that it sets, over the profile: name and text.
    const SETTINGS: &'static [(&'static str, &'static str)] = &[];
    /// Its declared parameters.
    type Params: ParamSet;
    /// The law before the first ACK.
    fn new(params: Self::Params) -> Self;
}

/// Any law. Most senders have Reno's, which comes without an indirect call and without memory of its own.
#[derive(Clone, Debug)]
pub(crate) enum AnyLaw {
    Reno(Reno),
    /// One that asks for nothing, so that there is nothing to keep for it.
    Plain(Box<dyn CongestionControl>),
    Other(Box<LawHost>),
}

impl AnyLaw {
    pub fn new(law: impl CongestionControl + 'static, needs: Needs) -> Self {
        match needs.is_plain() {
            true => Self::Plain(Box::new(law)),
            false => Self::Other(Box::new(LawHost::new(Box::new(law), needs))),
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

    /// A number of this sender's own, before the first segment.
    pub fn seed(&mut self, seed: u64) {
        self.law().seed(seed);
    }

    /// An ACK of new data may open the window.
    #[inline]
    pub fn on_ack(&mut self, facts: impl FnOnce() -> Facts) {
        match &mut self.law {
            AnyLaw::Reno(reno) => reno.on_ack(&mut self.window, &facts()),
            AnyLaw::Plain(law) => law.on_ack(&mut self.window, &facts()),
            AnyLaw::Other(law) => law.on_ack(&mut self.window, facts()),
        }
    }

    /// The host of a law that has needs.
    #[inline]
    pub fn host(&mut self) -> Option<&mut LawHost> {
        if let AnyLaw::Other(law) = &mut self.law { Some(law) } else { None }
    }

    /// The law alone sets the window.
    pub fn owns_window(&self) -> bool {
        matches!(&self.law, AnyLaw::Other(law) if law.owns_window())
    }

    /// The law has a pace of its own.
    pub fn paces(&self) -> bool {
        matches!(&self.law, AnyLaw::Other(law) if law.paces())
    }

    /// Any ACK comes, to a law that asks for it. True if it tells of a new mark.
    pub fn on_feedback(&mut self, ack: &Ack, context: AckContext) -> bool {
        match &mut self.law {
            AnyLaw::Other(law) => law.on_feedback(&mut self.window, ack, context),
            _ => ack.ece,
        }
    }

    /// Loss recovery has seen an ACK: the law that owns the window sets it.
    pub fn set_window(&mut self, seen: RecoveryReport) {
        if let AnyLaw::Other(law) = &mut self.law {
            law.set_window(&mut self.window, seen);
        }
    }

    fn law(&mut self) -> &mut dyn CongestionControl {
        match &mut self.law {
            AnyLaw::Reno(reno) => reno,
            AnyLaw::Plain(law) => &mut **law,
            AnyLaw::Other(host) => &mut *host.law,
        }
    }

    /// The largest flight that the present ssthresh can have come from, were it set at a timeout.
    pub fn reduced_from(&mut self) -> u32 {
        (self.window.ssthresh / self.law().kept(CongestionEvent::Timeout)) as u32
    }

    /// ssthresh becomes the share kept of what `halve` says; returns that share, which ssthresh may not be below 2 for.
    pub fn reduce_ssthresh(&mut self, event: CongestionEvent, halve: ReductionBase, window: f64, flight: u32) -> f64 {
        let before = self.window;
        let own = self.law().threshold(event, &before);
        let kept = own.unwrap_or_else(|| self.law().kept(event) * halve.reduced(window, flight));
        self.window.ssthresh = own.unwrap_or_else(|| halve.threshold(kept)).max(2.0);
        self.law().on_congestion(event, &before);
        kept
    }

    /// Window after a fast retransmit.
    pub fn enter_recovery(&mut self, halve: ReductionBase, window: f64, flight: u32) {
        let kept = self.reduce_ssthresh(CongestionEvent::Loss, halve, window, flight);
        self.window.cwnd = halve.window(kept, self.window.ssthresh);
    }

    /// Window after fast recovery.
    pub fn leave_recovery(&mut self) {
        match &mut self.law {
            AnyLaw::Reno(reno) => reno.on_recovered(&mut self.window),
            AnyLaw::Plain(law) => law.on_recovered(&mut self.window),
            AnyLaw::Other(host) => host.law.on_recovered(&mut self.window),
        }
    }

    /// Recovery ends because nothing was lost.
    pub fn undo(&mut self) {
        self.law().on_undo();
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
        self.law().on_timeout();
    }

    /// A pause ends in which there was nothing to send.
    pub fn resume(&mut self, now: Time) {
        match &mut self.law {
            AnyLaw::Reno(_) => {}
            AnyLaw::Plain(law) => law.on_resume(&mut self.window, now),
            AnyLaw::Other(host) => host.law.on_resume(&mut self.window, now),
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
        let is_plain =
            |name| entries().iter().find(|law| law.info.name == name).is_some_and(|law| law.needs.is_plain());
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
