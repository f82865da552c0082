//! The output of a run: the metrics as text, series, tables and traces as arrays.

use aqmlab_sim::{FlowTable, Output, TraceTable, TransferTable};
use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

/// The output of a run.
#[pyclass(frozen)]
pub struct Run {
    output: Output,
    trace: Option<PacketTrace>,
}

impl Run {
    pub fn of(mut output: Output) -> Self {
        let trace = output.trace.take().map(|trace| PacketTrace(Arc::new(trace)));
        Self { output, trace }
    }
}

#[pymethods]
impl Run {
    /// The metrics: the one text of this result.
    fn json(&self) -> String {
        self.output.result.json()
    }

    /// Columns of every link's time series; empty unless they were asked for.
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let links = PyDict::new(py);
        for series in &self.output.series {
            links.set_item(&series.link, arrays(py, series.columns())?)?;
        }
        Ok(links)
    }

    /// Of every link: sojourn times (s), and the share of packets that waited at most so long; empty unless series were
    /// asked for.
    fn delays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let links = PyDict::new(py);
        for delays in &self.output.delays {
            links.set_item(&delays.link, arrays(py, delays.columns())?)?;
        }
        Ok(links)
    }

    /// The table of flows: columns, one row a flow; empty unless series were asked for.
    fn flow_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        arrays(py, self.output.flow_table.iter().flat_map(FlowTable::columns))
    }

    /// The transfers that began after the warm-up and ended: columns; empty unless series were asked for.
    fn transfer_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        arrays(py, self.output.transfer_table.iter().flat_map(TransferTable::columns))
    }

    /// The trace of packets at the link that was to be traced.
    fn trace(&self) -> Option<PacketTrace> {
        self.trace.clone()
    }
}

/// A trace of packets at a link.
#[pyclass(frozen, name = "Trace")]
#[derive(Clone)]
pub struct PacketTrace(Arc<aqmlab_sim::PacketTrace>);

#[pymethods]
impl PacketTrace {
    fn __repr__(&self) -> String {
        format!("<Trace of the link {}>", self.0.link)
    }

    /// Columns of equal length as arrays, and the labels of those that hold codes, which count from 0; -1 is none.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let TraceTable { time, event, flow, group, transfer, kind, size, seq, ecn, reason, sojourn, queue, reasons } =
            py.detach(|| self.0.table());
        let (columns, labels) = (PyDict::new(py), PyDict::new(py));
        set_column(&columns, "time", time)?;
        set_column(&columns, "event", event)?;
        set_column(&columns, "flow", flow)?;
        set_column(&columns, "group", group)?;
        set_column(&columns, "transfer", transfer)?;
        set_column(&columns, "kind", kind)?;
        set_column(&columns, "size", size)?;
        set_column(&columns, "seq", seq)?;
        set_column(&columns, "ecn", ecn)?;
        set_column(&columns, "reason", reason)?;
        set_column(&columns, "sojourn", sojourn)?;
        set_column(&columns, "queue", queue)?;
        labels.set_item("event", TraceTable::EVENTS)?;
        labels.set_item("group", &self.0.groups)?;
        labels.set_item("kind", TraceTable::KINDS)?;
        labels.set_item("ecn", TraceTable::ECN)?;
        labels.set_item("reason", reasons)?;
        Ok((columns, labels))
    }

    /// Writes the packets that left the queue as pcapng.
    fn write_pcap(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let write = || self.0.write_pcap(&mut BufWriter::new(File::create(path)?));
        py.detach(write).map_err(|error| PyOSError::new_err((error.raw_os_error(), error.to_string(), path.to_owned())))
    }
}

fn set_column<T: Element>(columns: &Bound<'_, PyDict>, name: &str, values: Vec<T>) -> PyResult<()> {
    columns.set_item(name, values.into_pyarray(columns.py()))
}

/// Columns as NumPy arrays by name.
pub fn arrays<'py, 'name, 'a>(
    py: Python<'py>,
    columns: impl IntoIterator<Item = (&'name str, &'a Vec<f64>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = PyDict::new(py);
    for (name, values) in columns {
        let array: Bound<'py, PyArray1<f64>> = values.clone().into_pyarray(py);
        arrays.set_item(name, array)?;
    }
    Ok(arrays)
}
