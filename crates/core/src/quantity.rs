//! Values with a dimension, read from text that carries its unit and written back the same way.

use crate::problem::{clip, nearest};
use crate::time::Span;

/// The value of a quantity, whatever its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number in base units: s, bit/s, B, packets, Hz, or as it is.
    Number(f64),
    /// True or false.
    Switch(bool),
    /// One of the words of a choice, or "auto".
    Word(&'static str),
}

/// A type that can be read from a user's text, unit included.
pub trait Quantity: Copy + PartialOrd {
    /// The unit's name in tables: `time`, `packets`, `1` for a plain number.
    const UNIT: &'static str;
    /// The words allowed, for a choice; empty for anything else.
    const CHOICES: &'static [&'static str] = &[];
    /// The units that may be written, each with its size in the base unit; empty for what has none.
    const UNITS: Units = &[];
    /// Least and greatest value, as text with unit.
    const RANGE: Option<(&'static str, &'static str)> = None;
    /// A value as text with unit; empty for what has none.
    const EXAMPLE: &'static str = "";
    /// It is a whole number.
    const IS_WHOLE: bool = false;
    /// Reads `text`; the error says what is wrong with it and what is expected.
    fn parse(text: &str) -> Result<Self, String>;
    /// The quantity of a number in base units; the error says what is wrong with it and what is expected.
    fn of_number(number: f64) -> Result<Self, String>;
    /// The value as text that `parse` reads back.
    fn text(self) -> String;
    /// The value in base units.
    fn value(self) -> Value;
}

/// Units of one dimension: name and size in the base unit.
pub type Units = &'static [(&'static str, f64)];

const TIME: Units =
    &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12), ("min", 60.0), ("h", 3600.0)];
const RATE: Units = &[("Mbit/s", 1e6), ("kbit/s", 1e3), ("Gbit/s", 1e9), ("Tbit/s", 1e12), ("bit/s", 1.0)];
const BYTES: Units = &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("KiB", 1024.0), ("MiB", 1048576.0)];
const PACKETS: Units = &[("packets", 1.0), ("packet", 1.0)];
const FREQUENCY: Units = &[("Hz", 1.0), ("kHz", 1e3)];
const RATIO: Units = &[("", 1.0), ("%", 1e-2)];

/// `number` and the text behind it.
fn split_number(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-._eE".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    match number.replace('_', "").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value, unit.trim())),
        Ok(_) => Err(format!("\"{}\" is too large", clip(text))),
        Err(_) => Err(format!("\"{}\" is not a number", clip(text))),
    }
}

fn parse_unit(text: &str, units: Units, dimension: &str, example: &str) -> Result<f64, String> {
    let (value, unit) = split_number(text).map_err(|why| format!("{why}; write e.g. \"{example}\""))?;
    if let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) {
        return Ok(value * scale);
    }
    if unit.is_empty() {
        return Err(format!("\"{}\" has no unit; write e.g. \"{example}\"", clip(text)));
    }
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    let of_bytes = names.contains(&"bit/s").then(|| bytes_in_bits(value, unit)).flatten();
    let guess = of_bytes.or_else(|| nearest_unit(unit, &names).map(str::to_string));
    let guess = guess.map(|meant| format!("; did you mean \"{meant}\"?")).unwrap_or_default();
    Err(format!("\"{}\" is not a {dimension}: units are {}{guess}", clip(text), names.join(", ")))
}

/// Units as others write them, in small letters, and ours of the same meaning.
const SAME: [(&str, &str); 20] = [
    ("bps", "bit/s"),
    ("b/s", "bit/s"),
    ("kbps", "kbit/s"),
    ("kb/s", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("mb/s", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("gb/s", "Gbit/s"),
    ("tbps", "Tbit/s"),
    ("sec", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("milliseconds", "ms"),
    ("usec", "us"),
    ("\u{b5}s", "us"),
    ("minutes", "min"),
    ("pkts", "packets"),
    ("bytes", "B"),
    ("byte", "B"),
    ("percent", "%"),
];

/// The unit of these that is meant by an unknown one: the same in other words, or a slip of the finger away. Bits are never meant
/// by bytes (B), and one letter says nothing.
pub fn nearest_unit<'a>(unit: &str, names: &[&'a str]) -> Option<&'a str> {
    let known: Vec<&str> = names.iter().copied().filter(|name| !(unit.contains('B') && name.contains("bit"))).collect();
    let small = unit.to_lowercase();
    let same = SAME.iter().find(|(other, _)| *other == small).map(|(_, ours)| *ours);
    let same = known.iter().copied().find(|name| same == Some(name) || name.to_lowercase() == small);
    same.or_else(|| if unit.chars().count() > 1 { nearest(unit, known) } else { None })
}

