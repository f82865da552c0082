//! A parameter is declared once; struct, default, range, help, documentation and reader come from it.

use crate::problem::{Problem, ProblemKind, clip, unknown};
use crate::quantity::{Quantity, Value};
use crate::time::Span;
use std::borrow::Cow;

/// The declaration of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamSpec {
    /// Name as users write it.
    pub name: &'static str,
    /// Meaning, one or two lines.
    pub doc: &'static str,
    /// Unit, such as `time`, `packets` or `1/packet`.
    pub unit: &'static str,
    /// Default, as text with unit.
    pub default: &'static str,
    /// Least and greatest legal value, as text with unit.
    pub range: Option<(&'static str, &'static str)>,
    /// The words allowed, for a choice.
    pub choices: &'static [&'static str],
    /// The source of the default.
    pub source: &'static str,
    /// Its name in Linux's `tc`, which is read as well, and the unit that it has there.
    pub tc: Option<(&'static str, &'static str)>,
}

impl ParamSpec {
    /// A number in base units as text that the parameter can be read from.
    pub fn text(&self, number: f64) -> String {
        match self.unit {
            Span::UNIT => format!("{number} s"),
            "bit/s" | "B" | "packets" | "Hz" => format!("{number} {}", self.unit),
            _ => number.to_string(),
        }
    }
}

/// Name and value, as text with unit, of each parameter of a set.
pub type Values = Vec<(&'static str, String)>;

/// Name and value, in base units, of each parameter of a set.
pub type TypedValues = Vec<(&'static str, Value)>;

/// A set of declared parameters. Written by [`params!`](crate::params!), not by hand.
pub trait ParamSet: Copy + Send + Sync + 'static {
    /// The doc comment of the struct.
    const DOC: &'static str;
    /// Every parameter, in order of declaration.
    fn specs() -> Vec<ParamSpec>;
    /// All defaults.
    fn defaults() -> Self;
    /// Sets the parameter `name`; `None` if there is no such parameter.
    fn set(&mut self, name: &str, given: ParamInput) -> Option<Result<(), String>>;
    /// The condition between parameters; the error has the path and reason of one that does not hold.
    fn check(&self) -> Result<(), String>;
    /// Name and current value of every parameter.
    fn values(&self) -> Values;
    /// The same in base units.
    fn typed(&self) -> TypedValues;

    /// Sets `name = text` pairs; appends to `problems` whatever is refused, under `path`.
    fn read<'a>(
        &mut self,
        path: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
        problems: &mut Vec<Problem>,
    ) {
        let before = problems.len();
        for (name, text) in pairs {
            let (reason, kind) = match self.set(name, ParamInput::Text(text)) {
                Some(Ok(())) => continue,
                Some(Err(reason)) => (reason, ProblemKind::Value),
                None => (
                    unknown("parameter", name, &Self::specs().iter().map(|s| s.name).collect::<Vec<_>>()),
                    ProblemKind::Key,
                ),
            };
            problems.push(Problem::new(format!("{path}.{}", clip(name)), reason).of(kind));
        }
        if problems.len() == before
            && let Err(reason) = self.check()
        {
            problems.push(Problem::new(path, reason));
        }
    }
}

/// A law that holds its parameters and reads them when it uses them. [`params!`](crate::params!) writes it for one that has
/// them in its field `params`.
pub trait ParamHolder {
    /// Its declared parameters.
    type Params: ParamSet;
    /// They, as they are at present.
    fn params(&mut self) -> &mut Self::Params;
}

/// A value that a parameter is set to.
#[derive(Clone, Copy, Debug)]
pub enum ParamInput<'a> {
    /// Text with its unit, as on the command line.
    Text(&'a str),
    /// A number in base units.
    Number(f64),
}

impl<'a> ParamInput<'a> {
    /// As text from which the parameter reads it.
    pub fn text(self, spec: &ParamSpec) -> Cow<'a, str> {
        match self {
            ParamInput::Text(text) => text.into(),
            ParamInput::Number(number) => spec.text(number).into(),
        }
    }
}

impl std::fmt::Display for ParamInput<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            ParamInput::Text(text) => f.write_str(&clip(text)),
            ParamInput::Number(number) => number.fmt(f),
        }
    }
}

