//! Work that may take long, while other threads of the interpreter go on and Ctrl-C is heard.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

/// A text of so many bytes is read at once.
const SHORT: usize = 1 << 16;
/// Time between two looks at the signals.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of a main thread's stack, usually.
const STACK: usize = 8 << 20;

/// Reads a text of `size` bytes. A long one is read in a thread of its own: if a handler of a signal raises an exception meanwhile, as
/// that of Ctrl-C does, nobody waits for the thread any longer.
///
/// # Errors
/// That exception.
pub fn read<T: Send + 'static>(py: Python<'_>, size: usize, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    if size <= SHORT {
        return Ok(py.detach(work));
    }
    let (sender, mut receiver) = channel();
    let done = move || drop(sender.send(work())); // fails if nobody waits
    let thread = Builder::new().stack_size(STACK).spawn(done)?;
    loop {
        let found;
        (receiver, found) = py.detach(move || {
            let found = receiver.recv_timeout(LOOK);
            (receiver, found)
        });
        match found {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("a thread that ends without a panic has sent what it found"),
            },
        }
    }
}
