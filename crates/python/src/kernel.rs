//! A scenario on Linux: what it asks of each link there.

use crate::{Scenario, parse_choice, refused};
use aqmlab_aqm::Limit;
use aqmlab_core::{Problems, Quantity, Span};
use aqmlab_scenario::{Action, AqmChoice, LinkSpec, RateChanges, Scenario as Spec, SchemeAssignment};
use pyo3::prelude::*;

/// A link as Linux receives it.
#[derive(IntoPyObject)]
pub struct LinkOnLinux {
    /// The scheme with what the scenario sets of it.
    scheme: String,
    /// bit/s.
    rate: f64,
    buffer: String,
    /// It marks what can be marked.
    ecn: bool,
    /// Bytes of a packet, on average over the flows.
    packet: u32,
    /// Bytes of the largest that the link's device takes.
    frame: u32,
    /// The rate changes during the run.
    varies: bool,
}

/// A scenario as Linux receives it.
#[derive(IntoPyObject)]
pub struct OnLinux {
    /// The schemes, as a result names them.
    name: String,
    links: Vec<LinkOnLinux>,
    /// The schemes of each link by its name, each with the time from which on.
    schemes: Vec<(String, Vec<(String, String)>)>,
    /// A link after each change of a buffer or of a scheme's parameter, in order.
    changed: Vec<LinkOnLinux>,
}

/// The form of a scenario for Linux. Refuses what a Linux cannot do, each by its path.
#[pyfunction]
#[pyo3(signature = (scenario, aqm=None))]
pub fn on_linux(scenario: &Scenario, aqm: Option<&str>) -> PyResult<OnLinux> {
    let problems = aqmlab_kernel::problems(&scenario.0);
    if !problems.is_empty() {
        return Err(refused(Problems(problems)));
    }
    let chosen = parse_choice(aqm)?;
    let of = &scenario.0;
    let history = of.scheme_history(chosen.as_ref(), &of.changes);
    let texts =
        |of: &Vec<(Span, AqmChoice)>| of.iter().map(|(from, choice)| (from.text(), choice.to_string())).collect();
    let on_linux = |link: &LinkSpec| link_on_linux(of, link, of.scheme_of(link, chosen.as_ref())).map_err(refused);
    Ok(OnLinux {
        name: chosen.as_ref().map_or_else(|| of.links[0].aqm.to_string(), SchemeAssignment::to_string),
        schemes: of.links.iter().zip(&history).map(|(link, of)| (link.name.clone(), texts(of))).collect(),
        links: of.links.iter().map(on_linux).collect::<PyResult<_>>()?,
        changed: changed(of, chosen.as_ref()).map_err(refused)?,
    })
}

fn link_on_linux(of: &Spec, link: &LinkSpec, choice: &AqmChoice) -> Result<LinkOnLinux, Problems> {
    let params = of.params(choice).into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let buffer = match link.buffer {
        Limit::Packets(packets) => format!("{packets} packets"),
        Limit::Bytes(bytes) => format!("{bytes} B"),
    };
    Ok(LinkOnLinux {
        scheme: AqmChoice { name: choice.name.clone(), params }.to_string(),
        rate: link.rate.0,
        buffer,
        ecn: of.marks(link, choice)?,
        packet: link.packet.round() as u32,
        frame: aqmlab_kernel::largest_frame(of),
        varies: varies(of, link),
    })
}

fn varies(of: &Spec, link: &LinkSpec) -> bool {
    let path = format!("links.{}.rate", link.name);
    link.changes != RateChanges::None || of.changes.iter().any(|change| change.path == path)
}

fn changed(of: &Spec, chosen: Option<&SchemeAssignment>) -> Result<Vec<LinkOnLinux>, Problems> {
    let mut links = of.links.clone();
    let mut choices: Vec<AqmChoice> = links.iter().map(|link| of.scheme_of(link, chosen).clone()).collect();
    let mut found = Vec::new();
    for change in &of.changes {
        let action = change.action(of, &links).map_err(|problem| Problems(vec![problem]))?;
        action.update(&mut links);
        if let Action::Parameter(link, name, value) = &action {
            choices[*link] = choices[*link].with(name, value);
        }
        if let Action::Parameter(link, ..) | Action::Buffer(link, ..) = action {
            found.push(link_on_linux(of, &links[link], &choices[link])?);
        }
    }
    Ok(found)
}
