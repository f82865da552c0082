//! The scenario with every default filled in, as stored beside results.

use crate::flow_keys::SCONE;
use crate::{
    Aggregation, Distribution, FlowSpec, Interruptions, LinkSpec, Mangling, OfferedData, PolicerSpec, Quic,
    RateChanges, Scenario, Traffic,
};
use aqmlab_aqm::{Ecn, Limit, class_of};
use aqmlab_core::{ParamSet, Quantity, Span};
use serde_json::{Map, Value, json};

impl Scenario {
    /// Everything that a run depends on, but scheme and seed, as JSON: quantities are text with unit.
    pub fn resolved(&self) -> Value {
        let places = self.places();
        let mut shown = json!({
            "schema": 1,
            "name": self.name,
            "title": self.title,
            "duration": self.duration.text(),
            "warmup": self.warmup.text(),
            "sample": self.sample.text(),
            "links": places.iter().map(|(name, link)| self.links[*link].resolved(name, &self.flows)).collect::<Vec<_>>(),
            "flows": self.flows.iter().map(FlowSpec::resolved).collect::<Vec<_>>(),
            "changes": self.change_tables().map(|table| json!(table)).collect::<Vec<_>>(),
            "schemes": self.schemes.iter().map(|(name, params)| (name.clone(), object(params))).collect::<Map<_, _>>(),
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

fn object<K: ToString, V: ToString>(pairs: &[(K, V)]) -> Value {
    pairs.iter().map(|(key, value)| (key.to_string(), Value::from(value.to_string()))).collect()
}

/// Ascending numbers in short: `0-3, 7`.
fn ranges(numbers: &[u32]) -> String {
    let rows = numbers.chunk_by(|a, b| a + 1 == *b).map(|row| match row {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    rows.collect::<Vec<_>>().join(", ")
}

/// A capacity as a scenario writes it.
pub fn buffer(limit: Limit) -> String {
    match limit {
        Limit::Packets(packets) => format!("{packets} packets"),
        Limit::Bytes(bytes) => format!("{bytes} B"),
    }
}

impl LinkSpec {
    fn resolved(&self, name: &str, flows: &[FlowSpec]) -> Value {
        let of = &self.impairments;
        let rate = match &self.changes {
            RateChanges::None => json!(self.rate.text()),
            RateChanges::At(steps) => std::iter::once((Span::ZERO, self.rate))
                .chain(steps.iter().copied())
                .map(|(time, rate)| json!([time.text(), rate.text()]))
                .collect(),
            RateChanges::Trace(trace) => json!({
                "trace": trace.name,
                "mean": self.rate.text(),
                "opportunities": trace.times.len(),
                "period": trace.period().text(),
                "checksum": format!("{:016x}", trace.checksum()),
            }),
            RateChanges::Wander { values, hold } => {
                json!({"values": values.iter().map(|rate| rate.text()).collect::<Vec<_>>(), "hold": hold.text()})
            }
            RateChanges::Fade(fading) => json!({"mean": self.rate.text(), "fading": fading.text()}),
        };
        let mut shown = json!({
            "name": name,
            "rate": rate,
            "delay": self.delay.text(),
            "buffer": buffer(self.buffer),
            "target": format!("{} packets", self.target),
            "aqm": self.aqm.name,
            "fixed": self.fixed,
            "ecn": self.ecn,
            "overhead": format!("{} B", self.layer.added),
            "mpu": format!("{} B", self.layer.least),
            "framing": self.layer.framing.text(),
            "policer": of.policer.as_ref().map(PolicerSpec::text),
            "loss": of.loss.map(|loss| loss.text()),
            "jitter": of.jitter.as_ref().map(Distribution::text),
            "reorder": of.reorder.map(|share| share.text()),
            "ecn_mangling": of.ecn_mangling.map(Mangling::name),
            "aggregation": of.aggregation.as_ref().map(Aggregation::text),
        });
        if let Some(every) = of.jitter_every {
            shown["jitter_every"] = json!(every.text());
        }
        if let Some(interruptions) = of.interruptions.as_ref().map(Interruptions::text) {
            shown["interruptions"] = json!(interruptions);
        }
        if let Some(law) = of.request_grant {
            shown["request_grant"] = json!(law.text());
        }
        if self.shared.is_some() {
            shown["shared"] = json!(true);
        }
        if self.host {
            shown["host"] = json!(true);
        }
        if !self.classes.classes.is_empty() {
            shown["classes"] = Value::from(self.classes.resolved(flows));
        }
        shown
    }
}

impl FlowSpec {
    fn resolved(&self) -> Value {
        let batches: Vec<Value> = self
            .batches
            .iter()
            .map(
                |b| json!({"count": b.count, "start": b.start.text(), "stop": b.stop.as_ref().map(|stop| stop.text())}),
            )
            .collect();
        let mut shown = json!({
            "name": self.name,
            "kind": self.traffic.kind(),
            "path": self.path,
            "rtt": self.rtt.text(),
            "groups": batches,
            "start_spread": self.start_spread,
            "packet": format!("{} B", self.payload),
            "header": format!("{} B", self.header),
            "access_rate": self.access_rate.map(|rate| rate.text()),
            "ecn": match (self.ecn, self.control.needs().l4s) {
                (Ecn::Ect1, _) => json!("ect1"),
                (Ecn::Ect0, true) => json!("ect0"), // true is ECT(1) there
                _ => json!(self.ecn.is_capable()),
            },
            "class": class_of(self.dscp),
            "hosts": self.hosts,
            "phases": self.phases,
        });
        if self.dscp != class_of(self.dscp) << 3 {
            shown["dscp"] = json!(self.dscp);
        }
        if let Some(rate) = self.max_pacing_rate {
            shown["max_pacing_rate"] = if self.scone { json!(SCONE) } else { json!(rate.text()) };
        }
        if let Some(ends) = &self.ends {
            (shown["from"], shown["to"]) = (ranges(&ends.from).into(), ranges(&ends.to).into());
        }
        let more = self.traffic.resolved().into_iter().chain(self.resolved_tcp());
        shown.as_object_mut().expect("made as an object above").extend(more);
        shown
    }

    fn resolved_tcp(&self) -> Map<String, Value> {
        if !self.traffic.is_tcp() {
            return Map::new();
        }
        let control = ("congestion_control", self.control.text());
        let mut tcp = vec![("variant", self.variant.text()), ("profile", self.profile.text()), control];
        tcp.extend(self.tcp.values());
        let pairs = [
            ("ack_path", json!(self.ack_path)),
            ("rtt_notification", json!(self.rtt_notification)),
            ("tcp", object(&tcp)),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }
}

impl Traffic {
    fn resolved(&self) -> Map<String, Value> {
        let pairs = match self {
            Traffic::Ftp | Traffic::Foreign => vec![],
            Traffic::AppLimited(OfferedData { rate, chunk, on_off }) => {
                let times = on_off.iter().flat_map(|(on, off)| [("on", on.text()), ("off", off.text())]);
                [("rate", rate.text()), ("chunk", format!("{chunk} packets"))].into_iter().chain(times).collect()
            }
            Traffic::Quic(Quic { size, control }) => {
                let size = size.map_or("no end".into(), |size| format!("{} B", size.0));
                vec![("size", size), ("congestion_control", control.name().into())]
            }
            Traffic::Media(media) => media.resolved(),
            Traffic::UdpCbr { rate } => vec![("rate", rate.text())],
            Traffic::UdpOnOff { rate, on, off } => {
                vec![("rate_on", rate.text()), ("on", on.text()), ("off", off.text())]
            }
            Traffic::Short { arrivals, size } => vec![("arrivals", arrivals.text()), ("size", size.text())],
            Traffic::Video(video) => {
                let bitrates: Vec<String> = video.bitrates.iter().map(|rate| rate.text()).collect();
                let times = [("segment", video.segment), ("playback_buffer", video.playback_buffer)];
                let times = times.map(|(key, span)| (key.to_string(), json!(span.text())));
                return times.into_iter().chain([("bitrates".to_string(), json!(bitrates))]).collect();
            }
            Traffic::Http(session) => vec![
                ("pages", session.pages.as_ref().map_or("no end".into(), |pages| pages.text())),
                ("think_time", session.think_time.text()),
                ("think_after", if session.think_after_page { "page" } else { "request" }.into()),
                ("objects", session.objects.text()),
                ("object_gap", session.object_gap.text()),
                ("size", session.size.text()),
                ("request_round_trips", session.request_round_trips.text()),
            ],
        };
        pairs.into_iter().map(|(key, value)| (key.to_string(), Value::from(value))).collect()
    }
}
