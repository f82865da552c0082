use super::cake::{Cake, CakeParams};
use crate::disciplines::MqParams;
use crate::signal::SEVERAL_QUEUES;
use crate::{Observable, QueueView, Scheme, SchemeInfo, Signal, Tc};
use aqmlab_core::params::{ParamInput, TypedValues, Values};
use aqmlab_core::{ParamHolder, ParamSet, ParamSpec};

/// CAKE on several transmit queues.
pub struct CakeMq {
    /// Of the instances, and of CAKE in each.
    pub params: CakeMqParams,
}

/// Parameters of the instances, then those of CAKE in them.
#[derive(Clone, Copy)]
pub struct CakeMqParams {
    /// Of the instances.
    pub mq: MqParams,
    /// Of CAKE in each.
    pub cake: CakeParams,
}

impl ParamSet for CakeMqParams {
    const DOC: &'static str =
        " CAKE on several transmit queues: one instance in each, which share the rate of one shaper.

 ## Idea
 One CAKE is one lock, and so one core. A network card with several transmit queues can run a CAKE in each, on separate cores, if they agree on their rates. They do so without a lock: each instance periodically counts the active instances and takes its part of the rate.

 ## Equations
 A packet goes to one of `queues` instances of [cake](cake.md) by a hash of its flow. An instance that dequeues, at an arrival or when its shaper opens, `sync_time` or more after it last did, looks at the others:

 ```text
 n    = 1 + others that hold packets, or have sent since its last look
 rate = bandwidth / n
 ```

 Its shaper, the rates of its tins and the quantum of its queues follow that rate; COBALT keeps target and interval of the whole
 bandwidth. It does not notice changes until its next look. Without `bandwidth` instances do not look at each other. The link serves instances in
 turn, a packet each; its rate should be above the bandwidth, because instances of a CAKE meet only at the link.

 ## What to expect
 The rate is split by instances, not by flows: one flow alone in its instance has as much as nine in another, and hosts are fair within an
 instance only. If n flows are hashed to m instances, flows have unequal shares though every instance is fair.

 An instance that wakes takes bandwidth/n at once, while the n - 1 others have bandwidth/(n - 1) until they look again: for `sync_time`
 and a packet the sum is (1 + 1/n) of the bandwidth. The share of an instance that falls idle is unused until the second next look of the others, because they count instances that have sent since their last look. After a pause an instance counts every instance that has sent during the pause. It gets the whole rate after `sync_time` later.

 So a single packet takes up to a share of the bandwidth for `sync_time`, whatever its size: a stream of one packet every 200 us, alone in its instance, halves the rate of a flow in another instance. If packets come less often than looks, at some 20 Mbit/s and
 less, an instance whose packets leave at once is mostly not seen, and more than the bandwidth is sent.
 [A study](../cake-mq.md) has the figures.

 ## Readings
 After Linux `sch_cake`, read line by line. Each instance has the whole buffer of the link, as there. `steering = \"hosts\"` is
 a hash of addresses only, which network cards can be configured to use (`ethtool -N eth0 rx-flow-hash tcp4 sd`); `steering = \"classes\"` for
 filters that choose the queue (`skbedit queue_mapping`), here by class: the remainder of its number by `queues`.

 ## Departures
 - The departures of [cake](cake.md).
 - Instances see each other as they are; in Linux values read from another core may be stale.
 - Instances share one link of one rate; in Linux each transmit queue has a ring of packets in the card before that.
";

    fn specs() -> Vec<ParamSpec> {
        MqParams::specs().into_iter().chain(CakeParams::specs()).collect()
    }

    fn defaults() -> Self {
        Self { mq: MqParams::defaults(), cake: CakeParams::defaults() }
    }

    fn set(&mut self, name: &str, given: ParamInput) -> Option<Result<(), String>> {
        self.mq.set(name, given).or_else(|| self.cake.set(name, given))
    }

    fn check(&self) -> Result<(), String> {
        self.mq.check().and_then(|()| self.cake.check())
    }

    fn values(&self) -> Values {
        self.mq.values().into_iter().chain(self.cake.values()).collect()
    }

    fn typed(&self) -> TypedValues {
        self.mq.typed().into_iter().chain(self.cake.typed()).collect()
    }
}

impl ParamHolder for CakeMq {
    type Params = CakeMqParams;

    fn params(&mut self) -> &mut Self::Params {
        &mut self.params
    }
}

impl Scheme for CakeMq {
    const INFO: SchemeInfo = SchemeInfo {
        name: "cake-mq",
        title: "CAKE-MQ",
        family: "fair queueing",
        year: 2026,
        source: "Köppeler & Høiland-Jørgensen, Netdev 0x19; Linux sch_cake (cake_mq, 7.0)",
        confidence: "rules of Linux, read line by line, and rates as in the kernel; CAKE itself as on its own page",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = super::fq::OBSERVABLES;

    fn new(params: CakeMqParams, queue: &QueueView) -> Result<Self, String> {
        Cake::new(params.cake, queue)?;
        Ok(Self { params })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(SEVERAL_QUEUES);
    const TC: Option<Tc> = Some(Tc { kind: "cake_mq", note: "" });
}
