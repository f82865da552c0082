//! A measure is declared once, where it is computed: its place in the JSON, the classes of Python and docs/metrics.md
//! follow from the declaration.

/// A field of a result.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name in the JSON.
    pub name: &'static str,
    /// Its Rust type.
    pub kind: &'static str,
    /// Definition: the first paragraph in a sentence, then the details.
    pub doc: &'static str,
    /// Presentation, for a number with a title of its own.
    pub measure: Option<Measure>,
}

/// A number that can be compared, ranked and drawn.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// For the head of a column.
    pub title: &'static str,
    /// Its unit, and how people read it.
    pub unit: Unit,
    /// The better of two values, where either is.
    pub better: Option<Preference>,
}

/// The unit in which a measure is stored, and how people read a value: times `scale`, in `shown`, with so many digits
/// after the point.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// SI (s, bit/s), packets, ratio or 1.
    pub name: &'static str,
    /// Factor from a stored value to the shown one.
    pub scale: f64,
    /// The unit after that.
    pub shown: &'static str,
    /// Digits after the point.
    pub digits: u32,
}

/// A share, read in percent.
pub const SHARE: Unit = Unit { name: "ratio", scale: 100.0, shown: "%", digits: 2 };
/// A mean number of packets.
pub const QUEUE: Unit = Unit { name: "packets", scale: 1.0, shown: "packets", digits: 1 };
/// Packets that were counted.
pub const PACKETS: Unit = Unit { name: "packets", scale: 1.0, shown: "1", digits: 0 };
/// Anything else that was counted.
pub const COUNT: Unit = Unit { name: "1", scale: 1.0, shown: "1", digits: 0 };
/// A number between 0 and 1.
pub const INDEX: Unit = Unit { name: "1", scale: 1.0, shown: "1", digits: 3 };
/// A mark on a scale of a few points.
pub const SCORE: Unit = Unit { name: "1", scale: 1.0, shown: "1", digits: 2 };
/// A delay, read in milliseconds.
pub const DELAY: Unit = Unit { name: "s", scale: 1e3, shown: "ms", digits: 1 };
/// A time, read in seconds.
pub const TIME: Unit = Unit { name: "s", scale: 1.0, shown: "s", digits: 1 };
/// A rate, read in megabits a second.
pub const RATE: Unit = Unit { name: "bit/s", scale: 1e-6, shown: "Mbit/s", digits: 2 };
/// Something that happens so often a second.
pub const FREQUENCY: Unit = Unit { name: "1/s", scale: 1.0, shown: "1/s", digits: 1 };
/// A rate over a delay.
pub const POWER: Unit = Unit { name: "bit/s^2", scale: 1e-9, shown: "Mbit/s per ms", digits: 3 };

/// Preference between two values of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The greater one.
    More,
    /// The smaller one.
    Less,
}

/// Declares a result: a struct that serialises its fields in order, the list of them, and how each is computed.
///
/// `name: type = value;` is a field; `name: type, "Title" in UNIT, better = value;` is a measure, of which `, better`
/// ([`Preference`]) may be missing.
macro_rules! measures {
    ($(#[doc = $doc:literal])+ pub struct $result:ident from $facts:ident : $of:ty {
        $($(#[doc = $fdoc:literal])+ $(#[serde($skip:meta)])? $name:ident : $t:ty
          $(, $title:literal in $unit:ident $(, $better:ident)?)? = $value:expr;)*
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, serde::Serialize)]
        pub struct $result {
            $($(#[doc = $fdoc])+ $(#[serde($skip)])? pub $name: $t),*
        }

        impl $result {
            /// Description.
            pub const DOC: &'static str = concat!($($doc, "\n"),+);

            /// Its fields, in order.
            pub const FIELDS: &'static [$crate::measure::declared::Field] = &[$($crate::measure::declared::Field {
                name: stringify!($name),
                kind: stringify!($t),
                doc: concat!($($fdoc, "\n"),+),
                measure: $crate::measure::declared::measures!(@measure $($title, $unit $(, $better)?)?),
            }),*];

            /// Computes all of them.
            pub fn of($facts: &$of) -> Self {
                Self { $($name: $value),* }
            }
        }
    };
    (@measure) => { None };
    (@measure $title:literal, $unit:ident $(, $better:ident)?) => {
        Some($crate::measure::declared::Measure {
            title: $title,
            unit: $crate::measure::declared::$unit,
            better: $crate::measure::declared::measures!(@better $($better)?),
        })
    };
    (@better) => { None };
    (@better more) => { Some($crate::measure::declared::Preference::More) };
    (@better less) => { Some($crate::measure::declared::Preference::Less) };
}
pub(crate) use measures;
