//! Traffic beside unlimited data: datagrams, transfers, video.

pub mod client;
pub mod ends;
pub mod member;
pub mod timed;
pub mod video;
