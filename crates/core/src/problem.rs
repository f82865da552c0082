//! Problems of an input, said so that they can be mended.

use std::fmt;

/// One refused value: where it stands and why it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field, such as `links.bottleneck.rate`; empty if it is the whole input.
    pub path: String,
    /// The value, what was expected, and the nearest valid choice.
    pub reason: String,
    /// The kind of problem, for a program.
    pub kind: ProblemKind,
    /// Its location, if it is in a file.
    pub location: Option<Location>,
}

/// The kind of problem with a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProblemKind {
    /// Its value.
    #[default]
    Value,
    /// Its value is the name of something that is not there.
    Unknown,
    /// There is no such field.
    Key,
    /// It has to be there.
    Missing,
    /// The text around it: it does not follow its format.
    Syntax,
}

impl ProblemKind {
    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            ProblemKind::Value => "value",
            ProblemKind::Unknown => "unknown",
            ProblemKind::Key => "key",
            ProblemKind::Missing => "missing",
            ProblemKind::Syntax => "syntax",
        }
    }
}

/// The location of a text: line and column count from 1, column and length in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Name of the file, or of the text.
    pub file: String,
    /// Line.
    pub line: usize,
    /// Column of its first character.
    pub column: usize,
    /// Characters of it that are on this line, at least 1.
    pub length: usize,
}

impl Problem {
    /// A value that is refused.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into(), kind: ProblemKind::Value, location: None }
    }

    /// The same of another kind.
    pub fn of(self, kind: ProblemKind) -> Self {
        Self { kind, ..self }
    }

    /// The same within the field `outer`.
    pub fn within(self, outer: &str) -> Self {
        Self { path: format!("{outer}.{}", self.path), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Location { file, line, column, .. }) = &self.location {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

/// All problems of an input, reported together, one a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Problems that are kept of an input. As many can be read in one go, and nobody looks for names in the rest.
    pub const MOST: usize = 100;

    /// At most [`Problems::MOST`] of these; of more, the last is the number of the others.
    pub fn first(mut found: Vec<Problem>) -> Self {
        if found.len() > Self::MOST {
            let others = found.len() + 1 - Self::MOST;
            found.truncate(Self::MOST - 1);
            found.push(Problem::new("", format!("and {others} more problems")));
        }
        Self(found)
    }

    /// A single problem.
    pub fn one(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self(vec![Problem::new(path, reason)])
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

/// Names that are compared with one that is unknown, so that [`Problems::MOST`] of these take no more than a second.
const MOST_COMPARED: usize = 10_000;

/// The known name that `given` is a slip of the finger from; or else one that begins with it or has it as a part, the shortest;
/// or else one that is most of it. Of more than [`MOST_COMPARED`] the first are looked at.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.is_empty() {
        return None;
    }
    let given: String = comparable(given).chars().take(LONGEST).collect();
    let known: Vec<&str> = known.into_iter().take(MOST_COMPARED).collect();
    let slips = known.iter().filter_map(|name| slip(&given, &comparable(name)).map(|distance| (distance, *name)));
    let closest = slips.min();
    match closest {
        Some((0 | 1, name)) => Some(name),
        _ => related(&given, &known).or(closest.map(|(_, name)| name)),
    }
}

/// How many slips of the finger make `given` of `name`, if so few that no other name was meant: two, of a short name one. Of
/// three letters or fewer none is replaced, because that makes another name: SFQ is not SFB.
fn slip(given: &str, name: &str) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(given, name);
    let (long, short) = (given.chars().count(), name.chars().count());
    let most = if long.min(short) < SHORT { 1 } else { 2 };
    let is_replaced = distance == 1 && long == short && letters(given) != letters(name);
    (distance <= most && !(is_replaced && short <= LEAST_PART)).then_some(distance)
}

fn letters(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

/// A name that begins with `given`, has it as a part, or is most of it.
fn related<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let shortest = |fits: &dyn Fn(&str) -> bool| {
        let names = known.iter().filter(|name| fits(&comparable(name)));
        names.min_by_key(|name| (name.len(), **name)).copied()
    };
    let is_most = |name: &str| 2 * name.len() >= given.len() && is_part(name, given);
    shortest(&|name| given.len() > 1 && name.starts_with(given))
        .or_else(|| shortest(&|name| is_part(given, name)))
        .or_else(|| shortest(&is_most))
}

