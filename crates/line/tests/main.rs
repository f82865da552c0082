//! The tests of the crate as one program, which is linked once.

mod accounts;
mod allocations;
mod line;
mod shared;
