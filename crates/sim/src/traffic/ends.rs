//! The hosts of a fabric between which transfers go.

use crate::traffic::peer::Peer;
use aqmlab_core::Stream;
use aqmlab_scenario::{FlowSpec, HostRange, Traffic};
use std::sync::Arc;

/// Draws them, evenly from those that a group may have.
#[derive(Clone)]
pub struct TransferEnds {
    hosts: Arc<HostRange>,
    /// The host that a session, a player or a flow is on, which receives.
    receiver: Option<u32>,
    /// Hosts that it has not asked yet since it has asked all.
    left: Vec<u32>,
    rng: Stream,
}

impl TransferEnds {
    /// Of a member of a group; `None` if that is on no fabric.
    pub fn new(spec: &FlowSpec, mut rng: Stream) -> Option<Self> {
        let hosts = spec.ends.clone()?;
        let has_sender = |to: &u32| hosts.from.iter().any(|from| from != to);
        let receivers: Vec<u32> = hosts.to.iter().copied().filter(has_sender).collect();
        let receiver = match spec.traffic {
            Traffic::Short { .. } => None,
            _ => Some(receivers[rng.below(receivers.len() as u32) as usize]),
        };
        Some(Self { hosts, receiver, left: Vec::new(), rng })
    }

    /// Sender and receiver of the next transfer: short transfers go between any two hosts; a session asks every host once before it asks
    /// one again.
    pub fn draw(&mut self) -> (u32, u32) {
        let Self { hosts, receiver, left, rng } = self;
        let mut one = |of: &[u32]| of[rng.below(of.len() as u32) as usize];
        let Some(to) = *receiver else {
            loop {
                let (from, to) = (one(&hosts.from), one(&hosts.to));
                if from != to {
                    return (from, to);
                }
            }
        };
        if left.is_empty() {
            left.extend(hosts.from.iter().filter(|from| **from != to));
        }
        let from = rng.below(left.len() as u32) as usize;
        (left.swap_remove(from), to)
    }

    /// Addresses and ports of a flow from a host, which has those of `tuple`.
    pub fn tuple(from: u32, tuple: u32) -> u32 {
        from.wrapping_mul(Peer::PORTS + 1) | tuple & Peer::PORTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(receiver: Option<u32>, from: &[u32], to: &[u32]) -> TransferEnds {
        let hosts = Arc::new(HostRange { from: from.into(), to: to.into() });
        TransferEnds { hosts, receiver, left: Vec::new(), rng: Stream::new(1, "ends", 0) }
    }

    #[test]
    fn short_transfers_go_between_any_two_hosts() {
        let mut any = ends(None, &[0, 1, 2], &[0, 1, 2]);
        let mut counts = [[0; 3]; 3];
        for _ in 0..60_000 {
            let (from, to) = any.draw();
            counts[from as usize][to as usize] += 1;
        }
        // 10000 of each of six pairs; five standard deviations of 91.
        let is_fit = |from: usize, to: usize| (9_544..=10_456).contains(&counts[from][to]) == (from != to);
        assert!((0..9).all(|i| is_fit(i / 3, i % 3)), "{counts:?}");
    }

    #[test]
    fn a_session_asks_every_other_host_in_turn() {
        let mut session = ends(Some(2), &[0, 1, 2, 3, 4], &[2]);
        for _ in 0..3 {
            let mut asked: Vec<u32> = (0..4).map(|_| session.draw().0).collect();
            asked.sort_unstable();
            assert_eq!(asked, [0, 1, 3, 4]);
        }
        assert_eq!(TransferEnds::tuple(3, 0xffff_f00f), 3 << 12 | 0xf);
    }
}
