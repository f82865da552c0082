use crate::disciplines::Coupled;
use crate::signal::SEVERAL_QUEUES;
use crate::{Ctx, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Bytes, Rate, Span, Time, params};

params! {
    /// Sparse first: a queue for flows that send little and one for all others, which waits for it. It manages neither.
    ///
    /// ## Idea
    /// What some operators' links do, seen from outside: probes, games and calls pass by while transfers fill a queue. A flow that keeps
    /// below a rate and a burst goes first, whatever it is; the rest share one queue, so that they wait for each other. Who measures the
    /// queue by pings sees none.
    ///
    /// ## Equations
    /// For each flow (by its hash), and a packet of s bytes:
    ///
    /// ```text
    /// t = max(t, now) + 8*s/rate        sparse if t - now <= 8*burst/rate
    /// ```
    ///
    /// A sparse packet that waits is sent before any other. A packet that finds the buffer full replaces the packet at the head of the other
    /// queue, or is dropped itself if that queue is empty.
    ///
    /// ## What to expect
    /// Bulk flows wait for the whole buffer. A sparse flow waits for the packet in transmission and for other sparse packets at most. A
    /// burst of a new flow is sparse up to `burst`, as in flow queueing.
    ///
    /// ## Readings
    /// No operator publishes its scheme. Starlink's downlink isolates sparse probes from bulk (observed in cake-autorate, issue 393). It
    /// drops from the front and has no queue per flow (a measurement study of 2026). The rule that classifies flows is a guess, the
    /// simplest that explains both observations.
    ///
    /// ## Departures
    /// A flow that becomes sparse while its packets still wait among the others overtakes them.
    pub struct SparseFirstParams for SparseFirst {
        /// Rate that a sparse flow keeps.
        rate: Rate = "1 Mbit/s" in "1 kbit/s" ..= "1 Tbit/s", from "guessed: above a call, below a film";
        /// Bytes that it may send at once.
        burst: Bytes = "15 kB" in "1 B" ..= "100 MB", from "guessed: an initial window (RFC 6928)";
        /// Hash buckets that distinguish flows.
        flows: u32 = "1024" in "1" ..= "1000000", unit "1", from "as RFC 8290";
    }
}

/// The scheme of two queues; see [`SparseFirstParams`].
#[derive(Clone)]
pub struct SparseFirst {
    params: SparseFirstParams,
    /// For each bucket, the time until which what it has sent takes at the rate.
    paid_until: Vec<Time>,
}

impl Scheme for SparseFirst {
    const INFO: SchemeInfo = SchemeInfo {
        name: "sparse-first",
        title: "Sparse first",
        family: "fair queueing",
        year: 2026,
        source: "observations of Starlink's downlink: cake-autorate, issue 393",
        confidence: "built from outside observations",
        papers: &[],
    };
    const IS_LISTED: bool = false;
    const STANDING: Standing =
        Standing::Reconstructed("the classification of flows is a guess, because no operator publishes it");
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "sparse_queue", unit: "packets", doc: "waiting packets of sparse flows" },
        Observable { name: "bulk_queue", unit: "packets", doc: "waiting packets of all other flows" },
    ];
    const SIGNAL: Result<Signal, &'static str> = Err(SEVERAL_QUEUES);

    fn new(params: SparseFirstParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, paid_until: vec![Time::ZERO; params.flows as usize] })
    }
}

impl SparseFirst {
    fn time(&self, bytes: f64) -> Span {
        Span::from_seconds(8.0 * bytes / self.params.rate.0)
    }
}

impl Coupled for SparseFirst {
    fn period(&self) -> Option<Span> {
        None
    }

    fn goes_first(&mut self, packet: &PacketView, now: Time) -> bool {
        let (more, most) = (self.time(f64::from(packet.size)), self.time(self.params.burst.0));
        let bucket = packet.flow_hash as usize % self.paid_until.len();
        let paid_until = &mut self.paid_until[bucket];
        *paid_until = (*paid_until).max(now) + more;
        paid_until.since(now) <= most
    }

