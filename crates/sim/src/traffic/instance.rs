//! The members of a group: flows, sources, clients, as they are drawn from the group's distributions.

use crate::traffic::client::Client;
use crate::traffic::ends::TransferEnds;
use crate::traffic::media::MediaStream;
use crate::traffic::peer::Peer;
use crate::traffic::timed::TimedSource;
use aqmlab_core::{Span, Streams, Time};
use aqmlab_scenario::{Distribution, FlowSpec};
use std::ops::Range;

/// One flow, source or client of a group.
#[derive(Clone, Debug)]
pub struct FlowInstance {
    pub kind: FlowInstanceKind,
    pub start: Time,
    /// [`Time::NEVER`] if it does not stop.
    pub stop: Time,
}

/// Kind of a member, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowInstanceKind {
    /// A flow with unlimited data, or with those that its application offers.
    Flow(u32),
    /// A source of datagrams.
    Source(u32),
    /// The flow of a stream of media.
    Media(u32),
    /// A flow whose ends are outside.
    Foreign(u32),
    Client(u32),
}

/// A member as it is drawn.
pub struct FlowInstanceSpec<'a> {
    /// Its group.
    pub spec: &'a FlowSpec,
    /// Index of the group.
    pub group: usize,
    /// Index of its way, which is that of the group where no group is on lines.
    pub way: u32,
    /// Its place in the group; on lines counting those of lines that are not built.
    pub i: usize,
    /// Stands for its addresses and ports.
    pub tuple: u32,
    /// Round-trip propagation of its path.
    pub rtt: Span,
    /// Boot time of its sender within a clock tick.
    pub phase: Span,
    /// The time at which it starts.
    pub start: Time,
    /// The time at which it stops, if it does.
    pub stop: Option<Time>,
    streams: FlowInstanceStreams,
}

/// The random streams of a group's members, by what is drawn.
#[derive(Clone, Copy, Debug)]
pub struct FlowInstanceStreams {
    start: Streams,
    stop: Streams,
    spread: Streams,
    /// Round trips.
    pub rtt: Streams,
    clock: Streams,
    tuple: Streams,
    client: Streams,
    source: Streams,
    ends: Streams,
}

impl FlowInstanceStreams {
    /// Those of a group in the run with this seed.
    pub fn new(seed: u64, spec: &FlowSpec) -> Self {
        let streams = |what: &str| Streams::new(seed, &format!("flows.{}.{what}", spec.name));
        let [start, stop, spread, rtt] = ["start", "stop", "spread", "rtt"].map(streams);
        let [clock, tuple, client, source] = ["clock", "tuple", "client", "source"].map(streams);
        Self { start, stop, spread, rtt, clock, tuple, client, source, ends: streams("ends") }
    }
}

/// Start and end of each member of a group whose round trips are drawn from `rtts`.
pub fn times<'a>(
    spec: &'a FlowSpec,
    rtts: &'a Distribution<Span>,
    streams: FlowInstanceStreams,
) -> impl Iterator<Item = (Time, Option<Time>)> + 'a {
    let of_line = || spec.batches.iter().flat_map(|batch| std::iter::repeat_n(batch, batch.count as usize));
    let batches = (0..spec.branches.len().max(1)).flat_map(move |_| of_line());
    batches.enumerate().map(move |(i, batch)| {
        let i = number(spec, i);
        let start = batch.start.draw(i, &mut streams.start.of(i as u64)) + spread(spec, rtts, streams, i);
        let stop = batch.stop.as_ref().map(|law| Time::ZERO + law.draw(i, &mut streams.stop.of(i as u64)));
        (Time::ZERO + start, stop)
    })
}

/// Delay of a member's start after its group's.
fn spread(spec: &FlowSpec, rtts: &Distribution<Span>, streams: FlowInstanceStreams, i: usize) -> Span {
    if spec.start_spread == 0.0 {
        return Span::ZERO;
    }
    let rtt = rtts.draw(i, &mut streams.rtt.of(i as u64));
    Span::from_seconds(spec.start_spread * rtt.seconds() * streams.spread.of(i as u64).uniform())
}

impl<'a> FlowInstanceSpec<'a> {
    /// The `i`-th member of a group whose round trips are drawn from `rtts`.
    pub fn new(
        spec: &'a FlowSpec,
        group: usize,
        i: usize,
        rtts: &Distribution<Span>,
        (start, stop): (Time, Option<Time>),
        streams: FlowInstanceStreams,
    ) -> Self {
        let i = number(spec, i);
        let rtt = rtts.draw(i, &mut streams.rtt.of(i as u64));
        let phase = Span((streams.clock.of(i as u64).uniform() * spec.tcp.clock.0 as f64) as u64);
        // Drawn, so that it depends on no other group; the flows of a group take its hosts in turn.
        let tuple = |i: usize| (streams.tuple.of(i as u64).uniform() * f64::from(u32::MAX)) as u32;
        let tuple = tuple(host(spec, i)) & !Peer::PORTS | tuple(i) & Peer::PORTS;
        Self { spec, group, way: group as u32, i, tuple, rtt, phase, start, stop, streams }
    }

    /// The host that it is on.
    pub fn host(&self) -> usize {
        host(self.spec, self.i)
    }

    /// The end that sends.
    pub fn peer(&self) -> Peer {
        Peer { way: self.way, rtt: self.rtt, tuple: self.tuple, phase: self.phase }
    }

    /// The time from which it sends nothing.
    pub fn stops_at(&self) -> Time {
        self.stop.unwrap_or(Time::NEVER)
    }

    /// It, if it asks for transfers; players count from `warmup` on.
    pub fn client(&self, warmup: Time) -> Option<Client> {
        let rng = self.streams.client.of(self.i as u64);
        let mut client = Client::new(self.spec, self.i, self.peer(), self.stops_at(), warmup, rng)?;
        client.ends = self.ends();
        Some(client)
    }

    /// The hosts that it is between, on a fabric.
    pub fn ends(&self) -> Option<TransferEnds> {
        TransferEnds::new(self.spec, self.streams.ends.of(self.i as u64))
    }

    /// Its stream of media, if it is one.
    pub fn media(&self, measured: Range<Time>) -> Option<MediaStream> {
        let media = self.spec.traffic.media()?;
        let rng = self.streams.source.of(self.i as u64);
        Some(MediaStream::new(self.spec, media, self.start, self.stops_at(), measured, rng))
    }

    /// The source of the datagrams, or of the data, of `flow`, if it has one.
    pub fn source(&self, flow: u32) -> Option<TimedSource> {
        let size = if self.spec.traffic.is_tcp() { self.spec.payload } else { self.spec.wire_size() };
        TimedSource::new(&self.spec.traffic, flow, size, self.stops_at(), self.streams.source.of(self.i as u64))
    }
}

/// The number of the `i`-th member of a group: on lines, as if all lines were built.
fn number(spec: &FlowSpec, i: usize) -> usize {
    match spec.count_of_line() as usize {
        0 => i,
        each => spec.branches.get(i / each).map_or(i, |branch| branch.number as usize * each + i % each),
    }
}

/// The host of the member of a group with this number.
fn host(spec: &FlowSpec, i: usize) -> usize {
    let hosts = spec.hosts.map_or(usize::MAX, |hosts| hosts as usize);
    let each = if spec.branches.is_empty() { usize::MAX } else { spec.count_of_line().max(1) as usize };
    i / each * each + i % each % hosts
}
