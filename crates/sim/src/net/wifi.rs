//! A Wi-Fi cell: radios that contend for one channel (IEEE 802.11, EDCA), and the frames that they exchange.
//!
//! Time is slotted from the end of each exchange on. Whoever else waits counts a busy period as one slot, as EDCA has it: backoff counters
//! are decremented at slot boundaries, that at which another one begins to send included (IEEE 802.11-2016, 10.22.2.4). So a saturated
//! cell is the chain of Bianchi (2000).

mod radio;
mod reorder;

use self::radio::{Radio, Upper};
use crate::net::link::Link;
use crate::net::packet::Packet;
use aqmlab_aqm::{Discipline, Limit};
use aqmlab_core::{Span, Stream, Time};
use aqmlab_scenario::{CellQueues, RadioChannel, Wifi};
use std::ops::IndexMut;

/// Number of the access point among the radios; stations follow.
const ACCESS_POINT: usize = 0;

/// A cell. It takes packets from its links' queues when their radios may send, and says when something happens next.
#[derive(Clone)]
pub struct Cell {
    channel: RadioChannel,
    radios: Vec<Radio>,
    /// Radio of each link, the first link being `first`.
    radio_of: Vec<usize>,
    first: usize,
    /// Station of each flow, where the access point has one queue for all of them.
    station_of: Vec<u16>,
    senders: Vec<FrameOnAir>,
    /// A single frame is on the air, and has not arrived yet.
    is_arriving: bool,
    /// What waits for the access point at most, where stations have queues of their own.
    room: Option<Limit>,
    /// While nobody sends: the time of slot 0.
    slot_zero: Time,
    /// Time of what happens next; other events are void.
    pub due: Time,
    errors: Stream,
    meters: Vec<AirMeter>,
    counts_from: Time,
    /// The fates of packets since the engine last asked: those that were received, in order, and those given up, with their links.
    pub received: Vec<Packet>,
    pub lost: Vec<(usize, Packet)>,
    /// Links that were asked for packets since then; their schemes may have dropped some.
    pub asked: Vec<usize>,
}

/// A radio that sends.
#[derive(Clone, Copy)]
struct FrameOnAir {
    radio: usize,
    /// To which station, or from which.
    station: usize,
    /// Its frame.
    duration: Span,
}

/// A station's share of the air, with what was sent to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AirMeter {
    /// Time on the air, collisions included.
    pub airtime: Span,
    /// Aggregates sent, and the MPDUs in them, each time that they were sent.
    pub aggregates: u64,
    pub mpdus: u64,
    /// MPDUs that did not arrive when they were sent.
    pub failed: u64,
}

impl AirMeter {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            airtime: self.airtime + other.airtime,
            aggregates: self.aggregates + other.aggregates,
            mpdus: self.mpdus + other.mpdus,
            failed: self.failed + other.failed,
        }
    }
}

