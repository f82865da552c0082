//! Numbers as people write them.

use aqmlab_core::read_any;
use regex_lite::Regex;
use std::sync::LazyLock;

/// Units in other words.
const WORDS: [(&str, &str); 7] = [
    (r"milli-?seconds?|msecs?", "ms"),
    (r"micro-?seconds?|[µμ]s", "us"),
    (r"seconds?|secs?", "s"),
    (r"packets?|pkts?|segments?", "packets"),
    (r"mbps|mb/s|mbits?/s(?:ec)?|megabits? (?:per|a) second", "Mbit/s"),
    (r"kbps|kb/s|kbits?/s(?:ec)?", "kbit/s"),
    (r"percent|per cent", "%"),
];

/// A number, perhaps the number that a range ends with, perhaps a unit.
static FOUND: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?";
    legal(&format!(r"({number})(?:\s*(?:-|–|[tT][oO])\s*({number}))?\s*(%|[A-Za-zµμ/]+)?"))
});
static UNITS: LazyLock<[(Regex, &str); 7]> =
    LazyLock::new(|| WORDS.map(|(words, unit)| (legal(&format!(r"^(?:{words})(?:[^a-z]|$)")), unit)));
/// Commas between thousands.
static THOUSANDS: LazyLock<Regex> = LazyLock::new(|| legal(r"^[1-9]\d{0,2}(?:,\d{3})+$"));

fn legal(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of this file are legal")
}

/// A number with its unit, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenNumber {
    /// The number.
    pub value: f64,
    /// Its unit; empty if there is none.
    pub unit: String,
    /// Half of the last digit that was written.
    pub half: f64,
}

/// The first number of a text: "about 0,92 s", "900 to 940 ms", "38 times"; `None` if there is none.
pub fn number(text: &str) -> Option<WrittenNumber> {
    let found = FOUND.captures(text)?;
    let (mut value, mut half) = plain(&found[1])?;
    if let Some(last) = found.get(2) {
        let (other, digits) = plain(last.as_str())?;
        (value, half) = ((value + other) / 2.0, digits);
    }
    let unit = found.get(3).map_or("", |unit| unit.as_str());
    let rest = text[found.get(0)?.end() - unit.len()..].trim().to_lowercase();
    let word = UNITS.iter().find(|(words, _)| words.is_match(&rest)).map(|(_, unit)| *unit);
    let known = || if read_any(&format!("1 {unit}")).is_some() { unit } else { "" };
    Some(WrittenNumber { value, unit: word.unwrap_or_else(known).to_owned(), half })
}

/// A number with a decimal point or comma, or commas between thousands, and half of its last digit.
fn plain(text: &str) -> Option<(f64, f64)> {
    let text = text.to_lowercase();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let is_decimal_comma = mantissa.contains(',') && !mantissa.contains('.') && !THOUSANDS.is_match(mantissa);
    let mantissa = if is_decimal_comma { mantissa.replacen(',', ".", 1) } else { mantissa.to_owned() }.replace(',', "");
    let scale = 10f64.powi(exponent.parse().ok()?);
    let digits = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len());
    let zeros = if digits == 0 { mantissa.len() - mantissa.trim_end_matches('0').len() } else { 0 };
    Some((mantissa.parse::<f64>().ok()? * scale, 0.5 * 10f64.powi(zeros as i32 - digits as i32) * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, value, unit, half) in [
            ("920 ms", 920.0, "ms", 5.0),
            ("about 0,92 s", 0.92, "s", 0.005),
            ("1,100 packets", 1100.0, "packets", 50.0),
            ("900 to 940 ms", 920.0, "ms", 5.0),
            ("38 times", 38.0, "", 0.5),
            ("14.2 Mbps", 14.2, "Mbit/s", 0.05),
            ("99.9percent", 99.9, "%", 0.05),
            ("2e-3 s", 0.002, "s", 0.0005),
            ("it is 21 milliseconds", 21.0, "ms", 0.5),
            ("3 Megabits per second", 3.0, "Mbit/s", 0.5),
            ("10 (packets)", 10.0, "", 5.0),
        ] {
            let found = number(text).expect("there is a number");
            assert_eq!((found.value, &*found.unit), (value, unit), "{text}");
            assert!((found.half - half).abs() < 1e-12, "{text}: {}", found.half);
        }
        for none in ["", "no idea", "1.2.3 ms", "1e9999999999 s"] {
            assert_eq!(number(none), None, "{none}");
        }
    }
}
