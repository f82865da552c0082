//! The share of packets that a scheme signals, by its own declaration; or the reason why it has no place in a fluid.

use aqmlab_aqm::{Aqm, QueueView, SchemeEntry, Signal, entries};

/// The share of signals, read from what a scheme shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalShare {
    /// The event at which signals fall.
    pub signal: Signal,
    /// Index of p among the quantities that the scheme shows.
    pub p: usize,
}

impl SignalShare {
    /// Of a scheme of the catalogue.
    ///
    /// # Errors
    /// Why it has no place in a fluid, and which schemes have one.
    pub fn of(entry: &SchemeEntry) -> Result<Self, String> {
        match (entry.signal, entry.observable("p")) {
            (Ok(Signal::Never), _) => Ok(Self { signal: Signal::Never, p: 0 }),
            (Ok(signal), Some(p)) => Ok(Self { signal, p }),
            (Ok(_), None) => Err(refusal(entry.info.name, "does not show a probability p")),
            (Err(why), _) => Err(refusal(entry.info.name, why)),
        }
    }

    /// The share of the packets that meet this queue which the scheme, as it is, signals.
    pub fn now(&self, scheme: &impl Aqm, queue: &QueueView) -> f64 {
        match self.signal {
            Signal::Never => 0.0,
            Signal::AtTail | Signal::AtHead => scheme.share(scheme.observe(self.p), queue),
        }
    }
}

fn refusal(name: &str, why: &str) -> String {
    let mut known: Vec<&str> = entries().iter().filter(|entry| entry.signal.is_ok()).map(|e| e.info.name).collect();
    known.sort_unstable();
    format!("the fluid model does not support \"{name}\": the scheme {why}; it supports {}", known.join(", "))
}
