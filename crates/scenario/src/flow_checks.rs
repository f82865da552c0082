//! Conditions between flows and the links that they cross.

use crate::distribution::Distribution;
use crate::{FlowSpec, LinkSpec};
use aqmlab_aqm::Limit;
use aqmlab_core::{Problem, Quantity, Rate, Span};
use std::collections::BTreeSet;

impl FlowSpec {
    /// The least throughput advice of the policers on its path, as a rate of payload; `None` without a policer.
    pub fn advice(&self, links: &[LinkSpec]) -> Option<Rate> {
        let policers = self.path.iter().filter_map(|link| links[*link].impairments.policer);
        let least = policers.map(|policer| policer.advice().0).reduce(f64::min)?;
        Some(Rate(least * f64::from(self.payload) / f64::from(self.wire_size())))
    }
}

/// Senders that follow throughput advice pace at no more than that.
pub fn follow_advice(links: &[LinkSpec], flows: &mut [FlowSpec], found: &mut Vec<Problem>) {
    for flow in flows.iter_mut().filter(|flow| flow.scone) {
        flow.max_pacing_rate = flow.advice(links);
        if flow.max_pacing_rate.is_none() {
            let why = "\"scone\" needs a policer on the path, which gives throughput advice; expected a rate, or add a policer";
            found.push(Problem::new(format!("flows.{}.max_pacing_rate", flow.name), why));
        }
    }
}

/// Checks the conditions between flows and the links they cross.
pub fn check_flows(links: &[LinkSpec], flows: &[FlowSpec], duration: Span, found: &mut Vec<Problem>) {
    for flow in flows {
        let mut refuse =
            |key: &str, reason: String| found.push(Problem::new(format!("flows.{}.{key}", flow.name), reason));
        let own = flow.own_delay(|link| links[link].delay);
        let least = flow.rtt.least();
        if least < own && !flow.rtt.is_drawn_from_zero() {
            let (least, own) = (least.text(), own.text());
            refuse("rtt", format!("\"{least}\" is shorter than the path's own delay, there and back: {own}"));
        }
        for batch in &flow.batches {
            if batch.start.least() > duration {
                refuse(
                    "start",
                    format!("\"{}\" is after the end of the run ({})", batch.start.text(), duration.text()),
                );
            }
            if let Some(stop @ (Distribution::Fixed(_) | Distribution::Uniform(..) | Distribution::Values(_))) =
                &batch.stop
                && stop.typical_largest() <= batch.start.least()
            {
                refuse("stop", format!("\"{}\" is not after the start ({})", stop.text(), batch.start.text()));
            }
        }
        for (i, link) in flow.path.iter().chain(&flow.ack_path).enumerate().filter(|(_, link)| links[**link].host) {
            let name = &links[*link].name;
            let key = if i < flow.path.len() { "path" } else { "ack_path" };
            if i > 0 {
                refuse(key, format!("crosses links.{name}, the interface of a sending host, later than first"));
            } else if flow.access_rate.is_some() {
                refuse("access_rate", format!("is that of a host, which links.{name} has; leave it out"));
            }
        }
        let largest = flow.wire_size();
        for link in flow.path.iter().map(|link| &links[*link]) {
            if matches!(link.buffer, Limit::Bytes(bytes) if bytes < u64::from(largest)) {
                refuse("packet", format!("{largest} B on the wire do not fit the buffer of links.{}", link.name));
            }
        }
    }
    let of_tcp: BTreeSet<usize> =
        flows.iter().filter(|flow| flow.traffic.is_tcp()).flat_map(|flow| &flow.path).copied().collect();
    for (i, link) in links.iter().enumerate().filter(|(_, link)| link.host) {
        if !of_tcp.contains(&i) {
            let why = "\"true\" is for the interface of a host that sends by TCP; no such flow crosses the link";
            found.push(Problem::new(format!("links.{}.host", link.name), why));
        }
    }
}