/// A rate that is given in bytes, in bits.
fn bytes_in_bits(value: f64, unit: &str) -> Option<String> {
    let bytes = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps"))?;
    let (_, scale) = BYTES.iter().find(|(name, _)| *name == bytes)?;
    Some(in_unit(8.0 * scale * value, RATE))
}

/// `value` in the largest unit that leaves a number of at least one.
fn in_unit(value: f64, units: Units) -> String {
    let fits = units.iter().rev().filter(|(_, scale)| value.abs() >= *scale).max_by(|a, b| a.1.total_cmp(&b.1));
    let (name, scale) = fits.unwrap_or(&units[0]);
    // A parsed "80 ms" is 0.08 s; twelve digits bring the 80 back.
    format!("{} {name}", round_digits(value / scale, 12))
}

/// `value` in the largest unit of which it is a whole number, else in the base unit: 1500 B is not 1.46484375 KiB.
fn in_whole_unit(value: f64, units: Units) -> String {
    let fits = units.iter().rev().filter(|(_, scale)| value != 0.0 && value % scale == 0.0);
    let (name, scale) = fits.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(&units[0]);
    format!("{} {name}", round_digits(value / scale, 12))
}

fn round_digits(value: f64, digits: i32) -> f64 {
    format!("{value:.*e}", digits as usize).parse().unwrap_or(value)
}

macro_rules! quantity {
    ($(#[$doc:meta])* $ty:ident, $units:expr, $text:ident, $dimension:literal, $unit:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $ty(pub f64);

        impl Quantity for $ty {
            const UNIT: &'static str = $unit;
            const UNITS: Units = $units;
            const EXAMPLE: &'static str = $example;
            fn parse(text: &str) -> Result<Self, String> {
                parse_unit(text, $units, $dimension, Self::EXAMPLE).map($ty)
            }
            fn of_number(number: f64) -> Result<Self, String> {
                Ok($ty(number))
            }
            fn text(self) -> String {
                $text(self.0, $units)
            }
            fn value(self) -> Value {
                Value::Number(self.0)
            }
        }
    };
}

quantity!(/// A rate in bit/s; one Mbit is 10^6 bits.
    Rate, RATE, in_unit, "rate", "bit/s", "45 Mbit/s");
quantity!(/// A number of bytes.
    Bytes, BYTES, in_whole_unit, "size", "B", "1000 B");
quantity!(/// A number of packets; thresholds may be fractions.
    Packets, PACKETS, in_unit, "number of packets", "packets", "300 packets");
quantity!(/// Times per second.
    Frequency, FREQUENCY, in_unit, "frequency", "Hz", "170 Hz");

impl Rate {
    /// Time that `bytes` take at this rate.
    pub fn transmission(self, bytes: u32) -> Span {
        Span::from_seconds(f64::from(bytes) * 8.0 / self.0)
    }
}

impl Frequency {
    /// Time between two times.
    pub fn period(self) -> Span {
        Span::from_seconds(1.0 / self.0)
    }
}

impl Quantity for Span {
    const UNIT: &'static str = "time";
    const UNITS: Units = TIME;
    const RANGE: Option<(&'static str, &'static str)> = Some(("0 s", "10000000 s"));
    const EXAMPLE: &'static str = "80 ms";
    fn parse(text: &str) -> Result<Self, String> {
        let seconds = parse_unit(text, TIME, "time", Self::EXAMPLE)?;
        Span::of_number(seconds).map_err(|why| format!("\"{}\" {why}", clip(text)))
    }
    fn of_number(seconds: f64) -> Result<Self, String> {
        match seconds {
            ..0.0 => Err("is negative; times are 0 s or more".into()),
            0.0..=1e7 => Ok(Span::from_seconds(seconds)),
            _ => Err("is too long; at most 10000000 s".into()),
        }
    }
    fn text(self) -> String {
        match self.seconds() {
            s if s == 0.0 || s >= 1.0 => in_unit(s, &TIME[..1]),
            s => in_unit(s, &TIME[..5]),
        }
    }
    fn value(self) -> Value {
        Value::Number(self.seconds())
    }
}

/// The number and base unit of a text that is a quantity, such as 0.08 and "s" of `80 ms`; "1" of a plain number or a
/// share. `None` of any other text.
pub fn read_any(text: &str) -> Option<(f64, &'static str)> {
    let dimensions =
        [(TIME, "s"), (RATE, "bit/s"), (BYTES, "B"), (PACKETS, "packets"), (FREQUENCY, "Hz"), (RATIO, "1")];
    let (value, unit) = split_number(text).ok()?;
    dimensions
        .into_iter()
        .find_map(|(units, base)| units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| (value * scale, base)))
}

