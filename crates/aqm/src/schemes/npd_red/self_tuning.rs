//! Gains that are drawn from the range in which the loop is stable, for the network as it is estimated (Xiong et al. 2010,
//! figure 5).

use super::super::active_flows::ActiveFlows;
use super::super::round_trips::RoundTrips;
use crate::{Ctx, PacketView, QueueView};
use aqmlab_core::{Span, Time};

/// An estimate of the network from the packets that pass.
#[derive(Clone)]
pub(super) struct SelfTuning {
    active: ActiveFlows,
    round_trips: RoundTrips,
    /// Sum and number of the round trips that packets had since the last renewal, s.
    paths: (f64, u32),
    dropped: u64,
    /// The link has been idle since the last renewal.
    was_idle: bool,
    /// The last renewal: when, and how many packets had left by then.
    renewed: Option<(Time, f64)>,
    /// The estimates; each is kept until there is a new one.
    flows: Option<f64>,
    path: Option<f64>,
    capacity: Option<f64>,
}

impl SelfTuning {
    pub(super) fn new() -> Self {
        Self {
            active: ActiveFlows::default(),
            round_trips: RoundTrips::new(),
            paths: (0.0, 0),
            dropped: 0,
            was_idle: true,
            renewed: None,
            flows: None,
            path: None,
            capacity: None,
        }
    }

    /// A packet arrives.
    pub(super) fn note(&mut self, packet: &PacketView, queue: &QueueView, now: Time) {
        self.active.note(packet.flow_hash);
        if let Some(path) = self.round_trips.note(packet, queue, now) {
            self.paths = (self.paths.0 + path.seconds(), self.paths.1 + 1);
        }
    }

    /// A packet is dropped.
    pub(super) fn drop(&mut self) {
        self.dropped += 1;
    }

    /// The link falls idle.
    pub(super) fn fall_idle(&mut self) {
        self.was_idle = true;
    }

    /// Renews the estimates once `every` is over; tells whether it was.
    pub(super) fn renew(&mut self, every: Span, queue: &QueueView, now: Time) -> bool {
        let departed = queue.arrived_packets as f64 - self.dropped as f64 - f64::from(queue.packets);
        let Some((at, before)) = self.renewed else {
            self.renewed = Some((now, departed));
            return false;
        };
        if now.since(at) < every {
            return false;
        }
        if !self.was_idle {
            self.capacity = Some((departed - before) / now.since(at).seconds());
        }
        if self.paths.1 > 0 {
            self.path = Some(self.paths.0 / f64::from(self.paths.1));
        }
        let flows = self.active.take_count();
        if flows > 0.0 {
            self.flows = Some(flows);
        }
        self.renewed = Some((now, departed));
        (self.paths, self.was_idle) = ((0.0, 0), queue.packets == 0);
        true
    }

    /// Number of flows; round trip without this queue, s; capacity, packets/s.
    pub(super) fn estimates(&self) -> [Option<f64>; 3] {
        [self.flows, self.path, self.capacity]
    }

    /// The loop around a queue that rests at its target, once everything has been estimated.
    pub(super) fn control_loop(&self, target: f64, buffer: f64) -> Option<Loop> {
        let (n, path, c) = (self.flows?, self.path?, self.capacity?);
        Some(Loop { n, r: path + target / c, c, b: buffer })
    }
}

/// n flows of round trip r over a link of c packets a second with b packets of buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loop {
    n: f64,
    r: f64,
    c: f64,
    b: f64,
}

impl Loop {
    /// Draws of K_d if no K_p is stable with it.
    const DRAWS: usize = 16;

    /// K_p and K_d, each uniform within its range.
    pub(super) fn draw(&self, cx: &mut Ctx) -> Option<(f64, f64)> {
        (0..Self::DRAWS).find_map(|_| {
            let k_d = self.k_d_end() * (1.0 - cx.rng.uniform());
            let (low, high) = self.k_p_range(k_d)?;
            Some((low + (high - low) * cx.rng.uniform(), k_d))
        })
    }

    /// The negative end of K_d's range, eq. (23); the other one is 0.
    fn k_d_end(&self) -> f64 {
        let Self { n, r, c, b } = *self;
        -4.0 * n * b / (r * c * c * (1.0 + r))
    }

