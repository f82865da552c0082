//! The JSON Schema of scenario files, written from the declarations of their keys.

use crate::ECN;
use crate::distribution::{RandomQuantity, SHAPES, SIGMAS};
use crate::keys::{Engine, KeySpec, Kind, QuantityForm, Section, ValueForm};
use crate::number_pattern::{NUMBER, at_least, at_most};
use crate::parse::SCENARIO;
use crate::tcp::TCP;
use aqmlab_core::{Bytes, Frequency, Packets, ParamSet, ParamSpec, Quantity, Rate, Ratio, Span, read_any};
use aqmlab_tcp::{Profile, TcpParams, TcpVariant, cc};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Definitions that the schema refers to, by their names.
#[derive(Default)]
struct Definitions(Map<String, Value>);

/// The JSON Schema of scenario files, draft 2020-12. Its `$id` has the version of the format.
pub fn schema() -> Value {
    let mut definitions = Definitions::default();
    let mut schema = definitions.section(&SCENARIO);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$id"] = "urn:aqmlab:scenario:1".into();
    schema["title"] = "Scenario of aqmlab".into();
    schema["$defs"] = definitions.0.into();
    schema
}

impl Definitions {
    /// A reference to the definition of this name, which `make` makes if there is none yet.
    fn refer(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        let name = name.replace(['/', ' '], "-");
        if !self.0.contains_key(&name) {
            self.0.insert(name.clone(), Value::Null);
            let made = make(self);
            self.0.insert(name.clone(), made);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// A table with the keys of a section.
    fn section(&mut self, section: &Section) -> Value {
        let mut properties = Map::new();
        for key in section.all() {
            if !properties.contains_key(key.name) {
                let schema = self.property(section, key.name);
                properties.insert(key.name.to_string(), schema);
            }
        }
        let mut schema = table(properties, required(section.keys));
        if !section.kinds.is_empty() {
            schema["allOf"] = section.kinds.iter().map(|kind| self.kind(section, kind)).collect();
        }
        schema
    }

    /// The values of a key, of any kind.
    fn property(&mut self, section: &Section, name: &str) -> Value {
        let mut seen = BTreeSet::new();
        let keys: Vec<&KeySpec> = section.all().filter(|key| key.name == name && seen.insert(key.doc)).collect();
        match keys[..] {
            [key] => self.key(section, key),
            _ => any(keys.into_iter().map(|key| self.key(section, key)).collect()),
        }
    }

    /// What a kind demands: its own keys, and none of other kinds.
    fn kind(&mut self, section: &Section, kind: &Kind) -> Value {
        let own = |name: &str| kind.keys.iter().flat_map(|keys| keys.iter()).find(|key| key.name == name);
        let names: BTreeSet<&str> =
            section.kinds.iter().flat_map(|kind| kind.keys).flat_map(|keys| keys.iter()).map(|key| key.name).collect();
        let properties: Map<_, _> = names
            .into_iter()
            .map(|name| (name.to_string(), own(name).map_or(Value::Bool(false), |key| self.key(section, key))))
            .collect();
        let is_default = section.kinds.first().is_some_and(|first| first.name == kind.name);
        let given: &[&str] = if is_default { &[] } else { &["kind"] };
        json!({
            "if": {"properties": {"kind": {"const": kind.name}}, "required": given},
            "then": {"properties": properties, "required": required(kind.keys)},
        })
    }

    fn key(&mut self, section: &Section, key: &KeySpec) -> Value {
        let mut schema = self.form(section, &key.form);
        schema["description"] = describe(key).into();
        if let Some(default) = key.default {
            schema["default"] = in_json(default).filter(|value| !value.is_string()).unwrap_or(default.into());
        }
        if let Some(example) = key.example.and_then(in_json) {
            schema["examples"] = json!([example]);
        }
        schema
    }

    fn form(&mut self, section: &Section, form: &ValueForm) -> Value {
        match form {
            ValueForm::Quantity(of) => self.quantity(of),
            ValueForm::Distribution(of) => self.distribution(of),
            ValueForm::Text => json!({"type": "string"}),
            ValueForm::Name => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}),
            ValueForm::Kind => json!({"oneOf": section.kinds.iter()
                .map(|kind| json!({"const": kind.name, "description": kind.doc})).collect::<Vec<_>>()}),
            ValueForm::Exactly(number) => json!({"const": number}),
            ValueForm::Words(words) => json!({"enum": words}),
            ValueForm::Bdp => {
                let pattern = format!(r"^\s*\+?{NUMBER}\s*bdp\s*$");
                let above = json!([{ "pattern": "[1-9].*bdp" }]); // more than 0
                json!({"type": "string", "title": "bdp", "pattern": pattern, "allOf": above, "examples": ["2 bdp"]})
            }
            ValueForm::Scheme => self.refer("scheme", |_| {
                let entries = aqmlab_aqm::entries();
                let names: Vec<_> = entries.iter().map(|entry| entry.info.name).collect();
                choice("scheme with its parameters", &names, "(?:fq-)?")
            }),
            ValueForm::Law => {
                self.refer("congestion-control", |_| choice("congestion control with its parameters", &laws(), ""))
            }
            ValueForm::Tcp => self.refer("tcp", Self::tcp),
            ValueForm::Schemes => self.refer("schemes", Self::schemes),
            ValueForm::Some(of) => json!({"type": "array", "items": self.form(section, of), "minItems": 1}),
            ValueForm::List(of) => json!({"type": "array", "items": self.form(section, of)}),
            ValueForm::Tuple(of) => {
                let items: Vec<Value> = of.iter().map(|of| self.form(section, of)).collect();
                json!({"type": "array", "prefixItems": items, "minItems": of.len(), "maxItems": of.len()})
            }
            ValueForm::Table(section) => self.section(section),
            ValueForm::Tables(section) => json!({"type": "array", "items": self.section(section)}),
            ValueForm::Named(of) => json!({"type": "object", "additionalProperties": self.form(section, of)}),
            ValueForm::Any(forms) => any(forms.iter().map(|form| self.form(section, form)).collect()),
            ValueForm::Value => json!({}),
        }
    }

