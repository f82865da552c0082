//! The path of `crates/netlink/examples/record_sequences.rs` between our sender and receiver, under the same script.

use aqmlab_core::{ParamSet, Rate, Span, Time};
use aqmlab_tcp::{
    Ack, EcnFeedback, LawChoice, Profile, Receiver, Segment, SegmentArrival, SegmentSink, Sender, TcpParams, TcpVariant,
};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

const RATE: Rate = Rate(10e6);
const DELAY: Span = Span::from_millis(20);
const SEGMENT: u32 = 1500;
const SYN: u32 = 60;
/// 32 ms before a multiple of what the timer wheel can tell apart, as a part of a tick: the kernel counts its ticks from -300 s on.
const BOOT: Span = Span(32 * Span::from_millis(1).0 / 4096);

/// The link, and what is on it.
struct Link<'a> {
    script: &'a Value,
    now: Time,
    free: Time,
    /// Arrivals at the receiver: when, and how many were sent before.
    arrivals: BinaryHeap<Reverse<(Time, u32)>>,
    arriving: HashMap<u32, SegmentArrival>,
    copies: HashMap<u32, u32>,
    sent: Vec<(u32, Time, bool)>,
}

impl Link<'_> {
    fn span(&self, key: &str) -> std::ops::Range<Time> {
        let at = |i: usize| Time::ZERO + Span::from_millis(self.script[key][i].as_u64().unwrap_or(0));
        at(0)..at(1)
    }
}

impl SegmentSink for Link<'_> {
    fn send(&mut self, segment: &Segment) {
        let seq = segment.seq;
        let copy = self.copies.entry(seq).or_default();
        *copy += 1;
        let copy = *copy;
        self.sent.push((seq, self.now, segment.is_cwr));
        let mut begin = self.now.max(self.free);
        if self.span("stall").contains(&begin) {
            begin = self.span("stall").end;
        }
        self.free = begin + RATE.transmission(if segment.is_syn { SYN } else { SEGMENT });
        if has(self.script, "drop", seq, copy) || self.span("outage").contains(&begin) {
            return;
        }
        let late =
            self.script["late"].as_array().into_iter().flatten().find(|pair| number(&pair[0]) == seq && copy == 1);
        let late = Span::from_seconds(late.and_then(|pair| pair[1].as_f64()).unwrap_or(0.0) / 1e3);
        let is_ce = segment.is_ect && has(self.script, "mark", seq, copy);
        let &Segment { is_ect, is_cwr, is_retransmission: is_resent, .. } = segment;
        let count = self.sent.len() as u32;
        self.arrivals.push(Reverse((self.free + DELAY + late, count)));
        let is_push = false; // the path of the recordings takes it off
        let arrival = SegmentArrival { seq, is_ce, is_ect, is_cwr, is_push, is_resent, sent_at: self.now, echo: None };
        self.arriving.insert(count, arrival);
    }

    /// What carries no data does not take the link's time.
    fn send_handshake_ack(&mut self) {
        self.arrivals.push(Reverse((self.now + DELAY, 0)));
        self.arriving.insert(0, SegmentArrival { sent_at: self.now, ..SegmentArrival::default() });
    }
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap_or_default() as u32
}

/// A list of the script names this copy of a segment.
fn has(script: &Value, key: &str, segment: u32, copy: u32) -> bool {
    script[key].as_array().into_iter().flatten().any(|pair| number(&pair[0]) == segment && number(&pair[1]) == copy)
}

