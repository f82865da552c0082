//! One direction of the line in time alone: packets in, packets out and when. It reads no clock, so that a live run and
//! its replay are the same.

use crate::lines::Line;
use crate::store::Slot;
use aqmlab_aqm::disciplines::Note;
use aqmlab_aqm::{Discipline, Failure, Fate};
use aqmlab_core::{Problems, Span, Time};
use aqmlab_scenario::Action;
use aqmlab_scenario::{AqmChoice, Scenario};
use aqmlab_sim::{Admission, DepartureMode, Link, LinkUsage};
use std::collections::VecDeque;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The time.
    pub time: Time,
    /// The packet.
    pub slot: Slot,
    /// `Kept` of one that leaves.
    pub fate: Fate,
}

/// A packet on the wire.
#[derive(Clone, Copy, Debug)]
pub struct PacketInFlight {
    /// Its arrival at the other end.
    pub due: Time,
    /// The packet.
    pub slot: Slot,
}

/// The next event, in this order at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DirectionEvent {
    Sent,
    RateChange,
    Tick,
    WarmedUp,
    Sample,
    Change,
}

/// One direction.
pub struct Direction {
    /// The simulator's own link.
    pub link: Link<Slot>,
    line: Line,
    seed: u64,
    /// Propagation.
    delay: Span,
    /// The number of the line's changes made so far.
    changed: usize,
    /// Measured from here on.
    warmup: Time,
    sent: Option<Time>,
    tick: Option<Time>,
    is_warm: bool,
    sample: Option<(Time, Span)>,
    sampled: LinkUsage,
    /// The number of quantities that the scheme shows.
    observables: usize,
    /// Rows of the time series: time, queue, utilisation, and what the scheme shows.
    pub series: Vec<Vec<f64>>,
    wire: VecDeque<PacketInFlight>,
    notes: Vec<Note<Slot>>,
    /// Packets that leave are among the decisions.
    pub logs: bool,
    /// The fates of packets since this was last emptied: of those dropped, and if asked for of those that left.
    pub decisions: Vec<Decision>,
}

impl Direction {
    /// At rest.
    ///
    /// # Errors
    /// If the scheme does not fit the link.
    pub fn new(scenario: &Scenario, line: &Line, choice: &AqmChoice, seed: u64) -> Result<Self, Problems> {
        let spec = &line.link;
        let scheme = scenario.build_scheme(spec, choice)?;
        let mut link = Link::new(spec, scheme, scenario.marks(spec, choice)?, DepartureMode::AtService, seed);
        link.queue.keep_notes();
        link.stop_probing();
        let observables = aqmlab_aqm::entry(&choice.name).map_or(0, |entry| entry.observables.len());
        Ok(Self {
            tick: link.queue.tick_every().map(|_| Time::ZERO),
            link,
            delay: line.delay,
            line: line.clone(),
            seed,
            changed: 0,
            warmup: Time::ZERO + scenario.warmup,
            sent: None,
            is_warm: scenario.warmup == Span::ZERO,
            sample: Some((Time::ZERO, scenario.sample)),
            sampled: LinkUsage::default(),
            observables,
            series: Vec::new(),
            wire: VecDeque::with_capacity(1 << 12),
            notes: Vec::new(),
            logs: false,
            decisions: Vec::new(),
        })
    }

    /// A packet arrives. What comes before has been done ([`Direction::advance`]).
    pub fn offer(&mut self, mut slot: Slot) {
        let now = slot.arrived;
        match self.link.offer(&mut slot, now) {
            Admission::Dropped => self.decisions.push(Decision { time: now, slot, fate: Fate::Dropped(REFUSED) }),
            _ if self.link.is_free() => self.start(now),
            _ => {}
        }
        self.note(now);
    }

    /// Does all that happens before `until`.
    pub fn advance(&mut self, until: Time) {
        while let Some((now, what)) = self.next().filter(|(time, _)| *time < until) {
            match what {
                DirectionEvent::Sent => self.finish(now),
                DirectionEvent::RateChange => self.link.change_rate(now),
                DirectionEvent::Tick => {
                    self.link.tick(now);
                    self.tick = self.link.queue.tick_every().map(|period| now + period);
                }
                DirectionEvent::WarmedUp => {
                    self.link.restart_meters(now);
                    self.is_warm = true;
                }
                DirectionEvent::Sample => self.take_sample(now),
                DirectionEvent::Change => self.change(),
            }
        }
    }