    fn quantity(&mut self, of: &QuantityForm) -> Value {
        match of.units {
            _ if !of.choices.is_empty() && of.unit != bool::UNIT => json!({"enum": of.choices}),
            [] if of.unit == bool::UNIT => json!({"type": "boolean"}),
            [] => number(of),
            _ => {
                let (least, greatest) = of.range.unwrap_or_default();
                let name = [if of.is_whole { "whole" } else { "" }, of.unit, least, greatest].join(" ");
                self.refer(name.trim(), |_| with_unit(of))
            }
        }
    }

    /// A quantity, or a distribution by its name.
    fn distribution(&mut self, of: &QuantityForm) -> Value {
        let fixed = self.quantity(of);
        let each =
            self.quantity(&QuantityForm { range: if of.unit == Span::UNIT { Span::RANGE } else { None }, ..*of });
        let named = self.refer(&format!("distribution of {}", of.unit), |_| named_distribution(of, &each));
        any(vec![fixed, named])
    }

    fn tcp(&mut self) -> Value {
        let names: Vec<&str> = [TcpVariant::CHOICES, Profile::CHOICES, &laws()[..]].concat();
        let mut table = self.section(&TCP);
        for spec in TcpParams::specs() {
            table["properties"][spec.name] = self.parameter(&spec);
        }
        any(vec![choice("congestion control, loss recovery or profile", &names, ""), table])
    }

    /// The parameters of each scheme.
    fn schemes(&mut self) -> Value {
        let mut properties = Map::new();
        for entry in aqmlab_aqm::entries() {
            let mut own = Map::new();
            for spec in (entry.params)() {
                let schema = self.parameter(&spec);
                own.extend(spec.tc.map(|(name, _)| (name.to_string(), schema.clone())));
                own.insert(spec.name.to_string(), schema);
            }
            own.entry(ECN)
                .or_insert(json!({"type": "boolean", "description": "The scheme marks ECN-capable packets."}));
            properties.insert(entry.info.name.to_string(), table(own, Vec::new()));
        }
        json!({
            "type": "object",
            "properties": properties,
            "patternProperties": {"^fq-": {"type": "object"}},
            "additionalProperties": false,
        })
    }

    /// The values of a parameter that `params!` declares.
    fn parameter(&mut self, spec: &ParamSpec) -> Value {
        let of = match spec.unit {
            Span::UNIT => QuantityForm::of::<Span>(),
            Rate::UNIT => QuantityForm::of::<Rate>(),
            Bytes::UNIT => QuantityForm::of::<Bytes>(),
            Packets::UNIT => QuantityForm::of::<Packets>(),
            Frequency::UNIT => QuantityForm::of::<Frequency>(),
            Ratio::UNIT => QuantityForm::of::<Ratio>(),
            bool::UNIT => QuantityForm::of::<bool>(),
            _ => QuantityForm::of::<f64>(),
        };
        let of = QuantityForm { range: spec.range.or(of.range), choices: spec.choices, ..of };
        let mut schema = self.quantity(&of);
        if spec.default == "auto" {
            schema = any(vec![schema, json!({"const": "auto"})]);
        }
        schema["description"] = spec.doc.into();
        schema["default"] = in_json(spec.default).filter(|value| !value.is_string()).unwrap_or(spec.default.into());
        schema
    }
}

fn table(properties: Map<String, Value>, required: Vec<&str>) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn any(schemas: Vec<Value>) -> Value {
    json!({ "anyOf": schemas })
}

fn required<'a>(groups: &[&'a [KeySpec]]) -> Vec<&'a str> {
    groups.iter().flat_map(|keys| keys.iter()).filter(|key| key.is_required).map(|key| key.name).collect()
}

fn laws() -> Vec<&'static str> {
    cc::entries().iter().map(|entry| entry.info.name).collect()
}

/// One of these names, or with parameters behind it.
fn choice(title: &str, names: &[&str], prefix: &str) -> Value {
    let pattern = format!(r"^\s*{prefix}(?:{})\s*(?::(?:[^=,]*=.*|\s*))?$", names.join("|"));
    json!({"title": title, "anyOf": [{"enum": names}, {"type": "string", "pattern": pattern}]})
}

