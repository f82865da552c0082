//! The measures of a run, as they are declared.

use crate::object;
use aqmlab_sim::{
    CallResult, Field, FlowResult, LinkResult, Measure, MediaResult, Preference, RtpResult, SHARED_DROPS,
    SlowdownResult, StationResult, Unit, VideoResult,
};
use pyo3::prelude::*;
use serde_json::json;

/// Every result of a run by name: its fields in order, with what there is to know of each measure.
#[pyfunction]
pub fn measures(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let result = |doc: &str, fields: &[Field]| json!({"doc": doc.trim(), "fields": fields.iter().map(field).collect::<Vec<_>>()});
    let results = json!({
        "LinkResult": result(LinkResult::DOC, LinkResult::FIELDS),
        "drops": result("", &SHARED_DROPS),
        "CallResult": result(CallResult::DOC, CallResult::FIELDS),
        "VideoResult": result(VideoResult::DOC, VideoResult::FIELDS),
        "MediaResult": result(MediaResult::DOC, MediaResult::FIELDS),
        "RtpResult": result(RtpResult::DOC, RtpResult::FIELDS),
        "SlowdownResult": result(SlowdownResult::DOC, SlowdownResult::FIELDS),
        "FlowResult": result(FlowResult::DOC, FlowResult::FIELDS),
        "StationResult": result(StationResult::DOC, StationResult::FIELDS),
    });
    object(py, &results)
}

fn field(field: &Field) -> serde_json::Value {
    let measure = field.measure.map(|Measure { title, unit: Unit { name, scale, shown, digits }, better }| {
        let better = better.map(|better| if better == Preference::More { "more" } else { "less" });
        json!({"title": title, "unit": name, "shown": [scale, shown, digits], "better": better})
    });
    // Doc comments carry one leading space on every line.
    let doc: Vec<&str> = field.doc.trim().lines().map(str::trim).collect();
    json!({"name": field.name, "kind": field.kind, "doc": doc.join("\n"), "measure": measure})
}
