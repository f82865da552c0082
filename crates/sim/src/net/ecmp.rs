//! Routes of a leaf-spine fabric: of the paths of equal cost each flow takes one, by a hash of its tuple (ECMP, RFC 2992).

use crate::calendar::Lane;
use crate::net::route::{NextHop, PathTemplate};
use aqmlab_core::{Span, Streams};
use aqmlab_scenario::{Branch, Fabric, LinkSpec};

/// The switches' choice of spines.
#[derive(Clone)]
pub struct Ecmp {
    fabric: Fabric,
    /// Of each leaf, salted with the run's seed.
    hashes: Vec<Streams>,
    /// Lanes of the wires of switches, by their delay.
    wires: Vec<(Span, Lane)>,
}

impl Ecmp {
    /// Of a run with this seed.
    pub fn new(fabric: Fabric, seed: u64) -> Self {
        let hash = |leaf| Streams::new(seed, &format!("fabric.leaf-{leaf}.ecmp"));
        Self { fabric, hashes: (0..fabric.leaves).map(hash).collect(), wires: Vec::new() }
    }

    /// The links that a flow crosses, and its ACKs, if it has any: each leaf chooses the spine for what goes up from it.
    pub fn branch(&self, from: u32, to: u32, tuple: u32, has_acks: bool) -> Branch {
        let path = |from: u32, to: u32| {
            let mut hash = self.hashes[self.fabric.leaf(from) as usize].of(u64::from(tuple) << 32 | u64::from(to));
            self.fabric.path(from, to, hash.below(self.fabric.spines))
        };
        let ack_path = if has_acks { path(to, from) } else { Vec::new() };
        Branch { number: 0, path: path(from, to), ack_path, region: 0 }
    }

    /// Assigns lanes: what leaves switches one by one comes in order after equal delays, wherever it leaves.
    pub fn assign_lanes(&mut self, links: &[LinkSpec], mut new_lane: impl FnMut() -> Lane) {
        for delay in links.iter().filter(|link| link.shared.is_some()).map(|link| link.delay) {
            if self.wires.iter().all(|(known, _)| *known != delay) {
                self.wires.push((delay, new_lane()));
            }
        }
    }

    /// Gives the wires of a way their lanes.
    pub fn lay(&self, way: &mut PathTemplate, links: &[LinkSpec]) {
        for hop in way.hops.iter_mut().filter(|hop| hop.next == NextHop::Link && links[hop.link].shared.is_some()) {
            let lane = self.wires.iter().find(|(delay, _)| *delay == hop.onward.delay);
            hop.onward.lane = lane.map_or(Lane::ANY, |(_, lane)| *lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_spread_evenly_over_spines_and_each_keeps_its_own() {
        let fabric = Fabric { spines: 4, leaves: 2, hosts: 8 };
        let ecmp = Ecmp::new(fabric, 1);
        let spine = |tuple: u32| ecmp.branch(0, 7, tuple, true).path[1] as u32 - 2 * fabric.hosts;
        let mut counts = [0; 4];
        (0..40_000).for_each(|tuple| counts[spine(tuple) as usize] += 1);
        // 10000 expected each; five standard deviations of 87.
        assert!(counts.iter().all(|count| (9_567..=10_433).contains(count)), "{counts:?}");
        assert!((0..100).all(|tuple| ecmp.branch(0, 7, tuple, true) == ecmp.branch(0, 7, tuple, true)));
        let other = Ecmp::new(fabric, 2);
        assert!((0..100).any(|tuple| ecmp.branch(0, 7, tuple, true) != other.branch(0, 7, tuple, true)));
    }

    #[test]
    fn acks_come_back_over_a_spine_of_the_other_leaf_s_choice() {
        let fabric = Fabric { spines: 4, leaves: 2, hosts: 8 };
        let ecmp = Ecmp::new(fabric, 1);
        let branch = |tuple| ecmp.branch(0, 7, tuple, true);
        let differs = (0..1000).filter(|tuple| branch(*tuple).path[1] - 16 != branch(*tuple).ack_path[1] - 20).count();
        assert!((680..=820).contains(&differs), "three in four, within five standard deviations: {differs}");
        assert_eq!(ecmp.branch(1, 2, 9, false), Branch { number: 0, path: vec![1, 10], ack_path: vec![], region: 0 });
    }
}
