//! A radio: packets that its driver holds, the aggregates that it has ready, and its backoff.

use super::reorder::Reorder;
use crate::net::link::Link;
use crate::net::packet::Packet;
use aqmlab_aqm::Discipline;
use aqmlab_core::{Span, Stream, Time};
use aqmlab_scenario::{Station, Wifi};
use std::collections::VecDeque;
use std::ops::IndexMut;

/// Bytes that an MPDU of an aggregate has beside its packet: delimiter 4, header of QoS data 26, LLC and SNAP 8, checksum 4.
const HEADERS: u32 = 42;
/// MPDUs of an aggregate begin at multiples of so many bytes.
const ALIGNMENT: u32 = 4;
/// Airtime that a station of weight 1 gets in its turn, ps (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`, 256 us).
const QUANTUM: f64 = 256e6;

/// A packet in a frame, or about to be.
#[derive(Clone, Copy)]
pub struct Mpdu {
    packet: Packet,
    /// Since when its packet has waited.
    since: Time,
    sequence: u32,
    /// Times that it was sent.
    tries: u32,
    /// It has arrived.
    has_arrived: bool,
}

/// An A-MPDU.
#[derive(Clone)]
pub struct Aggregate {
    /// To whom: the number of the outlet.
    pub outlet: usize,
    pub mpdus: Vec<Mpdu>,
    /// Bytes on the air.
    bytes: u32,
}

/// The source of a radio's packets.
#[derive(Clone, Copy)]
pub enum Upper {
    /// One queue for all: the driver holds `room` packets at most, and serves its own queues in turn.
    Shared { room: u32 },
    /// A queue for each outlet, as mac80211 has it. With queue limits in airtime the driver holds packets, without them it asks
    /// for them when it makes an aggregate.
    Stations { is_fair: bool, aql: Option<[Span; 3]> },
}

/// What goes to one receiver.
#[derive(Clone)]
struct Outlet {
    link: usize,
    error: f64,
    /// Time that a byte takes, ps.
    byte: f64,
    /// Most bytes of an aggregate, by its limits of size and of time.
    most: u32,
    /// MPDUs to be sent again, and packets that the driver holds.
    again: VecDeque<Mpdu>,
    held: VecDeque<(Packet, Time)>,
    window: Reorder,
    /// Airtime that it may still have in this turn, ps, and what it gets in each.
    deficit: i64,
    quantum: i64,
    /// Airtime of the packets that the driver holds or sends, without preambles.
    pending: Span,
    /// It is in the list of those that have turns, in that of those that the driver serves.
    is_listed: bool,
    is_served: bool,
}

/// A radio, and what it sends.
#[derive(Clone)]
pub struct Radio {
    outlets: Vec<Outlet>,
    upper: Upper,
    /// Packets held, and airtime pending, of all outlets.
    held: u32,
    pending: Span,
    /// Outlets of mac80211's queues in the order of their turns, and those that the driver serves.
    turns: VecDeque<usize>,
    served: VecDeque<usize>,
    /// Aggregates ready to be sent, at most `depth`.
    pub ready: VecDeque<Aggregate>,
    depth: usize,
    /// Emptied, to be used again.
    spare: Vec<Vec<Mpdu>>,
    preamble: Span,
    /// MPDUs of an aggregate, and of the block ACK's window.
    most: u32,
    under_way: u32,
    retries: u32,
    windows: [u32; 2],
    window: u32,
    /// Slots to wait.
    pub backoff: u32,
    random: Stream,
}

/// Bytes on the air of a packet in an aggregate.
fn on_air(packet: &Packet) -> u32 {
    (u32::from(packet.size) + HEADERS).next_multiple_of(ALIGNMENT)
}

impl Outlet {
    fn new(wifi: &Wifi, link: usize, station: &Station) -> Self {
        let quantum = (QUANTUM * station.weight).max(1.0) as i64;
        let time = wifi.ampdu.time.0.saturating_sub(wifi.channel.preamble.0) as f64;
        let byte = 8e12 / station.rate.0;
        Self {
            link,
            error: station.error,
            byte,
            most: ((time / byte) as u32).min(wifi.ampdu.bytes),
            again: VecDeque::new(),
            held: VecDeque::new(),
            window: Reorder::default(),
            deficit: quantum,
            quantum,
            pending: Span::ZERO,
            is_listed: false,
            is_served: false,
        }
    }

    /// Time that bytes take.
    fn time(&self, bytes: u32) -> Span {
        Span((f64::from(bytes) * self.byte) as u64)
    }

