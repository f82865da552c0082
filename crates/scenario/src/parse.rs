//! Text -> scenario. All problems of a file are reported together, each with the path of its field.

use crate::changes::{CHANGES, changes_of_trace, read_changes};
use crate::controllers::{CONTROLLERS, read_controllers};
use crate::fabric::{FABRIC, read_fabric};
use crate::flow_checks::{check_flows, follow_advice};
use crate::flow_paths::{FlowPlaces, read_way};
use crate::flows::{FLOWS, read_flows};
use crate::keys::{KeySpec, Section, ValueForm};
use crate::link_context::LinkContext;
use crate::link_trace::read_traces;
use crate::links::{LINKS, read_link};
use crate::location::{locate, location};
use crate::presets;
use crate::repeat::{LinkLists, Repeated, Room, repeat_flows, repeat_links};
use crate::set::set;
use crate::shared_buffer::{BUFFERS, read_buffers, share};
use crate::sizing::SizingBases;
use crate::table_reader::{TableReader, default_name, kind, places, scalar};
use crate::tree::{LINES, PLANS, SITES, by_plan, read_shape};
use crate::wifi::{STATIONS, WIFI, by_station, read_cell};
use crate::{Change, ECN, FlowSpec, LinkSpec, Scenario, SharedBufferSpec, Traffic};
use aqmlab_core::problem::{ProblemKind, clip};
use aqmlab_core::{Problem, Problems, Quantity, Span};
use std::collections::BTreeSet;
use toml::{Table, Value};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Largest scenario file, bytes: far above any scenario with its traces, far below what would exhaust a machine.
const MAX_TEXT: usize = 1 << 24;
/// Most tables and lists of a text, which take up to 2.7 kB each in memory, and most values, of up to 0.5 kB.
const MAX_TABLES: usize = 200_000;
const MAX_VALUES: usize = 2_000_000;
/// Most points of a time series.
const MAX_SAMPLES: u64 = 50_000_000;
/// Most flows in a scenario, and most places of flows: a group may be empty on many lines.
const MAX_FLOWS: u32 = 1_000_000;
/// Most groups of flows, those that others stand for counted one by one.
const MAX_GROUPS: usize = 65_000;

/// Keys of a scenario.
pub const SCENARIO: Section = Section::new(&[&[
    KeySpec::new("schema", ValueForm::Exactly(1), "Version of the format.").required("1"),
    KeySpec::new("title", ValueForm::Text, "One line for people."),
    KeySpec::of::<Span>("duration", "Length of a run.").within("1 us", "1000000 s").required("\"100 s\""),
    KeySpec::of::<Span>("warmup", "Metrics count from here.").or("0 s"),
    KeySpec::of::<Span>("sample", "Step of recorded time series.").within("1 us", "1000000 s").or("10 ms"),
    KeySpec::new("links", ValueForm::Tables(&LINKS), "Queueing links."),
    KeySpec::new("flows", ValueForm::Tables(&FLOWS), "Groups of flows.").required("[[flows]]"),
    KeySpec::new("buffers", ValueForm::Tables(&BUFFERS), "Buffers that several links share."),
    KeySpec::new("changes", ValueForm::Tables(&CHANGES), "Changes during the run."),
    KeySpec::new("controllers", ValueForm::Tables(&CONTROLLERS), "Controllers of the rates of links."),
    KeySpec::new("schemes", ValueForm::Schemes, "Parameters given to a scheme whenever it is chosen."),
    KeySpec::new("traces", ValueForm::Named(&ValueForm::Text), "Texts of traces that links follow, by name."),
    KeySpec::new("sites", ValueForm::Tables(&SITES), "Levels of a tree: sites below sites."),
    KeySpec::new("plans", ValueForm::Tables(&PLANS), "Plans of the subscribers of a tree.")
        .example("a list of tables, [[plans]]"),
    KeySpec::new("lines", ValueForm::Table(&LINES), "Access links of a tree.").example("a table, [lines] with a count"),
    KeySpec::new("fabric", ValueForm::Table(&FABRIC), "A leaf-spine fabric."),
    KeySpec::new("wifi", ValueForm::Table(&WIFI), "The access point of a Wi-Fi cell.")
        .example("a table, [wifi], which may be empty"),
    KeySpec::new("stations", ValueForm::Tables(&STATIONS), "Stations of a Wi-Fi cell.")
        .example("a list of tables, [[stations]]"),
]]);

/// Reads a scenario; `overrides` are `path = value` pairs as of `--set`, such as `links.bottleneck.rate = 15 Mbit/s`.
pub fn parse(text: &str, name: &str, overrides: &[(String, String)]) -> Result<Scenario, Problems> {
    parse_file(text, name, name, overrides)
}

