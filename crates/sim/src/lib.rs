//! Packet-level simulation: a scenario in, a result out.
//!
//! ```text
//!   calendar/                the event queue: time, then the order of the pushes
//!   engine/     event        the events of a run
//!               agenda       what is to come
//!               network      links, flows and pending events at one instant, and what happens to them
//!               simulation   a scenario at one instant: set-up, probes, changes, output
//!               watch        progress, cancellation and memory of a run
//!               error        reasons for which a run has no result
//!   net/        route        a flow's path, compiled to delays and queues
//!               link         a queue, its scheme, and the transmitter behind it
//!               ecmp         routes of a leaf-spine fabric
//!               shared_buffer  a buffer that several links share
//!               flow         a sender, a receiver and the delays between them
//!               outcome      the outcome of a packet at a link
//!               direction    a line's link and propagation in time alone, for packets from elsewhere
//!               lines        the link of a scenario for each direction of a line
//!   traffic/    udp          sources of datagrams
//!               client       requests of web sessions, short transfers and players
//!               peer         the end of a path that a client asks
//!               ends         the hosts of a fabric between which transfers go
//!               video        a player of adaptive video: bitrate, stalls
//!               media        a call that adapts: encoder, sender and its laws, feedback, frames
//!   footprint                the memory that a simulation takes, before there is any of it
//!   environment/             a link as an agent sees it: observations, actions, many links side by side
//!   measure/    histogram    percentiles at a nanosecond a sample
//!               spans        a sample of times
//!               declared     the declaration of measures
//!               link         measures of a link
//!               settling     settling time of a queue
//!               group        measures of a group of flows
//!               call         measures of a call
//!               media        measures of a call's frames
//!               slowdown     slowdown of transfers by size
//!               result       metrics and time series of a run
//!               trace        the events of each packet at a link
//!               pcap         the packets that left it, as a capture file
//! ```
//!
//! A result depends on scenario, scheme and seed only: never on threads, hash order or the wall clock.

mod calendar;
mod engine;
pub mod environment;
mod footprint;
mod measure;
mod memory;
mod net;
mod traffic;

/// The event queue, for its benchmark.
#[doc(hidden)]
pub mod event_queue {
    pub use crate::calendar::{Calendar, EventOrigin, Lane, TimerEvent};
}

/// The measures of calls that are not simulated.
#[doc(hidden)]
pub mod media {
    pub use crate::measure::media::{MediaFacts, RtpFacts, rate_variation, rms};
    pub use crate::traffic::media::receiver::{MediaReceiver, MediaStats};
}

/// The parts that a run on another engine shares with a simulation: who takes part, and what is measured of it.
#[doc(hidden)]
pub mod kernel {
    pub use crate::measure::capture::PcapngWriter;
    pub use crate::measure::flows::{GroupOutcome, flow_results};
    pub use crate::measure::group::{FlowShare, GroupMeter, SenderCounters};
    pub use crate::measure::link::{CapacityUse, LinkFacts, LinkMeter, LinkResult};
    pub use crate::measure::result::{EngineStats, FlowTable, RunResult, Series, TransferTable};
    pub use crate::measure::round_trips::OwnPropagation;
    pub use crate::measure::settling::Stage;
    pub use crate::net::rate_schedule::RateSchedule;
    pub use crate::traffic::client::Client;
    pub use crate::traffic::instance::{FlowInstanceSpec, FlowInstanceStreams, times};
    pub use crate::traffic::timed::TimedSource;
}

pub use engine::error::{Interrupted, RunError};
pub use engine::simulation::{
    ColumnSource, FlowState, ForeignEvent, ForeignFlow, ForeignPacket, GroupProbe, LawState, LinkProbe, Options, Probe,
    SampleColumn, Simulation, run, run_divided,
};
pub use engine::watch::{MemoryBound, Watch};
pub use footprint::{footprint, footprint_of_flow};
pub use measure::call::CallResult;
pub use measure::declared::{Field, Measure, Preference, Unit};
pub use measure::durations::DurationStats;
pub use measure::group::{FlowResult, jain};
pub use measure::link::{LinkMeter, LinkResult, LinkUsage, SHARED_DROPS};
pub use measure::media::{MediaResult, RateTable, RtpResult};
pub use measure::qoo;
pub use measure::result::{Delays, EngineStats, FlowTable, Output, RunResult, Series, TransferTable};
pub use measure::round_trips::PathTimes;
pub use measure::settling::Stage;
pub use measure::slowdown::SlowdownResult;
pub use measure::station::StationResult;
pub use measure::trace::{PacketTrace, TraceTable};
pub use net::WirePacket;
pub use net::direction::{Direction, PacketInFlight};
pub use net::impairment::Impairment;
pub use net::lines::{LineSpec, Lines};
pub use net::link::{DepartureMode, Link};
pub use net::outcome::{Decision, PacketOutcome};
pub use traffic::video::VideoResult;