    /// Airtime that it may still have in this turn, what the driver holds for it not counted (`ieee80211_sta_deficit`).
    fn left(&self) -> i64 {
        self.deficit - self.pending.0 as i64
    }

    /// The queue limits let it have another packet, with so much airtime pending of all: AQL.
    fn is_within(&self, [low, high, all]: [Span; 3], pending: Span) -> bool {
        self.pending < low || (pending < all && self.pending < high)
    }

    /// It has something for an aggregate that the block ACK's window of `most` lets go; `waits`: packets wait in its queue.
    fn can_send(&self, most: u32, waits: bool) -> bool {
        !self.again.is_empty() || (self.window.len() < most && (!self.held.is_empty() || waits))
    }
}

impl Radio {
    pub fn new<'a>(
        wifi: &Wifi,
        upper: Upper,
        outlets: impl Iterator<Item = (usize, &'a Station)>,
        random: Stream,
    ) -> Self {
        let mut radio = Self {
            outlets: outlets.map(|(link, station)| Outlet::new(wifi, link, station)).collect(),
            upper,
            held: 0,
            pending: Span::ZERO,
            turns: VecDeque::new(),
            served: VecDeque::new(),
            ready: VecDeque::new(),
            depth: wifi.hardware_queue as usize,
            spare: Vec::new(),
            preamble: wifi.channel.preamble,
            most: wifi.ampdu.packets,
            under_way: wifi.ampdu.window,
            retries: wifi.retries,
            windows: wifi.channel.windows,
            window: wifi.channel.windows[0],
            backoff: 0,
            random,
        };
        radio.draw_backoff();
        radio
    }

    /// The links whose packets it sends.
    pub fn links(&self) -> impl Iterator<Item = usize> {
        self.outlets.iter().map(|outlet| outlet.link)
    }

    /// Share of the MPDUs of the present aggregate that are lost.
    pub fn error(&self) -> f64 {
        self.outlets[self.ready[0].outlet].error
    }

    pub fn draw_backoff(&mut self) {
        self.backoff = self.random.below(self.window + 1);
    }

    /// A packet waits at a link.
    pub fn wake(&mut self, link: usize) {
        let Upper::Stations { .. } = self.upper else { return };
        let outlet = (link - self.outlets[0].link) / 2;
        debug_assert_eq!(self.outlets[outlet].link, link, "its links stand in pairs");
        self.list(outlet);
    }

    /// An outlet has turns from now on. With fairness it comes first, and goes to the end once it has had its airtime: so one that
    /// sends little does not wait.
    fn list(&mut self, outlet: usize) {
        if std::mem::replace(&mut self.outlets[outlet].is_listed, true) {
            return;
        }
        match self.upper {
            Upper::Stations { is_fair: true, .. } => self.turns.push_front(outlet),
            _ => self.turns.push_back(outlet),
        }
    }

    /// Charges a station's airtime to its turns. One that owes airtime stays in the list, and so gets its due, also while it has nothing to
    /// send (`ieee80211_txq_keep_active`).
    pub fn charge(&mut self, outlet: usize, airtime: Span) {
        let Upper::Stations { is_fair: true, .. } = self.upper else { return };
        self.outlets[outlet].deficit -= airtime.0 as i64;
        if self.outlets[outlet].left() < 0 {
            self.list(outlet);
        }
    }

    /// Makes aggregates until so many are ready as may be.
    pub fn fill(
        &mut self,
        links: &mut impl IndexMut<usize, Output = Link>,
        station_of: &[u16],
        asked: &mut Vec<usize>,
        now: Time,
    ) {
        while self.ready.len() < self.depth {
            self.pull(links, station_of, asked, now);
            let Some(outlet) = self.next(links, now) else { return };
            if !self.aggregate(outlet, links, asked, now) && waits(self.outlets[outlet].link, links, now) {
                return; // it has packets, and gives none
            }
        }
        self.pull(links, station_of, asked, now);
    }

    /// The driver takes what packets it may hold.
    fn pull(
        &mut self,
        links: &mut impl IndexMut<usize, Output = Link>,
        station_of: &[u16],
        asked: &mut Vec<usize>,
        now: Time,
    ) {
        match self.upper {
            Upper::Shared { room } => {
                let link = self.outlets[0].link;
                while self.held < room {
                    let Some((packet, since)) = take(link, links, asked, now) else { return };
                    let is_alone = self.outlets.len() == 1;
                    let outlet = if is_alone {
                        0
                    } else {
                        station_of.get(packet.flow as usize).map_or(0, |at| usize::from(*at))
                    };
                    self.hold(outlet, packet, since);
                }
            }
            Upper::Stations { aql: Some(aql), .. } => loop {
                let pending = self.pending;
                let next = self.turn(|outlet| waits(outlet.link, links, now), |outlet| outlet.is_within(aql, pending));
                let Some(next) = next else { return };
                let (link, held) = (self.outlets[next].link, self.held);
                while self.outlets[next].is_within(aql, self.pending) {
                    let Some((packet, since)) = take(link, links, asked, now) else { break };
                    self.hold(next, packet, since);
                }
                self.list(next);
                if self.held == held && waits(link, links, now) {
                    return; // it has packets, and gives none
                }
            },
            Upper::Stations { aql: None, .. } => {}
        }
    }

