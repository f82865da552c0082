//! The JSON of many results as columns, without an object of Python for each value.

use crate::object;
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{IntoPyDict, PyDict, PyList};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;

/// One value of every run, which may lack it.
struct Column {
    path: String,
    numbers: Vec<f64>,
    is_known: Vec<bool>,
    /// None has a fraction.
    are_whole: bool,
    /// Instead of numbers, of the runs that have some.
    lists: Vec<(usize, Vec<Value>)>,
}

impl Column {
    /// Its path, and its values for Python.
    fn item(self, py: Python<'_>) -> PyResult<(String, Bound<'_, PyAny>)> {
        if self.lists.is_empty() {
            let are_whole = self.are_whole && self.is_known.contains(&true);
            let numbers = (self.numbers.into_pyarray(py), self.is_known.into_pyarray(py), are_whole);
            return Ok((self.path, numbers.into_pyobject(py)?.into_any()));
        }
        let of_runs = PyList::new(py, self.is_known.iter().map(|_| py.None()))?;
        for (run, list) in self.lists {
            of_runs.set_item(run, object(py, &Value::Array(list))?)?;
        }
        Ok((self.path, of_runs.into_any()))
    }
}

/// Values of all runs together: about 1 GB.
const MOST_VALUES: usize = 100_000_000;

/// The values read so far.
struct Table {
    runs: usize,
    columns: Vec<Column>,
    /// The column of each path.
    places: HashMap<String, usize>,
    /// The column after the last one that was met: runs are mostly alike.
    next: usize,
}

impl Table {
    /// The column of a path, new if it has not been met.
    fn column<E: Error>(&mut self, path: &str) -> Result<&mut Column, E> {
        let at = match self.columns.get(self.next).filter(|column| column.path == path) {
            Some(_) => self.next,
            None => self.places.get(path).copied().unwrap_or(self.columns.len()),
        };
        if at == self.columns.len() {
            if (at + 1) * self.runs > MOST_VALUES {
                return Err(E::custom(format!("{} runs with more than {at} measures", self.runs)));
            }
            let (numbers, is_known) = (vec![0.0; self.runs], vec![false; self.runs]);
            self.places.insert(path.to_owned(), at);
            let path = path.to_owned();
            self.columns.push(Column { path, numbers, is_known, are_whole: true, lists: Vec::new() });
        }
        self.next = at + 1;
        Ok(&mut self.columns[at])
    }
}

/// A value of a run, at its path.
struct ValuePath<'a> {
    table: &'a mut Table,
    path: &'a mut String,
    run: usize,
}

impl ValuePath<'_> {
    fn put<E: Error>(self, number: f64, is_whole: bool) -> Result<(), E> {
        let column = self.table.column(self.path)?;
        (column.numbers[self.run], column.is_known[self.run]) = (number, true);
        column.are_whole &= is_whole;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for ValuePath<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValuePath<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("what a run measured")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let end = self.path.len();
        while map.next_key_seed(ValueName(self.path))?.is_some() {
            map.next_value_seed(ValuePath { table: self.table, path: self.path, run: self.run })?;
            self.path.truncate(end);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        self.table.column::<A::Error>(self.path)?.lists.push((self.run, list));
        Ok(())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.put(number, false)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.put(number as f64, true)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.put(number as f64, true)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.table.column(self.path).map(drop)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// A name in an object, which goes to the end of the path.
struct ValueName<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for ValueName<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for ValueName<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        let dot = if self.0.is_empty() { "" } else { "." };
        self.0.extend([dot, name]);
        Ok(())
    }
}

/// The values in results, by their paths in the order of their first appearance: numbers, which of them are known, and
/// whether they are whole; or a list with a list or `None` for each run. A run without a text has none; texts in results
/// are left out.
#[pyfunction]
pub fn columns<'py>(py: Python<'py>, texts: Vec<Option<PyBackedStr>>) -> PyResult<Bound<'py, PyDict>> {
    let mut table = Table { runs: texts.len(), columns: Vec::new(), places: HashMap::new(), next: 0 };
    for (run, text) in texts.iter().enumerate().filter_map(|(run, text)| Some((run, text.as_ref()?))) {
        table.next = 0;
        let mut json = serde_json::Deserializer::from_str(text);
        let place = ValuePath { table: &mut table, path: &mut String::new(), run };
        let read = place.deserialize(&mut json).and_then(|()| json.end());
        read.map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    let items: Vec<_> = table.columns.into_iter().map(|column| column.item(py)).collect::<PyResult<_>>()?;
    items.into_py_dict(py)
}
