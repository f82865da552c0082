//! Controllers of shapers: who sets the rate of a link from what pings and loads tell, as a scenario gives them.

use crate::keys::{KeySpec, RATES, Section, ValueForm};
use crate::sizing::SizingBases;
use crate::table_reader::{TableReader, default_name, kind, places};
use crate::{Change, FlowSpec, LinkSpec, RateChanges, Scenario};
use aqmlab_core::problem::clip;
use aqmlab_core::{Problem, Quantity, Rate, Span};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// A controller. What it decides is no business of the engine's: whoever runs the simulation asks it and sets the rates.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerSpec {
    /// Its name.
    pub name: String,
    /// Its law, with parameters: `cake-autorate:delay_thr=20ms`.
    pub law: String,
    /// Index of the group of datagrams whose delay it sees.
    pub pings: usize,
    /// The shapers that it controls.
    pub shapers: Vec<ShaperSpec>,
}

/// A rate that a controller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct ShaperSpec {
    /// Index of the link.
    pub link: usize,
    /// Parameter of the link's scheme that is the rate, such as CAKE's `bandwidth`; `None` for the rate of the link.
    pub parameter: Option<String>,
    /// The least rate.
    pub min: Rate,
    /// The rate at first, and where nothing else is known.
    pub base: Rate,
    /// The greatest rate.
    pub max: Rate,
}

impl ShaperSpec {
    /// The path of what it sets, as a change names it.
    pub fn path(&self, links: &[LinkSpec]) -> String {
        let name = &links[self.link].name;
        match &self.parameter {
            None => format!("links.{name}.rate"),
            Some(parameter) => format!("links.{name}.aqm.{parameter}"),
        }
    }
}

const EXAMPLE: &str = "[{ link = \"down\", min = \"5 Mbit/s\", base = \"20 Mbit/s\", max = \"80 Mbit/s\" }]";

/// Keys of `[[controllers]]`.
pub const CONTROLLERS: Section = Section::new(&[&[
    KeySpec::new("name", ValueForm::Name, "Name of the controller.").or("controller"),
    KeySpec::new("law", ValueForm::Text, "Its algorithm, with parameters in the form NAME:KEY=VALUE,...")
        .required("\"cake-autorate\""),
    KeySpec::new("pings", ValueForm::Text, "The group of datagrams whose delay it sees.")
        .required("\"ping\", a group of kind udp-cbr that goes there and back"),
    KeySpec::new("shapers", ValueForm::Tables(&SHAPERS), "The rates that it sets.").required(EXAMPLE),
]]);

/// Keys of `shapers`.
const SHAPERS: Section = Section::new(&[&[
    KeySpec::new("link", ValueForm::Text, "The link whose rate is set.").required("\"down\""),
    KeySpec::new(
        "parameter",
        ValueForm::Text,
        "The parameter of the link's scheme that is the rate; default: the link's rate.",
    ),
    shaper_rate("min", "The least rate."),
    shaper_rate("base", "The rate at first, and where nothing else is known."),
    shaper_rate("max", "The greatest rate."),
]]);

const fn shaper_rate(name: &'static str, doc: &'static str) -> KeySpec {
    KeySpec::of::<Rate>(name, doc).within("1 kbit/s", RATES.1).required("\"20 Mbit/s\"")
}

/// `[[controllers]]`.
pub fn read_controllers(tables: &[&Table], scenario: &Scenario, found: &mut Vec<Problem>) -> Vec<ControllerSpec> {
    let mut read: Vec<ControllerSpec> = Vec::new();
    let mut names = BTreeSet::new();
    let places = ControllerPlaces {
        groups: places(scenario.flows.iter().map(|flows| flows.name.as_str())),
        links: places(scenario.links.iter().map(|link| link.name.as_str())),
        bases: SizingBases::new(&scenario.flows),
    };
    for table in tables {
        let name = table.get("name").and_then(Value::as_str).unwrap_or(default_name("controllers")).to_string();
        let at = format!("controllers.{}", clip(&name));
        if !names.insert(name.clone()) {
            found.push(Problem::new(&at, "this name is used twice"));
        }
        let mut reader = TableReader::new(table, &at, &CONTROLLERS, found);
        let controller = read_controller(&mut reader, scenario, &places);
        reader.finish();
        read.extend(controller);
    }
    read
}

