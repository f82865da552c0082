//! The link of a scenario for each direction of a line.

use aqmlab_aqm::Limit;
use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_core::{Problem, Problems, Rate, Span, Time};
use aqmlab_scenario::{Action, Impairments, LinkSpec, RateChanges};
use aqmlab_scenario::{AqmChoice, Scenario};

/// The two directions, and what a packet takes in each beside its link.
#[derive(Clone, Debug)]
pub struct Lines {
    /// From the command.
    pub up: LineSpec,
    /// To the command.
    pub down: LineSpec,
}

/// One direction.
#[derive(Clone, Debug)]
pub struct LineSpec {
    /// The link.
    pub link: LinkSpec,
    /// It is one of the scenario's, not only there to carry what comes back.
    pub is_measured: bool,
    /// Propagation, at first.
    pub delay: Span,
    /// Changes of the link, beside a schedule of its rate.
    pub changes: Vec<(Time, Action)>,
}

impl Lines {
    /// The links called `up` and `down`; a single link of any other name carries what the command sends, and what comes
    /// back meets no queue, as ACKs in a simulation. Half of the longest round-trip time is in each direction.
    ///
    /// # Errors
    /// If the scenario has other links, or changes during the run that a line cannot make.
    pub fn of(scenario: &Scenario) -> Result<Self, Problems> {
        const WANTED: &str = "this link has two directions; call the links \"up\" (from the command) and \"down\"";
        let (up, down) = directions(&scenario.links).ok_or_else(|| Problems::one("links", WANTED))?;
        if let Some(link) = scenario.links.iter().find(|link| !link.classes.classes.is_empty()) {
            let why = "are for groups of flows, which exist in simulations only; leave them out";
            return Err(Problems::one(format!("links.{}.classes", link.name), why));
        }
        if let Some(link) = scenario.links.iter().find(|link| link.host) {
            let why = "is for simulated senders; leave it out";
            return Err(Problems::one(format!("links.{}.host", link.name), why));
        }
        if let Some(link) = scenario.links.iter().find(|link| link.shared.is_some()) {
            let why = "is shared, as in a switch, and there are no other links here; write its size";
            return Err(Problems::one(format!("links.{}.buffer", link.name), why));
        }
        let changes = changes(scenario)?;
        let rtt = scenario.flows.iter().map(|flows| flows.rtt.typical_largest()).max().unwrap_or_default();
        let own = |link: Option<&LinkSpec>| link.map_or(Span::ZERO, |link| link.delay);
        let delay = Span(rtt.0 / 2).max(own(up)).min(Span(rtt.0.saturating_sub(own(down).0)).max(own(up)));
        let back = Span(rtt.0.saturating_sub(delay.0)).max(own(down));
        let line = |link: Option<&LinkSpec>, name: &str, delay| {
            let is_own = |at: usize| link.is_some_and(|link| link.name == scenario.links[at].name);
            let own = changes.iter().filter(|(at, ..)| is_own(*at));
            let changes = own.map(|(_, time, action)| (*time, action.clone())).collect();
            let spec = link.cloned().unwrap_or_else(|| wide(name, &scenario.links[0]));
            LineSpec { is_measured: link.is_some(), link: spec, delay, changes }
        };
        Ok(Self { up: line(up, "up", delay), down: line(down, "down", back) })
    }
}

/// The link of each direction, `None` without one; `None` if some link is of neither.
fn directions(links: &[LinkSpec]) -> Option<(Option<&LinkSpec>, Option<&LinkSpec>)> {
    let named = |name: &str| links.iter().find(|link| link.name == name);
    match (named("up"), named("down"), links) {
        (None, None, [only]) => Some((Some(only), None)),
        (up, down, links) => {
            (links.len() == usize::from(up.is_some()) + usize::from(down.is_some())).then_some((up, down))
        }
    }
}

/// Changes, each with its time and link.
fn changes(scenario: &Scenario) -> Result<Vec<(usize, Time, Action)>, Problems> {
    if !scenario.awaited.is_empty() {
        return Err(Problems::one(
            "changes",
            "waits for a phase of a flow, and flows exist in simulations only; expected at = TIME",
        ));
    }
    if let Some(controller) = scenario.controllers.first() {
        let path = format!("controllers.{}", controller.name);
        return Err(Problems::one(
            &path,
            "uses pings among the flows, and flows exist in simulations only; leave it out",
        ));
    }
    let mut links = scenario.links.clone();
    let made = scenario.changes.iter().map(|change| {
        let action = change.action(scenario, &links)?;
        action.update(&mut links);
        match action {
            Action::Rate(link, _) | Action::Delay(link, _) | Action::Loss(link, _) => {
                Ok((link, Time::ZERO + change.at, action))
            }
            _ => Err(Problem::new(&change.path, "cannot change here; rate, delay and loss of a link can")),
        }
    });
    made.collect::<Result<_, _>>().map_err(|problem| Problems(vec![problem]))
}

/// A link that holds nothing up.
fn wide(name: &str, other: &LinkSpec) -> LinkSpec {
    const MOST: u32 = 1_000_000;
    LinkSpec {
        name: name.to_string(),
        list: name.to_string(),
        rate: Rate(1e13),
        changes: RateChanges::None,
        delay: Span::ZERO,
        buffer: Limit::Packets(MOST),
        buffer_packets: f64::from(MOST),
        target: f64::from(MOST) / 3.0,
        aqm: AqmChoice { name: "droptail".to_string(), params: Vec::new() },
        fixed: true,
        layer: LinkLayer::PLAIN,
        impairments: Impairments::default(),
        ..other.clone()
    }
}
