//! Every constant of TCP, and the three profiles that fill them in.

use crate::{linux, ns2};
use aqmlab_core::{Bytes, Packets, Span, choice, params};

choice! {
    /// Loss recovery.
    pub enum TcpVariant {
        /// Fast retransmit and fast recovery (RFC 5681): recovery ends at the first new ACK.
        Reno = "reno",
        /// Recovery goes on through partial ACKs (RFC 6582).
        NewReno = "newreno",
        /// The receiver reports arrived segments (SACK); recovery retransmits lost ones (RFC 6675).
        Sack = "sack",
        /// Losses are also detected by time, and a probe covers the last segments (RACK-TLP, RFC 8985); the window
        /// shrinks as segments arrive (PRR, RFC 9937).
        Rack = "rack",
    }
}

choice! {
    /// The source of the constants.
    pub enum Profile {
        /// RFC 5681, 6298, 6582, 6928.
        Rfc = "rfc",
        /// ns-2.35, to the tick; needed to meet papers that used it.
        Ns2 = "ns2",
        /// Linux, with CUBIC: the default.
        Linux = "linux",
    }
}

choice! {
    /// The quantity that is reduced at a loss.
    pub enum ReductionBase {
        /// The window.
        Window = "window",
        /// The data in flight.
        Flight = "flight",
    }
}

choice! {
    /// Arithmetic of the round-trip time estimator.
    pub enum Estimator {
        /// Real numbers (RFC 6298).
        Real = "real",
        /// Scaled integers in clock ticks (4.4BSD, ns-2).
        Integer = "integer",
        /// As in Linux, slower where round trips get shorter (`tcp_rtt_estimator`), in variant `rack`; as `real` in the others.
        Linux = "linux",
    }
}

choice! {
    /// A sender's response to the echo of a congestion mark.
    pub enum EcnResponse {
        /// The window is halved once per window of data, down to one segment; an echo at one segment closes it until
        /// the retransmission timer expires (RFC 3168).
        Rfc3168 = "rfc3168",
        /// Halved below one segment, which closes it until the timer expires; the second such echo in a row doubles the
        /// timeout. An echo after a timeout halves at once, and a timeout after an echo leaves ssthresh alone.
        Ns2 = "ns2",
    }
}

choice! {
    /// The treatment of a window that the application has not used for longer than the retransmission timeout.
    pub enum IdleWindow {
        /// After a pause it is the initial window at most (RFC 5681, section 4.1).
        Restart = "restart",
        /// It is halved for each timeout of a pause, down to the initial window, and decays while it is not used up (RFC 2861,
        /// as Linux has it); in variants other than `rack` as `restart`.
        Decay = "decay",
        /// It stays (Linux with `tcp_slow_start_after_idle` off).
        Keep = "keep",
        /// new-CWV (RFC 7661): while less than half of it is in use it neither shrinks nor grows, for five minutes, after which it is
        /// halved; a loss or mark then leaves half of what was in use.
        NewCwv = "new-cwv",
    }
}

choice! {
    /// The number of segments that leave the host at once.
    pub enum BurstLimit {
        /// As many as the window allows at each ACK.
        Packet = "packet",
        /// As Linux with segmentation offload: new segments of a controller that does not pace wait until a burst is
        /// complete, about a millisecond at the sender's rate (variant `rack`).
        Gso = "gso",
    }
}

