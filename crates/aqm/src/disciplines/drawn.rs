//! Packets drawn at random from a queue beside an arriving one.

use crate::Ctx;

/// Flows of the waiting packets, from the head on, as short tags; nothing until a scheme draws.
#[derive(Clone, Default)]
pub(super) struct FlowTags {
    /// Tags in order of arrival; those before `head` have left.
    tags: Vec<u16>,
    head: usize,
    /// Number of waiting packets of each tag.
    counts: Vec<u32>,
}

impl FlowTags {
    pub(super) const TAGS: usize = 4096;
    /// Number of tags that are taken out at once after they have left.
    const LEFT: usize = 1 << 12;
    /// Number of tags compared at once.
    const CHUNK: usize = 64;

    fn tag(flow: u32) -> u16 {
        (flow as usize % Self::TAGS) as u16
    }

    pub(super) fn are_kept(&self) -> bool {
        !self.counts.is_empty()
    }

    #[cold]
    pub(super) fn start(&mut self, waiting: impl Iterator<Item = u32>) {
        self.counts = vec![0; Self::TAGS];
        waiting.for_each(|flow| self.joins(flow));
    }

    #[inline]
    pub(super) fn joins(&mut self, flow: u32) {
        if self.are_kept() {
            self.counts[usize::from(Self::tag(flow))] += 1;
            self.tags.push(Self::tag(flow));
        }
    }

    /// The packet at this position leaves.
    #[inline]
    pub(super) fn leaves(&mut self, position: usize) {
        if self.are_kept() {
            self.take(position);
        }
    }

    fn take(&mut self, position: usize) {
        self.counts[usize::from(self.tags[self.head + position])] -= 1;
        match position {
            0 => self.head += 1,
            _ => drop(self.tags.remove(self.head + position)),
        }
        if self.head == Self::LEFT {
            self.tags.drain(..self.head);
            self.head = 0;
        }
    }

    /// Draws packets one after the other, `draws` in all; `take` takes the one at a position out if it is of `flow`, and
    /// returns true if so. True if any was taken.
    pub(super) fn draw_all(
        &mut self,
        flow: u32,
        mut draws: u32,
        cx: &mut Ctx,
        mut take: impl FnMut(usize) -> bool,
    ) -> bool {
        let mut found = false;
        while let Some((position, left)) = self.draw(flow, draws, cx) {
            draws = left;
            if take(position) {
                self.leaves(position);
                found = true;
            }
        }
        found
    }

    /// Draws one packet after the other, `draws` in all, until one has the tag of `flow`: its position, and the number of
    /// draws left.
    ///
    /// Draws that miss every packet alike are not made one by one: how many come in a row is geometric.
    fn draw(&self, flow: u32, draws: u32, cx: &mut Ctx) -> Option<(usize, u32)> {
        let (tag, waiting) = (Self::tag(flow), (self.tags.len() - self.head) as u32);
        let alike = self.counts[usize::from(tag)];
        let missed = misses(alike, waiting, draws, cx)?;
        Some((self.nth(tag, cx.rng.below(alike) as usize), draws - missed - 1))
    }

    /// Position of the n-th packet with this tag.
    fn nth(&self, tag: u16, mut n: usize) -> usize {
        let waiting = &self.tags[self.head..];
        for (i, chunk) in waiting.chunks(Self::CHUNK).enumerate() {
            let alike = usize::from(chunk.iter().map(|other| u8::from(*other == tag)).sum::<u8>());
            if n < alike {
                let mut positions = (0..chunk.len()).filter(|position| chunk[*position] == tag);
                return i * Self::CHUNK + positions.nth(n).expect("so many are counted");
            }
            n -= alike;
        }
        unreachable!("no more are asked for than are counted")
    }
}

/// Number of draws in a row that miss all of `alike` packets among `waiting`; `None` if all of `draws` do.
fn misses(alike: u32, waiting: u32, draws: u32, cx: &mut Ctx) -> Option<u32> {
    /// Far more than logarithms are off.
    const MARGIN: f64 = 1e-9;
    if alike == 0 {
        return None;
    }
    let (drawn, share) = (cx.rng.uniform(), f64::from(alike) / f64::from(waiting));
    // All miss with probability (1 - share)^draws, at least 1 - draws*share (Bernoulli): most need no logarithm.
    if drawn > f64::from(draws) * share + MARGIN {
        return None;
    }
    // From the library's logarithm, not the platform's: the same everywhere. 1 - u is never 0.
    let misses = (libm::log(1.0 - drawn) / libm::log(1.0 - share)) as u32;
    (misses < draws).then_some(misses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::Time;

    /// Draws without a logarithm agree with those by logarithms, one by one.
    #[test]
    fn misses_are_those_of_the_geometric_distribution() {
        let (mut ours, mut theirs) = (bench::stream(), bench::stream());
        for i in 0..200_000 {
            let (waiting, draws) = (1 + i % 900, i % 13);
            let alike = 1 + i / 900 % waiting.min(9);
            let expected = libm::log(1.0 - theirs.uniform()) / libm::log(1.0 - f64::from(alike) / f64::from(waiting));
            let expected = Some(expected as u32).filter(|misses| *misses < draws);
            assert_eq!(misses(alike, waiting, draws, &mut Ctx { now: Time::ZERO, rng: &mut ours }), expected);
        }
    }
}
