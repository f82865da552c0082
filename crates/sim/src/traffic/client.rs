//! Clients: they ask for objects, and each object is a transfer: web sessions, short transfers, players of video.

use crate::traffic::ends::TransferEnds;
use crate::traffic::peer::Peer;
use crate::traffic::video::Player;
use aqmlab_core::{Span, Stream, Time};
use aqmlab_scenario::{Distribution, FlowSpec, Pages, Traffic};

/// One session, player, or host with transfers of its own.
#[derive(Clone)]
pub struct Client {
    /// The end that sends what it asks for.
    pub peer: Peer,
    /// Connections that carry no transfer at present.
    pub idle: Vec<u32>,
    /// Connections opened so far.
    pub opened: u32,
    /// The hosts that its transfers go between, on a fabric.
    pub ends: Option<TransferEnds>,
    workload: Workload,
    stop: Time,
}

/// Workload of a client.
#[derive(Clone)]
enum Workload {
    Pages(Session),
    Video(Player),
}

/// One web session.
#[derive(Clone)]
struct Session {
    laws: Pages,
    pages_left: u64,
    /// Objects of the present page not yet asked for.
    objects_left: u64,
    /// Transfers under way.
    outstanding: u32,
    /// Draws made so far.
    draws: usize,
    rng: Stream,
}

impl Client {
    /// The `i`-th client of its group, at rest; `None` where its traffic is not transfers.
    pub fn new(spec: &FlowSpec, i: usize, peer: Peer, stop: Time, warmup: Time, rng: Stream) -> Option<Self> {
        let workload = match &spec.traffic {
            Traffic::Video(video) => Workload::Video(Player::new(video.clone(), spec.payload, stop, warmup)),
            _ => Workload::Pages(Session::new(laws_of(spec)?, i, rng)),
        };
        Some(Self { peer, idle: Vec::new(), opened: 0, ends: None, workload, stop })
    }

    /// Time of its first request.
    pub fn first(&mut self, start: Time) -> Option<Time> {
        let wait = match &mut self.workload {
            Workload::Pages(session) => session.first(),
            Workload::Video(_) => Span::ZERO,
        };
        self.unless_stopped(Some(start + wait))
    }

    /// Asks for its next object: the packets it takes, and when to ask again if that depends on nothing else.
    pub fn request(&mut self, now: Time) -> (u32, Option<Time>) {
        let (size, next) = match &mut self.workload {
            Workload::Pages(session) => session.request(now),
            Workload::Video(player) => (player.request(now), None),
        };
        (size, self.unless_stopped(next))
    }

    /// Time from a request to the start of the transfer, over a path of this round-trip propagation.
    pub fn request_takes(&self, rtt: Span) -> Span {
        match &self.workload {
            Workload::Pages(session) => Span((session.laws.request_round_trips * rtt.0 as f64) as u64),
            Workload::Video(_) => Span::ZERO,
        }
    }

    /// A transfer has ended: when to ask again if that was waiting for it.
    pub fn transfer_ended(&mut self, now: Time) -> Option<Time> {
        let next = match &mut self.workload {
            Workload::Pages(session) => session.transfer_ended(now),
            Workload::Video(player) => Some(player.segment_ended(now)),
        };
        self.unless_stopped(next)
    }

    /// The connection of a transfer could not be opened: when to ask again. A session goes on without the object; a player
    /// asks for the segment again.
    pub fn transfer_failed(&mut self, now: Time) -> Option<Time> {
        let next = match &mut self.workload {
            Workload::Pages(session) => session.transfer_ended(now),
            Workload::Video(_) => Some(now),
        };
        self.unless_stopped(next)
    }

    /// The player, if it is one.
    pub fn player(&self) -> Option<&Player> {
        if let Workload::Video(player) = &self.workload { Some(player) } else { None }
    }

    /// It asks for nothing from `time` on.
    pub fn stop_at(&mut self, time: Time) {
        self.stop = time;
    }

    /// It asks for nothing more.
    pub fn is_stopped(&self, now: Time) -> bool {
        now >= self.stop
    }

    fn unless_stopped(&self, time: Option<Time>) -> Option<Time> {
        time.filter(|time| *time < self.stop)
    }
}

/// The laws of a group of sessions; `None` where its traffic is something else. Short transfers with Poisson arrivals are
/// pages of one object that follow each other at random, finished or not: many hosts make one Poisson process.
fn laws_of(spec: &FlowSpec) -> Option<Pages> {
    match &spec.traffic {
        Traffic::Http(laws) => Some(laws.clone()),
        Traffic::Short { arrivals, size } => Some(Pages {
            pages: None,
            think_time: Distribution::Exponential(Span::from_seconds(f64::from(spec.count().max(1)) / arrivals.0)),
            think_after_page: false,
            objects: Distribution::Fixed(1.0),
            object_gap: Distribution::Fixed(Span::ZERO),
            size: size.clone(),
            request_round_trips: 0.0,
        }),
        _ => None,
    }
}

