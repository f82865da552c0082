//! Meters, measures and results of a run.

pub mod call;
pub mod capture;
pub mod declared;
pub mod durations;
pub mod flows;
pub mod group;
pub mod histogram;
pub mod link;
pub mod losses;
pub mod media;
mod pcap;
pub mod qoo;
pub mod result;
pub mod round_trips;
pub mod settling;
mod shape;
pub mod slowdown;
pub mod spread;
pub mod station;
pub mod trace;
