//! Traces of a line: its rate, delay and loss over time, as a table in CSV.

use crate::keys::{DELAYS, RATES};
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::{clip, unknown};
use aqmlab_core::{Quantity, Rate, Ratio, Span};

const COLUMNS: [&str; 4] = ["time", "rate", "delay", "loss"];

/// The conditions of a line over time: each value holds from its time on until the next, the first from 0 s. A column
/// that is missing has no values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConditionTrace {
    /// Of the transmitter.
    pub rates: Vec<(Span, Rate)>,
    /// Propagation, one way.
    pub delays: Vec<(Span, Span)>,
    /// Probability that a packet is lost on the wire.
    pub losses: Vec<(Span, Ratio)>,
}

impl ConditionTrace {
    /// Reads a table whose first line names the columns, each with its unit: `time (s), rate (Mbit/s), delay (ms)`.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = (1..).zip(text.trim_ascii_end().lines());
        let header = lines.next().map_or("", |(_, header)| header);
        let columns = header.split(',').map(Column::read).collect::<Result<Vec<_>, _>>()?;
        if let Some(twice) = columns.iter().enumerate().find(|(i, c)| columns[..*i].iter().any(|b| b.name == c.name)) {
            return Err(format!("line 1: the column \"{}\" is there twice", twice.1.name));
        }
        if let Some(missing) = COLUMNS[..2].iter().find(|name| columns.iter().all(|column| column.name != **name)) {
            return Err(format!("line 1: no column \"{missing}\"; write e.g. \"time (s),rate (Mbit/s)\""));
        }
        let mut trace = Self::default();
        let mut before: Option<Span> = None;
        for (line, text) in lines {
            let values: Vec<&str> = text.split(',').map(str::trim).collect();
            if values.len() != columns.len() {
                return Err(format!("line {line}: {} values under {} columns", values.len(), columns.len()));
            }
            let row = Row { line, columns: &columns, values };
            before = Some(trace.add(&row, before)?);
        }
        if before.is_some() { Ok(trace) } else { Err("has no row below the names of its columns".into()) }
    }

    /// Adds a row and returns its time.
    fn add(&mut self, row: &Row, before: Option<Span>) -> Result<Span, String> {
        let time: Span = row.get("time", ("0 s", "10000000 s"))?.unwrap_or_default();
        match before {
            None if time > Span::ZERO => return Err(row.refuse("time", "the first time must be 0")),
            Some(before) if time <= before => return Err(row.refuse("time", "times must be in order")),
            _ => {}
        }
        push_change(&mut self.rates, time, row.get("rate", RATES)?);
        push_change(&mut self.delays, time, row.get("delay", DELAYS)?);
        push_change(&mut self.losses, time, row.get("loss", ("0", "1"))?);
        Ok(time)
    }
}

/// Adds a value where it is another than before.
fn push_change<Q: Quantity>(steps: &mut Vec<(Span, Q)>, time: Span, value: Option<Q>) {
    if let Some(value) = value.filter(|value| steps.last().is_none_or(|(_, last)| last != value)) {
        steps.push((time, value));
    }
}

/// The name of a column and the unit of its values; without one each value has its own.
struct Column {
    name: &'static str,
    unit: String,
}

impl Column {
    /// Reads `NAME (UNIT)` or `NAME`.
    fn read(text: &str) -> Result<Self, String> {
        let (name, unit) = text.trim().trim_end_matches(')').split_once('(').unwrap_or((text, ""));
        let (name, unit) = (name.trim(), unit.trim().to_string());
        let known = COLUMNS.into_iter().find(|known| *known == name);
        let name = known.ok_or_else(|| format!("line 1: {}", unknown("column", name, &COLUMNS)))?;
        let sample = format!("0 {unit}");
        let legal = match name {
            "rate" => Rate::parse(&sample).map(drop),
            "loss" => Ratio::parse(&sample).map(drop),
            _ => Span::parse(&sample).map(drop),
        };
        match legal {
            Err(why) if !unit.is_empty() => Err(format!("line 1, column \"{}\": {why}", clip(text.trim()))),
            _ => Ok(Self { name, unit }),
        }
    }
}

