//! Steps Table 1 of Li et al. 2014, looks at the queue every second and changes its target on the way.

use aqmlab_core::{Span, Time};
use aqmlab_scenario::SchemeAssignment;
use aqmlab_scenario::parse;
use aqmlab_sim::{Options, Simulation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = include_str!("../../../python/aqmlab/scenarios/li2014/table-1.toml");
    let scenario = parse(text, "li2014/table-1", &[])?;
    let options = Options { aqm: Some(SchemeAssignment::parse("pi")?), seed: 1, ..Options::default() };
    let mut simulation = Simulation::new(scenario, options)?;
    for second in 1..=20 {
        simulation.step_until(Time::ZERO + Span::from_secs(second))?;
        let probe = simulation.probe();
        println!("{second} s: {} packets wait, {} were dropped", probe.links[0].queue, probe.links[0].dropped);
        if second == 10 {
            simulation.set("links.bottleneck.target", "100 packets")?;
        }
    }
    println!("{}", simulation.finish()?.result.json());
    Ok(())
}
