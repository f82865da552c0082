//! Shows a scheme the fluid's queue: its updates come on time, and each packet of the fluid asks to join.
//!
//! A scheme reads whole packets. The queue is rounded with its error carried on to the next reading, so that sums of
//! readings (an integral, a moving average) follow the fluid to within half a packet, where plain rounding would blind
//! them to less than one packet. The price is a reading that alternates by one packet, which a derivative sees.
//!
//! Verdicts on single packets are not followed: the fluid takes the share of them that [`SignalShare`] gives. A scheme that
//! counts what it has signalled (`npd-red`, `lred`, `green`) counts its own draws, which are as random as in a queue of
//! packets, and repeat.

use crate::SignalShare;
use aqmlab_aqm::{Aqm, Ctx, Ecn, PacketView, QueueView, Signal};
use aqmlab_core::{Span, Stream, Time};

/// The fluid over one step, from time `t` on.
#[derive(Clone, Copy, Debug)]
pub struct FluidStep {
    /// Start of the step, s.
    pub t: f64,
    /// Its length, s.
    pub step: f64,
    /// Queue at its start and end, packets.
    pub queue: [f64; 2],
    /// Packets offered since the beginning, at its start and end.
    pub offered: [f64; 2],
    /// Share of the packets offered in it that the full buffer refuses.
    pub lost: f64,
    /// Waiting time of the packet that leaves at its end, s.
    pub delay: f64,
}

/// Whole numbers whose sum follows that of real ones.
#[derive(Default)]
struct Rounder {
    owed: f64,
}

impl Rounder {
    fn round(&mut self, value: f64) -> u32 {
        let whole = (value + self.owed + 0.5) as u32; // to the nearest; below 0 it is 0
        self.owed += value - f64::from(whole);
        whole
    }
}

/// A scheme and its view of the fluid.
pub struct Host<A> {
    scheme: A,
    share: SignalShare,
    view: QueueView,
    size: u32,
    ecn: bool,
    rng: Stream,
    at_updates: Rounder,
    at_arrivals: Rounder,
    /// Refused packets owed to the scheme.
    refused: f64,
}

impl<A: Aqm> Host<A> {
    /// For packets of `size` bytes; the scheme was built for `view`, a queue before the first packet.
    pub fn new(scheme: A, share: SignalShare, view: QueueView, size: u32, ecn: bool) -> Self {
        let rng = Stream::new(1, "fluid.aqm", 0);
        let (at_updates, at_arrivals) = (Rounder::default(), Rounder::default());
        Self { scheme, share, view, size, ecn, rng, at_updates, at_arrivals, refused: 0.0 }
    }

    /// Period of the scheme's update, s.
    pub fn tick(&self) -> Option<f64> {
        self.scheme.tick_every().map(Span::seconds)
    }

    /// True if signals fall at departures.
    pub fn signals_at_head(&self) -> bool {
        self.share.signal == Signal::AtHead
    }

    /// The periodic update at time `t`, s, with `queue` packets waiting.
    pub fn update(&mut self, t: f64, queue: f64) {
        let packets = self.at_updates.round(queue);
        self.see(packets);
        let mut cx = Ctx { now: at(t), rng: &mut self.rng };
        self.scheme.on_tick(&self.view, &mut cx);
    }

    /// The share of arriving packets that the scheme signals as it is.
    pub fn share(&self) -> f64 {
        self.share.now(&self.scheme, &self.view)
    }

    /// The packets of a step ask to join, one after the other, and leave.
    pub fn advance(&mut self, flow: &FluidStep) {
        let [before, after] = flow.offered;
        let (first, last) = (before.floor() as u64 + 1, after.floor() as u64);
        for number in first..=last {
            let part = (number as f64 - before) / (after - before);
            let queue = flow.queue[0] + part * (flow.queue[1] - flow.queue[0]);
            self.arrive(flow.t + part * flow.step, queue, flow.lost);
        }
        let end = flow.t + flow.step;
        if flow.queue[1] > 0.0 && self.scheme.acts_on_dequeue() {
            // The last of the step's departures stands for all: what these schemes take from them is the latest delay.
            let packet = self.packet(end - flow.delay);
            let mut cx = Ctx { now: at(end), rng: &mut self.rng };
            self.scheme.on_dequeue(&packet, &self.view, &mut cx);
        }
    }

    fn arrive(&mut self, t: f64, queue: f64, lost: f64) {
        self.view.arrived_packets += 1;
        self.view.arrived_bytes += u64::from(self.size);
        let packets = self.at_arrivals.round(queue);
        self.see(packets);
        let packet = self.packet(t);
        let mut cx = Ctx { now: at(t), rng: &mut self.rng };
        self.refused += lost;
        if self.refused >= 1.0 {
            self.refused -= 1.0;
            self.scheme.on_overflow(&self.view, &mut cx);
        } else {
            self.scheme.on_enqueue(&packet, &self.view, &mut cx);
        }
        if queue <= 0.0 {
            self.scheme.on_empty(&mut cx); // it passes straight through, and the link is idle until the next
        }
    }

    fn see(&mut self, packets: u32) {
        self.view.packets = packets.min(self.view.limit as u32);
        self.view.bytes = u64::from(self.view.packets) * u64::from(self.size);
    }

    fn packet(&self, enqueued_at: f64) -> PacketView {
        let (size, can_mark) = (self.size, self.ecn);
        let ecn = if self.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        PacketView { size, flow: 0, flow_hash: 0, rtt: None, dscp: 0, enqueued_at: at(enqueued_at), ecn, can_mark }
    }
}

fn at(t: f64) -> Time {
    Time::ZERO + Span::from_seconds(t.max(0.0))
}