/// The places of what controllers name.
struct ControllerPlaces<'a> {
    groups: BTreeMap<&'a str, usize>,
    links: BTreeMap<&'a str, usize>,
    bases: SizingBases,
}

fn read_controller(table: &mut TableReader, scenario: &Scenario, places: &ControllerPlaces) -> Option<ControllerSpec> {
    let name = table.name(default_name("controllers"));
    let law = table.text("law");
    if law.is_none() {
        table.miss("law");
    }
    let pings = read_pings(table, &scenario.flows, places);
    let shapers = match table.raw("shapers") {
        Some(Value::Array(shapers)) if !shapers.is_empty() => shapers.clone(),
        Some(other) => {
            table.refuse("shapers", format!("expected a list, found {}; write e.g. {EXAMPLE}", kind(other)));
            return None;
        }
        None => {
            table.miss("shapers");
            return None;
        }
    };
    let path = table.path("shapers");
    let each: Vec<Option<ShaperSpec>> = shapers
        .iter()
        .enumerate()
        .map(|(i, shaper)| match shaper {
            Value::Table(shaper) => {
                let mut shaper = TableReader::new(shaper, format!("{path}.{i}"), &SHAPERS, table.found());
                let read = read_shaper(&mut shaper, scenario, places);
                shaper.finish();
                read
            }
            other => {
                let why = format!("expected a table, found {}; write e.g. {EXAMPLE}", kind(other));
                table.found().push(Problem::new(format!("{path}.{i}"), why));
                None
            }
        })
        .collect();
    Some(ControllerSpec {
        name,
        law: law?.to_string(),
        pings: pings?,
        shapers: each.into_iter().collect::<Option<_>>()?,
    })
}

fn read_pings(table: &mut TableReader, flows: &[FlowSpec], places: &ControllerPlaces) -> Option<usize> {
    let Some(text) = table.text("pings") else {
        if table.raw("pings").is_none() {
            table.miss("pings");
        }
        return None;
    };
    match places.groups.get(text).copied() {
        Some(group) if flows[group].traffic.rate().is_some() => Some(group),
        Some(group) => {
            let kind = flows[group].traffic.kind();
            table.refuse("pings", format!("\"{text}\" is of kind {kind}; expected datagrams, udp-cbr or udp-onoff"));
            None
        }
        None => {
            table.refuse_unknown("pings", "group of flows", text, flows.iter().map(|flows| flows.name.as_str()));
            None
        }
    }
}

fn read_shaper(table: &mut TableReader, scenario: &Scenario, places: &ControllerPlaces) -> Option<ShaperSpec> {
    let link = table.text("link");
    if link.is_none() {
        table.miss("link");
    }
    let index = link.and_then(|name| places.links.get(name).copied());
    if let (Some(name), None) = (link, index) {
        table.refuse_unknown("link", "link", name, scenario.links.iter().map(|link| link.name.as_str()));
    }
    let parameter = table.text("parameter").map(str::to_string);
    let [min, base, max] = ["min", "base", "max"].map(|key| table.required(key));
    let spec = ShaperSpec { link: index?, parameter, min: min?, base: base?, max: max? };
    if !(spec.min.0 <= spec.base.0 && spec.base.0 <= spec.max.0) {
        table.refuse("base", format!("\"{}\" is not between min and max", spec.base.text()));
    }
    let link = &scenario.links[spec.link];
    if spec.parameter.is_none() && link.changes != RateChanges::None {
        table.refuse(
            "link",
            format!("\"{}\" has a rate that changes by itself; a shaper needs one of its own", link.name),
        );
    } else {
        let change = Change::new(Span::ZERO, &spec.path(&scenario.links), &spec.base.text());
        if let Err(problem) = change.action_at(spec.link, scenario, places.bases.of(spec.link)) {
            table.refuse("link", problem.to_string());
        }
    }
    Some(spec)
}
