//! Regular expressions of numbers in a range, for validators that know text but no units.

/// A number as quantities have it, without its sign.
pub const NUMBER: &str = r"(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?";
/// Numbers with an exponent, or with `_` between digits.
const OTHER: &str = r"[+-]?(?:[0-9.]+_[0-9_.]*|[0-9_.]+[eE][+-]?[0-9]+)";
const ANY: &str = r"[0-9]*\.?[0-9]*";

/// Numbers of at least `least`.
pub fn at_least(least: f64) -> String {
    match least {
        ..0.0 => format!(r"(?:\+?{ANY}|-(?:{})|{OTHER})", not_above(&decimal(-least))),
        0.0 => format!(r"(?:\+?{ANY}|{OTHER})"),
        _ => format!(r"(?:\+?(?:{})|{OTHER})", not_below(&decimal(least))),
    }
}

/// Numbers of at most `greatest`, which is not negative. Of those with an exponent it is the exponent that counts, as if one digit
/// that is not 0 stood before it; `_` may be between any digits.
pub fn at_most(greatest: f64) -> String {
    let digits = not_above(&decimal(greatest));
    let exponent = not_above(&decimal(greatest.log10().floor().max(0.0)));
    format!(r"(?:-{ANY}|\+?(?:{digits})|[+-]?(?:[0-9.]+_[0-9_.]*|[0-9_.]+[eE](?:-[0-9]+|\+?(?:{exponent}))))")
}

/// Digits before and behind the decimal point.
fn decimal(number: f64) -> (String, String) {
    let text = format!("{}", format!("{number:.12e}").parse::<f64>().unwrap_or(number));
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    (whole.trim_start_matches('0').to_string(), part.to_string())
}

/// Digits in order that begin like `digits` and then have another digit out of those that `others` gives for the next one.
fn differing(digits: &str, others: impl Fn(u8) -> Option<[u8; 2]>) -> impl Iterator<Item = (usize, String)> {
    let found = digits.bytes().enumerate().filter_map(move |(i, digit)| others(digit).map(|range| (i, range)));
    found.map(|(i, [low, high])| {
        let class = if low == high { (low as char).to_string() } else { format!("[{}-{}]", low as char, high as char) };
        (i, format!("{}{class}", &digits[..i]))
    })
}

fn smaller(digit: u8) -> Option<[u8; 2]> {
    (digit > b'0').then(|| [b'0', digit - 1])
}

fn larger(digit: u8) -> Option<[u8; 2]> {
    (digit < b'9').then(|| [digit + 1, b'9'])
}

fn not_above((whole, part): &(String, String)) -> String {
    let length = whole.len();
    let mut options = Vec::new();
    if length > 0 {
        options.push(format!(r"[0-9]{{0,{}}}(?:\.[0-9]*)?", length - 1));
    }
    let less = differing(whole, smaller);
    options.extend(less.map(|(i, begin)| format!(r"{begin}[0-9]{{{}}}(?:\.[0-9]*)?", length - i - 1)));
    let shorter = (0..part.len()).map(|digits| part[..digits].to_string());
    let parts: Vec<String> = differing(part, smaller)
        .map(|(_, begin)| format!("{begin}[0-9]*"))
        .chain(shorter)
        .chain([format!("{part}0*")])
        .collect();
    options.push(format!(r"{whole}(?:\.(?:{}))?", parts.join("|")));
    format!("0*(?:{})", options.join("|"))
}

fn not_below((whole, part): &(String, String)) -> String {
    let length = whole.len();
    let mut options = vec![format!(r"[1-9][0-9]{{{length},}}(?:\.[0-9]*)?")];
    let more = differing(whole, larger);
    options.extend(more.map(|(i, begin)| format!(r"{begin}[0-9]{{{}}}(?:\.[0-9]*)?", length - i - 1)));
    options.push(match part.is_empty() {
        true => format!(r"{whole}(?:\.[0-9]*)?"),
        false => {
            let parts: Vec<String> = differing(part, larger).map(|(_, begin)| begin).chain([part.clone()]).collect();
            format!(r"{whole}\.(?:{})[0-9]*", parts.join("|"))
        }
    });
    format!("0*(?:{})", options.join("|"))
}
