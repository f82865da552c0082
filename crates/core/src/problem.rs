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

/// The known name that `given` is a slip of the finger from; or else one that begins with it or contains it, the shortest; or
/// else one of which it has little more than the name.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.is_empty() {
        return None;
    }
    let known: Vec<&str> = known.into_iter().collect();
    let (distance, closest) = by_distance(given, &known).next()?;
    if distance <= 1 {
        return Some(closest);
    }
    let is_slip = distance <= 1 + given.len().min(closest.len()) / 4;
    related(&comparable(given), &known).or(is_slip.then_some(closest))
}

/// A name that begins with `given`, contains it, or is most of it.
fn related<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let shortest = |fits: &dyn Fn(&str) -> bool| {
        let names = known.iter().filter(|name| fits(&comparable(name)));
        names.min_by_key(|name| (name.len(), **name)).copied()
    };
    let is_most = |name: &str| name.len() >= LEAST_PART && 2 * name.len() >= given.len() && given.contains(name);
    shortest(&|name| given.len() > 1 && name.starts_with(given))
        .or_else(|| shortest(&|name| given.len() >= LEAST_PART && name.contains(given)))
        .or_else(|| shortest(&is_most))
}

/// Known names and how far each is from `given`, the closest first.
fn by_distance<'a>(given: &str, known: &[&'a str]) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
    let given: String = comparable(given).chars().take(LONGEST).collect();
    let mut all: Vec<_> =
        known.iter().map(|name| (strsim::damerau_levenshtein(&given, &comparable(name)), *name)).collect();
    all.sort_unstable();
    all.into_iter()
}

fn comparable(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// Characters of a given name that are compared, so that a stranger's takes no time.
const LONGEST: usize = 200;
/// Least length of a part by which a name is found.
const LEAST_PART: usize = 3;

/// Most names that are listed.
const FEW: usize = 16;

/// The reason for refusing an unknown name: `unknown key "tagret"; did you mean "target"? known: ...`.
pub fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    format!("unknown {what} \"{}\"; {}", clip(given), hint(given, known))
}

/// A hint where an unknown name is given: the nearest one, and all if they are few; without one that is near, those that are
/// least far.
pub fn hint(given: &str, known: &[&str]) -> String {
    let all = || if known.is_empty() { "none".to_string() } else { known.join(", ") };
    match nearest(given, known.iter().copied()) {
        Some(name) if known.len() > FEW => format!("did you mean \"{name}\"?"),
        Some(name) => format!("did you mean \"{name}\"? known: {}", all()),
        None if known.len() > FEW => {
            let few: Vec<&str> = by_distance(given, known).take(3).map(|(_, name)| name).collect();
            format!("nearest of {}: {}", known.len(), few.join(", "))
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
    fn refusals_are_one_short_line() {
        let reason = unknown("key", &"a\n".repeat(1000), &["b"]);
        assert!(!reason.contains('\n') && reason.len() < 200, "{reason}");
    }
}
