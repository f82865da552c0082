//! Changes of a running simulation: what `[[changes]]`, and whoever changes a simulation from outside, may say.

use crate::condition_trace::ConditionTrace;
use crate::distribution::Distribution;
use crate::flows::{COUNT, FLOWS};
use crate::impairments::Loss;
use crate::keys::{KeySpec, RATES, Section, ValueForm};
use crate::links::LINKS;
use crate::sizing::{SizingBases, SizingBasis, limit, target};
use crate::table_reader::{TableReader, kind, places, scalar, unknown_name};
use crate::{AqmChoice, LinkSpec, RateChanges, Scenario, Traffic};
use aqmlab_aqm::Limit;
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::{clip, unknown};
use aqmlab_core::{Problem, Problems, Quantity, Rate, Span};
use toml::{Table, Value};

/// A change at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its time, from the start of the run on.
    pub at: Span,
    /// Its path, as in `links.bottleneck.rate`.
    pub path: String,
    /// The new value.
    pub value: Value,
    /// It is a line of a link's trace.
    pub is_of_trace: bool,
}

/// A change at the moment at which a flow enters a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct AwaitedChange {
    /// Index of the group of flows, the first of which makes the change.
    pub group: usize,
    /// The phase, as its law calls it.
    pub phase: &'static str,
    /// Time from which an entry counts.
    pub after: Span,
    /// Its path.
    pub path: String,
    /// The new value.
    pub value: Value,
}

/// The effect of a change, where links and groups go by their index.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Rate of a link. A packet in transmission is not affected.
    Rate(usize, Rate),
    /// Delay of a link, for packets whose transmission starts from then on.
    Delay(usize, Span),
    /// Capacity of the queue, and the same in packets. Packets that wait stay.
    Buffer(usize, Limit, f64),
    /// Reference queue, packets.
    Target(usize, f64),
    /// Another scheme, which takes over the packets that wait.
    Scheme(usize, AqmChoice),
    /// A parameter of the scheme that is there, and its value.
    Parameter(usize, String, String),
    /// Loss on the wire, of packets whose transmission starts from then on.
    Loss(usize, Loss),
    /// Flows of a group that are not stopped: more of them start at once, or those added last stop.
    Count(usize, u32),
    /// Round-trip propagation of a group's flows.
    Rtt(usize, Distribution<Span>),
    /// Rate at which the applications of a group offer data from then on, 0 for none. What they had not got sent, they take back.
    Offered(usize, Rate),
    /// The end of all flows of a group, from the start of the run on.
    Stop(usize, Span),
}

/// Keys of `[[changes]]`.
pub const CHANGES: Section = Section::new(&[&[
    KeySpec::of::<Span>("at", "Time of the change.").example("\"30 s\""),
    KeySpec::new("when", ValueForm::Table(&WHEN), "The moment of the change, instead of `at`: a flow enters a phase.")
        .example("{ flow = \"bulk\", enters = \"slow_start\" }"),
    KeySpec::new("path", ValueForm::Text, "What is changed, such as `links.bottleneck.rate`.")
        .required("\"links.up.rate\""),
    KeySpec::new("value", ValueForm::Value, "Its new value.").required("\"100 packets\""),
]]);

/// Keys of `when`.
const WHEN: Section = Section::new(&[&[
    KeySpec::new("flow", ValueForm::Text, "The group whose first flow enters the phase.").required("\"bulk\""),
    KeySpec::new("enters", ValueForm::Text, "The phase, as the flow's controller calls it.").required("\"slow_start\""),
    KeySpec::of::<Span>("after", "Time from which an entry counts.").or("0 s"),
]]);

const FORM: &str = "write e.g. links.bottleneck.rate, links.bottleneck.aqm.target or flows.ftp.count";

/// How a change finds what it names: one by looking through all, many by tables.
struct Finder<'a> {
    link: &'a dyn Fn(&str) -> Option<usize>,
    group: &'a dyn Fn(&str) -> Option<usize>,
    basis: &'a dyn Fn(usize) -> SizingBasis,
    /// What is wrong will be shown.
    is_kept: bool,
}

