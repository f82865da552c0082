//! A scenario on Linux: what it asks of each link there.

use crate::{Scenario, parse_choice, refused};
use aqmlab_aqm::Limit;
use aqmlab_core::Problems;
use aqmlab_scenario::{AqmChoice, SchemeAssignment};
use pyo3::prelude::*;

/// A link as Linux is told it: scheme with what the scenario sets of it, rate (bit/s), buffer, whether it marks, bytes of a packet.
type LinkOnLinux = (String, f64, String, bool, u32);

/// The schemes as a result names them, and each link. Refuses what a Linux cannot do, each by its path.
#[pyfunction]
#[pyo3(signature = (scenario, aqm=None))]
pub fn on_linux(scenario: &Scenario, aqm: Option<&str>) -> PyResult<(String, Vec<LinkOnLinux>)> {
    let problems = aqmlab_kernel::problems(&scenario.0);
    if !problems.is_empty() {
        return Err(refused(Problems(problems)));
    }
    let chosen = parse_choice(aqm)?;
    let of = &scenario.0;
    let links = of.links.iter().map(|link| {
        let choice = of.scheme_of(link, chosen.as_ref());
        let params = of.params(choice).into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let scheme = AqmChoice { name: choice.name.clone(), params }.to_string();
        let buffer = match link.buffer {
            Limit::Packets(packets) => format!("{packets} packets"),
            Limit::Bytes(bytes) => format!("{bytes} B"),
        };
        Ok((scheme, link.rate.0, buffer, of.marks(link, choice).map_err(refused)?, link.packet.round() as u32))
    });
    let name = chosen.as_ref().map_or_else(|| of.links[0].aqm.to_string(), SchemeAssignment::to_string);
    Ok((name, links.collect::<PyResult<_>>()?))
}
