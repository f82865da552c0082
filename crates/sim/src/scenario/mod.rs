//! The scenario language, schema 1: what a TOML file may say, read into checked values.

mod flows;
mod law;
mod links;
mod read;
mod reader;
mod set;
mod show;

pub use law::Law;
pub use read::parse;

use aqmlab_aqm::{AnyAqm, Limit, QueueView};
use aqmlab_core::params::Values;
use aqmlab_core::{Problem, Problems, Rate, Span};
use aqmlab_tcp::{Profile, TcpParams, Variant};

/// One world to simulate: links, flows and the times between which they are measured.
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
    /// Groups of flows.
    pub flows: Vec<FlowSpec>,
    /// Parameters given to a scheme whenever it is chosen: name, then parameter and text.
    pub schemes: Vec<(String, Vec<(String, String)>)>,
}

/// A queueing link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Name that paths and results use.
    pub name: String,
    /// Rate of the transmitter.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Span,
    /// How much may wait.
    pub buffer: Limit,
    /// The same in packets of mean size.
    pub buffer_packets: f64,
    /// Reference queue of the schemes that have one, packets.
    pub target: f64,
    /// Scheme when the run names none.
    pub aqm: AqmChoice,
    /// The scheme stays, whatever the run names.
    pub fixed: bool,
}

/// A group of flows alike in all but what their laws draw.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name that results carry.
    pub name: String,
    /// Indices of the links crossed, in order.
    pub path: Vec<usize>,
    /// Round-trip propagation of the whole path, link delays included.
    pub rtt: Law,
    /// Flows that start (and stop) together.
    pub batches: Vec<Batch>,
    /// Payload of a packet, bytes.
    pub payload: u32,
    /// Rate of the links between hosts and the path; `None` takes no time to send.
    pub access_rate: Option<Rate>,
    /// TCP profile.
    pub profile: Profile,
    /// Loss recovery.
    pub variant: Variant,
    /// TCP constants.
    pub tcp: TcpParams,
}

/// So many flows that start and stop by the same laws.
#[derive(Clone, Debug)]
pub struct Batch {
    /// How many flows.
    pub count: u32,
    /// When each starts.
    pub start: Law,
    /// When each stops, if ever.
    pub stop: Option<Law>,
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
        let (name, params) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        aqmlab_aqm::entry(name)?;
        let pairs = params.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let params = pairs
            .map(|pair| match pair.split_once('=') {
                Some((key, value)) => Ok((key.trim().to_string(), value.trim().to_string())),
                None => Err(format!("\"{pair}\" is not a parameter; write {name}:name=value,...")),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { name: name.to_string(), params })
    }
}

impl LinkSpec {
    /// The link's queue before the first packet.
    pub fn empty_queue(&self) -> QueueView {
        QueueView::empty(self.rate, self.target)
    }
}

impl FlowSpec {
    /// Flows in the group.
    pub fn count(&self) -> u32 {
        self.batches.iter().fold(0, |flows, batch| flows.saturating_add(batch.count))
    }

    /// Size of a data packet on the wire, bytes.
    pub fn wire_size(&self) -> u32 {
        self.payload + self.tcp.header.0 as u32
    }
}

impl Scenario {
    /// The parameters of `choice` here: the scenario's own for that scheme, then those of the choice itself.
    pub fn params<'a>(&'a self, choice: &'a AqmChoice) -> Vec<(&'a str, &'a str)> {
        let own = self.schemes.iter().filter(|(name, _)| *name == choice.name).flat_map(|(_, params)| params);
        own.chain(&choice.params).map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    /// The scheme that `link` runs under: what the run names, unless the link's is fixed.
    pub fn scheme_of<'a>(&self, link: &'a LinkSpec, chosen: Option<&'a AqmChoice>) -> &'a AqmChoice {
        chosen.filter(|_| !link.fixed).unwrap_or(&link.aqm)
    }

    /// The scheme of `link`, with the parameters that the scenario and the choice set.
    pub fn build_scheme(&self, link: &LinkSpec, choice: &AqmChoice) -> Result<AnyAqm, Problems> {
        let entry = aqmlab_aqm::entry(&choice.name).map_err(|why| Problems::one("aqm", why))?;
        entry.build(&choice.name, &self.params(choice), &link.empty_queue())
    }

    /// Refuses schemes and parameters that some link of the run could not be built with.
    pub fn check_schemes(&self, chosen: Option<&AqmChoice>) -> Result<(), Problems> {
        let mut problems: Vec<Problem> = Vec::new();
        for link in &self.links {
            let choice = self.scheme_of(link, chosen);
            if let Err(Problems(more)) = self.build_scheme(link, choice) {
                problems.extend(more.into_iter().filter(|p| !problems.contains(p)).collect::<Vec<_>>());
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }

    /// Every parameter of the scheme `text` (as in `--aqm`) with the value it takes here.
    pub fn scheme_values(&self, text: &str) -> Result<(AqmChoice, Values), Problems> {
        let choice = AqmChoice::parse(text).map_err(|why| Problems::one("aqm", why))?;
        self.check_schemes(Some(&choice))?;
        let entry = aqmlab_aqm::entry(&choice.name).map_err(|why| Problems::one("aqm", why))?;
        let values = entry.values(&choice.name, &self.params(&choice))?;
        Ok((choice, values))
    }
}
