use crate::signal::BY_FLOW;
use crate::{
    Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Reason, Scheme, SchemeInfo, Signal, Standing, Verdict,
};
use aqmlab_core::{Auto, Bytes, Packets, Quantity, Ratio, Time, choice, params};
use std::collections::BTreeMap;

/// The flow has more packets waiting than it may have.
const SHARE: Reason = Reason::new(&"share");
/// The average queue is above max_th.
const CROWDED: Reason = Reason::new(&"crowded");

choice! {
    /// The packets that pass while the average queue is above max_th.
    pub enum ManyFlows {
        /// None: drop-tail mode.
        Drop = "drop",
        /// Those of flows with fewer than two packets waiting.
        TwoPackets = "two-packets",
    }
}

params! {
    /// FRED: RED that counts the packets of each flow in the queue, spares flows with few, and holds back flows with many.
    ///
    /// ## Idea
    /// RED gives all flows the same loss, which hurts fragile flows with a few packets under way and does not stop flows
    /// that ignore losses. FRED keeps a count for each flow that has packets waiting, and only for these. A flow with no
    /// more than its share is not dropped at random; one that tried to take more than it may is held to its share.
    ///
    /// ## Equations
    /// `avg` is RED's average, taken at arrivals that are accepted and at departures. At an arrival of a flow that has
    /// `qlen` packets waiting and `strike` strikes, `active` flows having packets waiting:
    ///
    /// ```text
    /// avgcq = max(1, avg/active)
    /// maxq  = min_th, or 2 while avg >= max_th
    ///
    /// qlen >= maxq, or avg >= max_th and qlen > 2*avgcq, or qlen >= avgcq and strike > 1:
    ///     strike = strike + 1; dropped
    /// min_th <= avg < max_th:     count = count + 1; if qlen >= max(min_q, avgcq), dropped with probability
    ///     p_b = max_p * (avg - min_th)/(max_th - min_th);  p_a = p_b/(1 - count*p_b);  then count = 0
    /// avg < min_th:               count = -1
    /// avg >= max_th:              count = 0; dropped
    /// ```
    ///
    /// When the last packet of a flow leaves, its count and its strikes are forgotten.
    ///
    /// ## What to expect
    /// Each flow may hold `min_q` packets that are never drawn, so flows with windows smaller than that are spared
    /// altogether. For 500 and more flows on 45 Mbit/s and 900 packets of buffer (Li et al. 2014, Tables 1 and 2) few
    /// have four packets waiting: the queue is at max_th, 449 ± 18 packets, where 85 % of the drops fall whatever the
    /// flow. `two-packets` shares better there (Jain's index 0.999, not 0.957, with 500 flows), but needs a buffer of
    /// two packets per flow: it is full for 1,500 flows, at 891 of 900 packets.
    ///
    /// ## Readings
    /// The paper itself was not available. The algorithm follows two public implementations, which agree: J-Sim's,
    /// which names the blocks of the paper's pseudocode, and one for Linux. The paper's abstract mentions a
    /// "two-packet-buffer" for large numbers of flows: maxq = 2 is what is left of it there, as all packets are dropped
    /// above max_th anyway. `many_flows = "two-packets"` lets flows with fewer than two packets pass instead.
    ///
    /// ## Departures
    /// Thresholds go with the buffer, not with the link's target, which is not used. "auto" for min_th is a quarter of the
    /// buffer, where the paper (recalled) has the packets of a round trip if these are fewer. A packet that is drawn at random
    /// is marked if it can carry a mark; the others are dropped. As in RED, an idle link's average decays from when it fell idle.
    pub struct FredParams for Fred {
        /// Average queue below which nothing is dropped at random, and the maximum that a flow may have waiting; "auto"
        /// is a quarter of the buffer.
        min_th: Auto<Packets> = "auto" in "1 packet" ..= "10000000 packets", from "Lin & Morris 1997 (recalled)";
        /// Average queue from which all is dropped; "auto" is 2*min_th.
        max_th: Auto<Packets> = "auto" in "1 packet" ..= "10000000 packets", from "Lin & Morris 1997 (recalled)";
        /// Drop probability at max_th.
        max_p: Ratio = "2%" in "0" ..= "1", from "Lin & Morris 1997 (recalled)";
        /// Packets that every flow may have waiting without being drawn.
        min_q: Packets = "4 packets" in "0 packets" ..= "1000000 packets",
          from "Lin & Morris 1997 (recalled: 4, for small buffers 2)";
        /// Weight of the present queue in the average.
        q_weight: f64 = "0.002" in "0" ..= "1", from "Floyd & Jacobson 1993";
        /// The packets that pass while the average is above max_th.
        many_flows: ManyFlows = "drop", from "J-Sim; FRED for Linux";
        /// Packet size that turns the link's rate into packets per second, for the idle time.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Li et al. 2014";
    }
    check |p| match (p.min_th, p.max_th) {
        (Auto::Given(min), Auto::Given(max)) if min >= max => {
            Err(format!("min_th (\"{}\") must be below max_th (\"{}\")", min.text(), max.text()))
        }
        _ => Ok(()),
    };
}

