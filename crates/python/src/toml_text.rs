//! TOML as Python objects: what a stranger may have written, by the reader of scenarios, which bounds time and memory; and
//! tables that Python describes.

use crate::refused;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// A plain value of Python.
#[derive(FromPyObject)]
pub enum Plain {
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Plain>),
    Entries(Entries),
}

/// A dictionary of plain values; what is `None` is left out.
pub type Entries = BTreeMap<String, Option<Plain>>;

/// The table that a dictionary describes.
pub fn table(entries: Entries) -> Table {
    entries.into_iter().filter_map(|(key, entry)| Some((key, value(entry?)))).collect()
}

fn value(plain: Plain) -> Value {
    match plain {
        Plain::Truth(truth) => truth.into(),
        Plain::Whole(number) => number.into(),
        Plain::Number(number) => number.into(),
        Plain::Text(text) => text.into(),
        Plain::List(items) => Value::Array(items.into_iter().map(value).collect()),
        Plain::Entries(entries) => Value::Table(table(entries)),
    }
}

/// Reads TOML; dates are texts. `name` is what the text is called where it is no TOML, with line and column.
#[pyfunction]
pub fn read_toml<'py>(py: Python<'py>, text: &str, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let table = py.detach(|| aqmlab_scenario::read_toml(text, name)).map_err(refused)?;
    object(py, &Value::Table(table))
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