impl Change {
    /// A change whose value is written as in TOML; what is not TOML is text.
    pub fn new(at: Span, path: &str, value: &str) -> Self {
        let read = format!("value = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
        let value = read.unwrap_or_else(|| Value::String(value.to_string()));
        Self { at, path: path.to_string(), value, is_of_trace: false }
    }

    /// Its effect at the `link`-th link, which it names, of a scenario as it begins.
    pub(super) fn action_at(&self, link: usize, scenario: &Scenario, basis: SizingBasis) -> Result<Action, Problem> {
        let find = Finder { link: &|_| Some(link), group: &|_| None, basis: &|_| basis, is_kept: true };
        self.action_of(scenario, &scenario.links, &find).map_err(|reason| Problem::new(clip(&self.path), reason))
    }

    /// Its effect on a scenario whose links are now like `links`.
    ///
    /// # Errors
    /// What is wrong with path or value.
    pub fn action(&self, scenario: &Scenario, links: &[LinkSpec]) -> Result<Action, Problem> {
        let find = Finder {
            link: &|name| links.iter().position(|link| link.name == name),
            group: &|name| scenario.flows.iter().position(|flows| flows.name == name),
            basis: &|link| SizingBasis::of(link, &scenario.flows),
            is_kept: true,
        };
        self.action_of(scenario, links, &find).map_err(|reason| Problem::new(clip(&self.path), reason))
    }

    fn action_of(&self, scenario: &Scenario, links: &[LinkSpec], find: &Finder) -> Result<Action, String> {
        let keys: Vec<&str> = self.path.split('.').collect();
        match keys[..] {
            ["links", name, ref keys @ ..] if !keys.is_empty() => {
                let names = links.iter().map(|link| link.name.as_str());
                let link = (find.link)(name).ok_or_else(|| unknown_name("link", name, names, find.is_kept))?;
                self.of_link(scenario, links, link, keys, find)
            }
            ["flows", name, key] => {
                let names = scenario.flows.iter().map(|flows| flows.name.as_str());
                let group =
                    (find.group)(name).ok_or_else(|| unknown_name("group of flows", name, names, find.is_kept))?;
                self.of_flows(scenario, links, group, key)
            }
            _ => Err(format!("is not a path to what can be changed; {FORM}")),
        }
    }

    fn of_link(
        &self,
        scenario: &Scenario,
        links: &[LinkSpec],
        link: usize,
        keys: &[&str],
        find: &Finder,
    ) -> Result<Action, String> {
        if keys == ["loss"] {
            return Loss::read(&self.value).map(|loss| Action::Loss(link, loss));
        }
        let (spec, text) = (&links[link], self.text()?);
        let basis = (find.basis)(link);
        match keys {
            ["rate"] if matches!(spec.changes, RateChanges::Trace(_)) => {
                Err("the link follows a trace, which has no rate to change".into())
            }
            ["rate"] if scenario.wifi.as_ref().is_some_and(|wifi| wifi.first() <= link) => {
                Err("the rate of a station's radio cannot change during a run".into())
            }
            ["rate"] => in_range(&text, LINKS.key("rate")).map(|rate| Action::Rate(link, rate)),
            ["delay"] => in_range(&text, LINKS.key("delay")).map(|delay| Action::Delay(link, delay)),
            ["buffer"] if spec.shared.is_some() => {
                let name = spec.shared.map_or("", |shared| &scenario.buffers[shared].name);
                Err(format!("is a share of buffers.{name}, which cannot change during a run"))
            }
            ["buffer"] => {
                let buffer = limit(&text, Some(spec.usable_rate()), basis)?;
                Ok(Action::Buffer(link, buffer, basis.packets(buffer)))
            }
            ["target"] => {
                let packets = target(&text, spec.usable_rate(), spec.buffer_packets, basis)?;
                Ok(Action::Target(link, packets))
            }
            ["aqm"] if !spec.classes.classes.is_empty() => {
                Err("cannot change while classes share the link; their queues keep their schemes".into())
            }
            ["aqm"] => AqmChoice::parse(&text).map(|choice| Action::Scheme(link, choice)),
            ["aqm", name] => Ok(Action::Parameter(link, name.to_string(), text)),
            [key, ..] => Err(unknown("key that can be changed", key, &LINKS.changeable())),
            [] => Err(format!("names no key; {FORM}")),
        }
    }

    fn of_flows(&self, scenario: &Scenario, links: &[LinkSpec], group: usize, key: &str) -> Result<Action, String> {
        match key {
            "count" if !scenario.flows[group].branches.is_empty() => Err(
                "the number of flows on access links or at stations cannot change during a run; expected rtt, rate or stop"
                    .into(),
            ),
            "count" => in_range(&self.text()?, Some(&COUNT)).map(|count| Action::Count(group, count)),
            "rtt" => {
                let rtt = Distribution::<Span>::read(&self.value)?;
                let own = scenario.flows[group].own_delay(|link| links[link].delay);
                match rtt.least() < own && !rtt.is_drawn_from_zero() {
                    true => Err(format!(
                        "\"{}\" is shorter than the path's own delay, there and back: {}",
                        rtt.least().text(),
                        own.text()
                    )),
                    false => Ok(Action::Rtt(group, rtt)),
                }
            }
            "rate" => match &scenario.flows[group].traffic {
                Traffic::AppLimited(_) => {
                    let rate: Rate = read_in_range(ParamInput::Text(&self.text()?), Some(("0 bit/s", RATES.1)))?;
                    Ok(Action::Offered(group, rate))
                }
                _ => Err("is the rate of flows of another kind; only that of app-limited can be changed".into()),
            },
            "stop" => match Span::parse(&self.text()?)? {
                stop if stop >= self.at => Ok(Action::Stop(group, stop)),
                stop => Err(format!("\"{}\" is before the change itself ({})", stop.text(), self.at.text())),
            },
            _ => Err(unknown("key that can be changed", key, &FLOWS.changeable())),
        }
    }

    fn text(&self) -> Result<String, String> {
        scalar(&self.value).ok_or_else(|| format!("expected a quantity, found {}", kind(&self.value)))
    }

    /// As a table of `[[changes]]`.
    pub fn table(&self) -> Table {
        table([("at", exact(self.at).into()), ("path", self.path.clone().into()), ("value", self.value.clone())])
    }
}

impl AwaitedChange {
    /// The change, made at a time.
    pub fn at(&self, at: Span) -> Change {
        Change { at, path: self.path.clone(), value: self.value.clone(), is_of_trace: false }
    }

