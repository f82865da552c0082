//! The scenario language, schema 1: what a TOML file may say, read into checked values.

mod aggregation;
mod assignment;
mod changes;
mod classes;
mod condition_trace;
mod controllers;
mod distribution;
mod fabric;
mod fading;
mod flow_checks;
mod flow_paths;
mod flows;
mod impairments;
mod interruptions;
mod keys;
mod link_context;
mod link_trace;
mod links;
mod location;
mod media;
mod number_pattern;
mod opportunity_trace;
mod parse;
mod policer;
mod presets;
mod repeat;
mod request_grant;
mod schema;
mod set;
mod shared_buffer;
mod show;
mod sizing;
mod table_reader;
mod tcp;
mod traffic;
mod tree;
mod wifi;

pub use aggregation::Aggregation;
pub use assignment::SchemeAssignment;
pub use changes::{Action, AwaitedChange, Change};
pub use classes::{ClassSpec, ClassTree};
pub use controllers::{ControllerSpec, ShaperSpec};
pub use distribution::Distribution;
pub use fabric::Fabric;
pub use fading::Fading;
pub use flows::{Batch, Branch, FlowSpec, HostRange};
pub use impairments::{Impairments, Loss, Mangling};
pub use interruptions::Interruptions;
pub use keys::Engine;
pub use links::LinkSpec;
pub use location::locate;
pub use media::{FrameSizes, Media, MediaLaw};
pub use opportunity_trace::{OPPORTUNITY, OpportunityTrace};
pub use parse::{of_table, parse, parse_file, read_toml};
pub use policer::{PolicerAction, PolicerSpec};
pub use presets::PRESETS;
pub use request_grant::RequestGrant;
pub use schema::schema;
pub use shared_buffer::SharedBufferSpec;
pub use sizing::buffer_packets;
pub use traffic::{OfferedData, Pages, Quic, QuicControl, Traffic, Video};
pub use tree::{AlikeLinks, Tree};
pub use wifi::{Ampdu, CellQueues, RadioChannel, Station, Wifi};

use aqmlab_aqm::catalogue::HtbPlan;
use aqmlab_aqm::{AnyScheme, SchemeEntry};
use aqmlab_core::params::split_choice;
use aqmlab_core::{Problem, Problems, Quantity, Rate, Span};
use aqmlab_tcp::Profile;
use std::collections::BTreeSet;
use std::fmt;

/// Names of the keys of a link's wire.
pub fn wire_keys() -> Vec<&'static str> {
    impairments::WIRE.iter().map(|key| key.name).collect()
}

/// Names of the keys that can change during a run: of a link, and of a group of flows.
pub fn changeable_keys() -> [Vec<&'static str>; 2] {
    [links::LINKS.changeable(), flows::FLOWS.changeable()]
}

/// A simulation's description: links, flows and the times between which they are measured.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name that results carry.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Length of a run.
    pub duration: Span,
    /// Metrics count from here.
    pub warmup: Span,
    /// Step of recorded time series.
    pub sample: Span,
    /// Queueing links.
    pub links: Vec<LinkSpec>,
    /// Buffers that several links share.
    pub buffers: Vec<SharedBufferSpec>,
    /// Groups of flows.
    pub flows: Vec<FlowSpec>,
    /// Parameters given to a scheme whenever it is chosen: name, then parameter and text.
    pub schemes: Vec<(String, Vec<(String, String)>)>,
    /// Changes during the run, in order of time.
    pub changes: Vec<Change>,
    /// Changes that wait for a flow to enter a phase.
    pub awaited: Vec<AwaitedChange>,
    /// Controllers of the rates of links.
    pub controllers: Vec<ControllerSpec>,
    /// The tree that the links beyond those of `[[links]]` are of, if there is one.
    pub tree: Option<Tree>,
    /// The leaf-spine fabric that all links are of, if there is one.
    pub fabric: Option<Fabric>,
    /// The Wi-Fi cell, if there is one.
    pub wifi: Option<Wifi>,
    /// Links of a tree, a fabric or a cell that differ by their place only.
    pub alike: Vec<AlikeLinks>,
    /// The text that it was read from, overrides included.
    pub source: toml::Table,
}

