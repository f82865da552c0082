//! Segments in the order in which they are sent, beside that of a real Linux kernel under the same losses.
//!
//! `validation/linux/sequences.py` recorded `sequences.jsonl`; `scripts.json` says what is lost. The wire is the same: 10
//! Mbit/s, 20 ms there and 20 ms back.

use aqmlab_core::{ParamSet, Rate, Span, Time};
use aqmlab_tcp::{Ack, Control, EcnFeedback, Network, Profile, Receiver, Segment, Sender, TcpParams, Variant};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

const RATE: Rate = Rate(10e6);
const DELAY: Span = Span::from_millis(20);
const SEGMENT: u32 = 1514;
const BARE: u32 = 74;

/// What is between sender and receiver.
struct Wire<'a> {
    script: &'a Value,
    now: Time,
    free: Time,
    /// Arrivals at the receiver, and how many were pushed before.
    arrivals: BinaryHeap<Reverse<(Time, u32, u32)>>,
    copies: HashMap<u32, u32>,
    sent: Vec<u32>,
}

/// The pairs that a script lists under a key.
fn pairs(script: &Value, key: &str) -> Vec<(u32, f64)> {
    let list = script[key].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|pair| (pair[0].as_u64().unwrap() as u32, pair[1].as_f64().unwrap())).collect()
}

impl Network for Wire<'_> {
    fn send(&mut self, segment: Segment) {
        let copy = self.copies.entry(segment.seq).or_default();
        *copy += 1;
        self.sent.push(segment.seq);
        let size = if segment.is_syn { BARE } else { SEGMENT };
        self.free = self.now.max(self.free) + RATE.transmission(size);
        if pairs(self.script, "drop").contains(&(segment.seq, f64::from(*copy))) {
            return;
        }
        let late = pairs(self.script, "late")
            .iter()
            .find(|(seq, _)| *seq == segment.seq && *copy == 1)
            .map_or(0.0, |late| late.1);
        let number = self.sent.len() as u32;
        self.arrivals.push(Reverse((self.free + DELAY + Span::from_seconds(late / 1e3), number, segment.seq)));
    }
}

/// What our sender sends under a script.
fn sent(script: &Value, law: &str) -> Vec<u32> {
    let mut params = TcpParams::defaults();
    let clock = [("clock", "10 ms")]; // a jiffy of user-mode Linux
    params.read("tcp", Profile::Linux.settings().iter().copied().chain(clock), &mut Vec::new());
    let control = Control::parse_in("tcp", law, Profile::Linux).expect("a law of the catalogue");
    let mut sender = Sender::new(Variant::Rack, &params, &control, false, Span::ZERO);
    let mut receiver = Receiver::new(true, EcnFeedback::Classic);
    let mut wire = Wire {
        script,
        now: Time::ZERO,
        free: Time::ZERO,
        arrivals: BinaryHeap::new(),
        copies: HashMap::new(),
        sent: Vec::new(),
    };
    let lost =
        script["drop_acks"].as_array().map_or(1..1, |range| range[0].as_u64().unwrap()..range[1].as_u64().unwrap() + 1);
    let mut acks = std::collections::VecDeque::<(Time, Ack)>::new();
    sender.open(Some(script["segments"].as_u64().unwrap() as u32), wire.now, &params, &mut wire);
    while !sender.is_done() {
        let arrival = wire.arrivals.peek().map_or(Time::NEVER, |Reverse(first)| first.0);
        let ack = acks.front().map_or(Time::NEVER, |first| first.0);
        let first = arrival.min(ack).min(receiver.ack_due()).min(sender.deadline());
        assert!(first < Time::NEVER && wire.sent.len() < 10_000, "no end");
        wire.now = first;
        let answer = if first == ack {
            let (_, ack) = acks.pop_front().expect("just seen");
            sender.on_ack(ack, first, &params, &mut wire);
            None
        } else if first == arrival {
            let Reverse((_, _, seq)) = wire.arrivals.pop().expect("just seen");
            receiver.on_segment(seq, false, false, first, &params)
        } else if first == receiver.ack_due() {
            receiver.take_due(first).map(|(_, ack)| ack)
        } else {
            sender.on_timer(first, &params, &mut wire);
            None
        };
        if let Some(answer) = answer
            && !lost.contains(&(u64::from(answer.next).saturating_sub(1)))
        {
            acks.push_back((first + DELAY, answer));
        }
    }
    wire.sent
}

/// Segments sent again: how many had been sent before, and which.
fn sent_again(sent: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let again = |i: &usize| sent[..*i].contains(&sent[*i]);
    (0..sent.len()).filter(again).map(|i| (i, sent[i])).unzip()
}

/// The moment at which HyStart ends slow start hangs on gaps between ACKs of 2 ms (`hystart_update` in tcp_cubic.c), and the
/// place of a retransmission among new segments on the ACK that was processed first: both differ among recordings of the
/// kernel, by up to nine segments. What is sent again does not.
#[test]
fn segments_are_sent_again_in_the_order_of_linux() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/linux");
    let read = |name: &str| std::fs::read_to_string(format!("{dir}/{name}")).unwrap();
    let scripts: Value = serde_json::from_str(&read("scripts.json")).unwrap();
    let mut same = 0;
    for row in read("sequences.jsonl").lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let (name, law) = (row["name"].as_str().unwrap(), row["law"].as_str().unwrap());
        let script = scripts.as_array().unwrap().iter().find(|script| script["name"] == name).unwrap();
        let theirs: Vec<u32> = row["sent"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).collect();
        let ours = sent(script, law);
        let ((places, segments), (their_places, their_segments)) = (sent_again(&ours), sent_again(&theirs));
        assert_eq!(segments, their_segments, "{name}, {law}");
        for (place, theirs) in places.iter().zip(&their_places) {
            assert!(place.abs_diff(*theirs) <= 9, "{name}, {law}: after {place} segments, Linux after {theirs}");
        }
        same += u32::from(ours == theirs);
    }
    assert!(same >= 7, "only {same} of 12 are the same to the segment");
}
