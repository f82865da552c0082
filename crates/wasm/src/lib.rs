//! The engine in a web page: a scenario's text in, results out, both as JSON.
//!
//! The module imports nothing: neither clock nor network nor threads. A page writes a [`Question`](questions::Question) into memory that it
//! gets from [`aqmlab_allocate`], calls [`aqmlab_ask`], reads the answer and gives both back by [`aqmlab_release`]; `engine.mjs` does that.
//! Results are those of every other way of running, to the byte, but `engine.wall`, which is 0 for want of a clock.

#![allow(unsafe_code)] // a page and its module share memory; each function says what it is given

mod page;
pub mod questions;

pub use questions::answer;

/// Memory for so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_allocate(bytes: usize) -> *mut u8 {
    Box::leak(vec![0; bytes].into_boxed_slice()).as_mut_ptr()
}

/// Gives back memory.
///
/// # Safety
/// `start` and `bytes` are of [`aqmlab_allocate`], or of an answer, and have not been given back yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_release(start: *mut u8, bytes: usize) {
    // SAFETY: both were leaked as a boxed slice of this length, and nobody else gives it back
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, bytes)) });
}

/// Answers a [`Question`](questions::Question): returns where the answer begins, in the upper 32 bits, and its bytes, in the lower.
///
/// # Safety
/// `bytes` bytes of UTF-8 begin at `start`, and nothing changes them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_ask(start: *const u8, bytes: usize) -> u64 {
    // SAFETY: as this function asks
    let question = unsafe { std::slice::from_raw_parts(start, bytes) };
    let answer = answer(&String::from_utf8_lossy(question)).into_bytes().into_boxed_slice();
    let bytes = answer.len() as u64;
    (Box::leak(answer).as_mut_ptr().addr() as u64) << 32 | bytes
}