    /// The next time at which a packet comes out, as far as is known.
    pub fn next_due(&self) -> Option<Time> {
        let flying = self.wire.front().map(|flying| flying.due);
        flying.into_iter().chain(self.sent.map(|sent| sent + self.delay)).min()
    }

    /// The next packet that is due before or at `now`, in order.
    pub fn take_due(&mut self, now: Time) -> Option<PacketInFlight> {
        if self.wire.front()?.due <= now { self.wire.pop_front() } else { None }
    }

    /// True if metrics count.
    pub fn is_warm(&self) -> bool {
        self.is_warm
    }

    /// The number of quantities that the scheme shows.
    pub fn observables(&self) -> usize {
        self.observables
    }

    /// Packets on the wire.
    pub fn flying(&self) -> usize {
        self.wire.len()
    }

    /// The scheme's breakdown, if it has one.
    pub fn failure(&self) -> Option<&Failure> {
        self.link.queue.failure()
    }

    fn next(&self) -> Option<(Time, DirectionEvent)> {
        let all = [
            (self.sent, DirectionEvent::Sent),
            (self.link.rate_changes_at(), DirectionEvent::RateChange),
            (self.tick, DirectionEvent::Tick),
            ((!self.is_warm).then_some(self.warmup), DirectionEvent::WarmedUp),
            (self.sample.map(|(time, _)| time), DirectionEvent::Sample),
            (self.line.changes.get(self.changed).map(|(time, _)| *time), DirectionEvent::Change),
        ];
        all.into_iter().filter_map(|(time, what)| Some((time?, what))).min()
    }

    /// Makes the line's next change.
    fn change(&mut self) {
        let Line { link: spec, delay, changes, .. } = &self.line;
        match changes[self.changed].1 {
            Action::Rate(_, rate) => self.link.set_rate(rate),
            Action::Delay(_, own) => self.delay = Span(delay.0 - spec.delay.0) + own,
            Action::Loss(_, loss) => self.link.set_loss(loss, spec, self.seed),
            _ => {} // a line has no others
        }
        self.changed += 1;
    }

    fn start(&mut self, now: Time) {
        if let Some(end) = self.link.start_service(now) {
            self.sent = Some(end);
        }
        self.note(now);
    }

    fn finish(&mut self, now: Time) {
        self.sent = None;
        if let Some(mut slot) = self.link.finish_service() {
            if self.logs {
                self.decisions.push(Decision { time: now, slot, fate: Fate::Kept });
            }
            let left = match &mut self.link.impairment {
                None => Some(now),
                Some(wire) => wire.cross(&mut slot, now, self.warmup..Time::NEVER),
            };
            match left {
                Some(left) => self.fly(PacketInFlight { due: left + self.delay, slot }),
                None => self.decisions.push(Decision { time: now, slot, fate: Fate::Dropped(LOST) }),
            }
        }
        self.start(now);
    }

    /// Puts it behind all that arrive before it or with it.
    fn fly(&mut self, flying: PacketInFlight) {
        let place = self.wire.iter().rposition(|before| before.due <= flying.due).map_or(0, |place| place + 1);
        self.wire.insert(place, flying);
    }

    /// Drops of packets that had joined.
    fn note(&mut self, time: Time) {
        self.link.queue.fetch_notes(&mut self.notes);
        for Note { fate, packet, .. } in self.notes.drain(..) {
            if let Fate::Dropped(_) = fate {
                self.decisions.push(Decision { time, slot: packet, fate });
            }
        }
    }

    fn take_sample(&mut self, now: Time) {
        let Some((next, step)) = &mut self.sample else { return };
        *next += *step;
        let (waiting, utilisation) = (self.link.queue.len(), self.link.utilisation_since(&mut self.sampled, now));
        let shown = (0..self.observables).map(|i| self.link.queue.observe(i));
        self.series.push([now.seconds(), f64::from(waiting), utilisation].into_iter().chain(shown).collect());
    }
}

