//! Who sends what, and when, beside unlimited data.

pub mod client;
pub mod udp;
pub mod video;
