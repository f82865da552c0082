use super::cobalt::{Cobalt, CobaltParams};
use crate::disciplines::{FairParams, Isolation, TinPolicy};
use crate::link_layer::{Framing, LinkLayer};
use crate::signal::SEVERAL_QUEUES;
use crate::{Observable, QueueView, Scheme, SchemeInfo, Signal, Tc};
use aqmlab_core::{Auto, Bytes, ParamHolder, ParamSet, Quantity, Rate, Span, choice, params};

choice! {
    /// The mapping of DSCPs to tins.
    pub enum Diffserv {
        /// Not at all: one tin.
        Besteffort = "besteffort",
        /// Bulk, best effort and voice.
        Diffserv3 = "diffserv3",
        /// Bulk, best effort, video and voice.
        Diffserv4 = "diffserv4",
    }
}

params! {
    /// CAKE: flow queueing with COBALT and a shaper, fair to hosts, with tins for traffic of more or less importance.
    ///
    /// ## Idea
    /// One discipline with all that a home router needs: a shaper that keeps the queue in the router and not in the
    /// modem, a queue per flow, a fair share per host regardless of its number of flows, and COBALT in every queue.
    ///
    /// ## Equations
    /// Each tin has the flow queueing of `fq-cobalt` with sets of 8 queues and `isolation`. A tin of rate r has:
    ///
    /// ```text
    /// quantum  = r/4096 per second, within 300 .. 1514 bytes
    /// target   = max(rtt/20, 1.5 * 1514 bytes / r)
    /// interval = max(rtt + target - rtt/20, 2*target)
    /// no wait within 4 * 1514 bytes / r is too long for COBALT
    /// ```
    ///
    /// An empty queue leaves the rounds at once. While its COBALT is not at rest (p = 0, count = 0, drop_next past) the
    /// queue stays assigned to its flow. At each departure from the tin, COBALT of one such queue in turn processes an
    /// empty queue. A queue at rest is any flow's, but its last flow finds it first. A flow becomes bulk when it still
    /// has packets after a quantum; only bulk flows count as load of their host.
    ///
    /// The shaper, the tins and the quantum count this size for a packet of b bytes:
    ///
    /// ```text
    /// n    = max(b - link_header + overhead, mpu)        without `overhead`: max(b, mpu)
    /// none: n      atm: 53 * ceil(n / 48)      ptm: n + ceil(n / 64)
    /// ```
    ///
    /// Tins, by DSCP; r is the tin's share of the bandwidth:
    ///
    /// | tin | r | `diffserv3` | `diffserv4` |
    /// | --- | --- | --- | --- |
    /// | best effort | all | all others, CS5 and AF4x too | all others |
    /// | bulk | 1/16 | LE (1), CS1 (8) | LE (1), CS1 (8) |
    /// | video | 1/2 | | TOS4 (4), CS2 (16), AF2x, CS3 (24), AF3x, AF4x (34, 36, 38) |
    /// | voice | 1/4 | TOS4 (4), VA (44), EF (46), CS6 (48), CS7 (56) | CS4 (32), CS5 (40), VA, EF, CS6, CS7 |
    ///
    /// The last tin in this order that has not had its rate is served, so bulk keeps its sixteenth. If all tins have
    /// had their rates, the tin that had it longest ago is served. Service beyond a tin's rate does not reduce its
    /// later share. If CAKE is `unlimited`, r is infinite (a quantum of 1,514 bytes, the plain target and interval), and
    /// tins take turns by deficit round robin: 1,024 bytes best effort, 64 bulk, 512 video, 256 voice. `bandwidth` paces
    /// packets at that rate. Without it the link keeps its own rate; where `overhead`, `mpu`, `framing` or `ingress`
    /// let packets count otherwise than the link sends them, the shaper has the link's rate. When the buffer is full,
    /// packets are dropped from the head of the longest queue of all tins, one by one.
    ///
    /// The buffer counts memory, as Linux does: a buffer of N packets is the memory of N full ones, 2,304 B each. A
    /// packet of 542 B takes 1,280 B, so 1.8 N of them fit. A packet of 214 B takes 832 B. A frame of b bytes takes 256
    /// B for its head and one piece:
    ///
    /// ```text
    /// needed = 64 * ceil((b + 32) / 64) + 320
    /// piece  = 576 if needed <= 576, else the next power of two
    /// ```
    ///
    /// `ingress` is for a shaper downstream of the bottleneck. A dropped packet has crossed the bottleneck and counts
    /// as sent:
    ///
    /// ```text
    /// a drop of b bytes   takes its time from shaper, tin and its queue's quantum
    /// a packet may leave  when the shaper lets it, or b / (2/3 bandwidth) after the last that left
    /// too long            also needs sojourn > 2 * 1514 bytes / r for each bulk flow of the tin
    /// ```
    ///
    /// so the arrival rate, not the departure rate, equals the bandwidth. Packets leave with at least two thirds of it,
    /// however many are dropped.
    ///
    /// ## Readings
    /// After Linux `sch_cake`. Hosts are those that send (`dual-srchost`): a simulated flow has no other address.
    /// `class = 5` of a flow is CS5, which is not EF: `dscp = 46` is. `overhead` counts from the IP packet, as in
    /// Linux, which knows where the IP packet begins. Here `link_header` says how much of a packet's size comes before:
    /// nothing with a header of 40 B, 14 B with `tcp = "linux"`.
    ///
    /// | link | tc's keyword | `overhead` | `mpu` | `framing` |
    /// | --- | --- | --- | --- | --- |
    /// | Ethernet, fibre | ethernet | 38 B | 84 B | none |
    /// | cable | docsis | 18 B | 64 B | none |
    /// | VDSL2 | bridged-ptm | 22 B | | ptm |
    /// | VDSL2 with PPPoE | pppoe-ptm | 30 B | | ptm |
    /// | ADSL with PPPoE | pppoe-vcmux, pppoe-llcsnap | 32 B, 40 B | | atm |
    /// | not known | conservative | 48 B | | atm |
    ///
    /// | parameter | here | kernel | tc |
    /// | --- | --- | --- | --- |
    /// | `bandwidth` | the link's rate | unlimited | unlimited |
    /// | `rtt` | 100 ms, `target` a 20th of it | 100 ms; `target` 5 ms always | `target` a 20th of `rtt` |
    /// | `diffserv` | besteffort | diffserv3 | diffserv3 |
    /// | `isolation` | hosts (dual-srchost) | triple-isolate | triple-isolate |
    /// | buffer | the link's | 4 MB, or four times rtt at bandwidth if that is more | the kernel's |
    ///
    /// ## Departures
    /// From `net/sched/sch_cake.c` at 0c4882bff345, read line by line:
    /// - Left out: NAT look-up, autorate, wash; other modes of tins and isolation. There are no large segments to split.
    /// - Left out: ACK filter. It compares ACK numbers, SACK blocks and flags of packets that wait, of which a queue here
    ///   knows none, and takes packets out of the middle of a queue.
    /// - The host's share is an integer division; Linux adds a random fraction, so that none is lost by rounding.
    /// - Without `bandwidth` the tins go by the link's rate, unless it is `unlimited`, as in Linux.
    pub struct CakeParams for Cake {
        /// Rate of the shaper; "auto" is the link's.
        bandwidth: Auto<Rate> = "auto" in "1 kbit/s" ..= "10 Tbit/s", tc "bandwidth" in "rate", from "Linux sch_cake";
        /// Tins take turns without a rate, as in Linux without a bandwidth: below another shaper.
        unlimited: bool = "false", from "Linux sch_cake (true without a bandwidth)";
        /// Round-trip time that COBALT is set for.
        rtt: Span = "100 ms" in "1 us" ..= "1000 s", tc "rtt" in "time", from "Linux sch_cake";
        /// Tins.
        diffserv: Diffserv = "besteffort", from "Linux sch_cake (default there: diffserv3)";
        /// Fair to hosts first, or to flows only.
        isolation: Isolation = "hosts", from "Linux sch_cake (default there: triple-isolate)";
        /// Bytes that the link adds to an IP packet; "auto" leaves sizes as they are ("raw").
        overhead: Auto<Bytes> = "auto" in "-64 B" ..= "256 B", tc "overhead" in "bytes", from "Linux sch_cake (raw)";
        /// No packet counts as less than this on the link.
        mpu: Bytes = "0 B" in "0 B" ..= "256 B", tc "mpu" in "bytes", from "Linux sch_cake";
        /// Drops count as sent, because the shaper is downstream of the bottleneck.
        ingress: bool = "false", from "Linux sch_cake (egress)";
        /// Cells or frames that the link cuts packets into.
        framing: Framing = "none", from "Linux sch_cake (noatm)";
        /// Bytes of a packet's size before its IP header; `overhead` takes their place.
        link_header: Bytes = "0 B" in "0 B" ..= "64 B", from "this project (Linux finds it in the packet)";
        /// Queues of a tin.
        flows: u32 = "1024" in "8" ..= "65536", unit "queues", from "Linux sch_cake";
    }
    check |p| {
        if let (true, Auto::Given(rate)) = (p.unlimited, &p.bandwidth) {
            return Err(format!("bandwidth (\"{}\") contradicts unlimited; give one of them", rate.text()));
        }
        let overhead = p.overhead.unwrap_or_else(|| Bytes(0.0));
        let sizes = [("overhead", overhead), ("mpu", p.mpu), ("link_header", p.link_header)];
        match sizes.iter().find(|(_, size)| size.0.fract() != 0.0) {
            Some((name, size)) => Err(format!("{name} (\"{}\") must be whole bytes", size.text())),
            None => Ok(()),
        }
    };
}

