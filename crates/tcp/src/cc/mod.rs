//! Congestion control: a controller receives facts and answers with a window and, if it paces, a rate.
//!
//! ```text
//!   reno, cubic, ...   one file per law, reading like its RFC
//!   catalogue          every law by name, and the choice of one: "cubic:beta=0.8"
//!   declaration        laws that are declared while the program runs
//!   checked            such a law, whose answers are looked at
//!   window             the window and threshold that a law sets
//!   congestion         window and threshold of a sender under its law
//!   law_adapter        the state that a sender keeps for a law other than Reno's
//!   slow_start         the slow starts that a law can choose from: hystart, hystart_plus_plus, search,
//!                      rapid_start
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
mod checked;
mod congestion;
mod declaration;
mod hystart;
mod hystart_plus_plus;
mod law_adapter;
mod path;
mod rapid_start;
pub mod rate;
mod search;
pub mod slow_start;
mod window;

use crate::ecn::EcnFeedback;
use aqmlab_core::{ParamSet, Span, Time};
use std::fmt::Debug;

pub use catalogue::{LawChoice, LawEntry, entries, entry, register};
pub(crate) use congestion::{AnyLaw, Congestion};
pub use declaration::{LawConstructor, LawDeclaration, declare};
pub(crate) use law_adapter::LawAdapter;
pub use rate::{LostSegment, RateSample};
pub use reno::Reno;
pub use window::Window;

/// Declares the laws of this crate: a new one is its file and one line below. Reno's comes first.
macro_rules! laws {
    ($($module:ident::$law:ident)*) => {
        $(#[allow(missing_docs)] // the page is the doc comment of the parameters
        pub mod $module;)*

        /// Hands the list to a macro.
        macro_rules! every_law {
            ($act:ident) => { $act! { $($module::$law)* } };
        }
        use every_law;
    };
}

laws! {
    reno::RenoLaw
    cubic::Cubic
    ledbat::Ledbat
    ledbat_plus_plus::LedbatPlusPlus
    rledbat::Rledbat
    dctcp::Dctcp
    prague::Prague
    vegas::Vegas
    westwood::Westwood
    abe::Abe
    bbr::Bbr
    bbr3::Bbr3
    c4::C4
    copa::Copa
}

/// The facts of an ACK, for a law. Counts are in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Segments that it acknowledges, or in variant `rack` that it newly tells of; 0 for a duplicate ACK.
    pub acked: u32,
    /// The window grows by what is acknowledged (RFC 3465), not by ACKs.
    pub byte_counting: bool,
    /// Segments known to be CE-marked since the ACK before. Classic feedback does not count marks: then it is 0, and
    /// [`CongestionEvent::Echo`] tells of a mark. Known to laws that see every ACK.
    pub marked: u32,
    /// Segments that loss recovery has sent again since the ACK before; those that it has found lost at this ACK, of a law that
    /// owns the window. Known to laws that see every ACK.
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
    /// The first segment not acknowledged, after it. Known in variant `rack` and to laws that see every ACK.
    pub hole: u32,
    /// The first segment never sent, before it. Known as `hole` is.
    pub sent: u32,
    /// Delivery rate and round-trip time, if the law asks for them and the ACK tells of an arrival.
    pub sample: Option<RateSample>,
    /// Linux predicts its header: it carries neither blocks of SACK nor an echo, and offers the window of the ACK before. Known as
    /// `hole` is.
    pub is_predicted: bool,
    /// Time of its arrival.
    pub now: Time,
    /// Time before which the pace allows no further segment, of a law that owns the window.
    pub next_send: Time,
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
    /// [`CongestionControl::on_order`] and [`CongestionControl::on_transmit_start`] are called.
    pub order: bool,
    /// The receiver holds the queueing delay to this by the window that it advertises (RFC 9840).
    pub receiver_target: Option<Span>,
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
        order: false,
        receiver_target: None,
    };

    /// It receives how many segments were marked, so that it can answer in proportion (RFC 9331, section 4.3).
    pub fn is_scalable(&self) -> bool {
        self.feedback != EcnFeedback::Classic
    }

    /// The sender keeps nothing for the law: it hears of new data acknowledged and of losses, and sets no pace.
    fn is_plain(&self) -> bool {
        !self.needs_feedback() && !self.pacing && !self.answers_marks && !self.order && self.receiver_target.is_none()
    }

    /// Some ACK must be looked into before loss recovery sees it.
    pub(crate) fn needs_feedback(&self) -> bool {
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
    /// A loss in a window of data that a mark has reduced reduces it again (variant `rack`).
    fn reduces_again(&self) -> bool {
        false
    }
    /// The window is about to be reduced to that share or threshold.
    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {}
    /// Fast recovery has ended (RFC 5681, section 3.2, step 6; ns-2 leaves the window alone).
    fn on_recovered(&mut self, window: &mut Window) {
        window.cwnd = window.ssthresh;
    }
    /// Loss recovery has seen an ACK: `is_in_order` if nothing is being recovered, nor SACKed, nor sent again and still
    /// outstanding; `sent` is the first segment never sent. Called only if [`Needs::order`] asks for it (variant `rack`).
    fn on_order(&mut self, is_in_order: bool, sent: u32) {}
    /// A segment is about to be sent while none is in the network, `sent` being the first never sent. Called only if
    /// [`Needs::order`] asks for it.
    fn on_transmit_start(&mut self, sent: u32) {}
    /// The handshake is done, and has measured the first round-trip time (variant `rack`).
    fn on_established(&mut self, window: &Window, rtt: Span, now: Time) {}
    /// A timeout has brought the window down to one segment.
    fn on_timeout(&mut self) {}
    /// A supposed loss was none: recovery ends without [`CongestionControl::on_recovered`], and the sender restores
    /// the window (variant `rack`).
    fn on_undo(&mut self) {}
    /// A pause ends in which the application had nothing to send.
    fn on_resume(&mut self, window: &mut Window, now: Time) {}
    /// A segment is sent while others are outstanding, but none is in the network, as after a timeout
    /// (`CA_EVENT_TX_START` in Linux); samples of its rate may be the application's. Called only if
    /// [`Needs::rate_samples`] asks for it.
    fn on_restart(&mut self, window: &mut Window, is_app_limited: bool, now: Time) {}
    /// Segments per second at which to send, more than 0 (the sender panics at others), if the law has a rate yet; asked at
    /// each segment sent, and only if [`Needs::pacing`] says so.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Segments that are sent at once at that rate.
    fn send_quantum(&self) -> u32 {
        1
    }
    /// The phase that it is in, of those in [`CongestionControlLaw::PHASES`]; `None` of a law that has none of its own.
    fn phase(&self) -> Option<&'static str> {
        None
    }
    /// Its variables now, by the names of its draft, for whoever looks at it: segments, segments a second, seconds, or 0 and 1.
    fn variables(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    /// Its breakdown, if it has one; a law from elsewhere can.
    fn failure(&self) -> Option<&LawFailure> {
        None
    }
}

