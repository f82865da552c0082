//! What is wrong with an input, said so that it can be mended.

use std::fmt;

/// One refused value: where it stands and why it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field, such as `links.bottleneck.rate`.
    pub path: String,
    /// The value, what was expected, and the nearest valid choice.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// All problems of an input, reported together, one a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// A single problem.
    pub fn one(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self(vec![Problem { path: path.into(), reason: reason.into() }])
    }
}

/// The known name closest to `given`, if any is close enough to be a slip of the finger or begins with it.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace('_', "-");
    let given = plain(given);
    known
        .into_iter()
        .map(|name| {
            let begins = given.len() > 1 && plain(name).starts_with(&given);
            (!begins, strsim::damerau_levenshtein(&given, &plain(name)), name)
        })
        .min()
        .filter(|(other, distance, name)| !other || *distance <= 1 + name.len() / 3)
        .map(|(_, _, name)| name)
}

/// Most names that are listed beside a guess.
const FEW: usize = 12;

/// The reason for refusing an unknown name: `unknown key "tagret"; did you mean "target"? known: ...`.
///
/// With a guess, a long list of what is known is left out.
pub fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    let guess = match nearest(given, known.iter().copied()) {
        Some(name) if known.len() > FEW => {
            return format!("unknown {what} \"{}\"; did you mean \"{name}\"?", clip(given));
        }
        Some(name) => format!(" did you mean \"{name}\"?"),
        None => String::new(),
    };
    let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
    format!("unknown {what} \"{}\";{guess} known: {known}", clip(given))
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
        assert_eq!(nearest("udp", ["ftp", "udp-cbr", "udp-onoff"]), Some("udp-cbr"));
        assert_eq!(nearest("", ["rate"]), None);
    }

    #[test]
    fn refusals_are_one_short_line() {
        let reason = unknown("key", &"a\n".repeat(1000), &["b"]);
        assert!(!reason.contains('\n') && reason.len() < 200, "{reason}");
    }
}
