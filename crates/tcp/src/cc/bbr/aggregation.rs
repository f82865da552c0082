//! ACKs that come together (`bbr_update_ack_aggregation`).

/// The most that ACKs have told of beyond what the bandwidth explains, over the last five to ten round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtraAcked {
    most: [f64; 2],
    index: usize,
    rounds: u32,
}

impl ExtraAcked {
    pub fn get(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    pub fn update(&mut self, extra: f64, round_has_begun: bool) {
        if round_has_begun {
            self.rounds += 1;
            if self.rounds >= 5 {
                (self.rounds, self.index) = (0, 1 - self.index);
                self.most[self.index] = 0.0;
            }
        }
        self.most[self.index] = self.most[self.index].max(extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_extra_is_remembered_for_five_to_ten_round_trips() {
        let mut extra = ExtraAcked::default();
        extra.update(20.0, false);
        for round in 0..10 {
            assert_eq!(extra.get(), 20.0, "round {round}");
            extra.update(1.0, true);
        }
        assert_eq!(extra.get(), 1.0);
    }
}