impl Cell {
    /// At rest; the access point has `room` for packets.
    pub fn new(wifi: &Wifi, room: Limit, seed: u64) -> Self {
        let to_stations = wifi.stations.iter().map(|station| (station.links[0], station));
        let upper = match wifi.queues {
            CellQueues::Shared => Upper::Shared { room: wifi.driver_queue },
            CellQueues::Stations { airtime_fairness, aql } => Upper::Stations { is_fair: airtime_fairness, aql },
        };
        let backoff = |number: usize| Stream::new(seed, "wifi.backoff", number as u64);
        let mut radios = vec![Radio::new(wifi, upper, to_stations, backoff(ACCESS_POINT))];
        radios.extend(wifi.stations.iter().enumerate().map(|(i, station)| {
            let upper = Upper::Shared { room: wifi.driver_queue };
            Radio::new(wifi, upper, std::iter::once((station.links[1], station)), backoff(1 + i))
        }));
        let last = wifi.stations.iter().flat_map(|station| station.links).max().unwrap_or(0);
        let mut radio_of = vec![ACCESS_POINT; last + 1 - wifi.first()];
        wifi.stations.iter().enumerate().for_each(|(i, station)| radio_of[station.links[1] - wifi.first()] = 1 + i);
        Self {
            channel: wifi.channel,
            radios,
            radio_of,
            first: wifi.first(),
            station_of: Vec::new(),
            senders: Vec::new(),
            is_arriving: false,
            room: matches!(wifi.queues, CellQueues::Stations { .. }).then_some(room),
            slot_zero: Time::ZERO + wifi.channel.aifs,
            due: Time::NEVER,
            errors: Stream::new(seed, "wifi.error", 0),
            meters: vec![AirMeter::default(); wifi.stations.len()],
            counts_from: Time::ZERO,
            received: Vec::new(),
            lost: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// Index of the access point's first link.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Packets of a flow go to or come from a station.
    pub fn assign(&mut self, flow: u32, station: u16) {
        let flow = flow as usize;
        if flow >= self.station_of.len() {
            self.station_of.resize(flow + 1, 0);
        }
        self.station_of[flow] = station;
    }

    /// Measures count from now.
    pub fn restart_meters(&mut self, now: Time) {
        self.meters.fill(AirMeter::default());
        self.counts_from = now;
    }

    /// The share of each station in the air since measures count, and for how long they do.
    pub fn air(&self, now: Time) -> (&[AirMeter], Span) {
        (&self.meters, now.since(self.counts_from))
    }

    /// A packet waits at a link.
    pub fn wake(&mut self, link: usize, links: &mut impl IndexMut<usize, Output = Link>, now: Time) {
        let at = self.radio_of[link - self.first];
        if at == ACCESS_POINT {
            self.make_room(links, now);
        }
        self.radios[at].wake(link);
        self.prepare(at, links, now);
        if self.senders.is_empty() {
            self.contend(now);
        }
    }

    /// Where the queues of all stations hold more than the access point has room for, the longest queue of a flow loses packets
    /// (`fq_tin_enqueue`).
    fn make_room(&mut self, links: &mut impl IndexMut<usize, Output = Link>, now: Time) {
        let Some(room) = self.room else { return };
        let all = || self.radios[ACCESS_POINT].links();
        let (packets, bytes) = all().fold((0, 0), |sum, link| {
            let view = &links[link].queue.state().view;
            (sum.0 + view.packets, sum.1 + view.bytes)
        });
        if !room.is_exceeded(packets, bytes) {
            return;
        }
        if let Some(longest) = all().max_by_key(|link| links[*link].queue.fattest()) {
            links[longest].make_room(now);
            self.asked.push(longest);
        }
    }

    /// Does what is due: somebody begins to send, a frame arrives, or the exchange of all who send is over.
    pub fn go_on(&mut self, links: &mut impl IndexMut<usize, Output = Link>, now: Time) {
        if self.senders.is_empty() {
            self.begin(links, now);
        } else if std::mem::take(&mut self.is_arriving) {
            self.land();
            self.due = now + self.acknowledgement();
        } else {
            self.end(links, now);
            self.contend(now);
        }
    }

    /// A radio gets its next aggregates ready. One that had none takes its counter as it stands, or draws another if that has run down
    /// and somebody sends.
    fn prepare(&mut self, at: usize, links: &mut impl IndexMut<usize, Output = Link>, now: Time) {
        let radio = &mut self.radios[at];
        let was_idle = radio.ready.is_empty();
        radio.fill(links, &self.station_of, &mut self.asked, now);
        if !was_idle || radio.ready.is_empty() {
            return;
        }
        if !self.senders.is_empty() {
            if radio.backoff == 0 {
                radio.draw_backoff();
            }
        } else if now > self.slot_zero {
            let slots = now.since(self.slot_zero).0.div_ceil(self.channel.slot.0);
            radio.backoff = radio.backoff.max(u32::try_from(slots).unwrap_or(u32::MAX));
        }
    }

    /// The radio with the least counter sends next.
    fn contend(&mut self, now: Time) {
        let waiting = self.radios.iter().filter(|radio| !radio.ready.is_empty());
        self.due = match waiting.map(|radio| radio.backoff).min() {
            Some(slots) => (self.slot_zero + Span(u64::from(slots) * self.channel.slot.0)).max(now),
            None => Time::NEVER,
        };
    }

    /// Radios begin to send: all whose counters have run down in this slot.
    fn begin(&mut self, links: &mut impl IndexMut<usize, Output = Link>, now: Time) {
        let waiting = self.radios.iter().filter(|radio| !radio.ready.is_empty());
        let slot = waiting.map(|radio| radio.backoff).min().unwrap_or(0);
        let mut end = now;
        for (at, radio) in self.radios.iter_mut().enumerate() {
            if radio.backoff != slot || radio.ready.is_empty() {
                radio.backoff = radio.backoff.saturating_sub(slot.saturating_add(1));
                continue;
            }
            let Some((outlet, duration)) = radio.send(links, now) else { continue };
            end = end.max(now + duration);
            let station = if at == ACCESS_POINT { outlet } else { at - 1 };
            self.senders.push(FrameOnAir { radio: at, station, duration });
        }
        self.is_arriving = self.senders.len() == 1;
        self.due = if self.is_arriving { end } else { end + self.acknowledgement() };
    }

    /// Time from the end of a frame to that of its block ACK.
    fn acknowledgement(&self) -> Span {
        self.channel.sifs + self.channel.block_ack
    }

    /// A frame that nothing collides with ends: its MPDUs arrive, but for errors.
    fn land(&mut self) {
        let Self { radios, senders, errors, received, .. } = self;
        let radio = &mut radios[senders[0].radio];
        let error = radio.error();
        radio.land(|| error == 0.0 || (error < 1.0 && errors.uniform() >= error), received);
    }

    /// The exchange is over: who has sent gets a block ACK, or none.
    fn end(&mut self, links: &mut impl IndexMut<usize, Output = Link>, now: Time) {
        let mut senders = std::mem::take(&mut self.senders);
        let collides = senders.len() > 1;
        self.slot_zero = now + self.channel.aifs;
        for FrameOnAir { radio: at, station, duration } in senders.drain(..) {
            let airtime = if collides { duration } else { duration + self.acknowledgement() };
            if at == ACCESS_POINT || !collides {
                self.radios[ACCESS_POINT].charge(station, airtime);
            }
            let Self { radios, received, lost, meters, .. } = self;
            let radio = &mut radios[at];
            let sent = radio.ready[0].mpdus.len() as u64;
            let failed = radio.settle(received, lost);
            meters[station] = meters[station].plus(AirMeter { airtime, aggregates: 1, mpdus: sent, failed });
            radio.draw_backoff();
            self.prepare(at, links, now);
        }
        self.senders = senders; // empty, with its room
    }
}