impl FredParams {
    /// min_th and max_th for this buffer, packets.
    fn thresholds(&self, limit: f64) -> (f64, f64) {
        let min_th = self.min_th.unwrap_or_else(|| Packets((limit / 4.0).max(1.0))).0;
        (min_th, self.max_th.unwrap_or_else(|| Packets(2.0 * min_th)).0)
    }
}

/// A flow that has packets waiting.
#[derive(Clone, Copy, Default)]
struct Flow {
    waiting: u32,
    /// Times that it asked for more than it may have.
    strikes: u32,
}

/// See [`FredParams`].
#[derive(Clone)]
pub struct Fred {
    params: FredParams,
    flows: BTreeMap<u32, Flow>,
    avg: f64,
    /// Arrivals between the thresholds since the last drop.
    count: i32,
    idle_since: Option<Time>,
    p: f64,
}

impl Fred {
    /// Average number of packets that a flow has waiting, avgcq.
    fn share(&self) -> f64 {
        (self.avg / self.flows.len().max(1) as f64).max(1.0)
    }

    fn sample(&mut self, queue: &QueueView) {
        self.avg += self.params.q_weight * (f64::from(queue.packets) - self.avg);
    }

    /// Counts the packets that the idle link could have sent.
    fn decay(&mut self, queue: &QueueView, now: Time) {
        if let Some(since) = self.idle_since.take() {
            let missed = (queue.rate.0 / (8.0 * self.params.mean_packet.0) * now.since(since).seconds()).floor();
            self.avg *= libm::pow(1.0 - self.params.q_weight, missed);
        }
    }

    /// The flow has, or has tried to get, more than it may have.
    fn exceeds(&self, flow: Flow, min_th: f64, is_crowded: bool) -> bool {
        let (waiting, share) = (f64::from(flow.waiting), self.share());
        let most = if is_crowded { 2.0 } else { min_th };
        waiting >= most || (is_crowded && waiting > 2.0 * share) || (waiting >= share && flow.strikes > 1)
    }

    fn judge(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let (min_th, max_th) = self.params.thresholds(queue.limit);
        let flow = self.flows.get(&packet.flow).copied().unwrap_or_default();
        let is_crowded = self.avg >= max_th;
        self.p = match self.avg {
            avg if avg < min_th => 0.0,
            avg if avg < max_th => self.params.max_p.0 * (avg - min_th) / (max_th - min_th),
            _ => 1.0,
        };
        if self.exceeds(flow, min_th, is_crowded) {
            self.flows.entry(packet.flow).and_modify(|flow| flow.strikes += 1);
            return Verdict::Drop(SHARE);
        }
        if is_crowded {
            self.count = 0;
            return if self.params.many_flows == ManyFlows::Drop { Verdict::Drop(CROWDED) } else { Verdict::Pass };
        }
        if self.avg < min_th {
            self.count = -1;
            return Verdict::Pass;
        }
        self.count += 1;
        let is_robust = f64::from(flow.waiting) >= self.params.min_q.0.max(self.share());
        let spacing = 1.0 - f64::from(self.count) * self.p;
        if is_robust && (spacing <= 0.0 || cx.chance(self.p / spacing)) {
            self.count = 0;
            return Verdict::Signal(EARLY);
        }
        Verdict::Pass
    }

