use crate::{Aqm, Ctx, FORCED, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Auto, Bytes, Packets, Ratio, Time, choice, params};

choice! {
    /// The unit in which the virtual queue counts.
    pub enum CountingUnit {
        /// Bytes on the wire.
        Bytes = "bytes",
        /// Packets, each taken for `mean_packet` bytes.
        Packets = "packets",
    }
}

params! {
    /// Adaptive Virtual Queue: signals what would overflow a virtual queue whose capacity adapts to the load.
    ///
    /// ## Idea
    /// A virtual queue sees the same arrivals as the real one but is served a little more slowly, so it overflows
    /// first. Its capacity falls while the link carries more than a desired utilization and rises while it carries
    /// less.
    ///
    /// ## Equations
    /// At each arrival of size b, `t` since the arrival before, C the link's capacity and V the virtual buffer:
    ///
    /// ```text
    /// vq = max(0, vq - c * t)
    /// vq + b > V: mark or drop;    else vq = vq + b
    /// c  = clamp(c + alpha * (gamma * C * t - b), 0, C)
    /// ```
    ///
    /// c starts at `initial_ratio` * C. Nothing is drawn at random. AVQ aims at a utilization, not at the link's
    /// target.
    ///
    /// ## What to expect
    /// In packets, C is too large if packets are larger than `mean_packet` (1000-byte segments are 1,040 bytes on the
    /// wire): c stays at C, the virtual queue never fills, and the real buffer does. Count in bytes.
    ///
    /// ## Readings
    /// ns-2.35: a packet that the virtual queue drops does not adapt c, and t in the last line runs on, so that the
    /// accepted rate is controlled; a marked packet adapts it. A packet that the full real buffer refuses is offered
    /// like any other. Jafar's beta = 0.8 is `initial_ratio`.
    ///
    /// ## Departures
    /// If the queue marks, ns-2 lets packets pass that cannot carry a mark. The simulator drops them, as RFC 3168
    /// requires.
    pub struct AvqParams for Avq {
        /// Rate at which the virtual capacity adapts.
        alpha: f64 = "0.15" in "0" ..= "1000", unit "1/s", from "Kunniyur & Srikant 2001; ns-2; Jafar, Table 1";
        /// Desired utilization.
        gamma: Ratio = "0.98" in "0" ..= "1", from "Kunniyur & Srikant 2001; ns-2 (Jafar: 1)";
        /// Virtual capacity over capacity, to begin with.
        initial_ratio: Ratio = "0.8" in "0" ..= "1", from "ns-2 (ecnlim_); Jafar, Table 1 (beta)";
        /// Room in the virtual queue; "auto" is the link's buffer, as in ns-2.
        virtual_buffer: Auto<Packets> = "auto" in "1 packets" ..= "10000000 packets", from "ns-2";
        /// Count bytes or packets.
        count_in: CountingUnit = "bytes", from "ns-2 (queue_in_bytes_)";
        /// Packet size that turns packets into bytes.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "ns-2";
    }
}

impl AvqParams {
    /// Size of a packet in what `count_in` says.
    fn packet(&self) -> f64 {
        match self.count_in {
            CountingUnit::Bytes => self.mean_packet.0,
            CountingUnit::Packets => 1.0,
        }
    }

    /// Of the link.
    fn capacity(&self, queue: &QueueView) -> f64 {
        queue.rate.0 / (8.0 * self.mean_packet.0) * self.packet()
    }
}

/// See [`AvqParams`]. Sizes are in what `count_in` says.
#[derive(Clone)]
pub struct Avq {
    params: AvqParams,
    /// The link's, when the last packet came.
    capacity: f64,
    virtual_capacity: f64,
    virtual_queue: f64,
    arrived_before: u64,
    drained_at: Option<Time>,
    adapted_at: Option<Time>,
    /// The packet last judged could be marked: a refused one is not shown.
    marks: bool,
}

impl Avq {
    /// All that was offered so far.
    fn arrived(&self, queue: &QueueView) -> u64 {
        match self.params.count_in {
            CountingUnit::Bytes => queue.arrived_bytes,
            CountingUnit::Packets => queue.arrived_packets,
        }
    }

    /// Serves the virtual queue, offers it the packet that has just arrived and adapts its capacity: whether it fits.
    fn offer(&mut self, queue: &QueueView, now: Time) -> bool {
        let arrived = self.arrived(queue);
        let size = (arrived - self.arrived_before) as f64;
        self.arrived_before = arrived;
        self.follow_rate(queue);
        let served = self.virtual_capacity * since(self.drained_at.replace(now), now);
        self.virtual_queue = (self.virtual_queue - served).max(0.0);
        let virtual_buffer =
            self.params.virtual_buffer.unwrap_or_else(|| Packets(queue.limit)).0 * self.params.packet();
        let fits = self.virtual_queue + size <= virtual_buffer;
        if fits {
            self.virtual_queue += size;
        }
        if fits || self.marks {
            self.adapt(size, now);
        }
        fits
    }

    /// On a link of another rate the virtual capacity keeps its share of the link's.
    fn follow_rate(&mut self, queue: &QueueView) {
        let capacity = self.params.capacity(queue);
        if capacity != self.capacity {
            self.virtual_capacity *= capacity / self.capacity;
            self.capacity = capacity;
        }
    }

