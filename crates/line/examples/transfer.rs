//! A transport under test: a toy sender with a window and a receiver that acknowledges, over both directions of a path, in virtual
//! time. `cargo run -p aqmlab --example transfer`

use aqmlab::{Ecn, Packet, Path, Side};
use std::collections::BTreeSet;

/// Payload of a packet: a segment of the transfer, or its acknowledgement with the mark that it met.
#[derive(Clone, Copy, Debug)]
enum Datagram {
    Segment(u32),
    Ack(u32, bool),
}

/// Halves its window for a mark or a loss, once a round trip; a segment that is not acknowledged for a second is sent again.
struct Sender {
    ecn: Ecn,
    window: f64,
    next: u32,
    last: u32,
    sent: Vec<(u32, u64)>,
    reduced_at: u64,
}

/// What came of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Transfer {
    seconds: f64,
    sent: u32,
    marks: u32,
    longest_wait: u64,
}

const RETRY: u64 = 1_000_000_000;
const ROUND: u64 = 50_000_000;

impl Sender {
    /// Segments that may go now.
    fn take(&mut self, now: u64) -> Option<u32> {
        if let Some((segment, at)) = self.sent.iter_mut().find(|(_, at)| now >= *at + RETRY) {
            *at = now;
            return Some(*segment);
        }
        if self.sent.len() as f64 >= self.window || self.next == self.last {
            return None;
        }
        self.sent.push((self.next, now));
        self.next += 1;
        Some(self.next - 1)
    }

    fn acknowledged(&mut self, segment: u32, is_marked: bool, now: u64) {
        let Some(place) = self.sent.iter().position(|(sent, _)| *sent == segment) else { return };
        let is_late = place > 3 && self.sent[0].1 + RETRY > now;
        self.sent.remove(place);
        if (is_marked || is_late) && now >= self.reduced_at + ROUND {
            (self.window, self.reduced_at) = ((self.window / 2.0).max(2.0), now);
        } else {
            self.window += 1.0 / self.window;
        }
    }
}

/// Sends so many segments of 1200 bytes over a path.
fn transfer(path: &mut Path<Datagram>, ecn: Ecn, segments: u32) -> Transfer {
    let mut sender = Sender { ecn, window: 10.0, next: 0, last: segments, sent: Vec::new(), reduced_at: 0 };
    let (mut now, mut received, mut found) =
        (0, BTreeSet::new(), Transfer { seconds: 0.0, sent: 0, marks: 0, longest_wait: 0 });
    while received.len() < segments as usize || !sender.sent.is_empty() {
        while let Some(segment) = sender.take(now) {
            path.push(Side::Up, now, Packet::new(1200, sender.ecn, 1), Datagram::Segment(segment))
                .expect("time goes on");
            found.sent += 1;
        }
        let timer = sender.sent.iter().map(|(_, at)| at + RETRY).min();
        now = path.next_event().into_iter().chain(timer).min().expect("something is under way");
        if path.next_event().is_none_or(|at| at > now) {
            continue; // the timer
        }
        match path.pop(now).expect("it is due") {
            Some((Side::Up, delivery)) => {
                let Datagram::Segment(segment) = delivery.payload else { continue };
                received.insert(segment);
                let is_marked = delivery.ecn == Ecn::Ce;
                found.marks += u32::from(is_marked);
                found.longest_wait = found.longest_wait.max(delivery.waited);
                let ack = Packet::new(60, Ecn::NotEct, 1);
                path.push(Side::Down, now, ack, Datagram::Ack(segment, is_marked)).expect("time goes on");
            }
            Some((Side::Down, delivery)) => {
                if let Datagram::Ack(segment, is_marked) = delivery.payload {
                    sender.acknowledged(segment, is_marked, now);
                }
            }
            None => {}
        }
    }
    found.seconds = now as f64 / 1e9;
    found
}

/// An access line, and a trace of a line that gets slower and loses packets.
const ACCESS: &str = "schema = 1\nduration = '60 s'\n\
    [[links]]\nname = 'up'\nrate = '10 Mbit/s'\nbuffer = '200 packets'\n\
    [[links]]\nname = 'down'\nrate = '50 Mbit/s'\nbuffer = '200 packets'\n\
    [[flows]]\nrtt = '40 ms'\n";
const LOSSY: &str = "schema = 1\nduration = '60 s'\n\
    [[links]]\nname = 'up'\nrate = { trace = 'radio' }\nbuffer = '200 packets'\n\
    [[flows]]\nrtt = '40 ms'\n\
    [traces]\nradio = '''\ntime (s),rate (Mbit/s),loss (%)\n0,10,0\n1,3,2\n3,8,1\n'''\n";

fn main() {
    for (scenario, aqm, ecn) in
        [(ACCESS, "fq-codel", Ecn::Ect0), (ACCESS, "dualpi2", Ecn::Ect1), (LOSSY, "droptail", Ecn::NotEct)]
    {
        let mut path = Path::new(scenario, Some(aqm), 1).expect("a scenario that is right");
        let Transfer { seconds, sent, marks, longest_wait } = transfer(&mut path, ecn, 5000);
        let wait = longest_wait as f64 / 1e6;
        println!("{aqm}: {seconds:.1} s, {sent} packets, {marks} marked, at most {wait:.1} ms in the queue");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sends(scenario: &str, aqm: &str, ecn: Ecn, seed: u64) -> (Transfer, aqmlab::Counters) {
        let mut path = Path::new(scenario, Some(aqm), seed).unwrap();
        (transfer(&mut path, ecn, 5000), path.up.counters())
    }

    /// 5000 segments of 1200 bytes at 10 Mbit/s take 4.8 s.
    #[test]
    fn flow_queueing_with_codel_marks_and_keeps_the_queue_short() {
        let (found, counts) = sends(ACCESS, "fq-codel", Ecn::Ect0, 1);
        assert!(found.marks > 0 && counts.dropped() == 0 && found.sent == 5000, "{found:?} {counts:?}");
        assert!(found.seconds > 4.8 && found.seconds < 6.0, "{found:?}");
    }

    #[test]
    fn the_low_latency_queue_of_dualpi2_keeps_it_shorter() {
        let (l4s, counts) = sends(ACCESS, "dualpi2", Ecn::Ect1, 1);
        let (classic, _) = sends(ACCESS, "droptail", Ecn::Ect1, 1);
        assert!(
            l4s.marks > 0 && counts.dropped() == 0 && l4s.longest_wait * 2 < classic.longest_wait,
            "{l4s:?} {classic:?}"
        );
    }

    #[test]
    fn a_lossy_trace_is_the_same_each_time() {
        let (found, counts) = sends(LOSSY, "droptail", Ecn::NotEct, 1);
        assert!(counts.lost > 20 && u64::from(found.sent) == 5000 + counts.dropped(), "{found:?} {counts:?}");
        for _ in 0..5 {
            assert_eq!(sends(LOSSY, "droptail", Ecn::NotEct, 1), (found, counts));
        }
        assert_ne!(sends(LOSSY, "droptail", Ecn::NotEct, 2).0, found);
    }
}
