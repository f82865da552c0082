use super::sequence::REMEMBERED;
use super::*;
use crate::cases::config;
use crate::packet::{Layout, UDP, tests::v4};
use crate::rtp::tests::{feedback, rtp};
use proptest::prelude::*;

const SSRC: u32 = 0x5151;
/// Of flow 0.
const FLOW: u32 = 0;

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000_000)
}

/// A call with frames of two packets of 1000 bytes, one each 40 ms.
struct Sender {
    calls: Calls,
    seq: u16,
}

impl Sender {
    fn new(warmup: Time) -> Self {
        Self { calls: Calls::new(warmup), seq: 65_530 }
    }

    /// A frame that comes at `now`, of which the packets come through so many ms later, or never.
    fn frame(&mut self, now: u64, through: [Option<u64>; 2]) {
        let packets = [0, 1].map(|i| rtp(SSRC, self.seq.wrapping_add(i), 90 * now as u32, i == 1, 1000));
        self.seq = self.seq.wrapping_add(2);
        packets.iter().for_each(|packet| self.calls.comes(FLOW, packet, ms(now)));
        for (packet, later) in packets.iter().zip(through) {
            if let Some(later) = later {
                self.calls.goes(FLOW, packet, 1040, later % 2 == 1, ms(now + later));
            }
        }
    }

    fn facts(&self, feedback: &StreamFeedback, now: u64) -> (MediaResult, RtpResult) {
        let (media, rtp) = self.calls.streams[&(FLOW, SSRC)].facts(feedback, ms(now));
        (measured(&media), RtpResult::of(&rtp))
    }
}

fn near(found: Option<f64>, expected: f64) {
    assert!((found.unwrap() - expected).abs() < 0.002 * expected.max(0.001), "{found:?} is not {expected}");
}

#[test]
fn frames_at_a_line_by_hand() {
    let mut sender = Sender::new(Time::ZERO);
    for i in 0..10 {
        sender.frame(40 * i, [Some(20), Some(30)]);
    }
    sender.frame(400, [Some(20), Some(240)]);
    sender.frame(440, [Some(201), None]);
    sender.frame(480, [Some(201), Some(202)]);
    sender.frame(1400, [Some(20), Some(30)]);
    let (media, rtp) = sender.facts(&StreamFeedback::default(), 1500);
    assert_eq!((media.frames, media.target, media.resent), (14, None, 0));
    // Eleven of 30 ms, one of 240 and one of 202; one is never whole.
    near(media.frame_delay_mean, (11.0 * 0.030 + 0.240 + 0.202) / 13.0);
    near(media.lost_ratio, 1.0 / 14.0);
    near(media.late_ratio, 2.0 / 14.0);
    assert_eq!((rtp.sent, rtp.feedbacks, rtp.feedback_interval), (28, 0, None));
    near(rtp.loss_ratio, 1.0 / 28.0);
    // Those with an odd delay: 201 twice.
    near(rtp.mark_ratio, 2.0 / 27.0);
    // In the first second 25 packets and in the second two, at 8 bit a byte.
    assert_eq!(media.rates, Some(vec![vec![200e3, 16e3]]));
    // Shown at 130, 170 ... 490 ms; then at 640, 150 ms later, which is less than 40 and 150; then, as the next is given up,
    // the one of 480 and that of 1400 at 1530: a gap of 100 more than three times as long.
    assert_eq!(media.freezes, 1);
}

#[test]
fn what_is_missing_before_the_line_and_what_comes_twice() {
    let mut sender = Sender::new(Time::ZERO);
    for i in 0..10 {
        sender.frame(40 * i, [Some(20), Some(30)]);
    }
    sender.seq = sender.seq.wrapping_add(1);
    sender.frame(400, [Some(20), Some(30)]);
    let again = rtp(SSRC, sender.seq.wrapping_sub(2), 90 * 400, false, 1000);
    sender.calls.comes(FLOW, &again, ms(435));
    sender.calls.goes(FLOW, &again, 1040, false, ms(455));
    sender.frame(1100, [Some(20), Some(30)]);
    let (media, rtp) = sender.facts(&StreamFeedback::default(), 1500);
    assert_eq!((media.frames, media.resent, rtp.sent), (12, 1, 25));
    near(media.lost_ratio, 1.0 / 12.0);
    near(rtp.loss_ratio, 1.0 / 25.0);
}