/// Reads a scenario whose text is from `file`, which is named where the text is not TOML.
pub fn parse_file(text: &str, name: &str, file: &str, overrides: &[(String, String)]) -> Result<Scenario, Problems> {
    of_table(read_toml(text, file)?, name, overrides).map_err(|Problems(mut found)| {
        let set: Vec<&str> = overrides.iter().map(|(path, _)| path.as_str()).collect();
        locate(&mut found, text, file, &set);
        Problems(found)
    })
}

/// Reads a scenario that nobody wrote as text, so that its problems have no location.
pub fn of_table(mut table: Table, name: &str, overrides: &[(String, String)]) -> Result<Scenario, Problems> {
    let mut found = Vec::new();
    for (path, value) in overrides {
        if let Err(reason) = set(&mut table, path, value) {
            found.push(Problem::new(if path.is_empty() { "\"\"".to_string() } else { clip(path) }, reason));
        }
    }
    let scenario = if found.is_empty() { read_scenario(&table, name, &mut found) } else { None };
    match scenario {
        Some(scenario) if found.is_empty() => scenario.check_schemes(None).map(|()| scenario),
        _ => Err(Problems::first(found)),
    }
}

/// Reads TOML that a stranger may have written: size, depth and the numbers of tables and values are limited, so that time and memory
/// grow as the text does.
/// `name` is what the text is called in the problem.
pub fn read_toml(text: &str, name: &str) -> Result<Table, Problems> {
    if text.len() > MAX_TEXT {
        return Err(Problems::one(name, format!("is too long: {} bytes, at most {MAX_TEXT} are read", text.len())));
    }
    let [tables, values] = amounts(text);
    for (number, most, unit) in [(tables, MAX_TABLES, "tables and lists"), (values, MAX_VALUES, "values")] {
        if number > most {
            return Err(Problems::one(name, format!("has {number} {unit}; at most {most} are read")));
        }
    }
    text.parse().map_err(|error| syntax_problem(name, text, &error))
}

/// The tables and lists of a text, those of dotted keys among them, and its values, by its punctuation alone.
fn amounts(text: &str) -> [usize; 2] {
    let (mut tables, mut values, mut dots) = (0, 0, 0);
    let mut before = TokenKind::Newline;
    for kind in Source::new(text).lex().map(|token| token.kind()) {
        match kind {
            TokenKind::LeftSquareBracket if before == kind => {} // [[links]] is one table
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => tables += 1,
            TokenKind::Dot => dots += 1, // of a key or a number
            TokenKind::Equals | TokenKind::RightSquareBracket => tables += std::mem::take(&mut dots),
            TokenKind::Comma | TokenKind::Newline => dots = 0,
            _ => {}
        }
        values += usize::from(matches!(kind, TokenKind::Equals | TokenKind::Comma));
        before = kind;
    }
    [tables, values]
}

fn syntax_problem(name: &str, text: &str, error: &toml::de::Error) -> Problems {
    let location = Some(location(text, name, &error.span().unwrap_or(0..0)));
    let reason = format!("is not TOML: {}", error.message().replace('\n', "; "));
    Problems(vec![Problem { location, ..Problem::new("", reason).of(ProblemKind::Syntax) }])
}

