//! The phases that senders go through, and the changes that wait for one.

use aqmlab_core::Time;
use aqmlab_scenario::{AwaitedChange, Scenario};
use std::collections::BTreeMap;

/// A phase, and the time at which it was entered, s.
pub type PhaseEntry = (f64, &'static str);

/// The record of the phases of flows, and what waits for them.
#[derive(Clone, Debug)]
pub struct PhaseLog {
    /// For each group, true if its flows are looked at.
    groups: Vec<bool>,
    entries: BTreeMap<u32, Vec<PhaseEntry>>,
    /// Changes still to come.
    pub awaited: Vec<AwaitedChange>,
    /// Changes whose moment has come.
    pub due: Vec<AwaitedChange>,
}

impl PhaseLog {
    /// Before the first flow has started; `None` if nobody asks for phases.
    pub fn new(scenario: &Scenario) -> Option<Box<Self>> {
        let awaited = scenario.awaited.clone();
        let is_awaited = |group| awaited.iter().any(|change| change.group == group);
        let groups: Vec<bool> =
            scenario.flows.iter().enumerate().map(|(group, flows)| flows.phases || is_awaited(group)).collect();
        let (entries, due) = (BTreeMap::new(), Vec::new());
        groups.contains(&true).then(|| Box::new(Self { groups, entries, awaited, due }))
    }

    /// A flow's sender has acted, after which it is in this phase.
    pub fn note(&mut self, flow: u32, group: usize, phase: &'static str, now: Time) {
        if !self.groups[group] {
            return;
        }
        let entries = self.entries.entry(flow).or_default();
        if entries.last().is_some_and(|(_, last)| *last == phase) {
            return;
        }
        entries.push((now.seconds(), phase));
        let is_due = |change: &mut AwaitedChange| {
            change.group == group && change.phase == phase && now >= Time::ZERO + change.after
        };
        self.due.extend(self.awaited.extract_if(.., is_due));
    }

    /// The phases of a flow, in order.
    pub fn of(&self, flow: u32) -> Vec<PhaseEntry> {
        self.entries.get(&flow).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Span;
    use aqmlab_scenario::parse;

    #[test]
    fn a_phase_is_noted_when_it_is_entered_and_a_change_waits_for_the_first() {
        let text = "schema = 1\nduration = \"9 s\"\n[[links]]\nname = \"a\"\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n\
                    [[flows]]\nname = \"x\"\nrtt = \"9 ms\"\ntcp = \"rfc\"\n[[flows]]\nname = \"y\"\nrtt = \"9 ms\"\ntcp = \"rfc\"\n\
                    [[changes]]\nwhen = { flow = \"x\", enters = \"fast_recovery\", after = \"3 s\" }\npath = \"links.a.rate\"\n\
                    value = \"2 Mbit/s\"\n";
        let scenario = parse(text, "phases", &[]).unwrap();
        let mut log = PhaseLog::new(&scenario).unwrap();
        let at = |s| Time::ZERO + Span::from_secs(s);
        let (start, loss) = ("slow_start", "fast_recovery");
        for (time, phase) in [(0, start), (1, start), (2, loss), (3, loss), (4, start)] {
            log.note(7, 0, phase, at(time));
        }
        assert_eq!(log.of(7), [(0.0, start), (2.0, loss), (4.0, start)]);
        assert!(log.due.is_empty(), "2 s is before 3 s");
        log.note(8, 1, loss, at(5));
        assert!(log.of(8).is_empty(), "nobody asks for those of y");
        log.note(6, 0, loss, at(5));
        assert_eq!((log.due.len(), log.awaited.len()), (1, 0), "another flow of the group");
        assert_eq!(log.due[0].at(Span::from_secs(5)).path, "links.a.rate");
    }

    #[test]
    fn nothing_is_noted_that_nobody_asks_for() {
        let text = "schema = 1\nduration = \"9 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n[[flows]]\nrtt = \"9 ms\"\n";
        assert!(PhaseLog::new(&parse(text, "phases", &[]).unwrap()).is_none());
        assert!(PhaseLog::new(&parse(&format!("{text}phases = true\n"), "phases", &[]).unwrap()).is_some());
    }
}