#[test]
fn a_frame_without_a_marker_ends_where_the_next_begins() {
    // Speech: each packet has its own time, and no marker.
    let mut calls = Calls::new(Time::ZERO);
    for i in 0..20u16 {
        let packet = rtp(SSRC, i, 160 * u32::from(i), false, 160);
        calls.comes(FLOW, &packet, ms(20 * u64::from(i)));
        calls.goes(FLOW, &packet, 200, false, ms(20 * u64::from(i) + 5));
    }
    let (media, _) = calls.streams[&(FLOW, SSRC)].facts(&StreamFeedback::default(), ms(400));
    let media = measured(&media);
    assert_eq!((media.frames, media.freezes), (19, 0), "the last may go on");
    near(media.frame_delay_mean, 0.005);
}

#[test]
fn the_warm_up_is_left_out() {
    let mut sender = Sender::new(ms(200));
    for i in 0..5 {
        sender.frame(40 * i, [Some(20), Some(30)]);
    }
    sender.calls.restart();
    for i in 5..10 {
        sender.frame(40 * i, [Some(20), Some(30)]);
    }
    let (media, rtp) = sender.facts(&StreamFeedback::default(), 400);
    assert_eq!((media.frames, rtp.sent), (5, 10));
    near(rtp.mark_ratio.map(|ratio| ratio + 1.0), 1.0);
}

#[test]
fn a_stream_needs_eight_packets_in_order() {
    let of = |numbers: &[u16]| {
        let mut calls = Calls::new(Time::ZERO);
        numbers.iter().for_each(|seq| calls.comes(FLOW, &rtp(SSRC, *seq, 0, false, 10), Time::ZERO));
        calls.streams.values().filter(|stream| stream.is_recognised()).count()
    };
    assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7]), 0);
    assert_eq!(of(&[65_533, 65_534, 65_535, 0, 1, 2, 3, 4]), 1);
    assert_eq!(of(&[1, 2, 3, 4, 5, 7, 8, 9, 10, 11]), 0, "one is missing");
    assert_eq!(of(&[1, 1, 2, 2, 3, 3, 4, 4, 5, 5]), 0);
    assert_eq!(of(&[5, 40_000, 1, 2, 3, 4, 5, 6, 7, 8, 40_000, 9, 30_000, 0]), 1, "a stream remains one");
}

#[test]
fn feedback_by_hand() {
    let mut calls = Calls::new(Time::ZERO);
    let (arrived, marked, lost) = (0xa000, 0xe000, 0);
    let reports =
        [feedback(SSRC, 65_534, &[arrived, lost, lost]), feedback(SSRC, 65_535, &[arrived, lost, marked, arrived])];
    for (at, report) in [10, 60, 110].into_iter().zip([&reports[0], &reports[1], &reports[1]]) {
        calls.goes(3, report, 28 + report.len() as u64, false, ms(at));
    }
    let feedback = &calls.feedback[&(3, SSRC)];
    let rtp = RtpResult::of(&feedback.beside(RtpFacts::default()));
    assert_eq!((rtp.feedbacks, rtp.feedback_interval), (3, Some(0.05)));
    // Of 65534 to 2: the first, the second in the second report, a loss, one marked, one more.
    assert_eq!((rtp.reported_loss_ratio, rtp.reported_mark_ratio), (Some(0.2), Some(0.25)));
    // 28 of IP and UDP; 24 and three or four packets in 8 bytes.
    assert_eq!(feedback.bytes, 3 * (28 + 28));
}

