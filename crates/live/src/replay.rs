//! The arrivals of a live run through the simulated link once more: the same scheme and seed, and no clock.

use crate::direction::Direction;
use crate::log::{LogRecord, RECORD, RecordKind};
use aqmlab_core::{Problems, Span, Time};
use aqmlab_scenario::{Scenario, SchemeAssignment};
use aqmlab_sim::Lines;

/// No live run lasts longer; a later time in a log is a fault, and would take as long to reach.
const LONGEST: Span = Span::from_secs(7 * 24 * 3600);

/// No packet waits longer.
const LONGEST_WAIT: Span = Span::from_secs(3600);

/// The comparison of a replay with the live decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Packets that came.
    pub arrived: u64,
    /// Decisions made live: packets sent and packets dropped.
    pub decisions: u64,
    /// Those that are the same, in the same order at the same time.
    pub same: u64,
    /// The first that is not, as it was live and in the replay.
    pub first_difference: Option<(String, String)>,
}

/// Replays one direction, `up` or not, from its log.
///
/// # Errors
/// If the scenario or scheme is refused, or the log is no log.
pub fn replay(
    scenario: &Scenario,
    aqm: Option<&SchemeAssignment>,
    seed: u64,
    is_up: bool,
    log: &[u8],
) -> Result<Replay, Problems> {
    let lines = Lines::of(scenario)?;
    let line = if is_up { &lines.up } else { &lines.down };
    let choice = scenario.scheme_of(&line.link, aqm);
    let mut direction = Direction::new(scenario, line, choice, seed)?;
    direction.logs = true;
    let (records, rest) = log.as_chunks::<RECORD>();
    if !rest.is_empty() || !records.iter().all(|record| LogRecord::read(record).is_some()) {
        return Err(Problems::one("log", "is not a complete log of a live run"));
    }
    let of = |is_arrival: bool| {
        let records = records.iter().filter_map(LogRecord::read);
        records.filter(move |record| (record.kind == RecordKind::Arrival) == is_arrival)
    };
    let (arrivals, last) = (|| of(true), of(false).next_back());
    if !arrivals().map(|record| record.time).is_sorted() {
        return Err(Problems::one("log", "has arrivals that are not in order"));
    }
    let end = Span(arrivals().next_back().map_or(0, |record| record.time).saturating_mul(1000));
    if end > LONGEST || last.is_some_and(|record| record.time > end.0 + LONGEST_WAIT.0) {
        return Err(Problems::one("log", "has a time beyond a week, or an hour after the last arrival"));
    }
    let mut comparison = Comparison { live: of(false), found: Replay::default() };
    for arrival in arrivals() {
        let slot = arrival.slot();
        direction.advance(slot.arrived);
        direction.offer(slot, slot.arrived);
        comparison.found.arrived += 1;
        comparison.add_all(&mut direction, slot.arrived);
    }
    if let Some(last) = last {
        let end = Time::ZERO + Span(last.time + 1);
        direction.advance(end);
        comparison.add_all(&mut direction, end);
    }
    Ok(comparison.end())
}

/// Decisions beside the live ones, one by one, so that neither are held.
struct Comparison<I> {
    live: I,
    found: Replay,
}

impl<I: Iterator<Item = LogRecord>> Comparison<I> {
    /// Takes what was decided since the last time; what has crossed the line by `now` is done with.
    fn add_all(&mut self, direction: &mut Direction, now: Time) {
        while direction.take_due(now).is_some() {}
        for decision in direction.decisions.drain(..) {
            let (live, replayed) = (self.live.next(), LogRecord::of_decision(&decision));
            self.add(live, Some(replayed));
        }
    }

    fn add(&mut self, live: Option<LogRecord>, replayed: Option<LogRecord>) {
        let shown = |record: Option<LogRecord>| record.map_or("nothing".to_string(), |record| format!("{record:?}"));
        self.found.decisions += u64::from(live.is_some());
        if live == replayed {
            self.found.same += 1;
        } else if self.found.first_difference.is_none() {
            self.found.first_difference = Some((shown(live), shown(replayed)));
        }
    }

    /// With the live decisions that the replay did not make.
    fn end(mut self) -> Replay {
        while let Some(live) = self.live.next() {
            self.add(Some(live), None);
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::config;
    use aqmlab_scenario::parse;
    use proptest::prelude::*;

    const LINE: &str = "schema = 1\nduration = \"2 s\"\nsample = \"1 s\"\n[[links]]\nname = \"up\"\nrate = \"1 Mbit/s\"\n\
                        buffer = \"9 packets\"\naqm = \"red\"\n[[flows]]\nname = \"f\"\nrtt = \"20 ms\"\n";

    fn read(log: &[u8]) -> Result<Replay, Problems> {
        replay(&parse(LINE, "log", &[]).unwrap(), None, 1, true, log)
    }

    fn arrival(ns: u64) -> [u8; RECORD] {
        let (number, flow, hash, host, traffic_class) = (0, 0, 1, 2, 0);
        LogRecord { time: ns, number, flow, hash, host, size: 1000, traffic_class, kind: RecordKind::Arrival }.bytes()
    }

    #[test]
    fn a_log_that_no_run_has_written_is_refused() {
        let why = |log: &[u8]| read(log).unwrap_err().to_string();
        assert!(why(&[0; RECORD - 1]).contains("not a complete log"));
        assert!(why(&[3; RECORD]).contains("not a complete log"));
        assert!(why(&arrival(u64::MAX)).contains("beyond a week"));
        assert!(why(&[arrival(2), arrival(1)].concat()).contains("not in order"));
        assert_eq!(read(&[arrival(1), arrival(2)].concat()).unwrap().arrived, 2);
    }

    proptest! {
        #![proptest_config(config(2000))]
        #[test]
        fn any_log_gives_an_answer(
            records in prop::collection::vec((0u64..5_000_000_000, any::<[u8; 19]>(), 0u8..3), 0..8),
            torn in prop::option::weighted(0.1, any::<u64>()),
            is_sorted in prop::bool::weighted(0.8),
        ) {
            let mut log: Vec<[u8; RECORD]> = records.iter().map(|(time, bytes, kind)| {
                let mut record = [0; RECORD];
                record[..8].copy_from_slice(&time.to_le_bytes());
                record[8..27].copy_from_slice(bytes);
                record[27] = *kind;
                record
            }).collect();
            if is_sorted {
                log.sort_by_key(|record| u64::from_le_bytes(*record.first_chunk().unwrap()));
            }
            if let (Some(time), Some(record)) = (torn, log.last_mut()) {
                record[..8].copy_from_slice(&time.to_le_bytes());
            }
            match read(&log.concat()) {
                Ok(found) => prop_assert!(found.same <= found.decisions),
                Err(problems) => prop_assert!(!problems.to_string().is_empty()),
            }
        }
    }
}
