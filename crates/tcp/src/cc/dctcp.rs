use super::as_slow_start;
use super::slow_start::{SlowStart, SlowStartChoice};
use super::{CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, Needs, Window};
use crate::ecn::EcnFeedback;
use aqmlab_core::{choice, params};

choice! {
    /// The implementation whose details apply.
    pub enum DctcpFlavour {
        /// RFC 8257, in real numbers.
        Rfc8257 = "rfc8257",
        /// `tcp_dctcp.c` of Linux, in its whole numbers.
        Linux = "linux",
    }
}

params! {
    /// DCTCP: the window falls by half of the share of segments that were marked.
    ///
    /// ## Idea
    /// A mark says that there is congestion, the share of marked segments says how much. A sender that answers in
    /// proportion can be marked often and early: the queue stays short and the link full.
    ///
    /// ## Equations
    /// Over each window of data (RFC 8257, section 3.3), F being the share of its segments that were marked:
    ///
    /// ```text
    /// alpha = (1 - g)*alpha + g*F,   1 at the beginning
    /// cwnd  = cwnd*(1 - alpha/2)     at a mark, at most once per window of data
    /// ```
    ///
    /// The window grows as Reno's (3.4), and falls at a loss as Reno's (3.5). The receiver echoes each mark (3.2).
    ///
    /// ## What to expect
    /// If each segment is marked independently with probability p, a reduction comes every W + 1/p segments: a window
    /// of data, then the wait for the next mark. In them the window grows by (1 - p)/W a segment and then gives up
    /// p*W/2:
    ///
    /// ```text
    /// W = x/p,   x^2/2 = (1 - p)*(x + 1):   x = 1 + sqrt(3) at small p
    /// ```
    ///
    /// In variant `rack` the window does not grow in the window of data that follows a mark, as in Linux: x = sqrt(2).
    /// The 2/p that is often written (RFC 9332, appendix A, for L4S) takes a reduction in every round trip.
    ///
    /// Over a step at K packets, N flows in step move the queue from K + N down by A = sqrt(2*N*(C*RTT + K))/2 (Alizadeh et al.
    /// 2010, section 3.3). At 1 Gbit/s over 1 ms, with K = 20, mean and standard deviation in packets:
    ///
    /// | N | K + N - A/2 | A/sqrt(12) | mean queue | deviation |
    /// | --- | --- | --- | --- | --- |
    /// | 1 | 17.4 | 2.1 | 17.6 | 2.1 |
    /// | 2 | 16.9 | 2.9 | 17.3 | 2.8 |
    /// | 4 | 16.8 | 4.2 | 16.6 | 4.2 |
    /// | 10 | 18.6 | 6.6 | 16.3 | 7.5 |
    /// | 40 | 37.3 | 13.1 | 21.5 | 14.1 |
    ///
    /// From ten flows on they are not in step: the queue is shorter.
    ///
    /// ## Readings
    /// A reduction is one of the window, not of the flight. Packets carry ECT(0), including retransmissions, as in
    /// Linux (`tcp_ecn_send`), which sends ECT(1) for none of its controllers; `ecn = "ect1"` sends ECT(1). A loss in a
    /// window of data that a mark has reduced reduces it no more (3.5).
    ///
    /// ## Linux
    /// `flavour = "linux"`, which the profile `linux` sets, counts alpha in 1024ths and the window in whole segments,
    /// and cuts off: alpha below 16/1024 drops to 0. A fraction of marks below 1/64 counts as zero. The reduction is
    /// rounded down. A window of data ends with the segment before DCTCP.WindowEnd, one earlier than in 3.3. A loss in
    /// a window of data that a mark has reduced halves what is left of it.
    ///
    /// ## Departures
    /// The SYN carries no ECT codepoint, which section 3.6 requires, nor do ACKs. After a pause alpha is what it was.
    pub struct DctcpParams {
        /// Weight of the last window of data in alpha.
        g: f64 = "0.0625" in "0.001" ..= "1", from "RFC 8257, section 4.2 (1/16)";
        /// The implementation whose details apply.
        flavour: DctcpFlavour = "rfc8257", from "RFC 8257";
        /// The slow start ([Slow starts](../tcp.md#slow-starts)); all but `classic` go with variant `rack`.
        slow_start: SlowStartChoice = "classic", from "RFC 8257, section 3.4";
    }
}

/// Linux's alpha of one (`DCTCP_MAX_ALPHA`).
const UNIT: f64 = 1024.0;

/// DCTCP's counts. See [`DctcpParams`].
#[derive(Clone, Debug)]
pub struct Dctcp {
    params: DctcpParams,
    alpha: f64,
    acked: u32,
    marked: u32,
    /// DCTCP.WindowEnd; `None` before the first ACK.
    window_end: Option<u32>,
    slow_start: SlowStart,
}

impl CongestionControlLaw for Dctcp {
    const INFO: LawInfo =
        LawInfo { name: "dctcp", title: "DCTCP", year: 2010, source: "Alizadeh et al., SIGCOMM 2010; RFC 8257" };
    const NEEDS: Needs = Needs { feedback: EcnFeedback::PerPacket, every_ack: true, ..Needs::NONE };
    const SETTINGS: &'static [(&'static str, &'static str)] = &[("ect_on_retransmit", "true")];
    type Params = DctcpParams;

    fn new(params: DctcpParams) -> Self {
        Self {
            params,
            alpha: 1.0,
            acked: 0,
            marked: 0,
            window_end: None,
            slow_start: SlowStart::new(params.slow_start),
        }
    }

    fn needs(params: &DctcpParams) -> Needs {
        params.slow_start.needs(Self::NEEDS)
    }
}

impl CongestionControl for Dctcp {
    as_slow_start!(on_ack, on_lost, on_congestion, on_recovered, on_timeout);

