//! The tests of the crate as one program, which is linked once.

mod linux;
mod transfers;