/// The policy of [`Tins`](crate::disciplines::Tins); see [`CakeParams`].
#[derive(Clone, Copy)]
pub struct Cake {
    params: CakeParams,
}

/// Ethernet's largest frame, bytes.
const FRAME: f64 = 1514.0;

impl Cake {
    /// COBALT's parameters in a tin of this rate.
    fn cobalt(&self, rate: Rate) -> CobaltParams {
        let rtt = self.params.rtt.seconds();
        let target = (rtt / 20.0).max(1.5 * 8.0 * FRAME / rate.0);
        let interval = (rtt + target - rtt / 20.0).max(2.0 * target);
        let span = Span::from_seconds;
        CobaltParams { target: span(target), interval: span(interval), ..CobaltParams::defaults() }
    }
}

impl TinPolicy for Cake {
    type Aqm = Cobalt;

    /// The link itself keeps its rate, unless a packet counts as more or less than it takes there, or drops count.
    fn shaper(&self, link: Rate) -> Option<Rate> {
        let counts_otherwise = self.link_layer() != LinkLayer::PLAIN || self.counts_drops();
        match self.params.bandwidth {
            Auto::Given(rate) => Some(rate),
            Auto::Auto => (counts_otherwise && !self.params.unlimited).then_some(link),
        }
    }

