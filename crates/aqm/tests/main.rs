//! The tests of the crate as one program, which is linked once.

mod changes;
mod contract;
mod declared;
mod differential;