/// Whether `whole` has `part` as one of its parts, or several: `table-3` in `li2014/table-3`, not `red` in `shared`.
fn is_part(part: &str, whole: &str) -> bool {
    let is_end = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    part.len() >= LEAST_PART
        && whole
            .match_indices(part)
            .any(|(at, _)| is_end(whole[..at].chars().next_back()) && is_end(whole[at + part.len()..].chars().next()))
}

fn comparable(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// Characters of a given name that are compared, so that a stranger's takes no time.
const LONGEST: usize = 200;
/// Least length of a part by which a name is found, and most of a name of which no letter is replaced.
const LEAST_PART: usize = 3;
/// Letters of a name of which two may be wrong.
const SHORT: usize = 5;

/// Most names that are listed.
const FEW: usize = 16;

/// The reason for refusing an unknown name: `unknown key "tagret"; did you mean "target"? known: ...`.
pub fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    format!("unknown {what} \"{}\"; {}", clip(given), hint(given, known))
}

/// A hint where an unknown name is given: the nearest one, and all if they are few.
pub fn hint(given: &str, known: &[&str]) -> String {
    let all = || if known.is_empty() { "none".to_string() } else { known.join(", ") };
    match nearest(given, known.iter().copied()) {
        Some(name) if known.len() > FEW => format!("did you mean \"{name}\"?"),
        Some(name) => format!("did you mean \"{name}\"? known: {}", all()),
        None if known.len() > FEW => {
            format!("expected one of {}, such as {}", known.len(), known[..3].join(", "))
        }
        None => format!("known: {}", all()),
    }
}

/// `text` on one line and no longer than a reader wants to see.
pub fn clip(text: &str) -> String {
    let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() { shown + "..." } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_nearest_choice() {
        assert_eq!(nearest("tagret", ["buffer", "target", "rate"]), Some("target"));
        assert_eq!(nearest("an_aqm", ["pi", "an-aqm"]), Some("an-aqm"));
        assert_eq!(nearest("zzzzzz", ["buffer", "target"]), None);
        assert_eq!(nearest("table-3", ["li2014/table-3", "li2014/table-31", "rfc7928/5.1"]), Some("li2014/table-3"));
        assert_eq!(nearest("udp", ["ftp", "udp-cbr", "udp-onoff"]), Some("udp-cbr"));
        assert_eq!(nearest("", ["rate"]), None);
        assert_eq!(nearest("fq-cake", ["pie", "cake", "codel"]), Some("cake"));
        assert_eq!(nearest("foo", ["flc", "pi"]), None);
    }

    #[test]
    fn another_name_is_no_slip_of_the_finger() {
        for (given, known) in [
            ("sfq", "sfb"),
            ("rem", "red"),
            ("cbr", "cbq"),
            ("shared", "red"),
            ("mean", "max"),
            ("queue_deviation", "queue_duration"),
            ("congestion", "convergence"),
        ] {
            assert_eq!(nearest(given, [known]), None, "{given} is not {known}");
        }
        for (given, known) in [("rde", "red"), ("rd", "red"), ("pio", "pi"), ("W", "w"), ("bottelnek", "bottleneck")] {
            assert_eq!(nearest(given, [known]), Some(known));
        }
        let many: Vec<String> = (0..40).map(|i| format!("name-{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(hint("zzz", &many), "expected one of 40, such as name-0, name-1, name-2");
    }

    #[test]
    fn of_many_problems_the_first_are_kept() {
        let found = |n| Problems::first((0..n).map(|i| Problem::new(format!("{i}"), "is wrong")).collect());
        assert_eq!(found(Problems::MOST).0.len(), Problems::MOST);
        let Problems(many) = found(Problems::MOST + 7);
        assert_eq!((many[98].path.as_str(), many[99].reason.as_str(), many.len()), ("98", "and 8 more problems", 100));
    }

    #[test]
    fn refusals_are_one_short_line() {
        let reason = unknown("key", &"a\n".repeat(1000), &["b"]);
        assert!(!reason.contains('\n') && reason.len() < 200, "{reason}");
    }
}
