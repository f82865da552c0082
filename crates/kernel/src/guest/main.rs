//! The first process of the kernel: does what its order says, writes down what it found, and halts.
//!
//! Its root is a folder of the host, with `result.jsonl` and either `order.json`, a scenario to be played, or `live.json`, a
//! command to be run. Lines of the result: the time that the run has reached, then what went wrong, or the output.

mod counts;
mod ethtool;
mod flights;
mod live;
mod network;
mod play;
mod sockets;
mod tap;
mod view;

use aqmlab_kernel::GuestOrder;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::unistd::sync;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

const ORDER: &str = "/order.json";
const LIVE: &str = "/live.json";

fn main() {
    let done = OpenOptions::new().append(true).open("/result.jsonl").and_then(|result| {
        let ended = if Path::new(LIVE).exists() { run_live(&result) } else { run(&result) };
        ended.or_else(|why| say(&result, &json!({ "error": why.to_string() })))
    });
    drop(done); // nobody is left to hear of it
    sync();
    reboot(RebootMode::RB_POWER_OFF).ok();
}

fn run(result: &File) -> io::Result<()> {
    let order: GuestOrder = read(ORDER)?;
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), None::<&str>)?;
    let output = play::play(&order, |now| say(result, &json!({ "now": now })))?;
    say(result, &output.json())
}

fn run_live(result: &File) -> io::Result<()> {
    live::run(&read(LIVE)?, result)
}

/// Writes a line of the result, in one system call.
fn say(mut result: &File, line: &impl Display) -> io::Result<()> {
    result.write_all(format!("{line}\n").as_bytes())
}

fn read<T: DeserializeOwned>(path: &str) -> io::Result<T> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}
