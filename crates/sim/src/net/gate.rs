//! The times at which a transmitter may begin.

use crate::net::grants::Grants;
use crate::net::interruption::Interruption;
use aqmlab_aqm::QueueView;
use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_core::{Stream, Time};
use aqmlab_scenario::Impairments;

/// An obstacle to a transmitter's beginning: interruptions, or that nothing is granted to it.
#[derive(Clone)]
pub struct LinkGate {
    interruption: Option<Interruption>,
    grants: Option<Grants>,
}

impl LinkGate {
    /// That of a link, if it has one; `stream` gives its random streams by name.
    pub fn of(wire: &Impairments, stream: impl Fn(&str) -> Stream) -> Option<Box<Self>> {
        let interruption = wire.interruptions.as_ref().map(|law| Interruption::new(law, stream("interruptions")));
        let grants = wire.request_grant.map(|law| Grants::new(law, stream("grants")));
        (interruption.is_some() || grants.is_some()).then(|| Box::new(Self { interruption, grants }))
    }

    /// `None` if a packet of the queue may begin; else when to ask again.
    pub fn until(&mut self, now: Time, queue: &QueueView, layer: LinkLayer) -> Option<Time> {
        if let Some(end) = self.interruption.as_mut().and_then(|interruption| interruption.until(now)) {
            return Some(end);
        }
        if queue.packets == 0 {
            return None;
        }
        let mean = (queue.bytes / u64::from(queue.packets)) as u32;
        let waiting = f64::from(queue.packets) * f64::from(layer.bytes(mean));
        self.grants.as_mut()?.until(now, waiting, queue.rate)
    }
}