impl Session {
    /// The `i`-th session of its group, at rest.
    fn new(laws: Pages, i: usize, mut rng: Stream) -> Self {
        let pages_left = laws.pages.as_ref().map_or(u64::MAX, |law| law.draw(i, &mut rng).ceil().max(1.0) as u64);
        Self { laws, pages_left, objects_left: 0, outstanding: 0, draws: 0, rng }
    }

    /// The wait before the first request: none, or a think time where requests follow no page.
    fn first(&mut self) -> Span {
        if self.laws.think_after_page { Span::ZERO } else { self.think() }
    }

    fn request(&mut self, now: Time) -> (u32, Option<Time>) {
        if self.objects_left == 0 {
            self.pages_left -= 1;
            self.draws += 1;
            self.objects_left = self.laws.objects.draw(self.draws, &mut self.rng).ceil().max(1.0) as u64;
        }
        self.objects_left -= 1;
        self.outstanding += 1;
        self.draws += 1;
        let size = self.laws.size.draw(self.draws, &mut self.rng).0.ceil().clamp(1.0, f64::from(u32::MAX / 2)) as u32;
        if self.objects_left > 0 {
            let gap = self.laws.object_gap.draw(self.draws, &mut self.rng);
            return (size, Some(now + gap));
        }
        let goes_on = !self.laws.think_after_page && self.pages_left > 0;
        (size, goes_on.then(|| now + self.think()))
    }

    /// Time of the next request, if the page was waiting for this transfer.
    fn transfer_ended(&mut self, now: Time) -> Option<Time> {
        self.outstanding -= 1;
        let page_ended = self.outstanding == 0 && self.objects_left == 0;
        let goes_on = self.laws.think_after_page && page_ended && self.pages_left > 0;
        goes_on.then(|| now + self.think())
    }

    fn think(&mut self) -> Span {
        self.draws += 1;
        self.laws.think_time.draw(self.draws, &mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Packets;

    fn seconds(s: f64) -> Span {
        Span::from_seconds(s)
    }

    fn at(s: f64) -> Time {
        Time::ZERO + seconds(s)
    }

    fn client(think_after_page: bool) -> Client {
        let laws = Pages {
            pages: Some(Distribution::Fixed(2.0)),
            think_time: Distribution::Fixed(seconds(10.0)),
            think_after_page,
            objects: Distribution::Fixed(2.0),
            object_gap: Distribution::Fixed(seconds(1.0)),
            size: Distribution::Fixed(Packets(6.5)),
            request_round_trips: 2.0,
        };
        let workload = Workload::Pages(Session::new(laws, 0, Stream::new(1, "client", 0)));
        Client { peer: Peer::default(), idle: Vec::new(), opened: 0, ends: None, workload, stop: Time::NEVER }
    }

    #[test]
    fn the_next_page_waits_for_all_objects_and_a_think_time() {
        let mut client = client(true);
        assert_eq!(client.first(at(0.0)), Some(at(0.0)));
        assert_eq!(client.request(at(0.0)), (7, Some(at(1.0))), "6.5 packets are 7");
        assert_eq!(client.transfer_ended(at(0.5)), None, "one object is not asked for yet");
        assert_eq!(client.request(at(1.0)), (7, None));
        assert_eq!(client.transfer_ended(at(3.0)), Some(at(13.0)));
        assert_eq!(client.request(at(13.0)), (7, Some(at(14.0))));
        assert_eq!(client.request(at(14.0)), (7, None));
        assert_eq!(client.transfer_ended(at(15.0)), None);
        assert_eq!(client.transfer_ended(at(15.0)), None, "the second page was the last");
    }

    #[test]
    fn pages_that_wait_for_nothing_follow_their_requests() {
        let mut client = client(false);
        assert_eq!(client.first(at(0.0)), Some(at(10.0)));
        assert_eq!(client.request(at(10.0)), (7, Some(at(11.0))));
        assert_eq!(client.request(at(11.0)), (7, Some(at(21.0))));
        assert_eq!(client.transfer_ended(at(12.0)), None);
    }

    #[test]
    fn a_request_takes_round_trips() {
        assert_eq!(client(true).request_takes(seconds(0.1)), seconds(0.2));
    }

    #[test]
    fn nothing_is_asked_for_after_the_stop() {
        let mut client = client(true);
        client.stop = at(1.0);
        assert_eq!(client.request(at(0.5)), (7, None));
    }
}
