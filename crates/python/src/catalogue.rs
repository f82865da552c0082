//! Schemes, congestion-control laws and constants of TCP, with their pages and parameters.

use crate::{bad_aqm, linear_law, object, refused};
use aqmlab_aqm::cost::{Cost, measure};
use aqmlab_aqm::{SchemeEntry, Signal, Standing, entries, entry};
use aqmlab_core::{ParamSet, ParamSpec};
use aqmlab_tcp::cc::Needs;
use aqmlab_tcp::{EcnFeedback, Profile, TcpParams};
use pyo3::prelude::*;
use serde_json::json;

/// Every scheme with its page and parameters.
#[pyfunction]
fn catalogue(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    entries().iter().map(|entry| object(py, &describe(entry))).collect()
}

/// One scheme, listed or not (`fq-` and any scheme of a single queue).
#[pyfunction]
fn scheme<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    object(py, &describe(&entry(name).map_err(bad_aqm)?))
}

/// The names of the laws of calls.
#[pyfunction]
fn media_laws() -> &'static [&'static str] {
    <aqmlab_scenario::MediaLaw as aqmlab_core::Quantity>::CHOICES
}

/// The keys of the wire of a link.
#[pyfunction]
fn wire_keys() -> Vec<&'static str> {
    aqmlab_scenario::wire_keys()
}

/// The keys of a link, and of a group of flows, that can change during a run.
#[pyfunction]
fn changeable_keys() -> [Vec<&'static str>; 2] {
    aqmlab_scenario::changeable_keys()
}

/// The presets of links: each name with its keys in TOML.
#[pyfunction]
fn presets() -> Vec<(&'static str, &'static str)> {
    aqmlab_scenario::PRESETS.to_vec()
}

/// Every congestion-control law with its page and parameters.
#[pyfunction]
fn laws(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let laws = aqmlab_tcp::cc::entries().into_iter().map(|law| {
        let (info, (summary, page)) = (law.info, page(law.page));
        let law = json!({
            "name": info.name, "title": info.title, "year": info.year, "source": info.source,
            "summary": summary, "page": page,
            "parameters": (law.params)().iter().map(parameter).collect::<Vec<_>>(),
            "asks": needs_in_words(&law.needs), "settings": law.settings,
        });
        object(py, &law)
    });
    laws.collect()
}

/// The needs of a law beyond what every sender knows, in words.
fn needs_in_words(needs: &Needs) -> Vec<&'static str> {
    let asked = [
        (needs.feedback == EcnFeedback::PerPacket, "an ECN echo per packet"),
        (needs.feedback == EcnFeedback::Counter, "a count of ECN marks"),
        (needs.delay, "one-way delays"),
        (needs.every_ack, "every ACK"),
        (needs.rate_samples, "delivery-rate samples"),
        (needs.pacing, "pacing"),
        (needs.answers_marks, "its own answer to ECN marks"),
        (needs.l4s, "ECT(1)"),
        (needs.owns_window, "the window in recovery too"),
        (needs.receiver_target.is_some(), "a receiver that limits it (RFC 9840)"),
    ];
    asked.into_iter().filter_map(|(is_asked, what)| is_asked.then_some(what)).collect()
}

/// The first paragraph of a doc comment as one line, and the rest.
fn page(doc: &str) -> (String, String) {
    // Doc comments carry one leading space on every line.
    let lines: Vec<&str> = doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    let (summary, body) = lines.split_at(end);
    (summary.join(" "), body.join("\n").trim().to_string())
}

fn describe(entry: &SchemeEntry) -> serde_json::Value {
    let (info, (summary, page)) = (entry.info, page(entry.page));
    json!({
        "name": info.name, "title": info.title, "family": info.family, "year": info.year, "source": info.source,
        "confidence": info.confidence, "standing": standing(entry.standing), "papers": info.papers,
        "summary": summary, "page": page,
        "parameters": (entry.params)().iter().map(parameter).collect::<Vec<_>>(),
        "observables": entry.observables.iter()
            .map(|o| json!({"name": o.name, "unit": o.unit, "doc": o.doc})).collect::<Vec<_>>(),
        "target": entry.target,
        "signal": entry.signal.ok().map(signal),
        "no_signal": entry.signal.err(),
        "has_law": linear_law::has_law(entry),
        "exceptions": entry.exceptions.iter()
            .map(|exception| json!({"clause": exception.clause, "why": exception.why})).collect::<Vec<_>>(),
        "tc": entry.tc.map(|tc| json!({"kind": tc.kind, "note": tc.note})),
    })
}

/// The basis of a scheme's law, and the part that is fitted or reconstructed.
fn standing(found: Standing) -> serde_json::Value {
    let (kind, why) = match found {
        Standing::Published => ("published", ""),
        Standing::Fitted(why) => ("fitted", why),
        Standing::Reconstructed(why) => ("reconstructed", why),
    };
    json!({"kind": kind, "why": why})
}

/// The cost of a scheme with its default parameters, measured now on this machine; times in s.
#[pyfunction]
fn cost<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let entry = entry(name).map_err(bad_aqm)?;
    let cost = measure(&entry).map_err(refused)?;
    let Cost { parameters, memory, packet, update, update_every } = cost;
    let found = json!({
        "parameters": parameters, "memory": memory, "packet": packet, "update": update, "update_every": update_every,
        "second": cost.second(),
    });
    object(py, &found)
}

fn signal(signal: Signal) -> &'static str {
    match signal {
        Signal::Never => "never",
        Signal::AtTail => "tail",
        Signal::AtHead => "head",
    }
}

fn parameter(spec: &ParamSpec) -> serde_json::Value {
    let choices = (!spec.choices.is_empty()).then_some(spec.choices);
    json!({
        "name": spec.name, "unit": spec.unit, "default": spec.default, "range": spec.range.map(|(a, b)| [a, b]),
        "choices": choices, "doc": spec.doc, "source": spec.source, "tc": spec.tc,
    })
}

/// Every constant of TCP: as a scheme's parameters, and what the profiles `ns2` and `linux` set it to.
#[pyfunction]
fn tcp(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let set_by = |profile: Profile, spec: &ParamSpec| {
        profile.settings().iter().find(|(set, _)| *set == spec.name).map_or(spec.default, |(_, value)| *value)
    };
    let constants = TcpParams::specs().into_iter().map(|spec| {
        let mut constant = parameter(&spec);
        constant["ns2"] = set_by(Profile::Ns2, &spec).into();
        constant["linux"] = set_by(Profile::Linux, &spec).into();
        object(py, &constant)
    });
    constants.collect()
}

/// Puts these into the module.
pub fn fill(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(catalogue, m)?)?;
    m.add_function(wrap_pyfunction!(scheme, m)?)?;
    m.add_function(wrap_pyfunction!(cost, m)?)?;
    m.add_function(wrap_pyfunction!(laws, m)?)?;
    m.add_function(wrap_pyfunction!(media_laws, m)?)?;
    m.add_function(wrap_pyfunction!(presets, m)?)?;
    m.add_function(wrap_pyfunction!(wire_keys, m)?)?;
    m.add_function(wrap_pyfunction!(changeable_keys, m)?)?;
    m.add_function(wrap_pyfunction!(tcp, m)?)
}