    fn is_unlimited(&self) -> bool {
        self.params.unlimited
    }

    fn link_layer(&self) -> LinkLayer {
        let CakeParams { overhead, mpu, framing, link_header, .. } = self.params;
        let added = match overhead {
            Auto::Given(overhead) => overhead.0 - link_header.0,
            Auto::Auto => 0.0,
        };
        LinkLayer { added: added as i64, least: mpu.0 as i64, framing }
    }

    fn counts_drops(&self) -> bool {
        self.params.ingress
    }

    fn tin_rates(&self, Rate(all): Rate) -> Vec<Rate> {
        match self.params.diffserv {
            Diffserv::Besteffort => vec![Rate(all)],
            Diffserv::Diffserv3 => vec![Rate(all), Rate(all / 16.0), Rate(all / 4.0)],
            Diffserv::Diffserv4 => vec![Rate(all), Rate(all / 16.0), Rate(all / 2.0), Rate(all / 4.0)],
        }
    }

    fn tin_of(&self, dscp: u8) -> usize {
        match (self.params.diffserv, dscp) {
            (Diffserv::Besteffort, _) => 0,
            // LE, CS1
            (_, 1 | 8) => 1,
            // TOS4, VA, EF, CS6, CS7
            (Diffserv::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            // TOS4, CS2, AF2x, CS3, AF3x, AF4x
            (Diffserv::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            // CS4, CS5, VA, EF, CS6, CS7
            (Diffserv::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            _ => 0,
        }
    }

    fn fair(&self, rate: Rate) -> FairParams {
        let CakeParams { isolation, flows, .. } = self.params;
        let quantum = Bytes((rate.0 / 8.0 / 4096.0).clamp(300.0, FRAME));
        FairParams { flows, quantum, drop_batch: 1, ways: 8, isolation }
    }

    fn scheme(&self, rate: Rate, queue: &QueueView) -> Cobalt {
        Cobalt::new(self.cobalt(rate), queue).expect("COBALT's parameters do not contradict each other")
    }

    fn retune(&self, rate: Rate, scheme: &mut Cobalt) {
        *scheme.params() = self.cobalt(rate);
    }
}

impl Scheme for Cake {
    const INFO: SchemeInfo = SchemeInfo {
        name: "cake",
        title: "CAKE",
        family: "fair queueing",
        year: 2018,
        source: "Høiland-Jørgensen, Täht & Morton, LANMAN 2018; Linux sch_cake",
        confidence: "rules of Linux for the parts that are built, read line by line; parts left out are named below",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = super::fq::OBSERVABLES;
    const AT_START: &'static [(&'static str, &'static str)] =
        &[("diffserv", "the tins are laid out by it"), ("flows", "flows have been hashed into that many queues")];

    fn new(params: CakeParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(SEVERAL_QUEUES);
    const TC: Option<Tc> = Some(Tc { kind: "cake", note: "" });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;

    fn cake(pairs: &[(&str, &str)]) -> Cake {
        let mut params = CakeParams::defaults();
        params.read("x", pairs.iter().copied(), &mut Vec::new());
        Cake::new(params, &bench::queue(0)).unwrap()
    }

    #[test]
    fn tins_share_the_bandwidth_by_class() {
        let four = cake(&[("diffserv", "diffserv4")]);
        assert_eq!(four.tin_rates(Rate(16e6)), [Rate(16e6), Rate(1e6), Rate(8e6), Rate(4e6)]);
        // Default, LE, CS1, AF13; CS2, CS3, AF41, AF43; CS4, CS5, EF, CS6, CS7, NQB.
        let dscps = [0, 1, 8, 14, 16, 24, 34, 38, 32, 40, 46, 48, 56, 45];
        assert_eq!(dscps.map(|dscp| four.tin_of(dscp)), [0, 1, 1, 0, 2, 2, 2, 2, 3, 3, 3, 3, 3, 0]);
        let three = cake(&[("diffserv", "diffserv3")]);
        assert_eq!(three.tin_rates(Rate(16e6)), [Rate(16e6), Rate(1e6), Rate(4e6)]);
        assert_eq!(dscps.map(|dscp| three.tin_of(dscp)), [0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 0]);
        assert_eq!(cake(&[]).tin_rates(Rate(99e6)), [Rate(99e6)]);
    }

    #[test]
    fn what_packets_count_for_has_a_shaper_at_the_rate_of_the_link() {
        let shaper = |pairs: &[(&str, &str)]| cake(pairs).shaper(Rate(5e6)).map(|rate| rate.0);
        assert_eq!([shaper(&[]), shaper(&[("link_header", "14 B")])], [None; 2]);
        let counts = [("overhead", "18 B"), ("mpu", "64 B"), ("framing", "ptm"), ("ingress", "true")];
        assert_eq!(counts.map(|pair| shaper(&[pair])), [Some(5e6); 4]);
        assert_eq!(counts.map(|pair| shaper(&[pair, ("unlimited", "true")])), [None; 4]);
        assert_eq!(counts.map(|pair| shaper(&[pair, ("bandwidth", "3 Mbit/s")])), [Some(3e6); 4]);
    }

    #[test]
    fn overhead_takes_the_place_of_the_link_header() {
        // DOCSIS: 18 bytes around an IP packet, 64 at least. 1514 - 14 + 18; 54 - 14 + 18 = 58 B count as 64.
        let docsis = cake(&[("overhead", "18 B"), ("mpu", "64 B"), ("link_header", "14 B")]).link_layer();
        assert_eq!([1514, 54].map(|size| docsis.bytes(size)), [1518, 64]);
        assert_eq!(cake(&[("link_header", "14 B")]).link_layer(), LinkLayer::PLAIN);
        assert_eq!(cake(&[]).link_layer(), LinkLayer::PLAIN);
    }

    #[test]
    fn links_add_whole_bytes() {
        let mut problems = Vec::new();
        CakeParams::defaults().read("cake", [("overhead", "22.5 B")], &mut problems);
        assert_eq!(problems[0].to_string(), "cake: overhead (\"22.5 B\") must be whole bytes");
    }

    #[test]
    fn quantum_target_and_interval_follow_the_rate() {
        // 1 Mbit/s: 30.5 B a 4096th, held at 300; 1.5 * 1514 B take 18.168 ms; interval 100 + 13.168 ms.
        let cake = cake(&[]);
        assert_eq!([1e6, 20e6, 1e9].map(|rate| cake.fair(Rate(rate)).quantum.0.floor()), [300.0, 610.0, 1514.0]);
        let times = |rate| {
            let cobalt = cake.cobalt(Rate(rate));
            [cobalt.target, cobalt.interval].map(|span| (span.seconds() * 1e6).round())
        };
        assert_eq!((times(1e6), times(1e9)), ([18_168.0, 113_168.0], [5_000.0, 100_000.0]));
    }
}