    fn drops_front(&self) -> bool {
        true
    }

    fn classic_weight(&self) -> f64 {
        0.0
    }

    fn owed_at_rest(&self) -> Option<f64> {
        None
    }

    fn update(&mut self, _: Span, _: [u64; 2], _: &QueueView) {}

    fn judge_l4s(&mut self, _: &PacketView, _: usize, _: &QueueView, _: &mut Ctx) -> Verdict {
        Verdict::Pass
    }

    fn judge_classic(&mut self, _: &QueueView, _: &mut Ctx) -> Verdict {
        Verdict::Pass
    }

    fn observe(&self, i: usize, waiting: [usize; 2]) -> f64 {
        waiting[i] as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use crate::disciplines::{Carried, Discipline, Dual, Fate, Limit};
    use crate::{Ecn, OVERFLOW};
    use aqmlab_core::ParamSet;

    #[derive(Clone, Debug, PartialEq)]
    struct Packet(u32, u32);

    impl Carried for Packet {
        fn size(&self) -> u32 {
            1000
        }
        fn flow(&self) -> u32 {
            self.0
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn mark(&mut self) {}
    }

    /// 1 Mbit/s: a packet takes 8 ms; a burst of two packets.
    fn queue(limit: u32) -> Dual<SparseFirst, Packet> {
        let mut params = SparseFirstParams::defaults();
        params.read("x", [("burst", "2 kB")], &mut Vec::new());
        let view = bench::queue(0);
        Dual::new(SparseFirst::new(params, &view).unwrap(), view, Limit::Packets(limit), true)
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn left(queue: &mut Dual<SparseFirst, Packet>, now: Time) -> Vec<Packet> {
        let cx = &mut Ctx { now, rng: &mut bench::stream() };
        std::iter::from_fn(|| queue.dequeue(cx).map(|(packet, _)| packet)).collect()
    }

    #[test]
    fn what_is_beyond_the_burst_waits_for_sparse_flows() {
        let mut queue = queue(100);
        let cx = &mut Ctx { now: ms(0), rng: &mut bench::stream() };
        (0..4).for_each(|n| assert_eq!(queue.enqueue(Packet(1, n), cx), Fate::Kept));
        queue.enqueue(Packet(2, 0), cx);
        // Two of flow 1 are its burst; flow 2 passes the others.
        assert_eq!(left(&mut queue, ms(0)), [(1, 0), (1, 1), (2, 0), (1, 2), (1, 3)].map(|(f, n)| Packet(f, n)));
        // Four packets take 32 ms: at 24 ms one more is what a burst allows, and then not.
        let cx = &mut Ctx { now: ms(24), rng: &mut bench::stream() };
        (4..6).for_each(|n| assert_eq!(queue.enqueue(Packet(1, n), cx), Fate::Kept));
        assert_eq!([queue.observe(0), queue.observe(1)], [1.0, 1.0]);
    }

    #[test]
    fn who_finds_the_buffer_full_takes_the_place_of_the_oldest_bulk_packet() {
        let mut queue = queue(4);
        let cx = &mut Ctx { now: ms(0), rng: &mut bench::stream() };
        (0..5).for_each(|n| assert_eq!(queue.enqueue(Packet(1, n), cx), Fate::Kept));
        assert_eq!(queue.state().accounts.dropped, 1);
        assert_eq!(left(&mut queue, ms(0)), [0, 1, 3, 4].map(|n| Packet(1, n)));
        // Nothing but sparse packets: who comes last is dropped.
        (2..6).for_each(|flow| assert_eq!(queue.enqueue(Packet(flow, 0), cx), Fate::Kept));
        assert_eq!(queue.enqueue(Packet(6, 0), cx), Fate::Dropped(OVERFLOW));
    }
}
