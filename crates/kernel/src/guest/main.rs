//! The first and only process of the kernel: sets the network up, plays the traffic, writes down what it counted, and halts.
//!
//! It lives in a folder of the host that has it, `order.json` and `result.jsonl`. Lines of the result: the time that the run has
//! reached, then what went wrong, or the output.

mod counts;
mod ethtool;
mod flights;
mod network;
mod play;
mod sockets;
mod tap;

use aqmlab_kernel::GuestOrder;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};

fn main() {
    let done = OpenOptions::new().append(true).open("/result.jsonl").and_then(|mut result| {
        run(&mut result).or_else(|why| writeln!(result, "{}", json!({ "error": why.to_string() })))
    });
    drop(done); // nobody is left to hear of it
    reboot(RebootMode::RB_POWER_OFF).ok();
}

fn run(result: &mut File) -> io::Result<()> {
    let order: GuestOrder = serde_json::from_str(&fs::read_to_string("/order.json")?)?;
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), None::<&str>)?;
    let output = play::play(&order, |now| writeln!(result, "{}", json!({ "now": now })))?;
    writeln!(result, "{}", output.json())
}