    fn hold(&mut self, outlet: usize, packet: Packet, since: Time) {
        let of = &mut self.outlets[outlet];
        let airtime = of.time(on_air(&packet));
        self.held += 1;
        (of.pending, self.pending) = (of.pending + airtime, self.pending + airtime);
        of.held.push_back((packet, since));
        self.serve(outlet);
    }

    /// The driver has something for an outlet.
    fn serve(&mut self, outlet: usize) {
        let asks = matches!(self.upper, Upper::Stations { aql: None, .. });
        if !asks && !std::mem::replace(&mut self.outlets[outlet].is_served, true) {
            self.served.push_back(outlet);
        }
    }

    /// The outlet whose turn it is among mac80211's queues, of those that `has` and `may` let send. It leaves the list, as do those that
    /// have nothing and owe no airtime.
    fn turn(&mut self, has: impl Fn(&Outlet) -> bool, may: impl Fn(&Outlet) -> bool) -> Option<usize> {
        let Upper::Stations { is_fair, .. } = self.upper else { return None };
        let can = |outlet: &Outlet| has(outlet) && may(outlet);
        if !self.turns.iter().any(|at| can(&self.outlets[*at])) {
            return None;
        }
        while let Some(at) = self.turns.pop_front() {
            let outlet = &mut self.outlets[at];
            let owes = is_fair && outlet.left() < 0;
            if owes {
                outlet.deficit += outlet.quantum;
            }
            if !owes && can(outlet) {
                outlet.is_listed = false;
                return Some(at);
            }
            outlet.is_listed = owes || has(outlet);
            if outlet.is_listed {
                self.turns.push_back(at);
            }
        }
        None
    }

    /// The outlet that the next aggregate is for.
    fn next(&mut self, links: &impl IndexMut<usize, Output = Link>, now: Time) -> Option<usize> {
        let most = self.under_way;
        if let Upper::Stations { aql: None, .. } = self.upper {
            let has =
                |outlet: &Outlet| !outlet.again.is_empty() || !outlet.held.is_empty() || waits(outlet.link, links, now);
            return self.turn(has, |outlet| outlet.can_send(most, true));
        }
        let at = self.served.iter().position(|outlet| self.outlets[*outlet].can_send(most, false))?;
        let next = self.served.remove(at)?;
        self.outlets[next].is_served = false;
        Some(next)
    }

    /// Makes an aggregate: MPDUs that are sent again, what the driver holds, and, where it asks as it goes, what waits. False if there was
    /// nothing: a scheme may have dropped all that waited.
    fn aggregate(
        &mut self,
        outlet: usize,
        links: &mut impl IndexMut<usize, Output = Link>,
        asked: &mut Vec<usize>,
        now: Time,
    ) -> bool {
        let asks = matches!(self.upper, Upper::Stations { aql: None, .. });
        let mut mpdus = self.spare.pop().unwrap_or_default();
        let mut bytes = 0;
        let mut of = &mut self.outlets[outlet];
        while (mpdus.len() as u32) < self.most {
            if let Some(mpdu) = of.again.front() {
                let size = on_air(&mpdu.packet);
                if bytes > 0 && bytes + size > of.most {
                    break;
                }
                bytes += size;
                mpdus.extend(of.again.pop_front());
                continue;
            }
            if of.window.len() >= self.under_way {
                break;
            }
            if asks && of.held.is_empty() {
                let Some((packet, since)) = take(of.link, links, asked, now) else { break };
                self.hold(outlet, packet, since);
                of = &mut self.outlets[outlet];
            }
            let Some((packet, since)) = of.held.front().copied() else { break };
            let size = on_air(&packet);
            if bytes > 0 && bytes + size > of.most {
                break;
            }
            bytes += size;
            of.held.pop_front();
            self.held -= 1;
            mpdus.push(Mpdu { packet, since, sequence: of.window.expect(), tries: 0, has_arrived: false });
        }
        self.relist(outlet, links, now);
        if mpdus.is_empty() {
            self.spare.push(mpdus);
            return false;
        }
        self.ready.push_back(Aggregate { outlet, mpdus, bytes });
        true
    }

