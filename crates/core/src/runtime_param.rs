//! Parameters that are declared while the program runs, such as those of a scheme in another language. Units, ranges and
//! refusals are those of [`params!`](crate::params!).

use crate::params::{ParamInput, ParamSpec, Values, read_in_range};
use crate::problem::{Problem, ProblemKind, clip, unknown};
use crate::{Bytes, Frequency, Packets, Quantity, Rate, Ratio, Span, Value};

/// Reads a text against the declaration: the value, and the text that stands for it.
type Read = fn(&ParamSpec, &str) -> Result<(Value, String), String>;

/// A parameter declared at run time.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeParam {
    /// Its declaration.
    pub spec: ParamSpec,
    read: Read,
}

fn quantity<Q: Quantity>(spec: &ParamSpec, text: &str) -> Result<(Value, String), String> {
    let value: Q = read_in_range(ParamInput::Text(text), spec.range)?;
    Ok((value.value(), value.text()))
}

fn word(spec: &ParamSpec, text: &str) -> Result<(Value, String), String> {
    let found = spec.choices.iter().find(|choice| **choice == text);
    found.map(|word| (Value::Word(word), word.to_string())).ok_or_else(|| unknown("choice", text, spec.choices))
}

/// The quantities that can be declared, by what their unit is called.
const KINDS: [(&str, Read); 7] = [
    (bool::UNIT, quantity::<bool>),
    (Span::UNIT, quantity::<Span>),
    (Rate::UNIT, quantity::<Rate>),
    (Bytes::UNIT, quantity::<Bytes>),
    (Packets::UNIT, quantity::<Packets>),
    (Frequency::UNIT, quantity::<Frequency>),
    (Ratio::UNIT, quantity::<Ratio>),
];

impl RuntimeParam {
    /// A parameter as `spec` declares it. Its kind is that of its choices, of its unit, or of its default: "10 ms" is a
    /// time. An empty unit is filled in; a unit of one's own, such as `1/packet`, is that of a plain number.
    ///
    /// # Errors
    /// If default and range are of no one kind, or the default is out of range.
    pub fn new(mut spec: ParamSpec) -> Result<Self, Problem> {
        let unbounded = ParamSpec { range: None, ..spec };
        let (unit, read) = kind(&unbounded)?;
        spec.unit = unit;
        let bound = |text| read(&unbounded, text).map_err(|why| Problem::new("range", why));
        if let Some((least, greatest)) = spec.range
            && let (Value::Number(least), Value::Number(greatest)) = (bound(least)?.0, bound(greatest)?.0)
            && least > greatest
        {
            return Err(Problem::new("range", "the least value lies above the greatest"));
        }
        read(&spec, spec.default).map_err(|why| Problem::new("default", why))?;
        Ok(Self { spec, read })
    }
}

fn kind(spec: &ParamSpec) -> Result<(&'static str, Read), Problem> {
    if !spec.choices.is_empty() {
        return Ok(("choice", word));
    }
    if let Some(kind) = KINDS.iter().find(|(unit, _)| *unit == spec.unit) {
        return Ok(*kind);
    }
    if quantity::<f64>(spec, spec.default).is_ok() {
        return Ok((if spec.unit.is_empty() { f64::UNIT } else { spec.unit }, quantity::<f64>));
    }
    let found = KINDS.iter().find(|(_, read)| read(spec, spec.default).is_ok());
    let kind = found.filter(|_| spec.unit.is_empty()).copied();
    kind.ok_or_else(|| match found {
        Some((unit, _)) => {
            let unit = format!("\"{}\" is not that of the default, {unit}; leave it out", clip(spec.unit));
            Problem::new("unit", unit)
        }
        None => {
            let examples =
                "\"80 ms\", \"45 Mbit/s\", \"1000 B\", \"300 packets\", \"170 Hz\", \"5 %\", \"0.1\" or \"true\"";
            Problem::new("default", format!("\"{}\" is not a quantity; write e.g. {examples}", clip(spec.default)))
        }
    })
}

