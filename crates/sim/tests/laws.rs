//! Laws of congestion control from elsewhere: each is declared here and registered with one line. They ask for all that a
//! law can ask for.

use aqmlab_core::{Frequency, ParamSet, Span, Time, params};
use aqmlab_scenario::parse;
use aqmlab_sim::{FlowResult, LinkResult, Options, run};
use aqmlab_tcp::cc::{self, CongestionEvent, Facts, LawInfo, Needs, RateSample, Window};
use aqmlab_tcp::{CongestionControl, CongestionControlLaw, EcnFeedback, TcpVariant};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, Once};

params! {
    /// The window falls by the share of segments that were marked (RFC 8257, section 3.3).
    pub struct ScalableParams {
        /// Weight of the last window of data.
        g: f64 = "0.0625" in "0.001" ..= "1";
    }
}

/// The same law over either feedback: what it believes must not depend on how it is told.
#[derive(Clone, Debug)]
struct Scalable<const COUNTS: bool> {
    g: f64,
    /// Share of marked segments, smoothed over windows of data.
    alpha: f64,
    acked: u32,
    marked: u32,
    /// Segments of this window of data still to be acknowledged.
    left: u32,
}

/// Marks that senders were told of, by kind of feedback.
static MARKS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

impl<const COUNTS: bool> CongestionControlLaw for Scalable<COUNTS> {
    const INFO: LawInfo = LawInfo {
        name: if COUNTS { "test-scalable-counted" } else { "test-scalable" },
        title: "Scalable",
        year: 2026,
        source: "this test",
    };
    const NEEDS: Needs = Needs {
        feedback: if COUNTS { EcnFeedback::Counter } else { EcnFeedback::PerPacket },
        every_ack: true,
        ..Needs::NONE
    };
    type Params = ScalableParams;

    fn new(params: ScalableParams) -> Self {
        Self { g: params.g, alpha: 1.0, acked: 0, marked: 0, left: 0 }
    }
}

impl<const COUNTS: bool> CongestionControl for Scalable<COUNTS> {
    fn on_feedback(&mut self, _: &mut Window, ack: &Facts) {
        MARKS[usize::from(COUNTS)].fetch_add(ack.marked.into(), Relaxed);
        self.acked += ack.acked;
        self.marked += ack.marked;
        self.left = self.left.saturating_sub(ack.acked);
        if self.left == 0 && self.acked > 0 {
            let share = f64::from(self.marked) / f64::from(self.acked);
            self.alpha += self.g * (share.min(1.0) - self.alpha);
            (self.acked, self.marked, self.left) = (0, 0, ack.flight - ack.acked);
        }
    }

    fn on_ack(&mut self, window: &mut Window, _: &Facts) {
        window.cwnd += if window.cwnd < window.ssthresh { 1.0 } else { 1.0 / window.cwnd };
    }

    fn kept(&self, event: CongestionEvent) -> f64 {
        if event == CongestionEvent::Echo { 1.0 - self.alpha / 2.0 } else { 0.5 }
    }
}

params! {
    /// Sends at a fixed rate, whatever happens.
    pub struct PacedParams {
        /// Segments per second.
        rate: Frequency = "100 Hz" in "1 Hz" ..= "100 kHz";
    }
}

#[derive(Clone, Debug)]
struct Paced {
    rate: f64,
}

/// The samples of the delivery rate that a paced sender has seen, and what it was told was lost.
static RATES: Mutex<Vec<f64>> = Mutex::new(Vec::new());
static LOST: AtomicU32 = AtomicU32::new(0);

impl CongestionControlLaw for Paced {
    const INFO: LawInfo = LawInfo { name: "test-paced", title: "Paced", year: 2026, source: "this test" };
    const NEEDS: Needs = Needs { rate_samples: true, pacing: true, ..Needs::NONE };
    type Params = PacedParams;

    fn new(params: PacedParams) -> Self {
        Self { rate: params.rate.0 }
    }
}

impl CongestionControl for Paced {
    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        window.cwnd = 1000.0;
        RATES.lock().unwrap().extend(ack.sample.map(|sample| sample.rate));
        LOST.fetch_add(ack.lost, Relaxed);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}

    fn kept(&self, _: CongestionEvent) -> f64 {
        1.0
    }

    fn on_recovered(&mut self, _: &mut Window) {}

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.rate)
    }
}

params! {
    /// Keeps `gain` times the product of bandwidth and least round-trip time in flight, and paces at the bandwidth, as BBR's
    /// model says (draft-cardwell-iccrg-bbr-congestion-control).
    pub struct ModelParams {
        /// Segments in flight over that product.
        gain: f64 = "2" in "1.1" ..= "10";
    }
}

