//! TOML that a stranger may have written, as Python objects: by the reader of scenarios, which bounds time and memory.
//! And back: tables that Python describes.

use crate::refused;
use aqmlab_core::problem::{Problem, ProblemKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toml::{Table, Value};

/// Reads TOML; dates are texts. `name` is what the text is called where it is no TOML, with line and column.
#[pyfunction]
pub fn read_toml<'py>(py: Python<'py>, text: &str, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let table = py.detach(|| aqmlab_scenario::read_toml(text, name)).map_err(refused)?;
    object(py, &Value::Table(table))
}

/// File, line, column and length of a field in a text of TOML, by its path; `None` if nothing of it is there. `is_key`: it is
/// the key that should not be there.
#[pyfunction]
pub fn location(text: &str, file: &str, path: &str, is_key: bool) -> Option<(String, usize, usize, usize)> {
    let kind = if is_key { ProblemKind::Key } else { ProblemKind::Value };
    let mut problem = [Problem::new(path, "").of(kind)];
    aqmlab_scenario::locate(&mut problem, text, file, &[]);
    let [Problem { location, .. }] = problem;
    location.map(|at| (at.file, at.line, at.column, at.length))
}

/// The table that a dictionary of plain values describes, by way of JSON.
pub fn table(values: &Bound<'_, PyDict>) -> PyResult<Table> {
    let text: String = values.py().import("json")?.call_method1("dumps", (values,))?.extract()?;
    serde_json::from_str(&text).map_err(|error| refused(Problem::new("values", error.to_string())))
}

fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Boolean(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Datetime(time) => time.to_string().into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Table(entries) => {
            let dict = PyDict::new(py);
            entries.iter().try_for_each(|(key, item)| dict.set_item(key, object(py, item)?))?;
            dict.into_any()
        }
    })
}