params! {
    /// TCP's constants. The values declared are those of the profile `rfc`; the others set theirs over them.
    pub struct TcpParams {
        /// Receiver's window and the initial ssthresh. It is constant; a receiver of variant `rack` with `quick_acks`
        /// begins with 45 packets and grows to it, as Linux's does, at 1448 B per segment to 2172 packets by default
        /// (`tcp_rmem`: half of 6 MiB).
        window: Packets = "1000000 packets" in "1 packet" ..= "1000000000 packets", from "RFC 5681: arbitrarily high";
        /// Initial window.
        initial_window: Packets = "10 packets" in "1 packet" ..= "10000 packets", from "RFC 6928";
        /// Duplicate ACKs that trigger fast retransmit.
        dup_ack_threshold: u32 = "3" in "1" ..= "1000", from "RFC 5681, section 3.2";
        /// Send a new segment at each of the first duplicate ACKs.
        limited_transmit: bool = "true", from "RFC 3042";
        /// Fast retransmit only once per window of data, so that duplicates of retransmitted segments do not trigger it.
        careful: bool = "true", from "RFC 6582, section 3.2; ns-2 (bugFix_)";
        /// The quantity that is reduced at a loss: the window or the data in flight.
        halve: ReductionBase = "flight", from "RFC 5681, eq. (4)";
        /// The ACK that ends fast recovery also opens the window, instead of only setting it to ssthresh.
        open_on_exit: bool = "false", from "RFC 5681, section 3.2, step 6";
        /// The sender's response to the echo of a congestion mark.
        ecn_response: EcnResponse = "rfc3168", from "RFC 3168, section 6.1.2";
        /// Retransmitted segments carry ECT, and CWR if it is due, as new ones do.
        ect_on_retransmit: bool = "false", from "RFC 3168, section 6.1.5; true: draft-ietf-tcpm-generalized-ecn";
        /// The SYN also carries ECT if the controller receives every mark; if the SYN is marked, the initial window is
        /// one segment.
        ect_on_syn: bool = "false", from "draft-ietf-tcpm-generalized-ecn, section 3.2.1; RFC 8257, section 3.6";
        /// A retransmitted SYN (with AccECN the second one) no longer requests ECN. If it arrives first, the connection
        /// uses no ECN.
        ecn_fallback: bool = "false", from "RFC 3168, section 6.1.1.1; RFC 9768, section 3.1.4; true: Linux, tcp_ecn_fallback";
        /// The receiver acknowledges every second segment, or when `ack_delay` is over; out of order or SYN: at once.
        delayed_ack: bool = "false", from "RFC 1122, section 4.2.3.2; RFC 5681, section 4.2";
        /// Maximum delay of an ACK. If `quick_acks` is set, the minimum: after a delayed ACK timed out, the receiver waits for up to the
        /// round trip of the handshake, 200 ms at most (Linux, tcp_send_delayed_ack).
        ack_delay: Span = "200 ms" in "1 us" ..= "10 s", from "RFC 5681, section 4.2: at most 500 ms";
        /// Segments that the receiver acknowledges at once at the start and after a pause, before it delays ACKs.
        quick_acks: u32 = "0" in "0" ..= "1000", unit "packets", from "Linux, tcp_incr_quickack (16)";
        /// Granularity of the clock that measures round-trip times.
        clock: Span = "1 ms" in "1 ns" ..= "10 s", from "RFC 6298, section 4";
        /// Arithmetic of the round-trip time estimator.
        estimator: Estimator = "real", from "RFC 6298";
        /// Longest delay of an ACK that a tail loss probe for a single segment allows for (variant `rack`).
        max_ack_delay: Span = "200 ms" in "0 s" ..= "10 s", from "RFC 8985, section 7.2 (TLP.max_ack_delay); Linux: TCP_RTO_MIN";
        /// Minimum retransmission timeout.
        min_rto: Span = "1 s" in "1 us" ..= "1000 s", from "RFC 6298, (2.4)";
        /// Maximum retransmission timeout, backoff included.
        max_rto: Span = "60 s" in "1 us" ..= "10000 s", from "RFC 6298, (2.5)";
        /// Retransmission timeout before the first measurement.
        initial_rto: Span = "1 s" in "1 us" ..= "1000 s", from "RFC 6298, (2.1)";
        /// Retransmissions of a SYN before its connection is given up; in profile `ns2` unlimited.
        syn_retries: u32 = "6", from "Linux (tcp_syn_retries); RFC 9293, section 3.8.3, R2";
        /// Timeouts of a SYN before they double, over and above `syn_retries`.
        linear_syn_timeouts: u32 = "0" in "0" ..= "127", from "RFC 6298, (5.5): 0; Linux, tcp_syn_linear_timeouts: 4";
        /// A SYN that is lost once does not cut the initial window, and ssthresh is as before the handshake.
        forgive_syn: bool = "false", from "RFC 5681, section 3.1; true: Linux, tcp_init_transfer, tcp_init_metrics";
        /// After a timeout, variant `sack` retransmits everything except segments that later ACKs name, instead of only missing segments.
        go_back_n: bool = "false", from "RFC 6675, section 5.1; true: RFC 2018, section 5";
        /// The treatment of a window that the application has not used for longer than the retransmission timeout, or with `new-cwv`
        /// does not use by half.
        after_idle: IdleWindow = "restart", from "RFC 5681, section 4.1; decay: RFC 2861 as in Linux; new-cwv: RFC 7661";
        /// In slow start the window grows to at most twice the largest flight since its last reduction (maxFS), later to at most
        /// one segment more than that flight. In `rack` this replaces Linux's rule: the window grows if it was used up in the last
        /// round trip, or in slow start by half.
        rate_limited_increase: bool = "false", from "draft-ietf-ccwg-ratelimited-increase-11, section 3";
        /// Losses are detected by time: a segment is lost when a later one has arrived and the reordering window is over, and a tail loss
        /// probe is sent when no ACK comes. If false, a segment is lost when `dup_ack_threshold` segments beyond it have arrived (variant
        /// `rack`).
        detect_by_time: bool = "true", from "RFC 8985; false: RFC 6675";
        /// In a reduction the window shrinks as segments arrive; if false, at once (variant `rack`).
        prr: bool = "true", from "RFC 9937; false: RFC 6675, section 5";
        /// A spurious reduction is undone (variant `rack`).
        undo: bool = "true", from "RFC 3522, 3708, 5682; Linux";
        /// The number of segments that leave the host at once (`gso`: variant `rack`).
        bursts: BurstLimit = "packet", from "gso: Linux, tcp_tso_autosize and tcp_tso_should_defer";
        /// A controller that sets a pace follows it; if false, segments leave as the window allows.
        pacing: bool = "true", from "off: no fq and no internal pacing in Linux";
        /// Memory of a segment in a Linux receiver, by its network device: 2280 B from a veth pair, 2304 B from a TUN device. The window
        /// grows with the free memory.
        segment_memory: Bytes = "2280 B" in "1448 B" ..= "65536 B", from "Linux 7.3 (skb->truesize)";
        /// Memory of a segment that is merged with the one before it: from a veth pair, two share a header; from a TUN device, they do not.
        merged_memory: Bytes = "1448 B" in "1448 B" ..= "65536 B", from "Linux 7.3, tcp_try_coalesce";
        /// If the first link is the sending host's (`host = true`), the flow's share of its queue is limited to the maximum of two segments,
        /// two bursts, and the data of 1/1024 s at its pacing rate, or without pacing at 1.2 windows per round trip (2 in slow start).
        small_queues: bool = "false", from "Linux, tcp_small_queue_check";
        /// Begin with a SYN and wait for its ACK.
        syn: bool = "true", from "RFC 9293";
        /// The SYN-ACK is acknowledged by a separate packet before the first data are sent.
        handshake_ack: bool = "false", from "RFC 9293, section 3.5; true: Linux, tcp_rcv_synsent_state_process";
        /// TCP and IP headers, added to every segment; also the size of SYNs.
        header: Bytes = "40 B" in "0 B" ..= "1000 B", from "RFC 9293 and RFC 791 without options";
        /// Size of an ACK.
        ack: Bytes = "40 B" in "1 B" ..= "1000 B", from "RFC 9293 and RFC 791 without options";
    }
    check |p| if p.min_rto <= p.max_rto { Ok(()) } else { Err("min_rto must not exceed max_rto".into()) };
}