/// The changes of a link's rate during a run. A packet in transmission is not affected.
#[derive(Clone, Debug, PartialEq)]
pub enum RateChanges {
    /// Never.
    None,
    /// To these rates at these times, in order.
    At(Vec<(Span, Rate)>),
    /// To another of these rates, drawn at random, each time it has held for a while: a wireless link.
    Wander {
        /// The rates, two or more.
        values: Vec<Rate>,
        /// Time that each holds.
        hold: Distribution<Span>,
    },
    /// It fades around its mean, a radio link's.
    Fade(Fading),
    /// There is none but a mean: packets leave at the opportunities of a trace.
    Trace(OpportunityTrace),
}

/// A scheme and the parameters set on it, as in `pi:a=1e-5,b=9e-6`.
#[derive(Clone, Debug, PartialEq)]
pub struct AqmChoice {
    /// Name in the catalogue.
    pub name: String,
    /// Parameter and text.
    pub params: Vec<(String, String)>,
}

impl AqmChoice {
    /// Reads `NAME[:k=v,...]`; the scheme must exist.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, params) = split_choice(text)?;
        aqmlab_aqm::entry(name)?;
        let params = params.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Ok(Self { name: name.to_string(), params })
    }

    /// The same with another value of a parameter.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut changed = self.clone();
        changed.params.retain(|(key, _)| key != name);
        changed.params.push((name.to_string(), value.to_string()));
        changed
    }
}

/// As it is read.
impl fmt::Display for AqmChoice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name)?;
        self.params.iter().enumerate().try_for_each(|(i, (key, value))| {
            let before = if i == 0 { ':' } else { ',' };
            write!(f, "{before}{key}={value}")
        })
    }
}

/// Key among a scheme's parameters that is the queue's, not the scheme's: whether it marks.
const ECN: &str = "ecn";

impl Scenario {
    /// A warning of what whoever wrote the scenario may not have meant, in one line.
    pub fn notice(&self) -> Option<String> {
        let of_tree = self.tree.iter().flat_map(Tree::notices).map(|notice| format!("{}: {notice}", self.name));
        let notices: Vec<String> = self.overbooked().chain(of_tree).collect();
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    /// It has TCP, and all of it is Linux's: so are its hosts and queues.
    pub fn is_of_linux(&self) -> bool {
        let mut profiles =
            self.flows.iter().filter(|flows| flows.traffic.is_tcp()).map(|flows| flows.profile).peekable();
        profiles.peek().is_some() && profiles.all(|profile| profile == Profile::Linux)
    }

    /// Classes that nobody can give the rates of all that are below them.
    fn overbooked(&self) -> impl Iterator<Item = String> {
        self.links.iter().flat_map(|link| {
            link.classes.overbooked(link.rate).into_iter().map(|(class, sum, rate)| {
                let at = class.map(|class| format!(".classes.{class}")).unwrap_or_default();
                let (link, sum, rate) = (&link.name, sum.text(), rate.text());
                format!("{}: links.{link}{at}: the rates below it add up to {sum}, more than its {rate}", self.name)
            })
        })
    }

    /// For whoever wrote the scenario for version 0.1, in which the default profile was another; `None` if no group of flows sets
    /// constants of TCP and leaves the profile that they belong to to the default.
    pub fn profile_notice(&self) -> Option<String> {
        let groups = self.flows.iter().filter(|flows| flows.lacks_profile);
        let groups: Vec<String> = groups.map(|flows| format!("flows.{}", flows.name)).collect();
        (!groups.is_empty()).then(|| {
            let (groups, name) = (groups.join(", "), &self.name);
            format!(
                "{name}: {groups}: constants of TCP without a profile, which is then \"linux\" (it was \"rfc\" in aqmlab 0.1); \
                 write profile = \"linux\" or \"rfc\" under tcp (docs/tcp.md, \"Files of 0.1\")"
            )
        })
    }

    /// The links that results have, by name, each with the index of the link: every one of `[[links]]`, and of links of a tree or a
    /// fabric that are alike the first, or also each if that is wanted.
    pub fn places(&self) -> Vec<(&str, usize)> {
        let own =
            self.links.iter().enumerate().filter(|(_, link)| link.list == link.name).map(|(i, link)| (&*link.name, i));
        let alike: BTreeSet<&str> = self.alike.iter().map(|of| of.name.as_str()).collect();
        let mut places: Vec<(&str, usize)> = own.filter(|(name, _)| !alike.contains(name)).collect();
        for AlikeLinks { name, links, each } in &self.alike {
            places.push((name, links[0]));
            places.extend(
                links.iter().filter(|i| *each && self.links[**i].name != *name).map(|i| (&*self.links[*i].name, *i)),
            );
        }
        places
    }

    /// The text that it was read from, overrides included, with these changes in place of its own.
    pub fn to_toml(&self, changes: &[Change], awaited: &[AwaitedChange]) -> String {
        let mut source = self.source.clone();
        source.remove("changes");
        let tables = changes.iter().map(Change::table).chain(awaited.iter().map(|change| change.table(self)));
        tables.map(toml::Value::Table).fold(source.to_string(), |text, table| {
            text + &toml::Table::from_iter([("changes".to_string(), toml::Value::Array(vec![table]))]).to_string()
        })
    }

    /// The parameters set on `choice` here: the scenario's own for that scheme, then those of the choice itself.
    fn settings<'a>(&'a self, choice: &'a AqmChoice) -> impl Iterator<Item = (&'a str, &'a str)> {
        let own = self.schemes.iter().filter(|(name, _)| *name == choice.name).flat_map(|(_, params)| params);
        own.chain(&choice.params).map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The parameters of `choice` here.
    pub fn params<'a>(&'a self, choice: &'a AqmChoice) -> Vec<(&'a str, &'a str)> {
        self.settings(choice).filter(|(key, _)| *key != ECN).collect()
    }

