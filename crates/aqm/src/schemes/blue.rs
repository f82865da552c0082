use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Ratio, Span, Time, params};

params! {
    /// BLUE: the drop probability rises with each overflow and falls while the link is idle.
    ///
    /// ## Idea
    /// The queue's length says little of how many flows there are; loss and idleness say whether p is too low or too
    /// high.
    ///
    /// ## Equations
    ///
    /// ```text
    /// a packet is lost to a full queue:  p = min(1, p + d1)
    /// the link is idle:                  p = max(0, p - d2)
    /// ```
    ///
    /// Each only if the last change of p, up or down, is at least `freeze_time` ago. The signal probability of an
    /// arriving packet is p.
    ///
    /// ## What to expect
    /// p moves only when the buffer is full or empty, so the queue may stay anywhere between: BLUE is made for small
    /// buffers and tolerates a full large one.
    ///
    /// ## Readings
    /// A link that stays idle is looked at again every `freeze_time`. Early drops are not losses. The paper's variant
    /// that also rises above a queue length L is left out. The paper's text was not available. Its four settings are
    /// recalled: d1 = 0.0025 or 0.02, each with d2 = d1/10. freeze_time is 10 or 100 ms.
    ///
    /// ## Departures
    /// The link's target is not used.
    pub struct BlueParams for Blue {
        /// Increase of p at a loss.
        d1: Ratio = "0.0025" in "0" ..= "1", from "Feng et al. 2002 (recalled)";
        /// Decrease of p on an idle link.
        d2: Ratio = "0.00025" in "0" ..= "1", from "Feng et al. 2002 (recalled)";
        /// Minimum time between changes of p; about a round-trip time.
        freeze_time: Span = "100 ms" in "1 us" ..= "1000 s", from "Feng et al. 2002 (recalled)";
    }
}

/// See [`BlueParams`].
#[derive(Clone)]
pub struct Blue {
    params: BlueParams,
    p: f64,
    last_update: Time,
    idle: bool,
}

impl Blue {
    fn change(&mut self, step: f64, now: Time) {
        if now.since(self.last_update) >= self.params.freeze_time {
            self.p = (self.p + step).clamp(0.0, 1.0);
            self.last_update = now;
        }
    }
}

impl Scheme for Blue {
    const INFO: SchemeInfo = SchemeInfo {
        name: "blue",
        title: "BLUE",
        family: "load-based",
        year: 1999,
        source: "Feng, Kandlur, Saha & Shin, CSE-TR-387-99, 1999; IEEE/ACM Trans. Networking 10(4), 2002",
        confidence: "the algorithm below by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing =
        Standing::Reconstructed("the algorithm and its constants are recalled; the paper was not available");
    const OBSERVABLES: &'static [Observable] = &[P];

    fn new(params: BlueParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, p: 0.0, last_update: Time::ZERO, idle: true })
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for Blue {
    fn on_overflow(&mut self, _: &QueueView, cx: &mut Ctx) {
        self.change(self.params.d1.0, cx.now);
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        self.idle = true;
        self.change(-self.params.d2.0, cx.now);
    }

    fn tick_every(&self) -> Option<Span> {
        Some(self.params.freeze_time)
    }

    fn on_tick(&mut self, _: &QueueView, cx: &mut Ctx) {
        if self.idle {
            self.change(-self.params.d2.0, cx.now);
        }
    }

    fn on_enqueue(&mut self, packet: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        let drawn = cx.chance(self.p);
        self.idle &= drawn && !packet.can_mark; // a marked packet joins
        if drawn { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, _: usize) -> f64 {
        self.p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    fn blue() -> Blue {
        Blue::new(BlueParams::defaults(), &bench::queue(0)).unwrap()
    }

    /// Calls `act` at `ms`.
    fn at(ms: u64, act: impl FnOnce(&mut Ctx)) {
        act(&mut Ctx { now: Time(ms * 1_000_000_000), rng: &mut bench::stream() });
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}");
    }

    #[test]
    fn losses_raise_p_once_in_a_freeze_time() {
        let mut blue = blue();
        for (ms, p) in [(99, 0.0), (100, 0.0025), (199, 0.0025), (200, 0.005), (450, 0.0075), (500, 0.0075)] {
            at(ms, |cx| blue.on_overflow(&bench::queue(100), cx));
            close(blue.p, p);
        }
    }

    #[test]
    fn going_idle_lowers_p_and_shares_the_freeze_time_with_losses() {
        let mut blue = blue();
        at(100, |cx| blue.on_overflow(&bench::queue(100), cx));
        at(199, |cx| blue.on_empty(cx));
        close(blue.p, 0.0025);
        at(200, |cx| blue.on_empty(cx));
        close(blue.p, 0.00225);
        at(299, |cx| blue.on_overflow(&bench::queue(100), cx));
        close(blue.p, 0.00225);
    }

    #[test]
    fn p_keeps_falling_on_an_idle_link_only_and_stops_at_0() {
        let mut blue = blue();
        blue.p = 0.0006;
        at(100, |cx| blue.on_empty(cx));
        at(200, |cx| blue.on_tick(&bench::queue(0), cx));
        close(blue.p, 0.0001);
        // bench's first draw is above 0.0001: the packet joins, the link is busy.
        at(250, |cx| assert_eq!(blue.on_enqueue(&bench::packet(), &bench::queue(0), cx), Verdict::Pass));
        at(300, |cx| blue.on_tick(&bench::queue(0), cx));
        close(blue.p, 0.0001);
        at(310, |cx| blue.on_empty(cx));
        assert_eq!(blue.p, 0.0, "0.0001 - 0.00025 is held at 0");
    }

    #[test]
    fn p_stops_at_1_and_then_takes_every_packet() {
        let mut blue = blue();
        blue.p = 0.999;
        at(100, |cx| blue.on_overflow(&bench::queue(100), cx));
        assert_eq!(blue.p, 1.0);
        at(101, |cx| assert_eq!(blue.on_enqueue(&bench::packet(), &bench::queue(9), cx), Verdict::Signal(EARLY)));
        assert!(blue.idle, "a dropped packet leaves the link idle");
        let markable = PacketView { can_mark: true, ..bench::packet() };
        at(102, |cx| assert_eq!(blue.on_enqueue(&markable, &bench::queue(9), cx), Verdict::Signal(EARLY)));
        assert!(!blue.idle, "a marked one does not");
    }
}