    fn join(&mut self, packet: &PacketView) {
        self.flows.entry(packet.flow).or_default().waiting += 1;
    }

    fn leave(&mut self, packet: &PacketView, queue: &QueueView) {
        if let Some(flow) = self.flows.get_mut(&packet.flow) {
            flow.waiting -= 1;
            if flow.waiting == 0 {
                self.flows.remove(&packet.flow);
            }
        }
        self.sample(queue);
    }
}

impl Scheme for Fred {
    const INFO: SchemeInfo = SchemeInfo {
        name: "fred",
        title: "FRED",
        family: "flow-aware",
        year: 1997,
        source: "Lin & Morris, \"Dynamics of random early detection\", SIGCOMM 1997; J-Sim (drcl.inet.core.queue.FRED)",
        confidence: "the algorithm of two public implementations, by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the paper was not available: the algorithm follows two public implementations, its constants are recalled",
    );
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable { name: "avg", unit: "packets", doc: "average queue" },
        Observable { name: "share", unit: "packets", doc: "average queue of a flow that has packets waiting, avgcq" },
    ];

    fn new(params: FredParams, queue: &QueueView) -> Result<Self, String> {
        let (min_th, max_th) = params.thresholds(queue.limit);
        if min_th >= max_th {
            return Err(format!("min_th (\"{min_th} packets\") must be below max_th (\"{max_th} packets\")"));
        }
        Ok(Self { params, flows: BTreeMap::new(), avg: 0.0, count: -1, idle_since: None, p: 0.0 })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_FLOW);
}