    /// True if `link` marks ECN-capable packets under `choice`: neither of them says no.
    pub fn marks(&self, link: &LinkSpec, choice: &AqmChoice) -> Result<bool, Problems> {
        let own = self.settings(choice).filter(|(key, _)| *key == ECN).last();
        let own = own.map_or(Ok(true), |(_, value)| bool::parse(value));
        let own = own.map_err(|why| Problems::one(format!("{}.{ECN}", choice.name), why))?;
        Ok(link.ecn && own)
    }

    /// A link, and all that some flow crosses besides it.
    pub fn together_with<'a>(&'a self, link: usize) -> Vec<usize> {
        let branches = |flows: &'a FlowSpec| flows.branches.iter().map(|branch| &branch.path);
        let paths = self.flows.iter().flat_map(|flows| [&flows.path].into_iter().chain(branches(flows)));
        paths.filter(|path| path.contains(&link)).flatten().copied().chain([link]).collect()
    }

    /// The times at which the load or a rate changes as scripted, from the start of the run on, in order.
    pub fn scripted_changes(&self) -> Vec<Span> {
        let rates = self.links.iter().filter_map(|link| match &link.changes {
            RateChanges::At(steps) => Some(steps.iter().map(|(time, _)| *time)),
            _ => None,
        });
        let loads = self.flows.iter().flat_map(FlowSpec::scripted_changes);
        let within = rates.flatten().chain(loads).filter(|time| *time < self.duration);
        let mut times: Vec<Span> = std::iter::once(Span::ZERO).chain(within).collect();
        times.sort();
        times.dedup();
        times
    }

    /// The scheme that `link` runs under: what the run names for it, or its own.
    pub fn scheme_of<'a>(&self, link: &'a LinkSpec, chosen: Option<&'a SchemeAssignment>) -> &'a AqmChoice {
        chosen.and_then(|chosen| chosen.at(link)).unwrap_or(&link.aqm)
    }

    /// The schemes of each link, each with the time from which it was there: those of the run, then the scheme after each of `changes`
    /// that replaced one or set a parameter of it.
    pub fn scheme_history(&self, chosen: Option<&SchemeAssignment>, changes: &[Change]) -> Vec<Vec<(Span, AqmChoice)>> {
        let at_first = |link| vec![(Span::ZERO, self.scheme_of(link, chosen).clone())];
        let mut history: Vec<Vec<(Span, AqmChoice)>> = self.links.iter().map(at_first).collect();
        for change in changes.iter().filter(|change| change.path.contains(".aqm")) {
            let (link, choice) = match change.action(self, &self.links) {
                Ok(Action::Scheme(link, choice)) => (link, choice),
                Ok(Action::Parameter(link, name, value)) => {
                    let (_, before) = history[link].last().expect("it began with one");
                    (link, before.with(&name, &value))
                }
                _ => continue,
            };
            history[link].retain(|(from, _)| *from < change.at);
            history[link].push((change.at, choice));
        }
        history
    }

    /// The scheme of `link`, with the parameters that the scenario and the choice set.
    pub fn build_scheme(&self, link: &LinkSpec, choice: &AqmChoice) -> Result<AnyScheme, Problems> {
        let entry = aqmlab_aqm::entry(&choice.name).map_err(|why| Problems::one("aqm", why))?;
        let marks = self.marks(link, choice)?;
        let scheme = entry.build(&choice.name, &self.params(choice), &link.empty_queue())?;
        if link.classes.classes.is_empty() {
            return Ok(scheme);
        }
        let mut schemes = vec![(scheme, marks)];
        for own in link.classes.schemes() {
            let entry = aqmlab_aqm::entry(&own.name).map_err(|why| Problems::one("aqm", why))?;
            let scheme = entry.build(&own.name, &self.params(own), &link.empty_queue())?;
            schemes.push((scheme, self.marks(link, own)?));
        }
        let classes = link.classes.classes.iter().map(|class| class.htb.clone()).collect();
        let plan = HtbPlan { classes, schemes, layer: link.layer };
        plan.period().map_err(|why| Problems::one(format!("links.{}.classes", link.name), why))?;
        Ok(AnyScheme::Htb(plan))
    }

    /// Refuses schemes and parameters that some link of the run could not be built with, links that are not there, and a scheme that
    /// no link takes.
    pub fn check_schemes(&self, chosen: Option<&SchemeAssignment>) -> Result<(), Problems> {
        chosen.map_or(Ok(()), |chosen| chosen.check(&self.links)).map_err(|why| Problems::one("aqm", why))?;
        self.check_built(chosen)
    }

    /// Refuses schemes and parameters that some link of the run could not be built with.
    fn check_built(&self, chosen: Option<&SchemeAssignment>) -> Result<(), Problems> {
        let mut problems: Vec<Problem> = Vec::new();
        for (_, link) in self.places() {
            let link = &self.links[link];
            let choice = self.scheme_of(link, chosen);
            if let Err(Problems(more)) = self.build_scheme(link, choice) {
                problems.extend(more.into_iter().filter(|p| !problems.contains(p)).collect::<Vec<_>>());
            }
            if problems.len() > Problems::MOST {
                break;
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Problems::first(problems)) }
    }

    /// The scheme `text` (as in `--aqm`), if every link of the run can be built with it.
    pub fn choice(&self, text: &str) -> Result<(AqmChoice, SchemeEntry), Problems> {
        let choice = AqmChoice::parse(text).map_err(|why| Problems::one("aqm", why))?;
        self.check_built(Some(&SchemeAssignment::Everywhere(choice.clone())))?;
        let entry = aqmlab_aqm::entry(&choice.name).map_err(|why| Problems::one("aqm", why))?;
        Ok((choice, entry))
    }

    /// Every parameter of what `text` names (as in `--aqm`) with the value it takes here; of a scheme for one link the
    /// name begins with that of the link, as in `up.target`.
    pub fn scheme_values(&self, text: &str) -> Result<Vec<(String, String)>, Problems> {
        let refused = |why| Problems::one("aqm", why);
        let chosen = SchemeAssignment::parse(text).map_err(refused)?;
        if matches!(chosen, SchemeAssignment::At(_)) {
            chosen.check(&self.links).map_err(refused)?;
        }
        self.check_built(Some(&chosen))?;
        let values = |choice: &AqmChoice, of: String| {
            let entry = aqmlab_aqm::entry(&choice.name).map_err(refused)?;
            let values = entry.values(&choice.name, &self.params(choice))?.into_iter();
            Ok(values.map(|(name, value)| (format!("{of}{name}"), value)).collect::<Vec<_>>())
        };
        match &chosen {
            SchemeAssignment::Everywhere(choice) => values(choice, String::new()),
            SchemeAssignment::At(at) => {
                let each = at.iter().map(|(link, choice)| values(choice, format!("{link}.")));
                Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
            }
        }
    }
}