/// The row of a script under a law, as the recorder makes it.
pub fn replay(script: &Value, law: &str) -> Value {
    let most = 6 * 1024 * 1024 / (2 * 1448); // the greatest room of the receiver, of which half is window
    let window = format!("{} packets", script["window"].as_u64().unwrap_or(most));
    let memory = [("segment_memory", "2304 B"), ("merged_memory", "2304 B")]; // of a TUN device
    let settings = [("clock", "1 ms"), ("window", window.as_str())].into_iter().chain(memory);
    let mut params = TcpParams::defaults();
    params.read("tcp", Profile::Linux.settings().iter().copied().chain(settings), &mut Vec::new());
    let control = LawChoice::parse_in("tcp", law, Profile::Linux).expect("a law of the catalogue");
    let feedback = control.needs().feedback;
    let is_ecn = script["ecn"].as_bool().unwrap_or_default() || feedback != EcnFeedback::Classic;
    let mut sender = Sender::new(TcpVariant::Rack, &params, &control, is_ecn, BOOT);
    let mut receiver = Receiver::new(TcpVariant::Rack, control.needs());
    let mut link = Link {
        script,
        now: Time::ZERO,
        free: Time::ZERO,
        arrivals: BinaryHeap::new(),
        arriving: HashMap::new(),
        copies: HashMap::new(),
        sent: Vec::new(),
    };
    let lost: Vec<u32> = script["drop_acks"].as_array().into_iter().flatten().map(number).collect();
    let mut acks = VecDeque::<(Time, Ack)>::new();
    let (mut told, mut states) = (Vec::new(), Vec::new());
    let segments = number(&script["segments"]);
    let mut left = segments - script["pause"].as_array().map_or(segments, |pause| number(&pause[0]));
    let mut rest = Time::NEVER;
    sender.open(Some(segments - left), link.now, &params, &mut link);
    while !sender.is_done() || left > 0 {
        let arrival = link.arrivals.peek().map_or(Time::NEVER, |Reverse(first)| first.0);
        let ack = acks.front().map_or(Time::NEVER, |first| first.0);
        let timer = if sender.is_done() { Time::NEVER } else { sender.deadline() };
        let first = arrival.min(ack).min(receiver.ack_due()).min(timer).min(rest);
        assert!(first < Time::NEVER && link.sent.len() < 10_000, "no end");
        link.now = first;
        let mut answers = Vec::new();
        if rest == first {
            rest = Time::NEVER;
            sender.resume(Span::ZERO, first, &params);
            sender.open(Some(left), first, &params, &mut link);
            left = 0;
        } else if first == ack {
            let (_, ack) = acks.pop_front().expect("just seen");
            if ack.next == 1 && rest == Time::NEVER && left > 0 {
                rest = first + Span::from_millis(script["pause"][1].as_u64().unwrap_or(0));
            }
            sender.on_ack(ack, first, &params, &mut link);
            if script["states"].as_bool() == Some(true) {
                states.push(json!({ "ms": us(first) / 1e3, "cwnd": sender.cwnd(), "srtt": sender.srtt().map(|srtt| srtt.seconds() * 1e3) }));
            }
        } else if first == arrival {
            let Reverse((_, count)) = link.arrivals.pop().expect("just seen");
            let segment = link.arriving[&count];
            answers.extend(receiver.take_before(segment.seq, segment.is_ce, first, &params).map(|(_, ack)| ack));
            answers.extend(receiver.on_segment(segment, first, &params));
        } else if first == receiver.ack_due() {
            answers.extend(receiver.take_due(first, &params).map(|(_, ack)| ack));
        } else {
            sender.on_timer(first, &params, &mut link);
        }
        for answer in answers {
            told.push(json!([answer.next.saturating_sub(1), us(first), blocks(&answer)]));
            let is_lost = answer.next > 1 && lost.len() == 2 && (lost[0]..=lost[1]).contains(&(answer.next - 1));
            if !is_lost {
                acks.push_back((first + DELAY, answer));
            }
        }
    }
    let numbers: Vec<u32> = link.sent.iter().map(|sent| sent.0).collect();
    let times: Vec<f64> = link.sent.iter().map(|sent| (sent.1.0 / 100_000) as f64 / 10.0).collect();
    let cwr: Vec<usize> = (0..link.sent.len()).filter(|i| link.sent[*i].2).collect();
    json!({ "name": script["name"], "law": law, "sent": numbers, "us": times, "cwr": cwr, "acks": told, "states": states })
}

fn us(time: Time) -> f64 {
    (time.0 / 1_000) as f64 / 1e3
}

/// What else an ACK tells, as text: ECE and its blocks.
fn blocks(ack: &Ack) -> String {
    let echo = if ack.ece && ack.next > 1 { "E" } else { "" };
    let dsack = ack.dsack.map(|seq| format!(" {seq}-{}", seq + 1)).unwrap_or_default();
    let blocks: String = ack.sack.blocks().map(|block| format!(" {}-{}", block.start, block.end)).collect();
    format!("{echo}{dsack}{blocks}")
}