/// Round trips that a delivery rate is remembered for.
const ROUNDS: usize = 10;
/// Gains of the pace while it probes for more bandwidth, each for a least round-trip time.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The bandwidth grows; so many round trips ago it did.
    Startup(u32),
    /// What startup has left in the queue drains.
    Drain,
    /// This gain of the cycle, since that time.
    Probe(usize, Time),
}

#[derive(Clone, Debug)]
struct Model {
    gain: f64,
    /// Greatest delivery rate of each of the last round trips, segments per second.
    rates: [f64; ROUNDS],
    round: usize,
    /// Segments delivered when the present round trip began.
    round_start: u64,
    /// Bandwidth when it last grew by a quarter.
    grown: f64,
    min_rtt: Span,
    phase: Phase,
}

impl CongestionControlLaw for Model {
    const INFO: LawInfo = LawInfo { name: "test-model", title: "Model", year: 2026, source: "this test" };
    const NEEDS: Needs = Needs { rate_samples: true, pacing: true, ..Needs::NONE };
    type Params = ModelParams;

    fn new(params: ModelParams) -> Self {
        let (gain, rates, phase) = (params.gain, [0.0; ROUNDS], Phase::Startup(0));
        Self { gain, rates, round: 0, round_start: 0, grown: 0.0, min_rtt: Span::ZERO, phase }
    }
}

impl CongestionControl for Model {
    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        let Some(sample) = ack.sample else { return };
        self.min_rtt = sample.min_rtt;
        if sample.prior_delivered >= self.round_start {
            self.round_start = sample.delivered;
            self.end_round();
        }
        let rate = &mut self.rates[self.round % ROUNDS];
        *rate = rate.max(sample.rate);
        self.phase = self.next_phase(&sample, ack.now);
        window.cwnd = (self.gain * self.product()).max(4.0);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}

    fn pacing_rate(&self) -> Option<f64> {
        let gain = match self.phase {
            Phase::Startup(_) => self.gain,
            Phase::Drain => 1.0 / self.gain,
            Phase::Probe(i, _) => CYCLE[i],
        };
        let rate = gain * self.bandwidth();
        (rate > 0.0).then_some(rate)
    }
}

impl Model {
    fn bandwidth(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// Segments that the path holds without a queue.
    fn product(&self) -> f64 {
        self.bandwidth() * self.min_rtt.seconds()
    }

    fn end_round(&mut self) {
        let bandwidth = self.bandwidth();
        if let Phase::Startup(ago) = &mut self.phase {
            *ago += 1;
            if bandwidth > 1.25 * self.grown {
                (self.grown, *ago) = (bandwidth, 0);
            }
        }
        self.round += 1;
        self.rates[self.round % ROUNDS] = 0.0;
    }

    fn next_phase(&self, sample: &RateSample, now: Time) -> Phase {
        match self.phase {
            Phase::Startup(3..) => Phase::Drain,
            Phase::Drain if f64::from(sample.in_flight) <= self.product() => Phase::Probe(0, now),
            Phase::Probe(i, since) if now.since(since) > self.min_rtt => Phase::Probe((i + 1) % CYCLE.len(), now),
            same => same,
        }
    }
}

/// Sets a window that cannot be, at the tenth ACK.
#[derive(Clone, Debug)]
struct Odd<const ZERO: bool> {
    acks: u32,
}

params! {
    /// None.
    pub struct OddParams {}
}

impl<const ZERO: bool> CongestionControlLaw for Odd<ZERO> {
    const INFO: LawInfo =
        LawInfo { name: if ZERO { "test-zero" } else { "test-nan" }, title: "Odd", year: 2026, source: "this test" };
    type Params = OddParams;

    fn new(_: OddParams) -> Self {
        Self { acks: 0 }
    }
}

impl<const ZERO: bool> CongestionControl for Odd<ZERO> {
    fn on_ack(&mut self, window: &mut Window, _: &Facts) {
        self.acks += 1;
        if self.acks == 10 {
            window.cwnd = if ZERO { 0.0 } else { f64::NAN };
        }
    }
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        cc::register::<Scalable<false>>().unwrap();
        cc::register::<Scalable<true>>().unwrap();
        cc::register::<Paced>().unwrap();
        cc::register::<Model>().unwrap();
    });
}