    /// As a table of `[[changes]]` of a scenario.
    pub fn table(&self, scenario: &Scenario) -> Table {
        let flow = scenario.flows[self.group].name.clone();
        let when = [("flow", flow.into()), ("enters", self.phase.into()), ("after", exact(self.after).into())];
        let pairs = [("when", table(when).into()), ("path", self.path.clone().into()), ("value", self.value.clone())];
        table(pairs)
    }

    /// `when = { flow, enters, after }` of one of `[[changes]]`.
    fn read(
        change: &mut TableReader,
        path: &str,
        value: &Value,
        scenario: &Scenario,
        group_of: impl Fn(&str) -> Option<usize>,
    ) -> Option<Self> {
        let mut when = change.inner("when")?;
        let (flow, phase) = (when.text("flow"), when.text("enters"));
        for (key, text) in [("flow", flow), ("enters", phase)] {
            if text.is_none() {
                when.miss(key);
            }
        }
        let after = when.or_default("after");
        let group = flow.and_then(|flow| {
            group_of(flow).or_else(|| {
                when.refuse_unknown(
                    "flow",
                    "group of flows",
                    flow,
                    scenario.flows.iter().map(|flows| flows.name.as_str()),
                );
                None
            })
        });
        let phase = group.zip(phase).and_then(|(group, phase)| {
            let flows = &scenario.flows[group];
            if !flows.traffic.has_lasting_senders() {
                when.refuse(
                    "flow",
                    format!("\"{}\" has no senders that last; expected kind ftp or app-limited", flows.name),
                );
                return None;
            }
            let known = flows.control.phases();
            let found = known.iter().copied().find(|known| *known == phase);
            found.or_else(|| {
                when.refuse("enters", unknown("phase", phase, known));
                None
            })
        });
        when.finish();
        Some(Self { group: group?, phase: phase?, after, path: path.to_string(), value: value.clone() })
    }
}

fn table<const N: usize>(pairs: [(&str, Value); N]) -> Table {
    pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

impl Scenario {
    /// Every change, as a table of `[[changes]]`.
    pub(super) fn change_tables(&self) -> impl Iterator<Item = Table> {
        self.changes.iter().map(Change::table).chain(self.awaited.iter().map(|change| change.table(self)))
    }
}

/// The changes at a link of this name that follows a trace, beside the rate.
pub fn changes_of_trace(trace: &ConditionTrace, link: &str) -> Vec<Change> {
    let change =
        |time: &Span, key, value| Change { at: *time, path: format!("links.{link}.{key}"), value, is_of_trace: true };
    let delays = trace.delays.iter().skip(1).map(|(time, delay)| change(time, "delay", exact(*delay).into()));
    let losses = trace.losses.iter().skip(1).map(|(time, loss)| change(time, "loss", Value::Float(loss.0)));
    delays.chain(losses).collect()
}

/// A time as text from which the same picoseconds are read.
fn exact(time: Span) -> String {
    match Span::parse(&time.text()) {
        Ok(read) if read == time => time.text(),
        _ => format!("{} ps", time.0),
    }
}

/// A quantity as text, in the range of a key.
fn in_range<Q: Quantity>(text: &str, key: Option<&KeySpec>) -> Result<Q, String> {
    read_in_range(ParamInput::Text(text), key.and_then(KeySpec::range))
}

impl Action {
    /// The links whose departures must not be computed ahead: what the action changes lies before or behind them.
    pub fn needs_causality(&self, scenario: &Scenario) -> Vec<usize> {
        match self {
            Action::Rate(link, _) | Action::Delay(link, _) => scenario.together_with(*link),
            Action::Scheme(link, _) | Action::Loss(link, _) => vec![*link],
            Action::Rtt(group, _) => scenario.flows[*group].path.clone(),
            _ => Vec::new(),
        }
    }

    /// Makes the change in `links`.
    pub fn update(&self, links: &mut [LinkSpec]) {
        match self {
            Action::Rate(link, rate) => links[*link].rate = *rate,
            Action::Delay(link, delay) => links[*link].delay = *delay,
            Action::Buffer(link, buffer, packets) => {
                (links[*link].buffer, links[*link].buffer_packets) = (*buffer, *packets);
            }
            Action::Target(link, target) => links[*link].target = *target,
            Action::Scheme(link, scheme) => links[*link].aqm = scheme.clone(),
            Action::Loss(link, loss) => links[*link].impairments.loss = Some(*loss),
            Action::Parameter(..) | Action::Count(..) | Action::Rtt(..) | Action::Offered(..) | Action::Stop(..) => {}
        }
    }
}

/// `[[changes]]`, at times, with those of the links' traces, in order of time; and when flows enter phases.
pub fn read_changes(
    tables: &[&Table],
    of_traces: Vec<Change>,
    scenario: &Scenario,
    found: &mut Vec<Problem>,
) -> (Vec<Change>, Vec<AwaitedChange>) {
    let (mut changes, mut awaited) = (Vec::new(), Vec::new());
    let are_flows_whole = found.is_empty(); // else groups may be missing
    let groups = places(scenario.flows.iter().map(|flows| flows.name.as_str()));
    let group_of = |name: &str| groups.get(name).copied();
    for (i, table) in tables.iter().enumerate() {
        let mut reader = TableReader::new(table, format!("changes.{i}"), &CHANGES, found);
        let is_awaited = reader.raw("when").is_some();
        if is_awaited && reader.raw("at").is_some() {
            reader.refuse("at", "cannot be combined with when; leave one of them out");
        }
        let at: Option<Span> = if is_awaited { None } else { reader.required("at") };
        let path = reader.text("path");
        let value = reader.raw("value");
        if path.is_none() {
            reader.refuse("path", format!("missing; {FORM}"));
        }
        if value.is_none() {
            reader.miss("value");
        }
        if at.is_some_and(|at| at > scenario.duration) {
            reader.refuse("at", format!("is after the end of the run ({})", scenario.duration.text()));
        }
        if let (true, true, Some(path), Some(value)) = (are_flows_whole, is_awaited, path, value) {
            awaited.extend(AwaitedChange::read(&mut reader, path, value, scenario, group_of).map(|change| (i, change)));
        }
        reader.finish();
        if let (Some(at), Some(path), Some(value)) = (at, path, value) {
            changes.push((i, Change { at, path: path.to_string(), value: value.clone(), is_of_trace: false }));
        }
    }
    changes.sort_by_key(|(_, change)| change.at);
    if !found.is_empty() {
        return (Vec::new(), Vec::new()); // links or groups may be missing
    }
    let of_links = places(scenario.links.iter().map(|link| link.name.as_str()));
    let bases = SizingBases::new(&scenario.flows);
    let mut find = Finder {
        link: &|name| of_links.get(name).copied(),
        group: &group_of,
        basis: &|link| bases.of(link),
        is_kept: true,
    };
    let refused = |i: usize, path: &str, reason| Problem::new(clip(path), reason).within(&format!("changes.{i}"));
    let mut links = scenario.links.clone();
    for (i, change) in &changes {
        find.is_kept = found.len() < Problems::MOST;
        match change.action_of(scenario, &links, &find) {
            Ok(action) => action.update(&mut links),
            Err(reason) => found.push(refused(*i, &change.path, reason)),
        }
    }
    for (i, change) in &awaited {
        find.is_kept = found.len() < Problems::MOST;
        if let Err(reason) = change.at(Span::ZERO).action_of(scenario, &scenario.links, &find) {
            found.push(refused(*i, &change.path, reason));
        }
    }
    let mut all: Vec<Change> = of_traces.into_iter().chain(changes.into_iter().map(|(_, change)| change)).collect();
    all.sort_by_key(|change| change.at);
    (all, awaited.into_iter().map(|(_, change)| change).collect())
}