fn read_scenario(table: &Table, name: &str, found: &mut Vec<Problem>) -> Option<Scenario> {
    let mut top = TableReader::new(table, "", &SCENARIO, found);
    let schema: Option<u32> = top.required("schema");
    if schema.is_some_and(|schema| schema != 1) {
        top.refuse("schema", format!("{} is not known; this version reads schema 1", schema.unwrap_or(0)));
    }
    let title = top.text("title").unwrap_or(name).to_string();
    let (duration, warmup, sample) = read_times(&mut top);
    let has_tree = ["sites", "plans", "lines"].iter().any(|key| table.contains_key(*key));
    let has_fabric = table.contains_key("fabric");
    let of_fabric = read_fabric(&mut top);
    let has_cell = ["wifi", "stations"].iter().any(|key| table.contains_key(*key));
    let link_tables = if has_tree || has_fabric || has_cell { top.tables("links") } else { top.some_tables("links") };
    let flow_tables = top.some_tables("flows");
    let mut room = Room::of_scenario();
    let (mut link_tables, lists) = repeat_links(&link_tables, &mut room, top.found());
    let shape = read_shape(&mut top, link_tables.len());
    let cell = read_cell(&mut top, link_tables.len());
    if has_tree && shape.is_none() || has_fabric && of_fabric.is_none() || has_cell && cell.is_none() {
        return None;
    }
    let mut buffers = read_buffers(&mut top);
    let change_tables = top.tables("changes");
    let controller_tables = top.tables("controllers");
    let schemes = read_schemes(&mut top);
    let traces = read_traces(&mut top);
    top.finish();

    let link_names = read_names(&link_tables.iter().map(|link| &link.table).collect::<Vec<_>>(), "links", found);
    let flow_places = FlowPlaces {
        links: &link_names,
        link_of: &places(link_names.iter().map(String::as_str)),
        tree: shape.as_ref(),
        fabric: of_fabric.as_ref(),
        cell: cell.as_ref(),
    };
    let (mut flows, are_read) = read_groups(&flow_tables, &lists, &flow_places, &mut room, found);
    let context = LinkContext {
        flows: &flows,
        group_of: places(flows.iter().map(|flows| flows.name.as_str())),
        bases: SizingBases::new(&flows),
        traces: &traces,
    };
    let (mut links, of_traces) = read_links(&mut link_tables, &buffers, &context, found);
    let duration = duration?;
    let (tree, mut alike) = match &shape {
        Some(_) if !found.is_empty() => return None, // what is wrong has been said
        Some(shape) => {
            let (tree, alike) = shape.build(&mut links, &context, found)?;
            refuse_twice("links", links.iter().map(|link| link.name.as_str()), found);
            (Some(tree), alike)
        }
        None => (None, Vec::new()),
    };
    let fabric = of_fabric.as_ref().map(|shape| shape.fabric);
    if let Some(shape) = &of_fabric {
        (links, alike) = shape.build(&mut buffers, &context, found)?;
    }
    let wifi = match cell {
        Some(_) if !found.is_empty() => return None, // what is wrong has been said
        Some(cell) => {
            let (wifi, of_stations) = cell.build(&mut links, &context, found)?;
            refuse_twice("links", links.iter().map(|link| link.name.as_str()), found);
            alike = of_stations;
            Some(wifi)
        }
        None => None,
    };
    if links.len() >= link_tables.len() {
        refuse_unused(&buffers, &links, found);
    }
    if are_read && links.len() >= link_tables.len() {
        check_flows(&links, &flows, duration, found);
        follow_advice(&links, &mut flows, found);
    }
    let (name, source) = (name.to_string(), table.clone());
    let (changes, awaited) = (Vec::new(), Vec::new());
    let mut scenario = Scenario {
        name,
        title,
        duration,
        warmup,
        sample,
        links,
        buffers,
        flows,
        schemes,
        changes,
        awaited,
        controllers: Vec::new(),
        tree,
        fabric,
        wifi,
        alike,
        source,
    };
    (scenario.changes, scenario.awaited) = read_changes(&change_tables, of_traces, &scenario, found);
    if found.is_empty() {
        scenario.controllers = read_controllers(&controller_tables, &scenario, found);
    }
    Some(scenario)
}

/// The groups of `[[flows]]`; false beside them if some could not be read.
fn read_groups(
    tables: &[&Table],
    lists: &LinkLists,
    places: &FlowPlaces,
    room: &mut Room,
    found: &mut Vec<Problem>,
) -> (Vec<FlowSpec>, bool) {
    let (mut flows, mut are_read): (Vec<FlowSpec>, bool) = (Vec::new(), true);
    let (mut count, mut ways) = (0u64, 0);
    for table in tables {
        let shown = table.get("name").and_then(Value::as_str).unwrap_or("flows");
        let at = format!("flows.{}", clip(shown));
        let before = found.len();
        for own in repeat_flows((*table).clone(), &at, lists, room, found) {
            let of_plans = by_plan(&own.table, places.tree, room, found).into_iter();
            for own in of_plans.flat_map(|own| by_station(&own, places.cell, room, found)).collect::<Vec<_>>() {
                let mut same = Vec::new(); // what is wrong with the next is the same
                let problems = if found.len() == before { &mut *found } else { &mut same };
                let way = |flow: &mut TableReader, traffic: Option<&Traffic>| read_way(flow, traffic, places);
                if let Some(group) = read_flows(&own, &at, way, problems) {
                    count += u64::from(group.count());
                    ways += group.branches.len();
                    flows.push(group);
                }
            }
            if found.len() > before {
                are_read = false;
                break;
            }
        }
        if flows.len() > MAX_GROUPS {
            found.push(Problem::new("flows", format!("more than {MAX_GROUPS} groups of flows")));
            return (flows, false);
        }
        if count.max(ways as u64) > u64::from(MAX_FLOWS) {
            found.push(Problem::new("flows", format!("more than {MAX_FLOWS} flows")));
            return (flows, false);
        }
    }
    refuse_twice("flows", flows.iter().map(|f| f.name.as_str()), found);
    if let Some(first) = flows.first().filter(|_| flows.iter().all(|group| group.count() == 0)) {
        let path = format!("flows.{}.count", first.name);
        found.push(Problem::new(path, "0: not all groups may be empty at first"));
    }
    (flows, are_read)
}

