//! The policer of a link, as a scenario gives it.

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

const EXAMPLE: &str = "policer = { rate = \"10 Mbit/s\", burst = \"100 kB\" }";

impl PolicerSpec {
    /// The policer of one `[[links]]`, which packets of up to `largest` bytes cross.
    pub(super) fn read(link: &mut TableReader, largest: f64) -> Option<Self> {
        let mut policer = link.inner("policer", EXAMPLE)?;
        let rate: Option<Rate> = policer.required("rate", "\"10 Mbit/s\"");
        let rate = policer.within("rate", rate, "1 bit/s", "10 Tbit/s");
        let burst: Option<Bytes> = policer.required("burst", "\"100 kB\"");
        let burst = policer.within("burst", burst, "1 B", "1000000 MB");
        if let Some(burst) = burst.filter(|burst| burst.0 < largest) {
            let least = Bytes(largest).text();
            policer
                .refuse("burst", format!("\"{}\" holds no packet of {least}; expected {least} or more", burst.text()));
        }
        let action = policer.optional("action").unwrap_or(PolicerAction::Drop);
        policer.finish();
        Some(Self { rate: rate?, burst: burst?, action })
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { rate, burst, action } = self;
        format!("{}, burst {}, {}", rate.text(), burst.text(), action.text())
    }
}
