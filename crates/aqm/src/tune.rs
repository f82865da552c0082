//! Parameters that are set while a scheme runs: what it has learnt stays.

use crate::{QueueView, Scheme};
use aqmlab_core::ParamSet;
use aqmlab_core::params::ParamInput;
use aqmlab_core::problem::unknown;

/// Takes parameters while it runs. Every [`Scheme`] does.
#[allow(unused_variables)]
pub trait Tune {
    /// Sets a parameter; `queue` is the queue as it is.
    ///
    /// # Errors
    /// If there is no such parameter, its value is illegal, or it cannot change while the scheme runs; nothing is changed.
    fn set_param(&mut self, name: &str, value: ParamInput, queue: &QueueView) -> Result<(), String> {
        Err(format!("{name}: the parameters of this scheme cannot change while it runs"))
    }
}

impl<S: Scheme> Tune for S {
    fn set_param(&mut self, name: &str, value: ParamInput, queue: &QueueView) -> Result<(), String> {
        let params = changed(self.params(), S::AT_START, name, value)?;
        S::new(params, queue)?; // says what is contradictory
        *self.params() = params;
        self.params_changed();
        Ok(())
    }
}

/// `params` with `name` set to `value`, unless it is one of those `at_start`, which are listed with the reason.
pub(crate) fn changed<P: ParamSet>(
    params: &P,
    at_start: &[(&str, &str)],
    name: &str,
    value: ParamInput,
) -> Result<P, String> {
    if let Some((_, why)) = at_start.iter().find(|(fixed, _)| *fixed == name) {
        return Err(format!("{name}: cannot change while the scheme runs: {why}"));
    }
    let mut params = *params;
    let known = || P::specs().iter().map(|spec| spec.name).collect::<Vec<_>>();
    let set = params.set(name, value).ok_or_else(|| unknown("parameter", name, &known()))?;
    set.map_err(|why| format!("{name}: {why}"))?;
    params.check()?;
    Ok(params)
}
