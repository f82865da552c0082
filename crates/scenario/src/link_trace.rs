//! Traces that links follow, as `[traces]` of a scenario gives them.

use crate::condition_trace::ConditionTrace;
use crate::opportunity_trace::OpportunityTrace;
use crate::table_reader::{TableReader, kind};
use aqmlab_core::Quantity;
use std::collections::BTreeMap;
use toml::Value;

/// A trace that a link follows.
pub enum LinkTrace {
    /// The times at which it may deliver.
    Opportunities(OpportunityTrace),
    /// Its rate, delay and loss.
    Conditions(ConditionTrace),
}

impl LinkTrace {
    /// A table has a line with the names of its columns first. A byte-order mark, with which a spreadsheet begins a file, is no part
    /// of the text.
    fn read(name: &str, text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_table = text.lines().next().is_some_and(|line| line.contains(|c: char| c.is_ascii_alphabetic()));
        if is_table {
            return ConditionTrace::read(text).map(LinkTrace::Conditions);
        }
        match OpportunityTrace::read(name, text)? {
            trace if trace.mean().0 >= 1.0 => Ok(LinkTrace::Opportunities(trace)),
            trace => Err(format!("its mean of {} is out of range: at least 1 bit/s", trace.mean().text())),
        }
    }
}

/// Traces by name.
pub type LinkTraces = BTreeMap<String, LinkTrace>;

/// `[traces]`: the text of each.
pub fn read_traces(top: &mut TableReader) -> LinkTraces {
    let mut traces = LinkTraces::new();
    let given = match top.raw("traces") {
        None => return traces,
        Some(Value::Table(given)) => given,
        Some(other) => {
            top.refuse("traces", format!("expected a table, [traces], found {}", kind(other)));
            return traces;
        }
    };
    for (name, text) in given {
        let text = text.as_str().ok_or_else(|| format!("expected the text of a trace, found {}", kind(text)));
        match text.and_then(|text| LinkTrace::read(name, text)) {
            Ok(trace) => drop(traces.insert(name.clone(), trace)),
            Err(reason) => top.refuse(&format!("traces.{name}"), reason),
        }
    }
    traces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_trace() {
        for text in ["time (s),rate (Mbit/s)\n0,5\n", "1\n2\n"] {
            assert!(LinkTrace::read("t", &format!("\u{feff}{text}")).is_ok(), "{text}");
        }
    }
}
