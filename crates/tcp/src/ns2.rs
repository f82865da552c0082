//! The profile `ns2`: departures of ns-2.35 from the RFCs.
//!
//! The rest is constants, and each says what it means; what the profile does to a sender is in `sender/ns2.rs`.

/// Constants that the profile sets, over the declared defaults.
pub const SETTINGS: &[(&str, &str)] = &[
    ("initial_window", "2 packets"),
    ("halve", "window"),
    ("open_on_exit", "true"),
    ("ecn_response", "ns2"),
    ("ect_on_retransmit", "true"),
    ("go_back_n", "true"),
    ("clock", "10 ms"),
    ("estimator", "integer"),
    ("min_rto", "200 ms"),
    ("initial_rto", "3 s"),
    ("syn_retries", "4294967295"), // for ever
];

/// Round-trip time estimator of 4.4BSD: Jacobson's shifts on whole numbers of clock ticks.
#[derive(Debug)]
pub(crate) struct IntegerEstimator<'a> {
    /// 8 times the smoothed round-trip time.
    pub srtt: &'a mut f64,
    /// 4 times its variation.
    pub rttvar: &'a mut f64,
}

impl IntegerEstimator<'_> {
    /// Takes a sample; smoothed time and timeout in ticks.
    pub fn sample(self, ticks: f64) -> (f64, f64) {
        let Self { srtt, rttvar } = self;
        if *srtt == 0.0 {
            *srtt = 8.0 * ticks;
            *rttvar = 2.0 * ticks;
        } else {
            let delta = ticks - whole(*srtt / 8.0);
            *srtt = (*srtt + delta).max(1.0);
            *rttvar = (*rttvar + delta.abs() - whole(*rttvar / 4.0)).max(1.0);
        }
        (*srtt / 8.0, whole((8.0 * *rttvar + *srtt) / 8.0))
    }

    /// After several timeouts in a row the old estimate is worth nothing: the next sample is the first again.
    pub fn forget(self) {
        *self.rttvar += (*self.srtt / 8.0).floor();
        *self.srtt = 0.0;
    }
}

/// The whole part of a number of ticks, not negative: a cast, which is faster than `floor` where that is a call.
#[inline]
fn whole(ticks: f64) -> f64 {
    ticks as u64 as f64
}
