//! Functions of a path.

use crate::{AqmlabDelivery, AqmlabLine, AqmlabStatus, exclusive, give, guard, shared, tell, text};
use line::Path;
use std::ffi::c_char;

/// Two lines in one time.
pub struct AqmlabPath {
    up: AqmlabLine,
    down: AqmlabLine,
}

/// A direction of a path.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AqmlabSide {
    /// From the client.
    Up = 0,
    /// To the client.
    Down = 1,
}

impl AqmlabPath {
    /// The direction of which something comes out first; at one instant upwards.
    fn next(&self) -> (AqmlabSide, Option<u64>) {
        let [up, down] = [&self.up, &self.down].map(|line| line.0.next_event());
        match (up, down) {
            (None, Some(_)) => (AqmlabSide::Down, down),
            (Some(first), Some(second)) if second < first => (AqmlabSide::Down, down),
            _ => (AqmlabSide::Up, up),
        }
    }
}

/// Makes both directions at rest, of a scenario (TOML) with a link `up` and a link `down`, or with one link that leads up. `aqm` is a scheme
/// for both or for each, as "cake@up+fq-codel@down"; null for the scenario's own.
///
/// # Safety
/// `scenario` ends with a zero; `aqm` is null or ends with a zero; `path` points at a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_path_new(
    scenario: *const c_char,
    aqm: *const c_char,
    seed: u64,
    path: *mut *mut AqmlabPath,
) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (scenario, path) = (text(scenario, "scenario")?, exclusive(path, "path")?);
        let aqm = if aqm.is_null() { None } else { Some(text(aqm, "aqm")?) };
        let Path { up, down } = Path::new(scenario, aqm, seed)?;
        Ok(give(AqmlabPath { up: AqmlabLine::part(up), down: AqmlabLine::part(down) }, path))
    })
}

/// Frees a path with its lines; null is left alone.
///
/// # Safety
/// `path` is null or a path, not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_path_free(path: *mut AqmlabPath) {
    guard(|| {
        if !path.is_null() {
            // SAFETY: it comes from `Box::into_raw`, as the caller promises
            drop(unsafe { Box::from_raw(path) });
        }
        Ok(AqmlabStatus::Ok)
    });
}

/// The line from the client, for the functions of lines: to push, to pop what was dropped, to count. It is the path's, which frees it.
/// Null if `path` is.
///
/// # Safety
/// `path` is null or a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_path_up(path: *mut AqmlabPath) -> *mut AqmlabLine {
    // SAFETY: as the caller promises
    unsafe { path.as_mut() }.map_or(std::ptr::null_mut(), |path| &raw mut path.up)
}

/// The line to the client, likewise.
///
/// # Safety
/// `path` is null or a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_path_down(path: *mut AqmlabPath) -> *mut AqmlabLine {
    // SAFETY: as the caller promises
    unsafe { path.as_mut() }.map_or(std::ptr::null_mut(), |path| &raw mut path.down)
}

/// The time at which to call `aqmlab_path_pop` next, ns; `AQMLAB_STATUS_NOTHING` if both lines are empty.
///
/// # Safety
/// `path` is a path; `due` points at a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_path_next_event(path: *const AqmlabPath, due: *mut u64) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (path, due) = (shared(path, "path")?, exclusive(due, "due")?);
        Ok(tell(path.next().1, due))
    })
}

/// Takes the packet that comes out next at `now` or before, ns, in either direction. `AQMLAB_STATUS_NOTHING` if what was due was none.
///
/// # Safety
/// `path` is a path; `side` points at a side, `delivery` at a delivery.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_path_pop(
    path: *mut AqmlabPath,
    now: u64,
    side: *mut AqmlabSide,
    delivery: *mut AqmlabDelivery,
) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (path, side) = (exclusive(path, "path")?, exclusive(side, "side")?);
        let delivery = exclusive(delivery, "delivery")?;
        *side = path.next().0;
        let line = if *side == AqmlabSide::Up { &mut path.up } else { &mut path.down };
        Ok(tell(line.0.pop(now)?, delivery))
    })
}