/// The phases of a sender whose law has none of its own (RFC 5681): below the threshold, above it, in fast recovery, and after a
/// timeout until what was outstanding then is acknowledged.
pub const SENDER_PHASES: [&str; 4] = ["slow_start", "congestion_avoidance", "fast_recovery", "rto_recovery"];

/// The breakdown of a law; the run ends with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawFailure {
    /// The time.
    pub at: Time,
    /// The reason.
    pub cause: String,
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
    /// Its needs with these parameters.
    fn needs(_: &Self::Params) -> Needs {
        Self::NEEDS
    }
    /// Constants of TCP that it sets, over the profile: name and text.
    const SETTINGS: &'static [(&'static str, &'static str)] = &[];
    /// Phases of its own, in the words of its draft, which take the place of those of every sender ([`SENDER_PHASES`]).
    const PHASES: &'static [&'static str] = &[];
    /// Its declared parameters.
    type Params: ParamSet;
    /// The law before the first ACK.
    fn new(params: Self::Params) -> Self;
}

/// Parts of [`CongestionControl`] of a law that does nothing of its own in them: what its field `slow_start`
/// does there, and Reno beyond it.
macro_rules! as_slow_start {
    (on_ack) => {
        fn on_ack(&mut self, window: &mut $crate::cc::Window, ack: &$crate::cc::Facts) {
            if !self.slow_start.on_ack(window, ack, true) {
                $crate::cc::Reno.on_ack(window, ack);
            }
        }
    };
    (on_feedback) => {
        fn on_feedback(&mut self, window: &mut $crate::cc::Window, ack: &$crate::cc::Facts) {
            self.slow_start.on_feedback(window, ack);
        }
    };
    (on_lost) => {
        fn on_lost(&mut self, lost: &$crate::cc::LostSegment) {
            self.slow_start.on_lost(lost);
        }
    };
    (threshold) => {
        fn threshold(&self, event: $crate::cc::CongestionEvent, window: &$crate::cc::Window) -> Option<f64> {
            self.slow_start.threshold(event, self.kept(event), window)
        }
    };
    (on_congestion) => {
        fn on_congestion(&mut self, event: $crate::cc::CongestionEvent, window: &$crate::cc::Window) {
            self.slow_start.on_congestion(event, self.kept(event), window);
        }
    };
    (on_recovered) => {
        fn on_recovered(&mut self, window: &mut $crate::cc::Window) {
            window.cwnd = window.ssthresh;
            self.slow_start.on_recovered();
        }
    };
    (on_timeout) => {
        fn on_timeout(&mut self) {
            self.slow_start.on_timeout();
        }
    };
    ($($part:ident),+) => {
        $(as_slow_start!($part);)+
    };
}
use as_slow_start;
