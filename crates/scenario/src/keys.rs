//! Declarations of keys: the name of each, the values that it takes, its meaning, and the engines that lack it.

use aqmlab_core::Quantity;
use aqmlab_core::quantity::Units;

/// The rates that a link may have.
pub const RATES: (&str, &str) = ("1 bit/s", "10 Tbit/s");
/// The delays that a link may have.
pub const DELAYS: (&str, &str) = ("0 s", "1000 s");
/// The sizes that a transfer, a burst or a buffer may have at most.
pub const MOST_BYTES: &str = "1000000 MB";

/// The declaration of a key.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Its name.
    pub name: &'static str,
    /// The values that it takes.
    pub form: ValueForm,
    /// Its meaning, in a sentence or two.
    pub doc: &'static str,
    /// Its value where it is not given, as text.
    pub default: Option<&'static str>,
    /// A value of it in TOML.
    pub example: Option<&'static str>,
    /// It must be given.
    pub is_required: bool,
    /// It can be changed during a run.
    pub is_changeable: bool,
    /// The reason why each engine that lacks it refuses it.
    refusals: [Option<&'static str>; 2],
}

/// An engine that does not support all keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The fluid model.
    Fluid,
    /// A Linux kernel.
    Linux,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug)]
pub enum ValueForm {
    /// A quantity.
    Quantity(QuantityForm),
    /// A quantity, or a distribution that quantities are drawn from.
    Distribution(QuantityForm),
    /// Text.
    Text,
    /// A name of something: letters, digits, `-` and `_`.
    Name,
    /// The name of a kind.
    Kind,
    /// This number.
    Exactly(u32),
    /// One of a few words.
    Words(&'static [&'static str]),
    /// A whole multiple of the bandwidth-delay product, or a part of it.
    Bdp,
    /// A scheme with its parameters.
    Scheme,
    /// A congestion control with its parameters.
    Law,
    /// A congestion control, a loss recovery or a profile of TCP, or a table of these with TCP's constants.
    Tcp,
    /// The parameters of schemes, each in a table of its name.
    Schemes,
    /// A list of one value or more.
    Some(&'static ValueForm),
    /// A list of values.
    List(&'static ValueForm),
    /// A list with a value of each form.
    Tuple(&'static [ValueForm]),
    /// A table.
    Table(&'static Section),
    /// A list of tables.
    Tables(&'static Section),
    /// A table of values under any names.
    Named(&'static ValueForm),
    /// A value of one of several forms.
    Any(&'static [ValueForm]),
    /// Any value.
    Value,
}

/// A kind of quantity.
#[derive(Clone, Copy, Debug)]
pub struct QuantityForm {
    /// The name of its unit in tables.
    pub unit: &'static str,
    /// Its units, each with its size in the base unit.
    pub units: Units,
    /// The words allowed, for a choice.
    pub choices: &'static [&'static str],
    /// It is a whole number.
    pub is_whole: bool,
    /// Least and greatest value, as text with unit.
    pub range: Option<(&'static str, &'static str)>,
    /// A value as text with unit; empty for what has none.
    pub example: &'static str,
}

/// The keys of a table.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its keys, those that it shares with other tables in groups of their own.
    pub keys: &'static [&'static [KeySpec]],
    /// The keys that it has by the value of `kind`. The first kind is the default.
    pub kinds: &'static [Kind],
}

/// A value of `kind`, and the keys that come with it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The value.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// The keys.
    pub keys: &'static [&'static [KeySpec]],
}

impl ValueForm {
    /// A quantity of this type.
    pub const fn of<Q: Quantity>() -> Self {
        Self::Quantity(QuantityForm::of::<Q>())
    }

    /// A quantity of this type or a distribution of them.
    pub const fn distribution<Q: Quantity>() -> Self {
        Self::Distribution(QuantityForm::of::<Q>())
    }

    /// The same in a range.
    pub const fn within(self, least: &'static str, greatest: &'static str) -> Self {
        let range = Some((least, greatest));
        match self {
            Self::Quantity(of) => Self::Quantity(QuantityForm { range, ..of }),
            Self::Distribution(of) => Self::Distribution(QuantityForm { range, ..of }),
            _ => panic!("only a quantity has a range"),
        }
    }

    /// A whole number of a quantity.
    pub const fn whole(self) -> Self {
        match self {
            Self::Quantity(of) => Self::Quantity(QuantityForm { is_whole: true, ..of }),
            _ => panic!("only a quantity is whole"),
        }
    }

    /// Least and greatest value of a quantity; of several forms, those of the first.
    fn range(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Quantity(of) | Self::Distribution(of) => of.range,
            Self::Any([first, ..]) => first.range(),
            _ => None,
        }
    }
}