impl Aqm for Fred {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.decay(queue, cx.now);
        let verdict = self.judge(packet, queue, cx);
        if verdict == Verdict::Pass || (verdict == Verdict::Signal(EARLY) && packet.can_mark) {
            self.join(packet);
            self.sample(queue);
        }
        verdict
    }

    fn on_adopt(&mut self, packet: &PacketView) {
        self.join(packet);
    }

    fn acts_on_dequeue(&self) -> bool {
        true // it counts departures
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, _: &mut Ctx) -> Verdict {
        self.leave(packet, queue);
        Verdict::Pass
    }

    fn on_head_drop(&mut self, packet: &PacketView, queue: &QueueView, _: &mut Ctx) {
        self.leave(packet, queue);
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        self.idle_since = Some(cx.now);
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.avg, self.share()][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    /// min_th 20, max_th 40 packets; the average is the present queue.
    fn fred(changes: &[(&str, &str)]) -> Fred {
        let mut params = FredParams::defaults();
        let given = [("min_th", "20 packets"), ("max_th", "40 packets"), ("q_weight", "1"), ("max_p", "10%")];
        params.read("fred", given.iter().chain(changes).copied(), &mut Vec::new());
        Fred::new(params, &bench::queue(0)).unwrap()
    }

    /// Flows by number, each with its packets waiting and its strikes; `avg` is their sum.
    fn holding(changes: &[(&str, &str)], flows: &[(u32, u32, u32)]) -> (Fred, u32) {
        let mut fred = fred(changes);
        fred.flows = flows
            .iter()
            .map(|(flow, waiting, strikes)| (*flow, Flow { waiting: *waiting, strikes: *strikes }))
            .collect();
        let queue = flows.iter().map(|(_, waiting, _)| waiting).sum();
        fred.avg = f64::from(queue);
        (fred, queue)
    }

    fn arrive(fred: &mut Fred, flow: u32, packets: u32) -> Verdict {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        fred.on_enqueue(&PacketView { flow, ..bench::packet() }, &bench::queue(packets), cx)
    }

    #[test]
    fn a_flow_has_at_most_min_th_and_its_strikes_are_counted() {
        let (mut fred, mut queue) = holding(&[], &[(1, 17, 0)]);
        for waiting in 18..=20 {
            assert_eq!(arrive(&mut fred, 1, queue), Verdict::Pass);
            queue += 1;
            assert_eq!(fred.flows[&1].waiting, waiting);
        }
        for strikes in 1..=3 {
            assert_eq!(arrive(&mut fred, 1, queue), Verdict::Drop(SHARE));
            assert_eq!(fred.flows[&1].strikes, strikes);
        }
        // It keeps its strikes while it has packets waiting. Beside a flow of one packet its share is avg/2 = 6: held to that.
        let (mut fred, _) = holding(&[], &[(1, 11, 2), (2, 1, 0)]);
        assert_eq!(arrive(&mut fred, 1, 12), Verdict::Drop(SHARE));
        assert_eq!(arrive(&mut fred, 2, 12), Verdict::Pass);
        // One strike is forgiven.
        let (mut fred, _) = holding(&[], &[(1, 11, 1), (2, 1, 0)]);
        assert_eq!(arrive(&mut fred, 1, 12), Verdict::Pass);
    }

    #[test]
    fn between_the_thresholds_only_robust_flows_are_drawn() {
        // avg 30 of 10 flows: p_b = 0.1*10/20 = 0.05, avgcq = 3. count*p_b = 1 makes the draw certain.
        let few: Vec<_> = (0..10).map(|flow| (flow, 3, 0)).collect();
        let (mut fred, queue) = holding(&[], &few);
        fred.count = 18;
        assert_eq!(arrive(&mut fred, 0, queue), Verdict::Pass, "3 packets waiting, min_q = 4");
        assert_eq!((fred.p, fred.count), (0.05, 19));
        let (mut fred, queue) = holding(&[], &[(0, 4, 0), (1, 6, 0), (2, 20, 0)]);
        fred.count = 19;
        assert_eq!(arrive(&mut fred, 0, queue), Verdict::Pass, "avgcq = 10");
        assert_eq!(arrive(&mut fred, 3, queue), Verdict::Pass, "the first of its flow");
        let (mut fred, queue) = holding(&[("min_q", "2 packets")], &few);
        fred.count = 19;
        assert_eq!(arrive(&mut fred, 0, queue), Verdict::Signal(EARLY));
        assert_eq!((fred.count, fred.flows[&0].waiting), (0, 3), "dropped, so it does not join");
    }

    #[test]
    fn above_max_th_all_is_dropped_or_two_packets_pass() {
        let flows: Vec<_> = (0..40).map(|flow| (flow, 1, 0)).collect();
        let (mut all, queue) = holding(&[], &flows);
        assert_eq!(arrive(&mut all, 50, queue), Verdict::Drop(CROWDED));
        let (mut two, queue) = holding(&[("many_flows", "two-packets")], &flows);
        // The first and the second packet of a flow pass, the third gets a strike.
        assert_eq!(
            [0; 3].map(|i| arrive(&mut two, 50, queue + i)),
            [Verdict::Pass, Verdict::Pass, Verdict::Drop(SHARE)]
        );
        assert_eq!(two.flows[&50].strikes, 1);
    }

    #[test]
    fn a_flow_is_forgotten_with_its_last_packet() {
        let (mut fred, _) = holding(&[], &[(1, 2, 5), (2, 1, 0)]);
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        let head = PacketView { flow: 1, ..bench::packet() };
        fred.on_dequeue(&head, &bench::queue(2), cx);
        assert_eq!((fred.flows[&1].waiting, fred.avg, fred.share()), (1, 2.0, 1.0));
        fred.on_dequeue(&head, &bench::queue(1), cx);
        assert_eq!(fred.flows.len(), 1);
        assert_eq!(arrive(&mut fred, 1, 1), Verdict::Pass);
        assert_eq!(fred.flows[&1].strikes, 0);
    }

    #[test]
    fn the_average_decays_while_the_link_idles() {
        let (mut fred, _) = holding(&[("q_weight", "0.5")], &[]);
        fred.avg = 32.0;
        let mut rng = bench::stream();
        fred.on_empty(&mut Ctx { now: Time::ZERO, rng: &mut rng });
        // 3 ms at 1000 packets/s: 32/8 = 4, and the accepted packet found none: 2.
        let now = Time::ZERO + aqmlab_core::Span::from_millis(3);
        fred.on_enqueue(&bench::packet(), &bench::queue(0), &mut Ctx { now, rng: &mut rng });
        assert_eq!(fred.avg, 2.0);
    }
}
