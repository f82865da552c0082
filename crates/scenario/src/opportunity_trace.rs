//! Traces of delivery opportunities, as Mahimahi records and replays them.

use aqmlab_core::problem::clip;
use aqmlab_core::{Rate, Span};
use std::sync::Arc;

/// Bytes that an opportunity delivers.
pub const OPPORTUNITY: u32 = 1500;

/// The delivery opportunities of a link: each time is one for [`OPPORTUNITY`] bytes; after the last time all repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct OpportunityTrace {
    /// Its name in the scenario.
    pub name: String,
    /// In ms, in order; the last one is the period.
    pub times: Arc<[u32]>,
}

impl OpportunityTrace {
    /// Reads one time a line, in whole ms.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let mut times: Vec<u32> = Vec::new();
        for (i, line) in text.trim_ascii_end().lines().enumerate() {
            let number = i + 1;
            let time: u32 = line.trim().parse().map_err(|_| {
                format!("line {number}: \"{}\" is not a time; a trace has one whole number of ms per line", clip(line))
            })?;
            if let Some(before) = times.last().filter(|before| **before > time) {
                return Err(format!("line {number}: {time} ms follows {before} ms; times must be in order"));
            }
            times.push(time);
        }
        match times.last() {
            None => Err("is empty; a trace has one whole number of ms per line".into()),
            Some(0) => Err("ends at 0 ms; the last time is the period, after which the trace repeats".into()),
            Some(_) => Ok(Self { name: name.to_string(), times: times.into() }),
        }
    }

    /// After this time it repeats.
    pub fn period(&self) -> Span {
        Span::from_millis(u64::from(self.times.last().copied().unwrap_or(1)))
    }

    /// All that may be delivered over the period.
    pub fn mean(&self) -> Rate {
        Rate(self.times.len() as f64 * f64::from(8 * OPPORTUNITY) / self.period().seconds())
    }

    /// The rates that it does not exceed in 5, 50 and 95 % of its whole seconds; its mean where it has none.
    pub fn typical(&self) -> [Rate; 3] {
        let mut bits = vec![0u32; (self.period().seconds() as usize).max(1)];
        for second in self.times.iter().map(|time| (time.saturating_sub(1) / 1000) as usize) {
            if let Some(bits) = bits.get_mut(second) {
                *bits += 8 * OPPORTUNITY;
            }
        }
        if self.period() < Span::from_secs(1) {
            return [self.mean(); 3];
        }
        bits.sort_unstable();
        [0.05, 0.5, 0.95].map(|share| Rate(bits[(share * (bits.len() - 1) as f64).round() as usize].into()))
    }

    /// Of the times, by which two traces of one name are told apart: FNV-1a, 64 bits.
    pub fn checksum(&self) -> u64 {
        let bytes = self.times.iter().flat_map(|time| time.to_le_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_opportunity_and_the_last_one_the_period() {
        let trace = OpportunityTrace::read("cell", "0\n1\n1\n 4 \n").unwrap();
        assert_eq!((&*trace.times, trace.period()), (&[0, 1, 1, 4][..], Span::from_millis(4)));
        assert_eq!(trace.mean(), Rate(4.0 * 1500.0 * 8.0 / 0.004));
        assert_ne!(trace.checksum(), OpportunityTrace::read("cell", "0\n1\n2\n4\n").unwrap().checksum());
    }

    #[test]
    fn typical_rates_are_those_of_whole_seconds() {
        // Of three seconds the first has one opportunity, the second two, the third three; a packet is 12 kbit.
        let trace = OpportunityTrace::read("cell", "1000\n1001\n2000\n2001\n2500\n3000\n").unwrap();
        assert_eq!(trace.typical(), [12e3, 24e3, 36e3].map(Rate));
        let short = OpportunityTrace::read("cell", "1\n2\n").unwrap();
        assert_eq!(short.typical(), [short.mean(); 3]);
    }

    #[test]
    fn a_bad_trace_is_refused_with_its_line() {
        let refusal = |text| OpportunityTrace::read("cell", text).unwrap_err();
        assert!(refusal("1\n2\nthree\n").contains("line 3: \"three\""));
        assert!(refusal("1\n\n2\n").contains("line 2: \"\""));
        assert!(refusal("1\n-2\n").contains("line 2"));
        assert!(refusal("1.5\n").contains("line 1"));
        assert!(refusal("5\n4\n").contains("line 2: 4 ms follows 5 ms"));
        assert!(refusal("").contains("empty"));
        assert!(refusal("0\n0\n").contains("ends at 0 ms"));
    }
}
