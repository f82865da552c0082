//! The opening of a session: a scenario and schemes, as a page requests them.

use crate::error::{Refusal, ShownProblem};
use crate::export::general;
use crate::host::SessionHost;
use crate::layout::layout;
use crate::messages::{Layout, Opening, fields};
use aqmlab_core::problem::{ProblemKind, unknown};
use aqmlab_core::{Problem, Problems, Span};
use aqmlab_scenario::{Scenario, SchemeAssignment, Traffic, parse};
use aqmlab_sim::footprint;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Lanes of a session.
pub const LANES: usize = 8;
/// Flows whose windows are shown.
pub const MOST_FLOWS: usize = 16;
/// Samples of a run unless more are asked for: two for each pixel of a wide page.
const MOST_SAMPLES: f64 = 2400.0;
/// Characters of a scheme.
const LONGEST_SCHEME: usize = 1000;
/// Links and groups of flows in all lanes, each with a row of measures.
const MOST_PLACES: usize = 600;
/// Pairs of a link and a group in all lanes, each with the packets that wait.
const MOST_CELLS: usize = 20_000;
/// The group of datagrams that a blast is made of.
pub const BLAST: &str = "blast";
/// Rate of one source of a blast, as a share of the link's.
const BLAST_SHARE: f64 = 0.1;

/// A scenario and the schemes to run in it side by side.
pub(crate) struct Opened {
    /// The name that the page gives it.
    pub name: String,
    pub scenario: Arc<Scenario>,
    pub text: String,
    pub aqms: Vec<Option<String>>,
    pub seed: u64,
    pub sample: Span,
    pub flows: Vec<(usize, usize)>,
}

impl Opened {
    /// Reads a request.
    pub fn read(request: Opening, host: &dyn SessionHost) -> Result<Self, Refusal> {
        let Opening { scenario: named, text, name, aqms, seed, sample, flows, blast } = request;
        let (name, mut text) = match (text, named) {
            (Some(text), _) => (name.unwrap_or_else(|| "mine".into()), text),
            (None, Some(named)) => (named.clone(), host.scenario(&named)?),
            (None, None) => return Err(Refusal::one("scenario", "expected a text")),
        };
        if !(1..=LANES).contains(&aqms.len()) || aqms.iter().flatten().any(|aqm| aqm.len() > LONGEST_SCHEME) {
            return Err(Refusal::one("aqms", format!("expected a list of 1 to {LANES} schemes")));
        }
        let file = stem(&name);
        let mut scenario = parse(&text, &file, &[])?;
        check_size(&scenario, aqms.len())?;
        if let Some(link) = blast.filter(|_| !scenario.flows.iter().any(|flows| flows.name == BLAST)) {
            text += &blast_at(&scenario, &link)?;
            scenario = parse(&text, &file, &[])?;
        }
        let sample = sample_of(&scenario, sample)?;
        let flows = flows.map_or_else(|| Ok(first_flows(&scenario)), |flows| flows_of(&scenario, &flows))?;
        Ok(Self { name, scenario: Arc::new(scenario), text, aqms, seed: seed.unwrap_or(1), sample, flows })
    }

    /// Bytes that the lanes take, about.
    pub fn memory(&self) -> f64 {
        footprint(&self.scenario, None, false) * self.aqms.len() as f64
    }
}

fn sample_of(scenario: &Scenario, asked: Option<f64>) -> Result<Span, Refusal> {
    let duration = scenario.duration.seconds();
    match asked {
        None => Ok(scenario.sample.max(Span::from_seconds(duration / MOST_SAMPLES))),
        Some(sample) if (1e-4..=duration).contains(&sample) => Ok(Span::from_seconds(sample)),
        Some(sample) => Err(Refusal::one("sample", format!("{sample} s: expected 0.0001 s up to the duration"))),
    }
}

/// Refuses more links and groups of flows than a page can show in so many lanes.
fn check_size(scenario: &Scenario, lanes: usize) -> Result<(), Refusal> {
    let (links, groups) = (scenario.places().len(), scenario.flows.len());
    if lanes * (links + groups) <= MOST_PLACES && lanes * links * groups <= MOST_CELLS {
        return Ok(());
    }
    let [places, cells] = [MOST_PLACES / lanes, MOST_CELLS / lanes].map(thousands);
    let why = format!(
        "{} links and {} groups of flows; in {lanes} lanes the studio shows {places} together, and {cells} pairs",
        thousands(links),
        thousands(groups)
    );
    Err(Refusal::one("text", why))
}

/// `20,000`.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// The name of the file of a scenario, without its ending.
fn stem(name: &str) -> String {
    let kept = |letter: char| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '-' };
    let found: String = name.chars().take(80).map(kept).collect();
    Some(found.trim_matches(['-', '.'])).filter(|stem| !stem.is_empty()).unwrap_or("mine").to_string()
}

