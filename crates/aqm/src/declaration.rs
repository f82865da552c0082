//! Schemes that are declared while the program runs, such as a user's own in another language.

use crate::catalogue::{Pairs, add, entries};
use crate::signal::UNDECLARED;
use crate::{AnyAqm, AnyScheme, BoxedAqm, OWN, Observable, QueueView, SchemeEntry, SchemeInfo, Standing, entry};
use aqmlab_core::problem::clip;
use aqmlab_core::runtime_param::read_all;
use aqmlab_core::{Problem, Problems, RuntimeParam};

/// Makes a scheme at rest from every parameter as text, for a queue like this one. The error says what is contradictory.
pub type SchemeConstructor = dyn Fn(Pairs, &QueueView) -> Result<Box<dyn BoxedAqm>, String> + Send + Sync;

/// The declaration of such a scheme, as the catalogue and its readers need it.
pub struct Declaration {
    /// Name, title, source; the family is [`OWN`].
    pub info: SchemeInfo,
    /// The page (Markdown), its first line a summary.
    pub page: &'static str,
    /// Quantities that it shows for plots.
    pub observables: Vec<Observable>,
    /// Its parameters.
    pub params: Vec<RuntimeParam>,
    /// It reads the queue's target, so that figures draw it.
    pub reads_target: bool,
    /// Makes one.
    pub make: Box<SchemeConstructor>,
}

/// Adds a scheme to the catalogue of this process, in the place of an earlier one of its name and family. It stays for
/// as long as the process lives.
///
/// # Errors
/// If its name is not one, or that of another family's scheme; if a name is taken twice.
pub fn declare(declaration: Declaration) -> Result<(), Problem> {
    check(&declaration)?;
    let declared: &'static Declaration = Box::leak(Box::new(declaration));
    let read =
        |path: &str, pairs: Pairs, problems: &mut Vec<Problem>| read_all(&declared.params, path, pairs, problems).1;
    add([SchemeEntry {
        info: &declared.info,
        standing: Standing::Published,
        page: declared.page,
        observables: &declared.observables,
        target: declared.reads_target.then_some(&[] as &[&str]),
        signal: Err(UNDECLARED),
        exceptions: &[],
        tc: None,
        memory: None,
        params: Box::leak(Box::new(|| declared.params.iter().map(|param| param.spec).collect())),
        values: Box::leak(Box::new(read)),
        law: &|_, _, _| None,
        build: Box::leak(Box::new(|path: &str, pairs: Pairs, queue: &QueueView| build(declared, path, pairs, queue))),
        is_listed: false,
    }]);
    Ok(())
}

fn build(declared: &Declaration, path: &str, pairs: Pairs, queue: &QueueView) -> Result<AnyScheme, Problems> {
    let mut problems = Vec::new();
    let (_, texts) = read_all(&declared.params, path, pairs, &mut problems);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let all: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let made = (declared.make)(&all, queue).map_err(|why| Problems::one(path, why))?;
    Ok(AnyScheme::Fifo(AnyAqm::Boxed(made)))
}

fn check(declared: &Declaration) -> Result<(), Problem> {
    let name = declared.info.name;
    if !is_name(name) {
        let why = format!("\"{}\" is not a name; write small letters, digits and -, as in my-aqm", clip(name));
        return Err(Problem::new("name", why));
    }
    if entry(name).is_ok_and(|known| known.info.family != OWN) {
        let built_in: Vec<&str> = entries().iter().map(|entry| entry.info.name).collect();
        let why = format!("\"{name}\" is taken; the schemes are {}", built_in.join(", "));
        return Err(Problem::new("name", why));
    }
    let params = declared.params.iter().map(|param| param.spec.name);
    let columns =
        ["time", "queue", "utilisation"].into_iter().chain(declared.observables.iter().map(|shown| shown.name));
    match twice(params.chain(["ecn"]))
        .map(|name| ("parameter", name))
        .or(twice(columns).map(|name| ("observable", name)))
    {
        Some((what, name)) => Err(Problem::new(name, format!("the name of this {what} is taken"))),
        None => Ok(()),
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// The first name that was there before.
fn twice<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut before = Vec::new();
    for name in names {
        if before.contains(&name) {
            return Some(name);
        }
        before.push(name);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use crate::{Aqm, Tune};
    use aqmlab_core::ParamSpec;

    #[derive(Clone)]
    struct Idle;
    impl Aqm for Idle {}
    impl Tune for Idle {}

    fn declaration(name: &'static str, default: &'static str) -> Declaration {
        let pi = entry("pi").unwrap().info;
        let spec =
            ParamSpec { name: "gain", doc: "", unit: "", default, range: None, choices: &[], source: "", tc: None };
        Declaration {
            info: SchemeInfo { name, family: OWN, ..*pi },
            page: "Does nothing.",
            observables: Vec::new(),
            params: vec![RuntimeParam::new(spec).unwrap()],
            reads_target: false,
            make: Box::new(|pairs, _| match pairs {
                [("gain", "0")] => Err("gain must be positive".into()),
                _ => Ok(Box::new(Idle)),
            }),
        }
    }

    #[test]
    fn a_later_scheme_takes_the_place_of_an_earlier_one_of_its_name() {
        declare(declaration("own-a", "1")).unwrap();
        declare(declaration("own-a", "2")).unwrap();
        assert_eq!(entry("own-a").unwrap().values("x", &[]).unwrap(), [("gain", "2".to_string())]);
        assert!(entries().iter().all(|entry| entry.info.name != "own-a"), "the list is of published schemes");
        assert!(entry("own-aa").err().unwrap().contains("did you mean \"own-a\"?"));
    }

    #[test]
    fn parameters_are_read_and_what_they_make_is_refused_like_a_built_in_s() {
        declare(declaration("own-b", "1")).unwrap();
        let build = |pairs: Pairs| match entry("own-b").unwrap().build("own-b", pairs, &bench::queue(0)) {
            Ok(_) => "built".to_string(),
            Err(problems) => problems.to_string(),
        };
        assert_eq!(build(&[("gain", "3")]), "built");
        assert_eq!(build(&[("gain", "x")]), "own-b.gain: \"x\" is not a number");
        assert_eq!(build(&[("gain", "0")]), "own-b: gain must be positive");
    }

    #[test]
    fn names_that_cannot_be_told_apart_are_refused() {
        let refused = |name: &'static str| declare(declaration(name, "1")).unwrap_err().to_string();
        assert!(refused("pi").starts_with("name: \"pi\" is taken"));
        assert!(refused("fq-pi").starts_with("name: \"fq-pi\" is taken"));
        assert!(refused("My Aqm").contains("is not a name"));
        let p = Observable { name: "time", unit: "s", doc: "" };
        assert!(declare(Declaration { observables: vec![p], ..declaration("own-c", "1") }).is_err());
    }
}