impl QuantityForm {
    /// A quantity of this type.
    pub const fn of<Q: Quantity>() -> Self {
        Self {
            unit: Q::UNIT,
            units: Q::UNITS,
            choices: Q::CHOICES,
            is_whole: Q::IS_WHOLE,
            range: Q::RANGE,
            example: Q::EXAMPLE,
        }
    }
}

impl KeySpec {
    /// A key whose values have this form.
    pub const fn new(name: &'static str, form: ValueForm, doc: &'static str) -> Self {
        Self {
            name,
            form,
            doc,
            default: None,
            example: None,
            is_required: false,
            is_changeable: false,
            refusals: [None; 2],
        }
    }

    /// A key for a quantity.
    pub const fn of<Q: Quantity>(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ValueForm::of::<Q>(), doc)
    }

    /// A key for a quantity or a distribution.
    pub const fn distribution<Q: Quantity>(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ValueForm::distribution::<Q>(), doc)
    }

    /// The same for whole numbers of a quantity.
    pub const fn whole(self) -> Self {
        Self { form: self.form.whole(), ..self }
    }

    /// The same with a range.
    pub const fn within(self, least: &'static str, greatest: &'static str) -> Self {
        Self { form: self.form.within(least, greatest), ..self }
    }

    /// The same with a default.
    pub const fn or(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    /// The same with an example in TOML.
    pub const fn example(self, example: &'static str) -> Self {
        Self { example: Some(example), ..self }
    }

    /// The same, if it must be given.
    pub const fn required(self, example: &'static str) -> Self {
        Self { is_required: true, ..self.example(example) }
    }

    /// The same, if it can change during a run.
    pub const fn changeable(self) -> Self {
        Self { is_changeable: true, ..self }
    }

    /// The same, if an engine refuses every value but the default.
    pub const fn refused_by(self, engine: Engine, why: &'static str) -> Self {
        let mut refusals = self.refusals;
        refusals[engine as usize] = Some(why);
        Self { refusals, ..self }
    }

    /// An engine refuses every value but the default.
    pub const fn is_refused_by(&self, engine: Engine) -> bool {
        self.refusals[engine as usize].is_some()
    }

    /// Least and greatest value of a quantity, if there are any.
    pub fn range(&self) -> Option<(&'static str, &'static str)> {
        self.form.range()
    }
}

impl Section {
    /// A section with these keys.
    pub const fn new(keys: &'static [&'static [KeySpec]]) -> Self {
        Self { keys, kinds: &[] }
    }

    /// Its keys, and those of its kinds.
    pub fn all(&self) -> impl Iterator<Item = &'static KeySpec> {
        let of_kinds = self.kinds.iter().flat_map(|kind| kind.keys);
        self.keys.iter().chain(of_kinds).flat_map(|keys| keys.iter())
    }

    /// A key by its name; of several kinds, the first that has it.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.all().find(|key| key.name == name)
    }

    /// Names of its first group of keys but `name`, those that a link has not.
    pub fn own(&self) -> Vec<&'static str> {
        self.keys[0].iter().map(|key| key.name).filter(|name| *name != "name").collect()
    }

    /// Those of the keys that an engine lacks, each with the reason.
    pub fn refusals(
        &self,
        keys: impl Iterator<Item = &'static str>,
        engine: Engine,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        keys.filter_map(move |name| self.key(name)?.refusals[engine as usize].map(|why| (name, why)))
    }

    /// Names of the keys that can change during a run.
    pub fn changeable(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.all().filter(|key| key.is_changeable).map(|key| key.name).collect();
        names.dedup();
        names
    }
}
