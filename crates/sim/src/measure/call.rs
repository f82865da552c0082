//! A call over a group's datagrams: the E-model (ITU-T G.107).

use super::declared::measures;
use super::durations::DurationStats;

measures! {
    /// The datagrams of a group after the warm-up, over all its flows, and a G.711 call over them.
    pub struct CallResult from call: CallFacts {
        /// Datagrams sent.
        sent: u64, "Sent" in PACKETS = call.sent;
        /// Datagrams that were not received over those sent.
        ///
        /// Datagrams in flight when the warm-up ends compensate for those in flight at the end, unless the delay
        /// changes much in between.
        loss_ratio: f64, "Loss ratio" in SHARE, less = call.loss_ratio;
        /// Transmission rating of a G.711 call that waits for 99 % of the packets (ITU-T G.107).
        ///
        /// 93.2 minus the impairments of delay and loss; null if no datagram was received. The delay is 20 ms of speech
        /// plus `packet_delay_p99`, and one packet in a hundred arrives too late. The delay costs 0.024 per
        /// millisecond, and 0.11 more beyond 177.3 ms (Cole and Rosenbluth 2001). Loss of Ppl percent costs 95 Ppl /
        /// (Ppl + 25.1), with loss concealment (G.113, appendix I).
        r_factor: Option<f64>, "R factor" in COUNT, more = call.r_factor;
        /// Mean opinion score of that call, 1 to 4.5 (ITU-T G.107).
        ///
        /// Annex B: 4.3 is the best, below 3.6 many users are dissatisfied.
        mos: Option<f64>, "MOS" in SCORE, more = call.r_factor.map(mos);
    }
}

/// Data that the measures of a call are computed from, at the end of a run.
pub struct CallFacts {
    sent: u64,
    loss_ratio: f64,
    r_factor: Option<f64>,
}

impl CallResult {
    /// Of so many datagrams sent, and the delays of those received.
    pub fn new(sent: u64, delays: &DurationStats) -> Self {
        let received = delays.count();
        let loss_ratio = if sent > 0 { (1.0 - received as f64 / sent as f64).max(0.0) } else { 0.0 };
        let r_factor = delays.quantile(0.99).map(|delay| r_factor(delay, loss_ratio));
        Self::of(&CallFacts { sent, loss_ratio, r_factor })
    }
}

/// Of G.711, s: a packet holds so much speech.
const PACKET: f64 = 0.020;
/// Share of the packets that the receiver waits for: later ones are as good as lost.
const PLAYED: f64 = 0.99;
/// R0 - Is with the default values of G.107.
const BEST: f64 = 93.2;
/// Packet-loss robustness of G.711 with loss concealment, random loss, percent (ITU-T G.113, appendix I); its impairment
/// without loss is 0.
const ROBUSTNESS: f64 = 25.1;

/// Transmission rating factor R of a G.711 call, 0 to 93: of the delay that 99 % of the packets do not exceed, s, and the
/// share of packets lost on the way. The delay's impairment is the fit of Cole and Rosenbluth (2001) to G.107.
fn r_factor(delay_p99: f64, loss_ratio: f64) -> f64 {
    let ms = 1e3 * (PACKET + delay_p99);
    let delay = 0.024 * ms + 0.11 * (ms - 177.3).max(0.0);
    let lost = 100.0 * (1.0 - PLAYED * (1.0 - loss_ratio));
    let loss = 95.0 * lost / (lost + ROBUSTNESS);
    (BEST - delay - loss).max(0.0)
}

/// Mean opinion score of an R factor: 1 is bad, 4.5 the best (ITU-T G.107, annex B).
fn mos(r: f64) -> f64 {
    1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.0075, "{value} is not {expected}");
    }

    #[test]
    fn a_call_by_hand() {
        // 50 ms cost 1.2, one packet in a hundred 95/26.1 = 3.64.
        close(r_factor(0.030, 0.0), 88.36);
        // 220 ms cost 5.28 + 0.11*42.7 = 9.98; 1 - 0.99*0.95 = 5.95 % lost cost 95*5.95/31.05 = 18.20.
        close(r_factor(0.200, 0.05), 65.02);
        assert_eq!(r_factor(2.0, 0.5), 0.0);
    }

    #[test]
    fn scores_of_the_standard() {
        for (r, score) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58), (0.0, 1.0)] {
            close(mos(r), score); // G.107, table B.1, which has 4.03 for 4.024
        }
    }
}