/// Flows with this TCP over 20 ms and 12 Mbit/s, 1500 segments of 1000 B a second, for 60 s after 20 s.
fn measure(aqm: &str, buffer: u32, flows: &str) -> (LinkResult, FlowResult) {
    register();
    let text = format!(
        "schema = 1\nduration = \"80 s\"\nwarmup = \"20 s\"\n[[links]]\nrate = \"12 Mbit/s\"\nbuffer = \"{buffer} packets\"\n\
         aqm = \"{aqm}\"\necn = true\n[[flows]]\nrtt = \"20 ms\"\npacket = \"960 B\"\n{flows}"
    );
    let scenario = parse(&text, "laws", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let result = run(scenario, Options { seed: 1, ..Options::default() }).unwrap().result;
    (result.links[0].1.clone(), result.flows[0].1.clone())
}

#[test]
fn a_law_from_elsewhere_is_chosen_like_any_other() {
    register();
    assert!(cc::register::<Paced>().unwrap_err().contains("already"));
    let text = |tcp: &str| {
        format!(
            "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n[[flows]]\n\
             rtt = \"9 ms\"\ntcp = \"{tcp}\"\n"
        )
    };
    let control = |tcp| parse(&text(tcp), "own", &[]).map(|scenario| scenario.flows[0].control.text());
    assert_eq!(control("test-paced").unwrap(), "test-paced:rate=100 Hz");
    assert_eq!(control("test-paced:rate=2 kHz").unwrap(), "test-paced:rate=2 kHz");
    assert!(control("test-pacd").unwrap_err().to_string().contains("did you mean \"test-paced\"?"));
    assert!(PacedParams::specs().iter().any(|spec| spec.name == "rate"));
}

#[test]
fn an_answer_that_cannot_be_ends_the_run_and_is_named() {
    cc::register::<Odd<false>>().unwrap();
    cc::register::<Odd<true>>().unwrap();
    for (law, why) in [("test-nan", "on_ack set cwnd to NaN"), ("test-zero", "on_ack set cwnd to 0")] {
        let text = format!(
            "schema = 1\nduration = \"9 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n[[flows]]\n\
             rtt = \"9 ms\"\ntcp = \"{law}\"\n"
        );
        let error = run(parse(&text, "odd", &[]).unwrap(), Options::default()).unwrap_err().to_string();
        assert!(error.contains(law) && error.contains(why), "{error}");
    }
}

#[test]
fn every_mark_reaches_a_sender_that_asks_for_it() {
    // A scalable flow sees about two marks in a round trip (RFC 9332, appendix A: with a step, 2/W of its segments).
    for (tcp, counts) in [("test-scalable", 0), ("test-scalable-counted", 1)] {
        for delayed in [false, true] {
            let tcp = format!("ecn = true\ntcp = {{ congestion_control = \"{tcp}\", delayed_ack = {delayed} }}\n");
            let told = MARKS[counts].load(Relaxed);
            let (link, flows) = measure("dctcp-step:k=30 packets", 400, &tcp);
            let told = MARKS[counts].load(Relaxed) - told;
            assert_eq!(flows.retransmits, 0, "{tcp}: a lost segment or mark would not be counted twice");
            // What was received in the 20 s before the measurement, and what is on its way, is not in `marked`.
            let share = told as f64 / flows.marked as f64;
            assert!((1.0..1.6).contains(&share), "{tcp}: told of {told}, {} were received", flows.marked);
            assert!(link.utilisation > 0.97, "{tcp}: {}", link.utilisation);
            assert!((20.0..32.0).contains(&link.queue_mean), "{tcp}: {}, marked from 30 on", link.queue_mean);
        }
    }
}

#[test]
fn a_paced_law_sends_at_its_rate_and_sees_it_delivered() {
    let (link, flows) = measure("droptail", 400, "tcp = \"test-paced:rate=750 Hz\"\n");
    // 750 segments of 960 B a second: 5.76 Mbit/s, half of the link, one packet at a time.
    assert!((flows.goodput / 5.76e6 - 1.0).abs() < 1e-3, "{}", flows.goodput);
    assert_eq!((link.queue_p95, flows.retransmits), (0, 0));
    let rates = std::mem::take(&mut *RATES.lock().unwrap());
    let settled = &rates[100..];
    assert!(settled.iter().all(|rate| (rate / 750.0 - 1.0).abs() < 0.08), "one more or less of 15 in a round trip");
    let mean = settled.iter().sum::<f64>() / settled.len() as f64;
    assert!((mean / 750.0 - 1.0).abs() < 0.01, "{mean}");
    assert_eq!(LOST.load(Relaxed), 0);
    // 1600 a second do not fit into 1500: what recovery sends again is told.
    let (link, flows) = measure("droptail", 20, "tcp = \"test-paced:rate=1600 Hz\"\n");
    assert!(flows.retransmits > 0 && link.dropped > 0);
    assert!(f64::from(LOST.load(Relaxed)) > flows.retransmits as f64, "the 20 s before count too");
}

#[test]
fn a_law_with_a_model_of_the_path_fills_the_link_and_not_the_buffer() {
    let alone = |tcp: &str, buffer| measure("droptail", buffer, &format!("tcp = \"{tcp}\"\n"));
    // The path holds 30 segments, the buffer 13 times as many; CUBIC fills both.
    let (link, _) = alone("cubic", 400);
    assert!(link.queue_mean > 240.0, "{}", link.queue_mean);
    // In one of eight round trips a quarter of 30 too much is sent, in the next it drains: 7.5 at most, a mean of 7.5/8.
    // Half a segment more stays; why is not known. With a gain of 3 it did not before a pace made good what it was late, with 2 not
    // before receivers acknowledged the ends of writes at once, with 1.5 not before writes ended where those of Linux do.
    for gain in [1.5, 2.0, 3.0] {
        let (link, flows) = alone(&format!("test-model:gain={gain}"), 400);
        assert!(link.utilisation > 0.99, "gain {gain}: {}", link.utilisation);
        assert!((0.8..1.6).contains(&link.queue_mean) && link.queue_p95 <= 7, "gain {gain}: {link:?}");
        assert_eq!(flows.retransmits, 0);
    }
}

#[test]
fn a_law_that_owns_the_window_comes_with_rack_and_refuses_other_recovery() {
    let parsed = |tcp: &str| {
        let text = format!(
            "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n[[flows]]\n\
             rtt = \"9 ms\"\ntcp = {tcp}\n"
        );
        parse(&text, "own", &[]).map(|scenario| scenario.flows[0].variant).map_err(|why| why.to_string())
    };
    assert_eq!(parsed("\"bbr\""), Ok(TcpVariant::Rack));
    assert_eq!(parsed("{ profile = \"linux\", congestion_control = \"bbr3\" }"), Ok(TcpVariant::Rack));
    let refused = parsed("{ variant = \"sack\", congestion_control = \"bbr\" }").unwrap_err();
    assert!(refused.contains("tcp.variant") && refused.contains("\"rack\""), "{refused}");
}

#[test]
fn bbr_alone_fills_the_link_and_not_the_buffer() {
    // The path holds 30 segments. BBR keeps 30 in flight, up to 6 more when it has drained, and 1.25*30 + 8 when it probes,
    // in one of eight round trips: 16 in the queue at most, and 6 in most of them. 2 % are for the round-trip time.
    for (tcp, least) in [("bbr", 0.97), ("bbr3", 0.95)] {
        let (link, flows) = measure("droptail", 400, &format!("tcp = \"{tcp}\"\n"));
        assert!((least..0.99).contains(&link.utilisation), "{tcp}: {}", link.utilisation);
        assert!(link.queue_mean < 8.0 && link.queue_p95 <= 32, "{tcp}: {link:?}");
        assert_eq!(flows.retransmits, 0, "{tcp}");
    }
}

#[test]
fn beside_cubic_bbr_has_less_the_longer_the_buffer() {
    // The path holds 66 segments. Linux 6.1 gives BBR 88 % of the link beside a CUBIC flow at 66 packets, 42 % at 264.
    for (buffer, share) in [(66, 0.75..0.95), (264, 0.3..0.55)] {
        let flows = |law: &str| {
            format!(
                "[[flows]]\nname = \"{law}\"\nrtt = \"40 ms\"\npacket = \"1448 B\"\n\
                 tcp = {{ profile = \"linux\", congestion_control = \"{law}\" }}\n"
            )
        };
        let text = format!(
            "schema = 1\nduration = \"70 s\"\nwarmup = \"10 s\"\n[[links]]\nrate = \"20 Mbit/s\"\n\
             buffer = \"{buffer} packets\"\naqm = \"droptail\"\n{}{}",
            flows("cubic"),
            flows("bbr")
        );
        let scenario = parse(&text, "beside", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let result = run(scenario, Options { seed: 1, ..Options::default() }).unwrap().result;
        let [cubic, bbr] = [0, 1].map(|i| result.flows[i].1.goodput);
        assert!(share.contains(&(bbr / (cubic + bbr))), "{buffer} packets: {cubic} {bbr}");
    }
}

#[test]
fn a_paced_law_sends_no_burst_at_a_loss() {
    // A buffer of 5 loses 2.5 of the 7.5 segments too many, of 240 in eight round trips. The window has room for 30 more
    // when the loss is told of; at once they would find no room in the queue.
    let (link, flows) = measure("droptail", 5, "tcp = \"test-model\"\n");
    assert!(link.utilisation > 0.96, "{}", link.utilisation);
    assert!((0.005..0.02).contains(&link.drop_ratio), "{}", link.drop_ratio);
    assert!(flows.retransmits < 2 * link.dropped, "{} for {}", flows.retransmits, link.dropped);
}