    /// K_p's range for a K_d: where all elements of the Routh array's first column are positive, eq. (19).
    fn k_p_range(&self, k_d: f64) -> Option<(f64, f64)> {
        let Self { n, r, c, b } = *self;
        let g = r * c * c / (2.0 * n * n * b);
        // Eqs. (13) to (17): a0 = g K_p, a1 = a1 - g r K_p, a2 = a2 + g r^2/2 K_p; a3 and a4 do not depend on K_p.
        let a1 = 2.0 / (r * r * c) + g * k_d;
        let a2 = 1.0 / n + 2.0 / (r * c) - g * k_d * (0.5 + r);
        let a3 = r / n + g * r / 2.0 * (1.0 + r) * k_d;
        let a4 = -g * r * r / 4.0 * k_d;
        // Eq. (28), a1 a2 a3 - a1^2 a4 - a0 a3^2 > 0, is u K_p^2 + v K_p + w > 0 with u < 0, eq. (30).
        let u = -g * g * r * r * (r / 2.0 * a3 + a4);
        let v = g * (a3 * (r * r / 2.0 * a1 - r * a2) + 2.0 * r * a1 * a4 - a3 * a3);
        let w = a1 * (a2 * a3 - a1 * a4);
        let root = (v * v - 4.0 * u * w).sqrt(); // not a number where there is none: the comparison below fails
        let low = ((root - v) / (2.0 * u)).max(0.0);
        let high = ((-root - v) / (2.0 * u)).min(a1 / (g * r)); // a1 - g r K_p > 0
        (a3 > 0.0 && root >= 0.0 && low < high).then_some((low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;

    /// The paper's link in packets: 50 flows, 0.1 s, 3 Mbit/s of 500 B, 75 packets.
    const LINK: Loop = Loop { n: 50.0, r: 0.1, c: 750.0, b: 75.0 };

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-4
    }

    #[test]
    fn ranges_by_hand() {
        // -4*50*75 / (0.1 * 750^2 * 1.1).
        assert!(close(LINK.k_d_end(), -15_000.0 / 61_875.0));
        // g = 0.15; K_d = -0.1: a1 = 0.251667 - 0.015 K, a2 = 0.0556667 + 0.00075 K, a3 = 0.001175, a4 = 3.75e-5;
        // -2.165625e-8 K^2 - 6.83187e-7 K + 1.408598e-5 > 0 up to K = 14.2138.
        let (low, high) = LINK.k_p_range(-0.1).unwrap();
        assert!(low == 0.0 && close(high, 14.2138), "{low}, {high}");
        // Close to its end, K_d leaves K_p no more than 15.2426 to 15.3520 (roots of the polynomials in numpy).
        let (low, high) = LINK.k_p_range(0.999 * LINK.k_d_end()).unwrap();
        assert!(close(low, 15.2426) && close(high, 15.3520), "{low}, {high}");
        assert_eq!(LINK.k_p_range(1.001 * LINK.k_d_end()), None);
        // Few flows: half of K_d's range has no stable K_p at 0.9 of its end.
        let few = Loop { n: 5.0, ..LINK };
        assert_eq!(few.k_p_range(0.9 * few.k_d_end()), None);
        assert!(close(few.k_p_range(0.5 * few.k_d_end()).unwrap().1, 0.043_655_6));
    }

    /// Uniform: a K_d has the mean of half its end, 0.0700 as its deviation; 5 standard errors of 10 000 draws.
    #[test]
    fn gains_fill_their_ranges() {
        let mut rng = bench::stream();
        let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
        let drawn: Vec<_> = (0..10_000).map(|_| LINK.draw(&mut cx).unwrap()).collect();
        let mean = drawn.iter().map(|(_, k_d)| k_d).sum::<f64>() / 10_000.0;
        assert!((mean / LINK.k_d_end() - 0.5).abs() < 5.0 * 0.289 / 100.0, "{mean}");
        for (k_p, k_d) in drawn {
            let (low, high) = LINK.k_p_range(k_d).unwrap();
            assert!((low..high).contains(&k_p), "{k_p}, {k_d}");
        }
    }

    /// One renewal a second; `arrived` packets in all, `waiting` of them in the queue.
    fn renew(tuning: &mut SelfTuning, second: u64, arrived: u64, waiting: u32) {
        let queue = QueueView { arrived_packets: arrived, ..bench::queue(waiting) };
        tuning.renew(Span::from_secs(1), &queue, Time::ZERO + Span::from_secs(second));
    }

    #[test]
    fn departures_of_a_busy_second_are_the_capacity() {
        let mut tuning = SelfTuning::new();
        renew(&mut tuning, 0, 0, 0);
        renew(&mut tuning, 1, 500, 20);
        assert_eq!(tuning.capacity, None, "it began idle");
        // 1100 arrive, 60 are dropped, the queue grows by 40: 1000 leave.
        (0..60).for_each(|_| tuning.drop());
        renew(&mut tuning, 2, 1600, 60);
        assert_eq!(tuning.capacity, Some(1000.0));
        tuning.fall_idle();
        renew(&mut tuning, 3, 1800, 0);
        renew(&mut tuning, 4, 1900, 30);
        assert_eq!(tuning.capacity, Some(1000.0), "neither second was busy throughout");
    }

    #[test]
    fn round_trips_and_flows_of_those_that_send() {
        let mut tuning = SelfTuning::new();
        renew(&mut tuning, 0, 0, 0);
        let arrive = |tuning: &mut SelfTuning, flow: u32, ms: u64| {
            let packet = PacketView { flow_hash: flow, ..bench::packet() };
            tuning.note(&packet, &bench::queue(0), Time::ZERO + Span::from_millis(ms));
        };
        // Flow 1 takes 100 ms and sends three packets that tell so, flow 2 takes 180 ms and sends one.
        for (flow, ms) in [(1, 0), (2, 0), (1, 100), (1, 101), (1, 102), (2, 180)] {
            arrive(&mut tuning, flow, ms);
        }
        renew(&mut tuning, 1, 0, 0);
        assert!(close(tuning.path.unwrap(), 0.12) && (tuning.flows.unwrap() - 2.0).abs() < 0.01);
        assert_eq!(tuning.control_loop(50.0, 75.0), None, "the link was idle");
        renew(&mut tuning, 2, 0, 0);
        assert!(close(tuning.path.unwrap(), 0.12) && tuning.flows.unwrap() > 1.9, "they stay while nobody sends");
        // At rest the target of 50 packets adds 50 ms at 1000 packets/s.
        (tuning.flows, tuning.capacity) = (Some(20.0), Some(1000.0));
        let rest = tuning.control_loop(50.0, 75.0).unwrap();
        assert!(close(rest.r, 0.17) && (rest.n, rest.c, rest.b) == (20.0, 1000.0, 75.0), "{rest:?}");
    }
}