/// Every declared parameter with its value, and as text, when `pairs` are set; appends to `problems` whatever is refused,
/// under `path`.
pub fn read_all(
    declared: &[RuntimeParam],
    path: &str,
    pairs: &[(&str, &str)],
    problems: &mut Vec<Problem>,
) -> (Vec<Value>, Values) {
    let names: Vec<&str> = declared.iter().map(|param| param.spec.name).collect();
    for (name, _) in pairs.iter().filter(|(name, _)| !names.contains(name)) {
        problems.push(
            Problem::new(format!("{path}.{}", clip(name)), unknown("parameter", name, &names)).of(ProblemKind::Key),
        );
    }
    let mut all = (Vec::new(), Values::new());
    for RuntimeParam { spec, read } in declared {
        let set = pairs.iter().rev().find(|(name, _)| *name == spec.name);
        match read(spec, set.map_or(spec.default, |(_, text)| text)) {
            Ok((value, text)) => {
                all.0.push(value);
                all.1.push((spec.name, text));
            }
            Err(reason) => problems.push(Problem::new(format!("{path}.{}", spec.name), reason)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(default: &'static str, range: Option<(&'static str, &'static str)>) -> ParamSpec {
        ParamSpec { name: "x", doc: "", unit: "", default, range, choices: &[], source: "", tc: None }
    }

    fn read(spec: ParamSpec, text: &str) -> Result<(Value, String), String> {
        let declared = RuntimeParam::new(spec).map_err(|problem| problem.to_string())?;
        let mut problems = Vec::new();
        let (values, texts) = read_all(&[declared], "demo", &[("x", text)], &mut problems);
        problems.pop().map_or_else(|| Ok((values[0], texts[0].1.clone())), |problem| Err(problem.to_string()))
    }

    #[test]
    fn the_default_tells_the_kind() {
        let units = ["0.1", "10 ms", "1 Mbit/s", "1 kB", "3 packets", "2 Hz", "5 %", "true"]
            .map(|default| RuntimeParam::new(spec(default, None)).unwrap().spec.unit);
        assert_eq!(units, ["1", "time", "bit/s", "B", "packets", "Hz", "ratio", "switch"]);
        let gain = ParamSpec { unit: "1/packet", ..spec("0.1", None) };
        assert_eq!(RuntimeParam::new(gain).unwrap().spec.unit, "1/packet");
    }

    #[test]
    fn values_are_in_base_units() {
        assert_eq!(read(spec("10 ms", None), "20 ms"), Ok((Value::Number(0.02), "20 ms".into())));
        assert_eq!(read(spec("5 %", None), "10 %"), Ok((Value::Number(0.1), "0.1".into())));
        assert_eq!(read(spec("true", None), "false"), Ok((Value::Switch(false), "false".into())));
        let words = ParamSpec { choices: &["fast", "slow"], ..spec("fast", None) };
        assert_eq!(read(words, "slow"), Ok((Value::Word("slow"), "slow".into())));
        assert_eq!(
            read(words, "slwo").unwrap_err(),
            "demo.x: unknown choice \"slwo\"; did you mean \"slow\"? known: fast, slow"
        );
    }

    #[test]
    fn refusals_are_those_of_built_in_parameters() {
        let bounded = spec("10 ms", Some(("1 ms", "1 s")));
        assert_eq!(read(bounded, "2 s").unwrap_err(), "demo.x: \"2 s\" is out of range: must lie in 1 ms ..= 1 s");
        assert_eq!(read(bounded, "2").unwrap_err(), "demo.x: \"2\" has no unit; write e.g. \"80 ms\"");
        let mut problems = Vec::new();
        read_all(&[RuntimeParam::new(bounded).unwrap()], "demo", &[("y", "1")], &mut problems);
        assert_eq!(problems[0].to_string(), "demo.y: unknown parameter \"y\"; known: x");
    }

    #[test]
    fn contradictory_declarations_are_refused() {
        let why = |spec| RuntimeParam::new(spec).unwrap_err().to_string();
        assert!(why(spec("ten", None)).contains("default: \"ten\" is not a quantity"));
        assert!(why(spec("2 s", Some(("1 ms", "1 s")))).contains("default: \"2 s\" is out of range"));
        assert!(why(spec("2 s", Some(("1", "3")))).contains("range: \"1\" has no unit"));
        assert!(why(spec("2 s", Some(("3 s", "1 s")))).contains("least value lies above"));
        assert!(why(ParamSpec { unit: "1/packet", ..spec("2 s", None) }).contains("leave it out"));
    }
}
