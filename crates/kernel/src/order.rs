//! The order of a run: a scenario, and how its queues are set up in Linux.

use aqmlab_core::Problems;
use aqmlab_scenario::{Scenario, parse};
use serde::Deserialize;

/// Bytes of Ethernet's header, which stands before a packet's own on every device.
pub const ETHERNET_HEADER: u32 = 14;
/// Largest frame of the devices, unless flows send larger ones.
const FRAME: u32 = 1500 + ETHERNET_HEADER;

/// Bytes of the largest frame of the devices: by it a discipline knows their MTU.
pub fn largest_frame(scenario: &Scenario) -> u32 {
    scenario.flows.iter().map(|flows| flows.wire_size()).fold(FRAME, u32::max)
}

/// The order for the program inside.
#[derive(Clone, Debug, Deserialize)]
pub struct GuestOrder {
    /// Text of the scenario.
    pub scenario: String,
    /// Its name.
    pub name: String,
    /// The values that are set of it: path and value.
    pub overrides: Vec<(String, String)>,
    /// The schemes, as results name them.
    pub aqm: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Time series are wanted.
    pub series: bool,
    /// A scheme asks for the host of a packet: flows on different hosts have different addresses.
    pub hosts: bool,
    /// The queue of each link.
    pub queues: Vec<Queue>,
    /// The queue of a link, after each change of the scenario of a buffer or a scheme's parameter, in order.
    pub changed: Vec<Queue>,
    /// The link whose packets are captured as they leave it, by index.
    pub capture: Option<usize>,
}

/// A queueing discipline of Linux.
#[derive(Clone, Debug, Deserialize)]
pub struct Queue {
    /// Its kind, as `fq_codel`.
    pub kind: String,
    /// Its `TCA_OPTIONS`, in hexadecimal digits.
    pub options: String,
    /// It shapes by itself: the device sends at once.
    pub shapes: bool,
    /// Bytes of its statistics at which counts of marks stand.
    pub marks: Vec<usize>,
    /// Bytes at which counts of drops at a full buffer stand.
    pub overflows: Vec<usize>,
    /// Its statistics are attributes, with marks in each tin (CAKE).
    pub tins: bool,
}

impl GuestOrder {
    /// The scenario.
    ///
    /// # Errors
    /// Of its text.
    pub fn scenario(&self) -> Result<Scenario, Problems> {
        parse(&self.scenario, &self.name, &self.overrides)
    }
}

impl Queue {
    /// The bytes of its `TCA_OPTIONS`; `None` if the digits are wrong.
    pub fn option_bytes(&self) -> Option<Vec<u8>> {
        let digits = self.options.as_bytes().chunks(2);
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_pairs_of_digits() {
        let queue = |options: &str| Queue {
            kind: "pfifo".into(),
            options: options.into(),
            shapes: false,
            marks: vec![],
            overflows: vec![],
            tins: false,
        };
        assert_eq!(queue("0aff").option_bytes(), Some(vec![10, 255]));
        assert_eq!(queue("0x").option_bytes(), None);
    }
}
