//! Functions of a line.

use crate::{
    AqmlabCounters, AqmlabDelivery, AqmlabDropped, AqmlabPacket, AqmlabStatus, AqmlabVerdict, Refusal, exclusive, give,
    guard, shared, text,
};
use line::Line;
use std::ffi::c_char;

/// One direction: a queue under a scheme, a transmitter and a wire, in the caller's time.
pub struct AqmlabLine(pub(crate) Line<u64>, Owner);

/// Who frees a line.
enum Owner {
    Caller,
    Path,
}

impl AqmlabLine {
    /// A line of a path, which goes with it.
    pub(crate) fn part(line: Line<u64>) -> Self {
        Self(line, Owner::Path)
    }
}

/// Makes a line at rest. `description` is TOML with the keys of a link in a scenario.
///
/// # Safety
/// `description` ends with a zero; `line` points at a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_new(
    description: *const c_char,
    seed: u64,
    line: *mut *mut AqmlabLine,
) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (description, line) = (text(description, "description")?, exclusive(line, "line")?);
        Ok(give(AqmlabLine(Line::new(description, seed)?, Owner::Caller), line))
    })
}

/// Makes a copy, which goes its own way from here on. Payloads are copied as the numbers that they are.
///
/// # Safety
/// `line` is a line; `copy` points at a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_clone(line: *const AqmlabLine, copy: *mut *mut AqmlabLine) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (line, copy) = (shared(line, "line")?, exclusive(copy, "copy")?);
        Ok(give(AqmlabLine(line.0.clone(), Owner::Caller), copy))
    })
}

/// Frees a line that `aqmlab_line_new` or `aqmlab_line_clone` made; null is left alone. So is a line of a path, which goes with the
/// path: `aqmlab_error` says so.
///
/// # Safety
/// `line` is null or a line, not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_free(line: *mut AqmlabLine) {
    // SAFETY: as the caller promises; what is no part of a path comes from `Box::into_raw`
    guard(|| unsafe {
        match line.as_ref().map(|line| &line.1) {
            None => {}
            Some(Owner::Caller) => drop(Box::from_raw(line)),
            Some(Owner::Path) => {
                let why = "line: is part of a path; free the path with aqmlab_path_free";
                return Err(Refusal(AqmlabStatus::Input, why.to_owned()));
            }
        }
        Ok(AqmlabStatus::Ok)
    });
}

/// A packet enters at `now`, ns. What it makes the queue drop, itself or others, `aqmlab_line_pop_dropped` has. `verdict` may be null.
///
/// # Safety
/// `line` is a line; `packet` points at a packet; `verdict` is null or points at a verdict.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_push(
    line: *mut AqmlabLine,
    now: u64,
    packet: *const AqmlabPacket,
    payload: u64,
    verdict: *mut AqmlabVerdict,
) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (line, packet) = (exclusive(line, "line")?, shared(packet, "packet")?);
        let found = line.0.push(now, packet.read()?, payload)?;
        if let Some(verdict) = verdict.as_mut() {
            *verdict = found.into();
        }
        Ok(AqmlabStatus::Ok)
    })
}

/// The time at which to call `aqmlab_line_pop` next, ns; `AQMLAB_STATUS_NOTHING` if the line is empty.
///
/// # Safety
/// `line` is a line; `due` points at a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_next_event(line: *const AqmlabLine, due: *mut u64) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (line, due) = (shared(line, "line")?, exclusive(due, "due")?);
        Ok(tell(line.0.next_event(), due))
    })
}

/// Takes the next packet that comes out at `now` or before, ns. `AQMLAB_STATUS_NOTHING` if what was due was none: it has been
/// dropped, or is held up on the wire.
///
/// # Safety
/// `line` is a line; `delivery` points at a delivery.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_pop(
    line: *mut AqmlabLine,
    now: u64,
    delivery: *mut AqmlabDelivery,
) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (line, delivery) = (exclusive(line, "line")?, exclusive(delivery, "delivery")?);
        Ok(tell(line.0.pop(now)?, delivery))
    })
}

/// Takes the next packet that was dropped, in order; `AQMLAB_STATUS_NOTHING` if there is none. They are kept until they are taken.
///
/// # Safety
/// `line` is a line; `dropped` points at a dropped packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_pop_dropped(line: *mut AqmlabLine, dropped: *mut AqmlabDropped) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (line, dropped) = (exclusive(line, "line")?, exclusive(dropped, "dropped")?);
        Ok(tell(line.0.pop_dropped(), dropped))
    })
}

/// Does all that happens until `now`, ns, so that counts, drops and observables are those of then.
///
/// # Safety
/// `line` is a line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_advance(line: *mut AqmlabLine, now: u64) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        exclusive(line, "line")?.0.advance(now)?;
        Ok(AqmlabStatus::Ok)
    })
}

/// Counts since the start.
///
/// # Safety
/// `line` is a line; `counters` points at counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_counters(line: *const AqmlabLine, counters: *mut AqmlabCounters) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        *exclusive(counters, "counters")? = shared(line, "line")?.0.counters().into();
        Ok(AqmlabStatus::Ok)
    })
}

/// One quantity that the scheme shows (`aqmlab show SCHEME` lists them), as it is at the time of the last call.
///
/// # Safety
/// `line` is a line; `name` ends with a zero; `value` points at a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_line_observe(
    line: *const AqmlabLine,
    name: *const c_char,
    value: *mut f64,
) -> AqmlabStatus {
    // SAFETY: as the caller promises
    guard(|| unsafe {
        let (line, name, value) = (shared(line, "line")?, text(name, "name")?, exclusive(value, "value")?);
        *value = line.0.observe(name)?;
        Ok(AqmlabStatus::Ok)
    })
}

/// Writes what there is; the status says whether there is anything.
pub(crate) fn tell<T, U: From<T>>(found: Option<T>, to: &mut U) -> AqmlabStatus {
    found.map_or(AqmlabStatus::Nothing, |found| {
        *to = found.into();
        AqmlabStatus::Ok
    })
}
