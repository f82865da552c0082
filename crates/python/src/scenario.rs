//! Scenarios.

use crate::{controller, counted, group, linear_law, link, not_known, object, refused, toml_text, waiting};
use aqmlab_scenario::{of_table, parse_file};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A checked scenario, and what it was read from, so that it can travel to another process.
#[pyclass(frozen, module = "aqmlab._core")]
pub struct Scenario(pub Arc<aqmlab_scenario::Scenario>, Source);

/// Text and overrides, as [`Scenario::parse`] takes them.
struct Source(String, Vec<(String, String)>);

#[pymethods]
impl Scenario {
    /// Reads TOML text; `overrides` are (path, value) pairs as of `--set`, `file` is where the text is from.
    #[staticmethod]
    #[pyo3(signature = (text, name, overrides=Vec::new(), file=None))]
    fn parse(
        py: Python<'_>,
        text: &str,
        name: &str,
        overrides: Vec<(String, String)>,
        file: Option<&str>,
    ) -> PyResult<Self> {
        let source = Source(text.to_owned(), overrides.clone());
        let (text, name, file) = (text.to_owned(), name.to_owned(), file.unwrap_or(name).to_owned());
        let (size, read) = (text.len(), move || parse_file(&text, &name, &file, &overrides));
        Ok(Scenario(Arc::new(waiting::read(py, size, read)?.map_err(refused)?), source))
    }

    /// Reads values instead of text: what a file would say, as a dictionary.
    #[staticmethod]
    #[pyo3(signature = (values, name, overrides=Vec::new()))]
    fn of(py: Python<'_>, values: &Bound<'_, PyDict>, name: &str, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let table = toml_text::table(values)?;
        let source = Source(table.to_string(), overrides.clone());
        let (name, size) = (name.to_owned(), source.0.len());
        let read = waiting::read(py, size, move || of_table(table, &name, &overrides))?;
        Ok(Scenario(Arc::new(read.map_err(refused)?), source))
    }

    /// The scenario with another group of flows: what a file would say of it, as a dictionary.
    fn with_flows(&self, py: Python<'_>, group: &Bound<'_, PyDict>) -> PyResult<Self> {
        let flows = toml::Table::from_iter([("flows".to_string(), vec![toml_text::table(group)?].into())]);
        Self::parse(py, &format!("{}\n{flows}", self.text()), &self.0.name, self.overrides(), None)
    }

    #[new]
    fn new(py: Python<'_>, text: &str, name: &str, overrides: Vec<(String, String)>) -> PyResult<Self> {
        Self::parse(py, text, name, overrides, None)
    }

    fn __repr__(&self) -> String {
        let flows: u64 = self.0.flows.iter().map(|flows| u64::from(flows.count())).sum();
        let (flows, links) = (counted(flows, "flow"), counted(self.0.links.len() as u64, "link"));
        format!("<Scenario {}: {flows}, {links}, {} s>", self.0.name, self.duration())
    }

    /// The text that it was read from, without overrides.
    #[getter]
    fn text(&self) -> &str {
        &self.1.0
    }

    /// The arguments from which pickle makes it again.
    fn __getnewargs__(&self) -> (&str, &str, Vec<(String, String)>) {
        (&self.1.0, &self.0.name, self.overrides())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// A note on settings that are probably unintended, if any.
    #[getter]
    fn notice(&self) -> Option<String> {
        self.0.notice()
    }

    /// A note on settings whose meaning differs from version 0.1, if any.
    #[getter]
    fn profile_notice(&self) -> Option<String> {
        self.0.profile_notice()
    }

    /// The overrides, as (path, value).
    #[getter]
    fn overrides(&self) -> Vec<(String, String)> {
        self.1.1.clone()
    }

    #[getter]
    fn duration(&self) -> f64 {
        self.0.duration.seconds()
    }

    #[getter]
    fn warmup(&self) -> f64 {
        self.0.warmup.seconds()
    }

    #[getter]
    fn sample(&self) -> f64 {
        self.0.sample.seconds()
    }

    /// Bytes that its simulation under a scheme takes at its start and while queues stay short, within a quarter.
    #[pyo3(signature = (aqm=None, series=false))]
    fn memory(&self, aqm: Option<&str>, series: bool) -> PyResult<f64> {
        Ok(aqmlab_sim::footprint(&self.0, crate::parse_choice(aqm)?.as_ref(), series))
    }

    /// Names of the groups of flows.
    #[getter]
    fn flows(&self) -> Vec<&str> {
        self.0.flows.iter().map(|flows| flows.name.as_str()).collect()
    }

    #[getter]
    fn links(&self) -> Vec<&str> {
        self.0.places().into_iter().map(|(name, _)| name).collect()
    }

    /// Names of the lists of stations of its Wi-Fi cell.
    #[getter]
    fn stations(&self) -> Vec<&str> {
        self.0.wifi.iter().flat_map(|wifi| wifi.lists()).map(|list| list[0].list.as_str()).collect()
    }

    /// Its controllers, in order.
    #[getter]
    fn controllers(&self, py: Python<'_>) -> PyResult<Vec<controller::ControllerSpecs>> {
        self.0.controllers.iter().map(|spec| controller::ControllerSpecs::of(py, spec, &self.0)).collect()
    }

    /// The link of that name, in numbers.
    fn link(&self, name: &str) -> PyResult<link::Link> {
        Ok((&self.0.links[link(&self.0, name)?]).into())
    }

    /// The linear model of a scheme, with its parameters as it will run here.
    fn law(&self, aqm: &str) -> PyResult<linear_law::LinearLaw> {
        let (choice, entry) = self.0.choice(aqm).map_err(refused)?;
        linear_law::LinearLaw::of(entry, &self.0.params(&choice))
    }

    /// The group of flows of that name, in numbers.
    fn group(&self, name: &str) -> PyResult<group::Group> {
        let names: Vec<&str> = self.0.flows.iter().map(|flows| flows.name.as_str()).collect();
        let found = self.0.flows.iter().find(|flows| flows.name == name);
        found.map(group::Group::from).ok_or_else(|| not_known("flows", "group of flows", name, &names))
    }

    /// Every parameter of a scheme as it will run here, as text with its unit; "up.target" of a scheme for one link.
    fn parameters(&self, py: Python<'_>, aqm: &str) -> PyResult<BTreeMap<String, String>> {
        Ok(py.detach(|| self.0.scheme_values(aqm)).map_err(refused)?.into_iter().collect())
    }

    /// Refuses a scheme that no link takes, and one that some link cannot be built with.
    fn check_scheme(&self, py: Python<'_>, aqm: &str) -> PyResult<()> {
        let choice = crate::parse_choice(Some(aqm))?;
        py.detach(|| self.0.check_schemes(choice.as_ref())).map_err(refused)
    }

    /// The scenario with every default filled in: quantities are texts with their units.
    fn resolved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.0.resolved())
    }
}