impl TcpVariant {
    /// The receiver names what has arrived out of order.
    pub fn has_sack(self) -> bool {
        matches!(self, TcpVariant::Sack | TcpVariant::Rack)
    }
}

impl Profile {
    /// Loss recovery when the scenario names none.
    pub fn default_variant(self) -> TcpVariant {
        match self {
            Profile::Rfc => TcpVariant::NewReno,
            Profile::Ns2 => TcpVariant::Reno,
            Profile::Linux => TcpVariant::Rack,
        }
    }

    /// Payload of a segment when the scenario names none, bytes: with Linux a full one on Ethernet, with timestamps.
    pub fn default_payload(self) -> u32 {
        match self {
            Profile::Rfc | Profile::Ns2 => 1000,
            Profile::Linux => 1448,
        }
    }

    /// Congestion control when the scenario names none.
    pub fn default_law(self) -> &'static str {
        match self {
            Profile::Rfc | Profile::Ns2 => "reno",
            Profile::Linux => "cubic",
        }
    }

    /// Parameters that the profile sets of a law.
    pub fn settings_of(self, law: &str) -> &'static [(&'static str, &'static str)] {
        match self {
            Profile::Linux if law == "cubic" => linux::CUBIC,
            Profile::Linux if law == "dctcp" => linux::DCTCP,
            Profile::Linux if law == "vegas" => linux::VEGAS,
            Profile::Linux if law == "westwood" => linux::WESTWOOD,
            _ => &[],
        }
    }

    /// Constants that the profile sets, over the declared defaults.
    pub fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Profile::Rfc => &[],
            Profile::Ns2 => ns2::SETTINGS,
            Profile::Linux => linux::SETTINGS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    #[test]
    fn every_default_and_setting_is_legal() {
        for profile in [Profile::Rfc, Profile::Ns2, Profile::Linux] {
            let mut problems = Vec::new();
            let defaults: Vec<_> = TcpParams::specs().iter().map(|s| (s.name, s.default)).collect();
            TcpParams::defaults().read("tcp", defaults.iter().chain(profile.settings()).copied(), &mut problems);
            assert_eq!(problems, []);
        }
    }
}