struct Row<'a> {
    line: usize,
    columns: &'a [Column],
    values: Vec<&'a str>,
}

impl Row<'_> {
    /// The value in a column, if there is that column.
    fn get<Q: Quantity>(&self, name: &str, range: (&str, &str)) -> Result<Option<Q>, String> {
        let Some(place) = self.columns.iter().position(|column| column.name == name) else { return Ok(None) };
        let text = format!("{} {}", self.values[place], self.columns[place].unit);
        read_in_range(ParamInput::Text(text.trim()), Some(range)).map(Some).map_err(|why| self.refuse(name, &why))
    }

    fn refuse(&self, name: &str, why: &str) -> String {
        format!("line {}, column \"{name}\": {why}", self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::changes_of_trace;
    use toml::Value;

    fn ms(number: u64) -> Span {
        Span::from_millis(number)
    }

    #[test]
    fn columns_say_their_units_and_stand_in_any_order() {
        let trace = ConditionTrace::read(
            "time (s),loss (%),rate (Mbit/s),delay\r\n0,1,5,20 ms\r\n0.5, 1, 5, 30 ms\r\n2,0,8,30ms\r\n",
        )
        .unwrap();
        assert_eq!(trace.rates, [(Span::ZERO, Rate(5e6)), (ms(2000), Rate(8e6))]);
        assert_eq!(trace.delays, [(Span::ZERO, ms(20)), (ms(500), ms(30))]);
        assert_eq!(trace.losses, [(Span::ZERO, Ratio(0.01)), (ms(2000), Ratio(0.0))]);
        let changes: Vec<(Span, String, Value)> =
            changes_of_trace(&trace, "up").into_iter().map(|change| (change.at, change.path, change.value)).collect();
        assert_eq!(
            changes,
            [
                (ms(500), "links.up.delay".to_string(), "30 ms".into()),
                (ms(2000), "links.up.loss".to_string(), Value::Float(0.0))
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_column() {
        for (text, message) in [
            ("time (s)\n0\n", "line 1: no column \"rate\""),
            ("time (s),rate (Mbit/s),rtt (ms)\n", "line 1: unknown column \"rtt\""),
            ("time (s),rate (Mbps)\n0,1\n", "line 1, column \"rate (Mbps)\": \"0 Mbps\" is not a rate"),
            ("time (s),rate (Mbit/s),time (s)\n", "line 1: the column \"time\" is there twice"),
            ("time (s),rate (Mbit/s)\n", "has no row"),
            ("time (s),rate (Mbit/s)\n0,1,2\n", "line 2: 3 values under 2 columns"),
            ("time (s),rate (Mbit/s)\n0,1\n1,\n", "line 3, column \"rate\": \"Mbit/s\" is not a number"),
            ("time (s),rate (Mbit/s)\n0,0\n", "line 2, column \"rate\": \"0 Mbit/s\" is out of range"),
            ("time (s),rate\n0,7\n", "line 2, column \"rate\": \"7\" has no unit"),
            ("time (s),rate (Mbit/s)\n1,7\n", "line 2, column \"time\": the first time must be 0"),
            ("time (s),rate (Mbit/s)\n0,7\n0,8\n", "line 3, column \"time\": times must be in order"),
            ("time (s),rate (Mbit/s),loss (%)\n0,7,101\n", "line 2, column \"loss\": \"101 %\" is not a ratio"),
            ("time (s),rate (Mbit/s),delay (ms)\n0,7,-1\n", "line 2, column \"delay\": \"-1 ms\" is negative"),
        ] {
            let refused = ConditionTrace::read(text).unwrap_err();
            assert!(refused.contains(message), "{text}: {refused}");
        }
    }
}