#[test]
fn feedback_is_of_a_stream_between_the_same_ends() {
    let flows = |ips: &[Vec<u8>]| {
        let mut flows = crate::flows::Flows::default();
        ips.iter().for_each(|ip| {
            flows.place(&Layout::of(ip).unwrap());
        });
        flows.all().to_vec()
    };
    let there = v4(0, UDP, &[0x12, 0x34, 0x56, 0x78, 0, 8, 0, 0]);
    let mut back = v4(0, UDP, &[0x56, 0x79, 0x12, 0x35, 0, 8, 0, 0]);
    back[12..20].rotate_left(4);
    let mut sender = Sender::new(Time::ZERO);
    (0..10).for_each(|i| sender.frame(40 * i, [Some(20), Some(30)]));
    let mut other = Calls::new(Time::ZERO);
    other.goes(0, &feedback(SSRC, 65_530, &[0xa000; 20]), 88, false, ms(400));
    other.goes(0, &feedback(SSRC + 1, 65_530, &[0xa000; 20]), 88, false, ms(400));
    let told = |back: &[Vec<u8>]| {
        let (flows, back) = (flows(std::slice::from_ref(&there)), flows(back));
        CallReport::new((&sender.calls, &flows), (&other, &back), "up", ms(400))
    };
    let report = told(std::slice::from_ref(&back));
    let [stream] = &report.streams[..] else { panic!("one stream") };
    assert_eq!(stream["flow"], "198.18.0.1:4660 > 198.18.0.2:22136 udp");
    assert_eq!((&stream["rtp"]["feedbacks"], &stream["rtp"]["reported_loss_ratio"]), (&json!(1), &json!(0.0)));
    assert_eq!(report.all.unwrap().frames, 10);
    assert_eq!(told(std::slice::from_ref(&there)).streams[0]["rtp"]["feedbacks"], 0, "from the same end");
}

#[test]
fn a_call_of_which_no_frame_is_ever_whole_takes_bounded_room() {
    let mut calls = Calls::new(Time::ZERO);
    for i in 0..30_000u64 {
        calls.comes(FLOW, &rtp(SSRC, i as u16, i as u32, true, 20), ms(i));
    }
    let (media, _) = calls.streams[&(FLOW, SSRC)].facts(&StreamFeedback::default(), ms(30_000));
    let waiting = media.stats.frames - media.stats.settled;
    assert_eq!((media.stats.frames, media.stats.lost), (30_000, media.stats.settled));
    assert_eq!(waiting, REMEMBERED as u64, "what is forgotten cannot come through");
}

proptest! {
    #![proptest_config(config(100))]
    /// Packets of two streams with any numbers and times, of which some come through, and feedback on anything.
    #[test]
    fn any_numbers_are_measured(steps in prop::collection::vec((any::<u16>(), 0u32..4, 0u8..8, any::<bool>()), 1..400)) {
        let mut calls = Calls::new(ms(50));
        let mut seq = 0u16;
        for (i, (number, timestamp, kind, flag)) in steps.iter().enumerate() {
            seq = if *kind == 0 { *number } else { seq.wrapping_add(u16::from(*kind) / 3) };
            let (now, packet) = (ms(i as u64), rtp(SSRC + u32::from(kind / 7), seq, *timestamp, *kind == 5, 20));
            calls.comes(FLOW, &packet, now);
            if *flag {
                calls.goes(FLOW, &packet, 60, *kind == 2, now);
                calls.goes(1, &feedback(SSRC, seq, &vec![number | 0x8000; usize::from(number % 90)]), 60, false, now);
            }
            if i == 50 {
                calls.restart();
            }
        }
        for stream in calls.streams.values() {
            let (media, rtp) = stream.facts(&calls.feedback.get(&(1, SSRC)).cloned().unwrap_or_default(), ms(1000));
            prop_assert!(rtp.expected >= rtp.received && rtp.received >= rtp.marked);
            prop_assert!(rtp.reported >= rtp.reported_marked);
            prop_assert!(media.stats.settled <= media.stats.frames && media.stats.lost <= media.stats.settled);
        }
    }
}
