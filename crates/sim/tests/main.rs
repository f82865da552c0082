//! The tests of the crate as one program, which is linked once.

mod classes;
mod fabric;
mod footprint;
mod host;
mod impairments;
mod invariants;
mod laws;
mod media;
mod phases;
mod properties;
mod senders;
mod shared_buffer;
mod theory;
mod threads;
mod wifi;