    /// An outlet that has more to send has another turn.
    fn relist(&mut self, outlet: usize, links: &impl IndexMut<usize, Output = Link>, now: Time) {
        let of = &self.outlets[outlet];
        let has_own = !of.again.is_empty() || !of.held.is_empty();
        let asks = matches!(self.upper, Upper::Stations { aql: None, .. });
        if asks && (has_own || waits(of.link, links, now)) {
            self.list(outlet);
        } else if has_own {
            self.serve(outlet);
        }
    }

    /// The present aggregate goes on the air: to whom, and the time that it takes.
    pub fn send(&mut self, links: &mut impl IndexMut<usize, Output = Link>, now: Time) -> Option<(usize, Span)> {
        let Aggregate { outlet, mpdus, bytes } = self.ready.front_mut()?;
        let of = &self.outlets[*outlet];
        let duration = self.preamble + of.time(*bytes);
        let meter = &mut links[of.link].meter;
        for mpdu in mpdus {
            if mpdu.tries == 0 {
                meter.on_start(now.since(mpdu.since), mpdu.packet.size);
            }
            mpdu.tries += 1;
        }
        meter.occupy(now, now + duration);
        Some((*outlet, duration))
    }

    /// The frame of the present aggregate ends: MPDUs of which `arrives` says so are received. The sender does not know yet.
    pub fn land(&mut self, mut arrives: impl FnMut() -> bool, received: &mut Vec<Packet>) {
        let Some(aggregate) = self.ready.front_mut() else { return };
        let window = &mut self.outlets[aggregate.outlet].window;
        for mpdu in &mut aggregate.mpdus {
            mpdu.has_arrived = arrives();
            if mpdu.has_arrived {
                window.resolve(mpdu.sequence, Some(mpdu.packet));
            }
        }
        window.release(received);
    }

    /// The exchange of the present aggregate is over. MPDUs that have not arrived are sent again or, after so many retries, given up.
    /// Without any that has there was no block ACK: the aggregate stays, and the window doubles. Returns the number of those that did
    /// not arrive.
    pub fn settle(&mut self, received: &mut Vec<Packet>, lost: &mut Vec<(usize, Packet)>) -> u64 {
        let Some(mut aggregate) = self.ready.pop_front() else { return 0 };
        let (at, all, mut failed) = (aggregate.outlet, aggregate.mpdus.len(), 0);
        let Self { outlets, pending, retries, .. } = self;
        let of = &mut outlets[at];
        aggregate.mpdus.retain(|mpdu| {
            failed += u64::from(!mpdu.has_arrived);
            let is_over = mpdu.has_arrived || mpdu.tries > *retries;
            if is_over {
                let airtime = of.time(on_air(&mpdu.packet));
                (of.pending, *pending) = (Span(of.pending.0 - airtime.0), Span(pending.0 - airtime.0));
                if !mpdu.has_arrived {
                    of.window.resolve(mpdu.sequence, None);
                    lost.push((of.link, mpdu.packet));
                }
            }
            !is_over
        });
        of.window.release(received);
        of.window.advance();
        if failed == all as u64 && !aggregate.mpdus.is_empty() {
            aggregate.bytes = aggregate.mpdus.iter().map(|mpdu| on_air(&mpdu.packet)).sum();
            self.window = (2 * self.window + 1).min(self.windows[1]);
            self.ready.push_front(aggregate);
            return failed;
        }
        self.window = self.windows[0];
        if !aggregate.mpdus.is_empty() {
            of.again.extend(aggregate.mpdus.drain(..));
            match self.upper {
                Upper::Stations { aql: None, .. } => self.list(at),
                _ => self.serve(at),
            }
        }
        aggregate.mpdus.clear();
        self.spare.push(aggregate.mpdus);
        failed
    }
}

/// A packet waits in a link's queue, and may go.
fn waits(link: usize, links: &impl IndexMut<usize, Output = Link>, now: Time) -> bool {
    links[link].has_packets(now)
}

/// The next packet of a link's queue, and since when it has waited.
fn take(
    link: usize,
    links: &mut impl IndexMut<usize, Output = Link>,
    asked: &mut Vec<usize>,
    now: Time,
) -> Option<(Packet, Time)> {
    if links[link].queue.is_empty() {
        return None;
    }
    if asked.last() != Some(&link) {
        asked.push(link);
    }
    links[link].hand_over(now)
}
