//! Runs a scenario file and prints its result: `cargo run --release --example run -- FILE NAME [AQM] [SEED] [THREADS]`.

use aqmlab_scenario::SchemeAssignment;
use aqmlab_scenario::parse;
use aqmlab_sim::{Options, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, name, rest @ ..] = &args[..] else {
        return Err("usage: run FILE NAME [AQM] [SEED] [THREADS]".into());
    };
    let scenario = parse(&std::fs::read_to_string(file)?, name, &[])?;
    let aqm = rest.first().map(|text| SchemeAssignment::parse(text)).transpose()?;
    let seed = rest.get(1).map_or(Ok(1), |text| text.parse())?;
    let threads = rest.get(2).map_or(Ok(1), |text| text.parse())?;
    let output = run(scenario, Options { aqm, seed, threads, ..Options::default() })?;
    println!("{}", output.result.json());
    Ok(())
}