/// A share, 0 to 1; `%` may be written.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Ratio(pub f64);

impl Quantity for Ratio {
    const UNIT: &'static str = "ratio";
    const UNITS: Units = RATIO;
    const RANGE: Option<(&'static str, &'static str)> = Some(("0", "1"));
    const EXAMPLE: &'static str = "0.1";
    fn parse(text: &str) -> Result<Self, String> {
        let share = parse_unit(text, RATIO, "ratio", Self::EXAMPLE)?;
        Ratio::of_number(share).map_err(|why| format!("\"{}\" {why}", clip(text)))
    }
    fn of_number(share: f64) -> Result<Self, String> {
        match (0.0..=1.0).contains(&share) {
            true => Ok(Ratio(share)),
            false => Err("is not a ratio: must lie in 0 ..= 1".into()),
        }
    }
    fn text(self) -> String {
        self.0.to_string()
    }
    fn value(self) -> Value {
        Value::Number(self.0)
    }
}

impl Quantity for f64 {
    const UNIT: &'static str = "1";
    fn parse(text: &str) -> Result<Self, String> {
        match split_number(text)? {
            (value, "") => Ok(value),
            _ => Err(format!("\"{}\" is not a plain number; write it without a unit", clip(text))),
        }
    }
    fn of_number(number: f64) -> Result<Self, String> {
        Ok(number)
    }
    fn text(self) -> String {
        if self != 0.0 && (self.abs() < 1e-3 || self.abs() >= 1e9) { format!("{self:e}") } else { self.to_string() }
    }
    fn value(self) -> Value {
        Value::Number(self)
    }
}

impl Quantity for u32 {
    const UNIT: &'static str = "1";
    const IS_WHOLE: bool = true;
    fn parse(text: &str) -> Result<Self, String> {
        text.trim()
            .replace('_', "")
            .parse()
            .map_err(|_| format!("\"{}\" is not a whole number from 0 to {}", clip(text), u32::MAX))
    }
    fn of_number(number: f64) -> Result<Self, String> {
        match number as u32 {
            whole if f64::from(whole) == number => Ok(whole),
            _ => Err(format!("is not a whole number from 0 to {}", u32::MAX)),
        }
    }
    fn text(self) -> String {
        self.to_string()
    }
    fn value(self) -> Value {
        Value::Number(self.into())
    }
}

impl Quantity for bool {
    const UNIT: &'static str = "switch";
    const CHOICES: &'static [&'static str] = &["true", "false"];
    fn parse(text: &str) -> Result<Self, String> {
        text.trim().parse().map_err(|_| format!("\"{}\" is not true or false", clip(text)))
    }
    fn of_number(_: f64) -> Result<Self, String> {
        Err("is not true or false".into())
    }
    fn text(self) -> String {
        self.to_string()
    }
    fn value(self) -> Value {
        Value::Switch(self)
    }
}

/// A quantity that is derived from the rest of the scenario unless it is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Auto<Q> {
    /// Written `"auto"`.
    Auto,
    /// Given by the user.
    Given(Q),
}

impl<Q> Auto<Q> {
    /// The given value, or what `derive` makes of the scenario.
    pub fn unwrap_or_else(self, derive: impl FnOnce() -> Q) -> Q {
        match self {
            Auto::Auto => derive(),
            Auto::Given(value) => value,
        }
    }
}

/// Only given values compare, so that "auto" lies in every range.
impl<Q: PartialOrd> PartialOrd for Auto<Q> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Auto::Given(a), Auto::Given(b)) => a.partial_cmp(b),
            _ => None,
        }
    }
}

impl<Q: Quantity> Quantity for Auto<Q> {
    const UNIT: &'static str = Q::UNIT;
    const UNITS: Units = Q::UNITS;
    const RANGE: Option<(&'static str, &'static str)> = Q::RANGE;
    const EXAMPLE: &'static str = Q::EXAMPLE;
    const IS_WHOLE: bool = Q::IS_WHOLE;
    fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            Ok(Auto::Auto)
        } else {
            Q::parse(text).map(Auto::Given).map_err(|why| why + " or \"auto\"")
        }
    }
    fn of_number(number: f64) -> Result<Self, String> {
        Q::of_number(number).map(Auto::Given)
    }
    fn text(self) -> String {
        match self {
            Auto::Auto => "auto".into(),
            Auto::Given(value) => value.text(),
        }
    }
    fn value(self) -> Value {
        match self {
            Auto::Auto => Value::Word("auto"),
            Auto::Given(value) => value.value(),
        }
    }
}

