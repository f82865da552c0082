//! A replay takes allocations and memory that grow as the log does.

#![cfg(target_os = "linux")]

#[path = "../../core/tests/counting/mod.rs"]
mod counting;

use aqmlab_live::replay;
use aqmlab_scenario::parse;
use counting::{Taken, grows_as_its_input, taken};

const LINE: &str = "schema = 1\nduration = \"2 s\"\nsample = \"1 s\"\n[[links]]\nname = \"up\"\nrate = \"8 Mbit/s\"\n\
                    buffer = \"9 packets\"\naqm = \"red\"\n[[flows]]\nname = \"f\"\nrtt = \"20 ms\"\n";

/// Arrivals of packets of 1000 bytes, one each 0.9 ms, and beside each a decision that nobody makes.
fn log(packets: u32) -> Vec<u8> {
    let record = |number: u32, kind: u8| {
        let mut record = [0; 32];
        record[..8].copy_from_slice(&(u64::from(number) * 900_000).to_le_bytes());
        record[8..12].copy_from_slice(&number.to_le_bytes());
        record[24..26].copy_from_slice(&1000u16.to_le_bytes());
        record[27] = kind;
        record
    };
    (0..packets).flat_map(|number| [record(number, 0), record(number, 1)].concat()).collect()
}

/// A replay, the log itself included.
fn replayed(packets: u32) -> Taken {
    let scenario = parse(LINE, "log", &[]).unwrap();
    taken(|| {
        let log = log(packets);
        let found = replay(&scenario, None, 1, true, &log).unwrap();
        assert_eq!((found.arrived, found.decisions), (packets.into(), packets.into()));
    })
}

#[test]
fn a_log_twice_as_long_takes_twice_the_memory() {
    grows_as_its_input("log", [1000, 64_000], replayed);
}