    fn adapt(&mut self, size: f64, now: Time) {
        let AvqParams { alpha, gamma, .. } = self.params;
        let desired = gamma.0 * self.capacity * since(self.adapted_at.replace(now), now);
        self.virtual_capacity = (self.virtual_capacity + alpha * (desired - size)).clamp(0.0, self.capacity);
    }
}

/// Seconds; nothing has passed before the first packet.
fn since(earlier: Option<Time>, now: Time) -> f64 {
    earlier.map_or(0.0, |earlier| now.since(earlier).seconds())
}

impl Scheme for Avq {
    const INFO: SchemeInfo = SchemeInfo {
        name: "avq",
        title: "AVQ",
        family: "load-based",
        year: 2001,
        source: "Kunniyur & Srikant, SIGCOMM 2001; ns-2.35 queue/vq.cc",
        confidence: "checked against ns-2.35 in packets over 8 scenarios, marking and dropping",
        papers: &["jafar"],
    };
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "virtual_capacity", unit: "ratio", doc: "virtual capacity over the link's" },
        Observable { name: "virtual_queue", unit: "packets", doc: "virtual queue, in packets of the mean size" },
    ];
    const AT_START: &'static [(&'static str, &'static str)] =
        &[("initial_ratio", "the virtual capacity has adapted since"), ("count_in", "the virtual queue is kept in it")];

    fn new(params: AvqParams, queue: &QueueView) -> Result<Self, String> {
        let capacity = params.capacity(queue);
        let mut avq = Self {
            params,
            capacity,
            virtual_capacity: params.initial_ratio.0 * capacity,
            virtual_queue: 0.0,
            arrived_before: 0,
            drained_at: None,
            adapted_at: None,
            marks: false,
        };
        avq.arrived_before = avq.arrived(queue);
        Ok(avq)
    }

    const SIGNAL: Result<Signal, &'static str> =
        Err("has no signal probability: it signals packets that its virtual queue has no room for");
}

impl Aqm for Avq {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.marks = packet.can_mark;
        let fits = self.offer(queue, cx.now);
        if fits { Verdict::Pass } else { Verdict::Signal(FORCED) }
    }

    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.offer(queue, cx.now);
    }

    fn observe(&self, i: usize) -> f64 {
        [self.virtual_capacity / self.capacity, self.virtual_queue / self.params.packet()][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Span};

    /// 1000 packets/s of 1000 B, C = 10^6 B/s, 0.8 of it to begin with, room for 3 packets.
    fn avq(changes: &[(&str, &str)]) -> Avq {
        let mut params = AvqParams::defaults();
        params.read("avq", [("virtual_buffer", "3 packets")].iter().chain(changes).copied(), &mut Vec::new());
        Avq::new(params, &bench::queue(0)).unwrap()
    }

    /// The `number`-th packet arrives at `ms`; the queue marks or drops.
    fn arrive(avq: &mut Avq, number: u64, ms: f64, can_mark: bool) -> Verdict {
        let view = QueueView { arrived_packets: number, arrived_bytes: 1000 * number, ..bench::queue(0) };
        let now = Time::ZERO + Span::from_seconds(ms / 1000.0);
        let packet = PacketView { can_mark, ..bench::packet() };
        avq.on_enqueue(&packet, &view, &mut Ctx { now, rng: &mut bench::stream() })
    }

    #[test]
    fn the_virtual_queue_drains_at_the_virtual_capacity_and_signals_what_does_not_fit() {
        let mut avq = avq(&[("alpha", "0")]);
        for number in 1..=3 {
            assert_eq!(arrive(&mut avq, number, 0.0, false), Verdict::Pass);
        }
        assert_eq!(avq.virtual_queue, 3000.0);
        // After 1 ms 800 B have gone: 2200 + 1000 is too much. After another 0.25 ms, 2000 + 1000 fits exactly.
        assert_eq!(arrive(&mut avq, 4, 1.0, false), Verdict::Signal(FORCED));
        assert!((avq.virtual_queue - 2200.0).abs() < 1e-6);
        avq.virtual_queue -= 1e-6;
        assert_eq!(arrive(&mut avq, 5, 1.25, false), Verdict::Pass);
    }

    #[test]
    fn the_capacity_follows_the_desired_utilisation() {
        let mut avq = avq(&[]);
        // The first packet: 800_000 - 0.15*1000. Then 10 ms: + 0.15*(0.98*10^6*0.01 - 1000) = 0.15*8800.
        arrive(&mut avq, 1, 0.0, false);
        assert!((avq.virtual_capacity - 799_850.0).abs() < 1e-6);
        arrive(&mut avq, 2, 10.0, false);
        assert!((avq.virtual_capacity - 801_170.0).abs() < 1e-6);
    }

    #[test]
    fn a_dropped_packet_leaves_the_capacity_alone_and_a_marked_one_does_not() {
        for (can_mark, expected) in [(false, 800_000.0), (true, 799_850.0)] {
            let mut avq = avq(&[]);
            avq.virtual_queue = 3000.0;
            assert_eq!(arrive(&mut avq, 1, 0.0, can_mark), Verdict::Signal(FORCED));
            assert!((avq.virtual_capacity - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn a_packet_that_the_real_buffer_refuses_is_offered_too() {
        let mut avq = avq(&[("count_in", "packets")]);
        let view = QueueView { arrived_packets: 1, arrived_bytes: 1000, ..bench::queue(100) };
        avq.on_overflow(&view, &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        assert_eq!(avq.virtual_queue, 1.0);
        assert!((avq.virtual_capacity - 799.85).abs() < 1e-9);
    }
}
