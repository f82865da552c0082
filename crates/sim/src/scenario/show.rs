//! The scenario with every default filled in, as stored beside results.

use super::{FlowSpec, LinkSpec, Scenario};
use aqmlab_aqm::Limit;
use aqmlab_core::{ParamSet, Quantity};
use serde_json::{Map, Value, json};

impl Scenario {
    /// Everything that a run depends on, but scheme and seed, as JSON: quantities are text with unit.
    pub fn resolved(&self) -> Value {
        json!({
            "schema": 1,
            "name": self.name,
            "title": self.title,
            "duration": self.duration.text(),
            "warmup": self.warmup.text(),
            "sample": self.sample.text(),
            "links": self.links.iter().map(LinkSpec::resolved).collect::<Vec<_>>(),
            "flows": self.flows.iter().map(FlowSpec::resolved).collect::<Vec<_>>(),
            "schemes": self.schemes.iter().map(|(name, params)| (name.clone(), object(params))).collect::<Map<_, _>>(),
        })
    }
}

fn object<K: ToString, V: ToString>(pairs: &[(K, V)]) -> Value {
    pairs.iter().map(|(key, value)| (key.to_string(), Value::from(value.to_string()))).collect()
}

impl LinkSpec {
    fn resolved(&self) -> Value {
        let buffer = match self.buffer {
            Limit::Packets(packets) => format!("{packets} packets"),
            Limit::Bytes(bytes) => format!("{bytes} B"),
        };
        json!({
            "name": self.name,
            "rate": self.rate.text(),
            "delay": self.delay.text(),
            "buffer": buffer,
            "target": format!("{} packets", self.target),
            "aqm": self.aqm.name,
            "fixed": self.fixed,
        })
    }
}

impl FlowSpec {
    fn resolved(&self) -> Value {
        let batches: Vec<Value> = self
            .batches
            .iter()
            .map(|b| json!({"count": b.count, "start": b.start.text(), "stop": b.stop.as_ref().map(|law| law.text())}))
            .collect();
        let mut tcp = vec![("variant", self.variant.text()), ("profile", self.profile.text())];
        tcp.extend(self.tcp.values());
        json!({
            "name": self.name,
            "kind": "ftp",
            "path": self.path,
            "rtt": self.rtt.text(),
            "groups": batches,
            "packet": format!("{} B", self.payload),
            "access_rate": self.access_rate.map(|rate| rate.text()),
            "tcp": object(&tcp),
        })
    }
}