/// A packet that did not join; the accounts of the queue have the reason.
pub const REFUSED: &str = "refused";
/// A packet that was lost on the wire.
pub const LOST: &str = "lost";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Lines;
    use crate::log::LogRecord;
    use crate::replay::replay;
    use aqmlab_core::Stream;
    use aqmlab_scenario::parse;
    use aqmlab_scenario::{Scenario, SchemeAssignment};

    /// One link called `up` with these keys, beside a round-trip time of 20 ms.
    fn scenario(keys: &str) -> Scenario {
        let text = format!(
            "schema = 1\nduration = \"9 s\"\nsample = \"1 s\"\n[[links]]\nname = \"up\"\n{keys}\n[[flows]]\nrtt = \"20 ms\"\n"
        );
        parse(&text, "live", &[]).unwrap()
    }

    fn direction(scenario: &Scenario, aqm: &str) -> Direction {
        let choice = AqmChoice::parse(aqm).unwrap();
        let mut direction = Direction::new(scenario, &Lines::of(scenario).unwrap().up, &choice, 1).unwrap();
        direction.logs = true;
        direction
    }

    fn us(number: u64) -> Time {
        Time::ZERO + Span::from_micros(number)
    }

    fn slot(number: u32, arrived: Time, size: u16) -> Slot {
        Slot { arrived, number, block: 0, part: 0, size, flow: 0, hash: 0, host: 0, traffic_class: 0 }
    }

    /// Offers packets of 1000 bytes at these times; returns when each comes out at the other end, by its number.
    fn crosses(keys: &str, times: &[u64]) -> Vec<(u32, Time)> {
        let mut direction = direction(&scenario(keys), "droptail");
        for (number, time) in (0..).zip(times) {
            direction.advance(us(*time));
            direction.offer(slot(number, us(*time), 1000));
        }
        direction.advance(us(9_000_000));
        let due = std::iter::from_fn(|| direction.take_due(us(9_000_000)));
        due.map(|flying| (flying.slot.number, flying.due)).collect()
    }

    const BUFFER: &str = "buffer = \"2 packets\"";

    #[test]
    fn packets_leave_at_the_rate_of_the_line_and_arrive_a_delay_later() {
        // 8 Mbit/s: 1 us a byte, 1 ms a packet. The fourth finds one in service and two waiting.
        let found = crosses(&format!("rate = \"8 Mbit/s\"\n{BUFFER}"), &[0, 0, 100, 200, 20_000]);
        assert_eq!(found, [(0, us(11_000)), (1, us(12_000)), (2, us(13_000)), (4, us(31_000))]);
    }

    #[test]
    fn a_step_of_the_rate_counts_from_the_next_packet_on() {
        let steps = "rate = [[\"0 s\", \"8 Mbit/s\"], [\"1500 us\", \"2 Mbit/s\"]]";
        let found = crosses(&format!("{steps}\n{BUFFER}"), &[0, 0, 0]);
        assert_eq!(found, [(0, us(11_000)), (1, us(12_000)), (2, us(16_000))]);
    }

    #[test]
    fn a_line_follows_its_trace() {
        // 8 Mbit/s and 4 ms, from 2.5 ms on 2 Mbit/s and 9 ms. Of the 20 ms of the round trip 10 are on the way up. The third is
        // sent from 2 to 3 ms and flies 15 ms, the fourth is sent until 7 ms.
        let text = "time (ms),rate (Mbit/s),delay (ms),loss (%)\n0,8,4,0\n2.5,2,9,0\n30,2,9,100\n";
        let keys = format!("rate = {{ trace = \"it\" }}\nbuffer = \"9 packets\"\n[traces]\nit = '''\n{text}'''");
        let found = crosses(&keys, &[0, 0, 0, 0, 30_000]);
        assert_eq!(found, [(0, us(11_000)), (1, us(12_000)), (2, us(18_000)), (3, us(22_000))]);
    }

    #[test]
    fn a_change_that_a_line_cannot_make_is_refused() {
        let text = "rate = \"8 Mbit/s\"\nbuffer = \"9 packets\"\n[[changes]]\nat = \"1 s\"\npath = \"links.up.aqm\"\nvalue = \"pie\"";
        let Problems(found) = Lines::of(&scenario(text)).unwrap_err();
        assert!(found[0].path == "links.up.aqm" && found[0].reason.contains("cannot change live"), "{found:?}");
    }

    #[test]
    fn overhead_of_the_link_layer_takes_its_time() {
        // PPPoE over ATM: 1040 bytes are 22 cells of 53 bytes.
        let found = crosses(&format!("rate = \"8 Mbit/s\"\noverhead = \"40 B\"\nframing = \"atm\"\n{BUFFER}"), &[0]);
        assert_eq!(found, [(0, us(11_166))]);
    }

    #[test]
    fn packets_free_of_the_order_pass_others() {
        let wire = "jitter = { values = [\"5 ms\", \"0 ms\"] }\nreorder = \"100%\"";
        let found = crosses(&format!("rate = \"8 Mbit/s\"\n{BUFFER}\n{wire}"), &[0, 0]);
        assert_eq!(found, [(1, us(12_000)), (0, us(16_000))]);
    }

    #[test]
    fn what_is_lost_on_the_wire_is_told() {
        let scenario = scenario(&format!("rate = \"8 Mbit/s\"\n{BUFFER}\nloss = \"100%\""));
        let mut direction = direction(&scenario, "droptail");
        direction.offer(slot(7, us(0), 1000));
        direction.advance(us(2000));
        let fates: Vec<Fate> = direction.decisions.iter().map(|decision| decision.fate).collect();
        assert_eq!((fates, direction.next_due()), (vec![Fate::Kept, Fate::Dropped(LOST)], None));
    }

    /// Random packets of ten flows, some with each ECN codepoint, at more than the line's rate: what an interface may give.
    fn arrivals(count: u32) -> Vec<Slot> {
        let (mut rng, mut now) = (Stream::new(1, "arrivals", 0), Time::ZERO);
        let arrival = |number| {
            now += Span::from_nanos(u64::from(rng.below(80_000)));
            let flow = rng.below(10);
            let (size, traffic_class) = (rng.below(1500) as u16 + 1, rng.below(256) as u8);
            Slot { flow, hash: flow * 0x0123_4567, host: flow / 2, traffic_class, ..slot(number, now, size) }
        };
        (0..count).map(arrival).collect()
    }

    /// Every scheme, and so many packets each that all together meet a million.
    #[test]
    fn decisions_do_not_depend_on_when_the_thread_wakes_and_every_account_balances() {
        let scenario =
            scenario("rate = \"100 Mbit/s\"\nbuffer = \"60 packets\"\ntarget = \"20 packets\"\nloss = \"1%\"");
        let entries = aqmlab_aqm::entries();
        let arrivals = arrivals(1_000_000 / entries.len() as u32 + 1);
        for entry in entries {
            let name = entry.info.name;
            let (mut direction, mut wakes) = (direction(&scenario, name), Stream::new(2, "wakes", 0));
            let mut log: Vec<u8> = Vec::new();
            for slot in &arrivals {
                for _ in 0..wakes.below(3) {
                    let before = Span(slot.arrived.since(Time::ZERO).0.saturating_sub(u64::from(wakes.below(1 << 25))));
                    direction.advance(Time::ZERO + before);
                }
                direction.advance(slot.arrived);
                direction.offer(*slot);
                log.extend(LogRecord::of_arrival(slot).bytes());
            }
            direction.advance(arrivals.last().unwrap().arrived + Span::from_millis(1));
            log.extend(direction.decisions.iter().flat_map(|decision| LogRecord::of_decision(decision).bytes()));
            let chosen = SchemeAssignment::parse(name).unwrap();
            let found = replay(&scenario, Some(&chosen), 1, true, &log).unwrap();
            assert_eq!((found.same, found.first_difference), (found.decisions, None), "{name}");
            let (of, waiting) = (direction.link.queue.accounts(), u64::from(direction.link.queue.len()));
            assert!(direction.link.queue.accounts_balance(), "{name}");
            assert_eq!(of.arrived, arrivals.len() as u64, "{name}");
            let dropped = direction.decisions.iter().filter(|decision| decision.fate != Fate::Kept).count() as u64;
            let lost = direction.link.impairment.as_ref().map_or(0, |wire| wire.lost);
            assert_eq!(of.arrived, of.departed + dropped - lost + waiting, "{name}");
        }
    }
}
