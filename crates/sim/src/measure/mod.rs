//! What is measured, and what a run yields.

pub mod call;
pub mod group;
pub mod histogram;
pub mod meter;
pub mod pcap;
pub mod result;
pub mod trace;