/// Reads what is given and holds it against the declared range.
pub fn read_in_range<Q: Quantity>(given: ParamInput, range: Option<(&str, &str)>) -> Result<Q, String> {
    let value = match given {
        ParamInput::Text(text) => Q::parse(text)?,
        ParamInput::Number(number) => Q::of_number(number).map_err(|why| format!("{number} {why}"))?,
    };
    if let Some((least, greatest)) = range {
        let bound = |text| Q::parse(text).expect("declared bounds parse: tested for every scheme");
        if value < bound(least) || value > bound(greatest) {
            return Err(format!("\"{given}\" is out of range: must lie in {least} ..= {greatest}"));
        }
    }
    Ok(value)
}

/// The parameters of a choice: name and text of each.
pub type ChoiceParams<'a> = Vec<(&'a str, &'a str)>;

/// Splits `NAME[:k=v,...]`, as schemes and laws are chosen, into the name and its pairs.
pub fn split_choice(text: &str) -> Result<(&str, ChoiceParams<'_>), String> {
    let (name, params) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    let pairs = params.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| match pair.split_once('=') {
        Some((key, value)) => Ok((key.trim(), value.trim())),
        None => Err(format!("\"{}\" is not a parameter; write {}:name=value,...", clip(pair), clip(name))),
    });
    Ok((name, pairs.collect::<Result<_, _>>()?))
}

