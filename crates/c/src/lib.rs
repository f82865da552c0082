//! The C ABI of [`line::Line`] and [`line::Path`]; `include/aqmlab.h` is made from it.
//!
//! No panic crosses the border: [`guard`] turns one into [`AqmlabStatus::Panic`]. What a pointer has to point at is the caller's
//! duty; null is refused.

#![allow(unsafe_code)] // every function says which pointers it reads, and a null is refused

mod line_functions;
mod path_functions;
mod values;

pub use line_functions::*;
pub use path_functions::*;
pub use values::*;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Version of the ABI: it changes when a program has to be compiled again.
pub const AQMLAB_ABI_VERSION: u32 = 1;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// A status that is not OK, and why.
struct Refusal(AqmlabStatus, String);

impl From<line::LineError> for Refusal {
    fn from(error: line::LineError) -> Self {
        Self(AqmlabStatus::of(&error), error.to_string())
    }
}

impl From<line::Problems> for Refusal {
    fn from(problems: line::Problems) -> Self {
        Self(AqmlabStatus::Input, problems.to_string())
    }
}

/// Does what a function is to do; a refusal or a panic becomes its status.
fn guard(act: impl FnOnce() -> Result<AqmlabStatus, Refusal>) -> AqmlabStatus {
    let done = catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
        Err(Refusal(AqmlabStatus::Panic, format!("a bug in aqmlab, please report it: {text}")))
    });
    done.unwrap_or_else(|Refusal(status, why)| {
        let text = CString::new(why.replace('\0', " ")).expect("it has no zero any more");
        ERROR.set(text);
        status
    })
}

fn null(name: &str) -> Refusal {
    Refusal(AqmlabStatus::Null, format!("{name}: null"))
}

/// # Safety
/// `pointer` is null or points at a `T` that nothing else uses meanwhile.
unsafe fn exclusive<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Refusal> {
    // SAFETY: as this function asks
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

/// # Safety
/// `pointer` is null or points at a `T` that nothing changes meanwhile.
unsafe fn shared<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Refusal> {
    // SAFETY: as this function asks
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// # Safety
/// `pointer` is null or points at bytes that end with a zero and that nothing changes meanwhile.
unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Refusal> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: as this function asks
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|why| Refusal(AqmlabStatus::Input, format!("{name}: not UTF-8: {why}")))
}

/// Hands an object to the caller.
fn give<T>(object: T, to: &mut *mut T) -> AqmlabStatus {
    *to = Box::into_raw(Box::new(object));
    AqmlabStatus::Ok
}

/// The version of the ABI that the library has; compare it with `AQMLAB_ABI_VERSION` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_abi_version() -> u32 {
    AQMLAB_ABI_VERSION
}

/// The version of aqmlab, as "0.2.0".
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no zero"),
    };
    VERSION.as_ptr()
}

/// The reason for which the last call of this thread failed; "" if none has. Valid until the next that fails.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_error() -> *const c_char {
    ERROR.with_borrow(|text| text.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::{
        AqmlabStatus, aqmlab_error, aqmlab_line_clone, aqmlab_line_free, aqmlab_path_down, aqmlab_path_free,
        aqmlab_path_new, aqmlab_path_up, guard,
    };
    use std::ffi::CStr;
    use std::ptr::null_mut;

    #[test]
    fn a_panic_becomes_a_status_and_its_text_an_error() {
        assert_eq!(guard(|| panic!("on {}", "purpose")), AqmlabStatus::Panic);
        // SAFETY: the text lives until the next call that fails
        let why = unsafe { CStr::from_ptr(aqmlab_error()) }.to_str().unwrap();
        assert_eq!(why, "a bug in aqmlab, please report it: on purpose");
        assert_eq!(guard(|| Ok(AqmlabStatus::Ok)), AqmlabStatus::Ok);
    }

    #[test]
    fn freeing_a_part_of_a_path_is_refused() {
        let scenario =
            c"schema = 1\nduration = '1 s'\n[[links]]\nname = 'up'\nrate = '8 Mbit/s'\nbuffer = '9 packets'\n\
            [[flows]]\nrtt = '20 ms'\n";
        let (mut path, mut copy) = (null_mut(), null_mut());
        // SAFETY: texts end with a zero, and what is freed is a path, a part of it or a copy of that
        unsafe {
            assert_eq!(aqmlab_path_new(scenario.as_ptr(), std::ptr::null(), 1, &raw mut path), AqmlabStatus::Ok);
            for part in [aqmlab_path_up(path), aqmlab_path_down(path)] {
                aqmlab_line_free(part);
                let why = CStr::from_ptr(aqmlab_error()).to_str().unwrap();
                assert_eq!(why, "line: is part of a path; free the path with aqmlab_path_free");
                assert_eq!(aqmlab_line_clone(part, &raw mut copy), AqmlabStatus::Ok);
                aqmlab_line_free(copy);
            }
            aqmlab_path_free(path);
        }
    }
}