/// The meaning of a key, and where it applies.
fn describe(key: &KeySpec) -> String {
    let mut text = key.doc.to_string();
    if key.is_changeable {
        text += " It can change during a run.";
    }
    for (engine, name) in [(Engine::Fluid, "fluid model"), (Engine::Linux, "engine linux")] {
        if key.is_refused_by(engine) {
            text += &format!(" The {name} refuses it.");
        }
    }
    text
}

/// A value in TOML, as JSON.
fn in_json(text: &str) -> Option<Value> {
    let table: toml::Table = format!("value = {text}").parse().ok()?;
    serde_json::to_value(table.get("value")?).ok()
}

/// A text with number and unit.
fn with_unit(of: &QuantityForm) -> Value {
    let units = of.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("|");
    let range = of.range.map(|bounds| [bounds.0, bounds.1].map(|text| read_any(text).map_or(0.0, |(value, _)| value)));
    let sign = if range.is_some_and(|[least, _]| least >= 0.0) { r"\+?" } else { "[+-]?" };
    let bounded = |number: &dyn Fn(f64) -> String| {
        let each = of.units.iter().map(|(name, scale)| format!(r"{}\s*{name}", number(*scale)));
        json!({"pattern": format!(r"^\s*(?:{})\s*$", each.collect::<Vec<_>>().join("|"))})
    };
    let mut schema = json!({"type": "string", "pattern": format!(r"^\s*{sign}{NUMBER}\s*(?:{units})\s*$")});
    if let Some([least, greatest]) = range {
        let lower = (least != 0.0).then(|| bounded(&|scale| at_least(least / scale)));
        let upper = bounded(&|scale| at_most(greatest / scale));
        schema["allOf"] = lower.into_iter().chain([upper]).collect();
    }
    if of.is_whole {
        schema["pattern"] = format!(r"^\s*{sign}[0-9][0-9_]*(?:\.0*)?(?:[eE]\+?[0-9]+)?\s*(?:{units})\s*$").into();
    }
    if of.units.iter().any(|(name, _)| name.is_empty()) {
        schema["type"] = json!(["number", "string"]);
        if let Some([least, greatest]) = range {
            (schema["minimum"], schema["maximum"]) = (json!(least), json!(greatest));
        }
    }
    let what = match of.unit {
        Rate::UNIT => "rate",
        Bytes::UNIT => "size",
        Frequency::UNIT => "frequency",
        unit => unit,
    };
    schema["title"] = title(what, of).into();
    schema["examples"] = json!([of.example]);
    schema
}

/// A number without a unit. Text is read, too.
fn number(of: &QuantityForm) -> Value {
    let (kind, pattern) = match of.is_whole {
        true => ("integer", r"^\s*[0-9][0-9_]*\s*$".to_string()),
        false => ("number", format!(r"^\s*[+-]?{NUMBER}\s*$")),
    };
    let title = title(if of.is_whole { "whole number" } else { "number" }, of);
    let mut schema = json!({"type": [kind, "string"], "pattern": pattern, "title": title});
    if of.is_whole {
        schema["minimum"] = json!(0);
    }
    if let Some((least, greatest)) = of.range {
        for (key, bound) in [("minimum", least), ("maximum", greatest)] {
            schema[key] = read_any(bound).map_or(Value::Null, |(value, _)| json!(value));
        }
    }
    schema
}

/// A quantity in words.
fn title(what: &str, of: &QuantityForm) -> String {
    of.range.map_or(what.into(), |(least, greatest)| format!("{what}, {least} to {greatest}"))
}

/// A table with one name of a distribution.
fn named_distribution(of: &QuantityForm, each: &Value) -> Value {
    let several = |least: usize| json!({"type": "array", "items": each, "minItems": least});
    let two = json!({"type": "array", "items": each, "minItems": 2, "maxItems": 2});
    let pair = |first: &str, second: &str, (low, high): (f64, f64)| {
        let mut number = number(&QuantityForm::of::<f64>());
        (number["minimum"], number["maximum"]) = (json!(low), json!(high));
        let properties = Map::from_iter([(first.to_string(), each.clone()), (second.to_string(), number)]);
        table(properties, vec![first, second])
    };
    let point =
        json!({"type": "array", "prefixItems": [each, {"type": ["number", "string"]}], "minItems": 2, "maxItems": 2});
    let mut distributions = json!({
        "uniform": two,
        "exponential": each,
        "lognormal": pair("median", "sigma", SIGMAS),
        "pareto": pair("mean", "shape", SHAPES),
        "lomax": pair("mean", "shape", SHAPES),
        "values": several(1),
        "cdf": {"type": "array", "items": point, "minItems": 1},
    });
    if of.unit == Packets::UNIT {
        let names: Vec<&str> = Packets::PUBLISHED.iter().map(|(name, _)| *name).collect();
        distributions["published"] = json!({"enum": names});
    }
    json!({
        "type": "object",
        "title": format!("distribution of {}", of.unit),
        "properties": distributions,
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
    })
}