/// Declares a set of parameters.
///
/// ```
/// aqmlab_core::params! {
///     /// A demonstration.
///     pub struct DemoParams {
///         /// How often the law runs.
///         interval: aqmlab_core::Span = "1 ms" in "1 us" ..= "1 s", from "the paper, section 2";
///         /// Gain on the queue error.
///         gain: f64 = "0.01" in "0" ..= "10", unit "1/packet", from "the paper, Table 1";
///     }
///     check |p| if p.gain > 0.0 { Ok(()) } else { Err("gain must be positive".into()) };
/// }
/// use aqmlab_core::ParamSet;
/// assert_eq!(DemoParams::defaults().interval, aqmlab_core::Span(1_000_000_000));
/// ```
///
/// `tc "NAME" in "UNIT"` before `from` says what Linux's `tc` calls a parameter; values are written with their units under
/// either name. `flatten name: OtherParams;` as the first line takes over all parameters of another set. `for Law` behind the
/// name says which law holds them, in its field `params` ([`ParamHolder`](crate::ParamHolder)).
#[macro_export]
macro_rules! params {
    ($(#[doc = $doc:literal])+ pub struct $ty:ident $(for $holder:ident)? {
        $(flatten $inner:ident : $inner_ty:ty;)?
        $($(#[doc = $pdoc:literal])+ $name:ident : $t:ty = $default:literal
          $(in $least:literal ..= $greatest:literal)? $(, unit $unit:literal)?
          $(, tc $tc:literal in $tc_unit:literal)? $(, from $source:literal)?;)*
    } $(check |$p:ident| $check:expr;)?) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug)]
        pub struct $ty {
            $(/// The parameters taken over.
            pub $inner: $inner_ty,)?
            $($(#[doc = $pdoc])+ pub $name: $t),*
        }

        $(impl $crate::ParamHolder for $holder {
            type Params = $ty;

            fn params(&mut self) -> &mut $ty {
                &mut self.params
            }
        })?

        impl $crate::ParamSet for $ty {
            const DOC: &'static str = concat!($($doc, "\n"),+);

            fn specs() -> Vec<$crate::ParamSpec> {
                #[allow(unused_mut)]
                let mut specs: Vec<$crate::ParamSpec> = Vec::new();
                $(specs.extend(<$inner_ty as $crate::ParamSet>::specs());)?
                let own: Vec<$crate::ParamSpec> = vec![$($crate::ParamSpec {
                    name: stringify!($name),
                    doc: concat!($($pdoc),+).trim_ascii(),
                    unit: $crate::params!(@or <$t as $crate::Quantity>::UNIT $(, $unit)?),
                    default: $default,
                    range: $crate::params!(@range $($least, $greatest)?),
                    choices: <$t as $crate::Quantity>::CHOICES,
                    source: $crate::params!(@or "" $(, $source)?),
                    tc: $crate::params!(@range $($tc, $tc_unit)?),
                }),*];
                specs.extend(own);
                specs
            }

            fn defaults() -> Self {
                Self {
                    $($inner: <$inner_ty as $crate::ParamSet>::defaults(),)?
                    $($name: <$t as $crate::Quantity>::parse($default).expect("declared defaults parse: tested for every set")),*
                }
            }

            #[allow(unused_variables, unreachable_patterns)] // tc's name may be ours
            fn set(&mut self, name: &str, given: $crate::params::ParamInput) -> Option<Result<(), String>> {
                match name {
                    $(stringify!($name) $(| $tc)? => Some(
                        $crate::params::read_in_range(given, $crate::params!(@range $($least, $greatest)?)).map(|value| self.$name = value)),)*
                    _ => $crate::params!(@set name, given $(, self.$inner)?),
                }
            }

            fn check(&self) -> Result<(), String> {
                $(self.$inner.check()?;)?
                $(
                    let $p = self;
                    let checked: Result<(), String> = $check;
                    checked?;
                )?
                Ok(())
            }

            fn values(&self) -> $crate::params::Values {
                #[allow(unused_mut)]
                let mut values: $crate::params::Values = Vec::new();
                $(values.extend(self.$inner.values());)?
                let own: $crate::params::Values = vec![$((stringify!($name), $crate::Quantity::text(self.$name))),*];
                values.extend(own);
                values
            }

            fn typed(&self) -> $crate::params::TypedValues {
                #[allow(unused_mut)]
                let mut values: $crate::params::TypedValues = Vec::new();
                $(values.extend(self.$inner.typed());)?
                let own: $crate::params::TypedValues = vec![$((stringify!($name), $crate::Quantity::value(self.$name))),*];
                values.extend(own);
                values
            }
        }
    };
    (@range) => { None };
    (@range $least:literal, $greatest:literal) => { Some(($least, $greatest)) };
    (@or $fallback:expr) => { $fallback };
    (@or $fallback:expr, $given:literal) => { $given };
    (@set $name:ident, $given:ident) => { None };
    (@set $name:ident, $given:ident, $inner:expr) => { $crate::ParamSet::set(&mut $inner, $name, $given) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    params! {
        /// Inner.
        pub struct InnerParams {
            /// Gain.
            gain: f64 = "0.5" in "0" ..= "1", unit "1/packet", tc "slope" in "thousandths", from "nowhere";
        }
    }
    params! {
        /// Outer.
        pub struct OuterParams {
            flatten inner: InnerParams;
            /// Period.
            interval: Span = "1 ms" in "1 us" ..= "1 s";
        }
        check |p| if p.inner.gain < 0.9 { Ok(()) } else { Err("gain must be below 0.9".to_string()) };
    }

    fn problems(pairs: &[(&str, &str)]) -> Vec<String> {
        let mut problems = Vec::new();
        OuterParams::defaults().read("demo", pairs.iter().copied(), &mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn reads_own_and_inner_parameters() {
        let mut params = OuterParams::defaults();
        params.read("demo", [("gain", "0.25"), ("interval", "2 ms")], &mut Vec::new());
        assert_eq!((params.inner.gain, params.interval), (0.25, Span(2_000_000_000)));
        assert_eq!(OuterParams::specs().iter().map(|s| s.unit).collect::<Vec<_>>(), ["1/packet", "time"]);
    }

    #[test]
    fn reads_a_parameter_by_the_name_that_tc_has_for_it() {
        let mut params = OuterParams::defaults();
        params.read("demo", [("slope", "0.25")], &mut Vec::new());
        assert_eq!(params.inner.gain, 0.25);
        assert_eq!(
            OuterParams::specs().iter().map(|s| s.tc).collect::<Vec<_>>(),
            [Some(("slope", "thousandths")), None]
        );
    }

    #[test]
    fn typed_values_are_in_base_units_and_read_back() {
        let mut params = OuterParams::defaults();
        assert_eq!(params.typed(), [("gain", Value::Number(0.5)), ("interval", Value::Number(1e-3))]);
        let specs = OuterParams::specs();
        let texts = [specs[0].text(0.25), specs[1].text(0.002)];
        assert_eq!(texts, ["0.25", "0.002 s"]);
        params.read("demo", [("gain", &*texts[0]), ("interval", &*texts[1])], &mut Vec::new());
        assert_eq!((params.inner.gain, params.interval), (0.25, Span(2_000_000_000)));
    }

    #[test]
    fn refuses_unknown_names_ranges_and_contradictions() {
        assert_eq!(
            problems(&[("gian", "1")]),
            ["demo.gian: unknown parameter \"gian\"; did you mean \"gain\"? known: gain, interval"]
        );
        assert_eq!(
            problems(&[("interval", "2 s")]),
            ["demo.interval: \"2 s\" is out of range: must lie in 1 us ..= 1 s"]
        );
        assert_eq!(problems(&[("gain", "0.95")]), ["demo: gain must be below 0.9"]);
        assert_eq!(problems(&[("gain", "x"), ("interval", "3")]).len(), 2);
    }
}