/// A group of datagrams over one link, empty at first; `count` makes a blast of it.
fn blast_at(scenario: &Scenario, link: &str) -> Result<String, Refusal> {
    let places = scenario.places();
    let names: Vec<&str> = places.iter().map(|(name, _)| *name).collect();
    let place = places.iter().find(|(name, _)| *name == link);
    let (_, place) = place.ok_or_else(|| not_known("blast", "link", link, &names))?;
    let there = &scenario.links[*place];
    let (rate, rtt) = (general(BLAST_SHARE * there.rate.0, 12), (2e12 * there.delay.seconds()).round() + 1.0);
    Ok(format!(
        "\n[[flows]]\nname = \"{BLAST}\"\nkind = \"udp-cbr\"\ncount = 0\npath = [{}]\nrate = \"{rate} bit/s\"\nrtt = \"{rtt} ps\"\n\
         packet = \"1000 B\"\n",
        serde_json::Value::from(link)
    ))
}

/// The first flow of each group of lasting TCP flows.
fn first_flows(scenario: &Scenario) -> Vec<(usize, usize)> {
    let groups = scenario.flows.iter().enumerate();
    let lasting = groups.filter(|(_, flows)| matches!(flows.traffic, Traffic::Ftp) && flows.count() > 0);
    lasting.map(|(group, _)| (group, 0)).take(MOST_FLOWS).collect()
}

fn flows_of(scenario: &Scenario, flows: &[(String, u32)]) -> Result<Vec<(usize, usize)>, Refusal> {
    if flows.len() > MOST_FLOWS {
        return Err(Refusal::one(
            "flows",
            format!("expected a list of at most {MOST_FLOWS} pairs of a group and a number"),
        ));
    }
    flows.iter().map(|(name, i)| Ok((group_of(scenario, "flows", name)?, *i as usize))).collect()
}

/// The index of a group of flows that `field` names.
pub fn group_of(scenario: &Scenario, field: &str, name: &str) -> Result<usize, Refusal> {
    let names: Vec<&str> = scenario.flows.iter().map(|flows| &*flows.name).collect();
    names.iter().position(|known| *known == name).ok_or_else(|| not_known(field, "group of flows", name, &names))
}

fn not_known(field: &str, what: &str, given: &str, known: &[&str]) -> Refusal {
    Problem::new(field, unknown(what, given, known)).of(ProblemKind::Unknown).into()
}

/// The answer to a request `{"text": ..., "name": ..., "aqms": [...]}`, which is JSON, as JSON: the `problems` of a scenario and of the
/// schemes that are to run in it, and if it can be `opened` its drawing.
///
/// # Errors
/// If it is no such request.
pub fn check(request: &str) -> Result<String, Problems> {
    #[derive(Deserialize)]
    struct Asked {
        text: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        aqms: Vec<String>,
    }
    #[derive(Serialize)]
    struct Checked {
        problems: Vec<ShownProblem>,
        #[serde(skip_serializing_if = "Option::is_none")]
        opened: Option<Layout>,
    }
    let Asked { text, name, aqms } = fields(request, 0).map_err(|refusal| refusal.problems)?;
    if aqms.len() > LANES {
        return Err(Problems::one("aqms", format!("expected a list of at most {LANES} schemes")));
    }
    let read = parse(&text, &stem(&name), &[]).map_err(Refusal::from);
    let answer = match read.and_then(|scenario| check_size(&scenario, aqms.len().max(1)).map(|()| scenario)) {
        Err(refusal) => Checked { problems: refusal.shown(), opened: None },
        Ok(scenario) => {
            let refused =
                |(lane, aqm): (usize, &String)| Some(check_scheme(&scenario, aqm).err()?.of_lane(lane).shown());
            let problems = aqms.iter().enumerate().filter_map(refused).flatten().collect();
            Checked { problems, opened: Some(layout(&scenario)) }
        }
    };
    Ok(serde_json::to_string(&answer).expect("plain numbers and text always serialise"))
}

/// Refuses schemes that the scenario cannot have.
fn check_scheme(scenario: &Scenario, aqm: &str) -> Result<(), Refusal> {
    let chosen = SchemeAssignment::parse(aqm).map_err(|why| Problem::new("aqm", why))?;
    Ok(scenario.check_schemes(Some(&chosen))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_scenario() {
        assert_eq!([stem("home/a call!"), stem("../")], ["home-a-call", "mine"]);
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!([1, 999, 20_000, 1_234_567].map(thousands), ["1", "999", "20,000", "1,234,567"]);
    }
}