/// Declares an enumeration that is read from one of a few words.
#[macro_export]
macro_rules! choice {
    ($(#[$doc:meta])* pub enum $ty:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
        pub enum $ty { $($(#[$vdoc])* $variant),+ }

        impl $crate::Quantity for $ty {
            const UNIT: &'static str = "choice";
            const CHOICES: &'static [&'static str] = &[$($word),+];
            fn parse(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::problem::unknown("choice", text, Self::CHOICES)),
                }
            }
            fn of_number(_: f64) -> Result<Self, String> {
                Err(format!("is not one of {}", [$($word),+].join(", ")))
            }
            fn text(self) -> String {
                match self { $(Self::$variant => $word.to_string()),+ }
            }
            fn value(self) -> $crate::Value {
                match self { $(Self::$variant => $crate::Value::Word($word)),+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!(Span::parse("80 ms").unwrap(), Span(80_000_000_000));
        assert_eq!(Span::parse("80ms").unwrap(), Span(80_000_000_000));
        assert_eq!(Rate::parse("45 Mbit/s").unwrap().0, 45e6);
        assert_eq!(Ratio::parse("5 %").unwrap().0, 0.05);
        assert_eq!(Bytes::parse("1_000 B").unwrap().0, 1000.0);
        assert_eq!(f64::parse("1.822e-5").unwrap(), 1.822e-5);
    }

    #[test]
    fn reads_a_quantity_of_any_dimension() {
        let texts = ["80 ms", "2kbit/s", "1 KiB", "3 packets", "1 kHz", "25 %", "1_000"];
        let expected =
            [(0.08, "s"), (2e3, "bit/s"), (1024.0, "B"), (3.0, "packets"), (1e3, "Hz"), (0.25, "1"), (1e3, "1")];
        assert_eq!(texts.map(read_any), expected.map(Some));
        assert_eq!(read_any("-0.5"), Some((-0.5, "1")));
        assert_eq!(["true", "2 bdp", "auto", "1e999", ""].map(read_any), [None; 5]);
    }

    #[test]
    fn refuses_with_the_reason() {
        assert_eq!(Span::parse("80").unwrap_err(), "\"80\" has no unit; write e.g. \"80 ms\"");
        assert!(Rate::parse("45 Mbits").unwrap_err().contains("did you mean \"Mbit/s\"?"));
        assert!(Span::parse("-1 s").unwrap_err().contains("negative"));
        assert!(f64::parse("nan").is_err() && f64::parse("inf").is_err() && f64::parse("1e999").is_err());
        assert!(Ratio::parse("1.5").unwrap_err().contains("0 ..= 1"));
    }

    #[test]
    fn numbers_are_held_against_the_same_bounds() {
        assert_eq!(Span::of_number(0.08), Span::parse("80 ms"));
        assert_eq!(u32::of_number(3.0), Ok(3));
        assert!(Span::of_number(-1.0).unwrap_err().contains("negative"));
        assert!(Ratio::of_number(1.5).unwrap_err().contains("0 ..= 1"));
        assert!(u32::of_number(2.5).is_err() && u32::of_number(-1.0).is_err() && bool::of_number(1.0).is_err());
    }

    #[test]
    fn text_reads_back() {
        for text in ["80 ms", "2 s", "0 s", "250 us", "100 s"] {
            assert_eq!(Span::parse(text).unwrap().text(), text);
        }
        assert_eq!(Rate::parse("45 Mbit/s").unwrap().text(), "45 Mbit/s");
        assert_eq!(Packets(300.0).text(), "300 packets");
        for text in ["1500 B", "1514 B", "64 KiB", "4 MB", "0 B", "0.5 B", "1234567.5 B"] {
            assert_eq!(Bytes::parse(text).unwrap().text(), text);
        }
        assert_eq!(Frequency(170.0).text(), "170 Hz");
        assert_eq!(1.822e-5.text(), "1.822e-5");
    }

    #[test]
    fn a_period_is_exact_to_the_picosecond() {
        assert_eq!(Frequency(170.0).period(), Span(5_882_352_941));
        assert_eq!(Rate(45e6).transmission(1040), Span(184_888_889));
    }
}
