//! The arrivals of a live run through the simulated link once more: the same scheme and seed, and no clock.

use crate::direction::{Decision, Direction};
use crate::lines::Lines;
use crate::log::{Kind, RECORD, Record};
use aqmlab_core::{Problems, Span, Time};
use aqmlab_sim::{Chosen, Scenario};

/// How a replay compares with what was decided live.
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
    aqm: Option<&Chosen>,
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
    let records = records.iter().map(Record::read).collect::<Option<Vec<_>>>().filter(|_| rest.is_empty());
    let records = records.ok_or_else(|| Problems::one("log", "is not a whole log of a live run"))?;
    let (arrivals, live): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.kind == Kind::Arrival);
    for arrival in &arrivals {
        let slot = arrival.slot();
        direction.advance(slot.arrived);
        direction.offer(slot);
    }
    if let Some(last) = live.last() {
        direction.advance(Time::ZERO + Span(last.time + 1));
    }
    Ok(compare(arrivals.len(), &live, &direction.decisions))
}

fn compare(arrived: usize, live: &[Record], replayed: &[Decision]) -> Replay {
    let replayed: Vec<Record> = replayed.iter().map(Record::of_decision).collect();
    let pairs = || live.iter().zip(&replayed);
    let told = |record: Option<&Record>| record.map_or("nothing".to_string(), |record| format!("{record:?}"));
    let first =
        pairs().position(|(a, b)| a != b).or((live.len() != replayed.len()).then_some(live.len().min(replayed.len())));
    Replay {
        arrived: arrived as u64,
        decisions: live.len() as u64,
        same: pairs().filter(|(a, b)| a == b).count() as u64,
        first_difference: first.map(|i| (told(live.get(i)), told(replayed.get(i)))),
    }
}
