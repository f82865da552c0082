//! The policer of a link, as a scenario gives it.

use crate::keys::{KeySpec, MOST_BYTES, RATES, Section};
use crate::table_reader::TableReader;
use aqmlab_core::{Bytes, Quantity, Rate};

/// A token-bucket policer where the wire begins: no packet waits for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicerSpec {
    /// Rate at which tokens come.
    pub rate: Rate,
    /// Tokens that the bucket holds; it is full at first.
    pub burst: Bytes,
    /// The treatment of a packet for which there are too few tokens.
    pub action: PolicerAction,
}

aqmlab_core::choice! {
    /// A policer's treatment of packets that do not conform.
    pub enum PolicerAction {
        /// They are dropped.
        Drop = "drop",
        /// Those that are ECN-capable are marked, the others dropped.
        Ce = "ce",
    }
}

/// Keys of `policer`.
pub const POLICER: Section = Section::new(&[&[
    KeySpec::of::<Rate>("rate", "Rate at which tokens come.").within(RATES.0, RATES.1).required("\"10 Mbit/s\""),
    KeySpec::of::<Bytes>("burst", "Tokens that the bucket holds; it is full at first.")
        .within("1 B", MOST_BYTES)
        .required("\"100 kB\""),
    KeySpec::of::<PolicerAction>("action", "Drop packets that do not conform, or mark those that are ECN-capable.")
        .or("drop"),
]]);

impl PolicerSpec {
    /// The policer of one `[[links]]`, which packets of up to `largest` bytes cross.
    pub(super) fn read(link: &mut TableReader, largest: f64) -> Option<Self> {
        let mut policer = link.inner("policer")?;
        let rate = policer.required("rate");
        let burst: Option<Bytes> = policer.required("burst");
        if let Some(burst) = burst.filter(|burst| burst.0 < largest) {
            let least = Bytes(largest).text();
            policer
                .refuse("burst", format!("\"{}\" holds no packet of {least}; expected {least} or more", burst.text()));
        }
        let action = policer.or_default("action");
        policer.finish();
        Some(Self { rate: rate?, burst: burst?, action })
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { rate, burst, action } = self;
        format!("{}, burst {}, {}", rate.text(), burst.text(), action.text())
    }
}