/// The links of `[[links]]`, and what changes at them by their traces.
fn read_links(
    tables: &mut [Repeated],
    buffers: &[SharedBufferSpec],
    context: &LinkContext,
    found: &mut Vec<Problem>,
) -> (Vec<LinkSpec>, Vec<Change>) {
    let (mut links, mut of_traces): (Vec<LinkSpec>, Vec<Change>) = (Vec::new(), Vec::new());
    let buffer_of = places(buffers.iter().map(|buffer| buffer.name.as_str()));
    for (i, link) in tables.iter_mut().enumerate() {
        let mut same = Vec::new(); // what is wrong with the next of a list is the same
        let problems = if link.is_first { &mut *found } else { &mut same };
        presets::expand(&mut link.table, &link.at, problems);
        let shared = share(&mut link.table, &link.at, buffers, &buffer_of, problems);
        if let Some((spec, trace)) = read_link(&link.table, &link.at, i, context, problems) {
            of_traces.extend(trace.into_iter().flat_map(|trace| changes_of_trace(trace, &spec.name)));
            links.push(LinkSpec { shared, ..spec });
        }
    }
    (links, of_traces)
}

/// Refuses buffers that no link shares.
fn refuse_unused(buffers: &[SharedBufferSpec], links: &[LinkSpec], found: &mut Vec<Problem>) {
    let used: BTreeSet<usize> = links.iter().filter_map(|link| link.shared).collect();
    for (i, buffer) in buffers.iter().enumerate() {
        if !used.contains(&i) {
            let why = "no link shares it; write buffer = { shared = \"NAME\" } in some, or leave it out";
            found.push(Problem::new(format!("buffers.{}", buffer.name), why));
        }
    }
}

/// Duration, warm-up and sampling step.
fn read_times(top: &mut TableReader) -> (Option<Span>, Span, Span) {
    let duration: Option<Span> = top.required("duration");
    let [warmup, sample]: [Span; 2] = ["warmup", "sample"].map(|key| top.or_default(key));
    if duration.is_some_and(|duration| warmup >= duration) {
        top.refuse("warmup", format!("\"{}\" must be shorter than the duration", warmup.text()));
    }
    if duration.is_some_and(|duration| duration.0 / sample.0 > MAX_SAMPLES) {
        top.refuse("sample", format!("\"{}\" gives more than {MAX_SAMPLES} samples", sample.text()));
    }
    (duration, warmup, sample)
}

fn read_schemes(top: &mut TableReader) -> Vec<(String, Vec<(String, String)>)> {
    let schemes = match top.raw("schemes") {
        None => return Vec::new(),
        Some(Value::Table(schemes)) => schemes,
        Some(other) => {
            top.refuse("schemes", format!("expected tables, [schemes.NAME], found {}", kind(other)));
            return Vec::new();
        }
    };
    let mut read = Vec::new();
    for (name, params) in schemes {
        let path = format!("schemes.{}", clip(name));
        let (entry, params) = match (aqmlab_aqm::entry(name), params) {
            (Ok(entry), Value::Table(params)) => (entry, params),
            (Ok(_), other) => {
                top.refuse(&path, format!("expected a table of parameters, found {}", kind(other)));
                continue;
            }
            (Err(reason), _) => {
                top.refuse(&path, reason);
                continue;
            }
        };
        let pairs: Vec<(String, String)> = params
            .iter()
            .map(|(key, value)| (key.clone(), scalar(value).unwrap_or_else(|| kind(value).to_string())))
            .collect();
        let (marks, own): (Vec<_>, Vec<_>) = pairs.iter().partition(|(key, _)| key == ECN);
        for reason in marks.iter().filter_map(|(_, value)| bool::parse(value).err()) {
            top.refuse(&format!("{path}.{ECN}"), reason);
        }
        let borrowed: Vec<(&str, &str)> = own.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        if let Err(Problems(problems)) = entry.values(&path, &borrowed) {
            top.extend(problems);
        }
        read.push((name.clone(), pairs));
    }
    read
}

/// Names of the tables of a list, which paths may mention before the tables themselves are read.
fn read_names(tables: &[&Table], list: &'static str, found: &mut Vec<Problem>) -> Vec<String> {
    let name = |table: &&Table| table.get("name").and_then(Value::as_str).unwrap_or(default_name(list)).to_string();
    let names: Vec<String> = tables.iter().map(name).collect();
    refuse_twice(list, names.iter().map(String::as_str), found);
    names
}

fn refuse_twice<'a>(list: &str, names: impl Iterator<Item = &'a str>, found: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for name in names.filter(|name| !seen.insert(*name)).collect::<Vec<_>>() {
        found.push(Problem::new(format!("{list}.{}", clip(name)), "this name is used twice"));
    }
}
