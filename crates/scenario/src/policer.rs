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

    /// Its throughput advice: the highest rate signal that is not above its rate, or the lowest
    /// (draft-ietf-scone-protocol-08, section 5.1).
    pub fn advice(&self) -> Rate {
        const LOWEST: f64 = 1e5; // bit/s
        let signals = (0..=126).map(|signal| LOWEST * libm::pow(10.0, f64::from(signal) / 20.0));
        Rate(signals.take_while(|rate| *rate <= self.rate.0).last().unwrap_or(LOWEST))
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { rate, burst, action } = self;
        format!("{}, burst {}, {}", rate.text(), burst.text(), action.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_the_highest_signal_that_is_not_above_the_rate() {
        let burst = Bytes(1e5);
        let advice = |rate| PolicerSpec { rate: Rate(rate), burst, action: PolicerAction::Drop }.advice().0;
        // 100 kbit/s * 10^(n/20): n = 20, 40, 33 (4.467 Mbit/s), and the lowest.
        assert_eq!([1e6, 1e7, 5e4].map(advice), [1e6, 1e7, 1e5]);
        assert!((advice(5e6) - 4.466_836e6).abs() < 1.0);
    }

    #[test]
    fn a_sender_that_follows_advice_paces_at_no_more() {
        let text = "schema = 1\nduration = \"1 s\"\n[[links]]\nname = \"a\"\nrate = \"50 Mbit/s\"\nbuffer = \"9 packets\"\n\
                    policer = { rate = \"10 Mbit/s\", burst = \"100 kB\" }\n[[flows]]\nname = \"g\"\n\
                    packet = \"960 B\"\nrtt = \"80 ms\"\ntcp = \"rfc\"\nmax_pacing_rate = \"scone\"\n";
        let rate = |text: &str| Ok::<_, aqmlab_core::Problems>(crate::parse(text, "g", &[])?.flows[0].max_pacing_rate);
        assert_eq!(rate(text).unwrap(), Some(Rate(9.6e6)), "40 B of 1000 are headers");
        assert_eq!(rate(&text.replace("scone", "2 Mbit/s")).unwrap(), Some(Rate(2e6)));
        let without = text.replace("policer = { rate = \"10 Mbit/s\", burst = \"100 kB\" }\n", "");
        for (text, why) in [
            (without, "flows.g.max_pacing_rate: \"scone\" needs a policer on the path"),
            (text.replace("scone", "fast"), "flows.g.max_pacing_rate: \"fast\""),
            (text.replace("scone", "0 bit/s"), "is out of range"),
            (text.replace("\"scone\"", "[1]"), "expected a rate such as \"10 Mbit/s\", found a list, or \"scone\""),
        ] {
            let refused = rate(&text).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
