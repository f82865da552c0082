//! Traffic beside unlimited data: datagrams, transfers, video, calls.

pub mod client;
pub mod ends;
pub mod instance;
pub mod media;
pub mod peer;
pub mod timed;
pub mod video;