    /// 3.3: alpha is brought up to date before the window is reduced.
    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        self.slow_start.on_feedback(window, ack);
        let Some(end) = self.window_end else {
            // The ACK of the handshake is of no window of data in Linux (`dctcp_init`).
            self.acked = if self.params.flavour == DctcpFlavour::Linux { 0 } else { ack.acked };
            return self.window_end = Some(ack.sent);
        };
        self.acked += ack.acked;
        self.marked += ack.marked;
        let is_over = match self.params.flavour {
            DctcpFlavour::Rfc8257 => ack.hole > end,
            DctcpFlavour::Linux => ack.hole >= end,
        };
        if is_over {
            self.alpha = self.next_alpha();
            (self.acked, self.marked, self.window_end) = (0, 0, Some(ack.sent));
        }
    }

    /// `dctcp_react_to_loss`.
    fn reduces_again(&self) -> bool {
        self.params.flavour == DctcpFlavour::Linux
    }

    fn threshold(&self, event: CongestionEvent, window: &Window) -> Option<f64> {
        let cwnd = window.cwnd;
        let of_slow_start = self.slow_start.threshold(event, self.kept(event), window);
        match self.params.flavour {
            _ if of_slow_start.is_some() => of_slow_start,
            _ if event != CongestionEvent::Echo => None,
            DctcpFlavour::Rfc8257 => Some(cwnd * (1.0 - self.alpha / 2.0)),
            DctcpFlavour::Linux => Some(cwnd.floor() - (cwnd.floor() * self.alpha / 2.0).floor()),
        }
    }
}

impl Dctcp {
    /// With the share of the window of data that ends.
    fn next_alpha(&self) -> f64 {
        let (g, alpha) = (self.params.g, self.alpha);
        let share = f64::from(self.marked) / f64::from(self.acked.max(1));
        if self.params.flavour == DctcpFlavour::Rfc8257 {
            return (1.0 - g) * alpha + g * share.min(1.0);
        }
        let forgotten = (g * alpha * UNIT).floor();
        let left = if forgotten > 0.0 { alpha * UNIT - forgotten } else { 0.0 };
        ((left + (g * share * UNIT).floor()) / UNIT).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    /// Windows of data of ten segments, so many of which are marked.
    fn after(flavour: DctcpFlavour, windows: &[u32]) -> Dctcp {
        let mut dctcp = Dctcp::new(DctcpParams { flavour, ..DctcpParams::defaults() });
        let window = &mut Window { cwnd: 10.0, ssthresh: 10.0 };
        dctcp.on_feedback(window, &Facts { acked: 0, hole: 1, sent: 10, ..Facts::default() });
        let beyond = u32::from(flavour == DctcpFlavour::Rfc8257);
        for (i, marked) in (1..).zip(windows) {
            let (hole, sent) = (10 * i + beyond, 10 * i + 10);
            dctcp.on_feedback(window, &Facts { acked: 9, hole: hole - 1, sent, ..Facts::default() });
            dctcp.on_feedback(window, &Facts { acked: 1, marked: *marked, hole, sent, ..Facts::default() });
        }
        dctcp
    }

    fn reduced(dctcp: &Dctcp, cwnd: f64) -> f64 {
        dctcp.threshold(CongestionEvent::Echo, &Window { cwnd, ssthresh: 100.0 }).unwrap()
    }

    #[test]
    fn alpha_by_hand() {
        let alpha = |windows: &[u32]| after(DctcpFlavour::Rfc8257, windows).alpha;
        assert_eq!(alpha(&[]), 1.0);
        assert_eq!(alpha(&[0]), 0.9375);
        assert!((alpha(&[0, 4]) - (0.9375 * 0.9375 + 0.4 / 16.0)).abs() < 1e-12);
        assert_eq!(alpha(&[12]), 1.0, "a share is at most 1");
    }

    #[test]
    fn the_window_falls_by_half_of_alpha() {
        assert_eq!(reduced(&after(DctcpFlavour::Rfc8257, &[]), 10.5), 5.25);
        assert_eq!(reduced(&after(DctcpFlavour::Rfc8257, &[0]), 16.0), 16.0 * (1.0 - 0.46875));
        let dctcp = after(DctcpFlavour::Rfc8257, &[0]);
        let window = Window { cwnd: 16.0, ssthresh: 100.0 };
        assert_eq!(
            [CongestionEvent::Loss, CongestionEvent::Timeout].map(|event| dctcp.threshold(event, &window)),
            [None, None]
        );
    }

    #[test]
    fn linux_counts_in_1024ths_and_whole_segments() {
        // 1024 - 64 + floor(3 of 10 of 64) = 979; then 979 - 61 + 6.
        let alpha = |windows: &[u32]| after(DctcpFlavour::Linux, windows).alpha * 1024.0;
        assert_eq!([alpha(&[3]), alpha(&[3, 1])], [979.0, 924.0]);
        // 16 - 1 = 15, whose sixteenth is none: forgotten at once.
        let mut dctcp = after(DctcpFlavour::Linux, &[]);
        dctcp.alpha = 16.0 / 1024.0;
        dctcp.alpha = dctcp.next_alpha();
        assert_eq!(dctcp.alpha * 1024.0, 15.0);
        assert_eq!(dctcp.next_alpha(), 0.0);
        // One mark in 65 segments is less than 1/64.
        (dctcp.alpha, dctcp.acked, dctcp.marked) = (0.5, 65, 1);
        assert_eq!(dctcp.next_alpha() * 1024.0, 480.0);
        // 17 - floor(17*0.25) = 13, whatever the fraction of the window.
        assert_eq!(reduced(&dctcp, 17.9), 13.0);
    }
}
