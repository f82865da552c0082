//! The scenario with every default filled in, as stored beside results.

use crate::{FlowSpec, Scenario};
use aqmlab_core::Quantity;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Scenario {
    /// Everything that a run depends on, but scheme and seed, as JSON: quantities are text with unit.
    pub fn resolved(&self) -> Value {
        let places = self.places();
        let links: Vec<Value> =
            places.iter().map(|(name, link)| self.links[*link].resolved(name, &self.flows)).collect();
        let params = |params: &[(String, String)]| BTreeMap::from_iter(params.iter().cloned());
        let schemes: BTreeMap<_, _> = self.schemes.iter().map(|(name, own)| (name, params(own))).collect();
        let mut shown = json!({
            "schema": 1,
            "name": self.name,
            "title": self.title,
            "duration": self.duration.text(),
            "warmup": self.warmup.text(),
            "sample": self.sample.text(),
            "links": links,
            "flows": self.flows.iter().map(FlowSpec::resolved).collect::<Vec<_>>(),
            "changes": self.change_tables().map(|table| json!(table)).collect::<Vec<_>>(),
            "schemes": schemes,
        });
        if !self.controllers.is_empty() {
            shown["controllers"] = json!(self.source.get("controllers"));
        }
        if self.source.contains_key("buffers") {
            shown["buffers"] = json!(self.source.get("buffers"));
        }
        let keys: &[&str] = match () {
            () if self.tree.is_some() => &["sites", "plans", "lines"],
            () if self.wifi.is_some() => &["wifi", "stations"],
            () => &["fabric"],
        };
        if !self.alike.is_empty() || self.wifi.is_some() {
            for key in keys {
                shown[*key] = json!(self.source.get(*key));
            }
            // The links of a path go by where those that are like them stand among `links`.
            let place = |link: &usize| places.iter().position(|(name, _)| *name == self.links[*link].list);
            for (flows, shown) in self.flows.iter().zip(shown["flows"].as_array_mut().into_iter().flatten()) {
                for (key, path) in [("path", &flows.path), ("ack_path", &flows.ack_path)] {
                    if shown.get(key).is_some() {
                        shown[key] = path.iter().map(place).collect();
                    }
                }
            }
        }
        shown
    }
}
