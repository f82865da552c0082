//! A thread that carries one direction: reads packets, lets the line decide, and writes each when it is due.
//!
//! All that is decided is decided in the time of the ideal link, so that lateness of the thread never adds up. What is left of
//! it, from when a packet was due to when it was written, is measured for every packet.

use crate::calls::Calls;
use crate::capture::Capture;
use crate::direction::Direction;
use crate::flows::Flows;
use crate::log::Log;
use crate::store::{Slot, Store};
use crate::tun::{self, VIRTIO};
use aqmlab_aqm::Discipline;
use aqmlab_core::{Span, Time};
use aqmlab_sim::{DurationStats, PacketOutcome};
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{self, IoSlice, PipeReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The kernel's time since the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: u64,
    is_virtual: bool,
}

impl Clock {
    /// It starts now.
    pub fn start(is_virtual: bool) -> Self {
        Self { started: nanoseconds(ClockId::CLOCK_MONOTONIC), is_virtual }
    }

    /// The present, in whole nanoseconds.
    pub fn now(self) -> Time {
        Time::ZERO + Span::from_nanos(nanoseconds(ClockId::CLOCK_MONOTONIC) - self.started)
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("Linux has these clocks");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// The thread looks whether it is to stop at least so often.
const LONGEST_WAIT: Span = Span::from_millis(20);
/// It sleeps at least so long once it has read or written, so that at high rates several packets share a wake-up.
const GRAIN: Span = Span::from_micros(30);
/// Shorter waits are not worth a sleep.
const SHORTEST_WAIT: Span = Span::from_micros(4);
/// After a long sleep it wakes so much before a packet is due and stays awake until then: a timer is late by tens of us.
const EARLY: Span = Span::from_micros(60);
/// A sleep is long if staying awake takes a tenth of it at most.
const LONG: Span = Span::from_micros(600);
/// Packets read before the line is looked at again.
const BATCH: usize = 64;

/// The state of a direction while it runs.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Packets waiting.
    pub queue: u32,
    /// Bytes delivered so far.
    pub bytes: u64,
    /// Packets dropped so far.
    pub dropped: u64,
    /// Packets marked so far.
    pub marked: u64,
    /// The scheme's observables, in the order of the catalogue.
    pub observed: Vec<f64>,
    /// The scheme has broken down.
    pub failure: Option<String>,
}

/// A view as other programs take it: packets waiting, bytes delivered, packets dropped and marked, observables.
pub type ViewRow<'a> = (u32, u64, u64, u64, &'a [f64]);

impl View {
    /// All but a failure.
    pub fn row(&self) -> ViewRow<'_> {
        (self.queue, self.bytes, self.dropped, self.marked, &self.observed)
    }
}

/// Counts of a thread beside its link.
#[derive(Clone, Debug, Default)]
pub struct ForwardCounts {
    /// Reads from the device.
    pub read: u64,
    /// Writes to the device.
    pub written: u64,
    /// Writes that the device refused.
    pub refused: u64,
    /// Reads that were no IP packet, or could not be cut.
    pub unreadable: u64,
    /// Packets to groups of hosts, which stay on their side.
    pub multicast: u64,
}

/// One direction between two devices.
pub struct Forwarder {
    /// The device that packets are read from.
    pub from: File,
    /// The device that they are written to.
    pub to: File,
    /// The line.
    pub direction: Direction,
    /// The packets that wait.
    pub store: Store,
    /// The table of flows.
    pub flows: Flows,
    /// Calls among them.
    pub calls: Calls,
    /// Lateness of packets written.
    pub lateness: DurationStats,
    /// From when packets were read to when they were written.
    pub transit: DurationStats,
    /// Other counts.
    pub counts: ForwardCounts,
    /// Time of the processor that the thread has taken.
    pub processor: Span,
    /// The log of arrivals and decisions, if asked for.
    pub log: Option<Log>,
    /// The capture of packets that leave, if asked for.
    pub capture: Option<Capture>,
    /// Packets so far.
    number: u32,
    is_warm: bool,
    clock: Clock,
}

/// Packets that are written as one.
struct Batch {
    first: Slot,
    count: u16,
}

impl Forwarder {
    /// Between two devices; its time is that of `clock`.
    pub fn new(from: File, to: File, direction: Direction, clock: Clock) -> Self {
        Self {
            is_warm: direction.is_warm(),
            calls: Calls::new(direction.warmup()),
            from,
            to,
            direction,
            store: Store::default(),
            flows: Flows::default(),
            lateness: DurationStats::default(),
            transit: DurationStats::default(),
            counts: ForwardCounts::default(),
            processor: Span::ZERO,
            log: None,
            capture: None,
            number: 0,
            clock,
        }
    }

    /// Writes down every packet, in `NAME.log` and `NAME.pcapng` of a folder.
    ///
    /// # Errors
    /// If the files cannot be made.
    pub fn write_down(&mut self, folder: &Path, name: &str) -> io::Result<()> {
        self.log = Some(Log::new(&folder.join(format!("{name}.log")))?);
        self.capture = Some(Capture::new(&folder.join(format!("{name}.pcapng")))?);
        self.direction.logs = true;
        Ok(())
    }

    /// Carries packets until it is stopped, or the scheme breaks down. `stop` closes once it is stopped.
    pub fn run(&mut self, is_stopped: &AtomicBool, stop: &PipeReader, view: &Mutex<View>) {
        prctl::set_timerslack(1).ok();
        if self.clock.is_virtual {
            self.run_in_virtual_time(is_stopped, stop, view);
        } else {
            self.run_in_real_time(is_stopped, view);
        }
        self.direction.advance(self.clock.now());
        self.clear_decisions();
        self.processor = Span::from_nanos(nanoseconds(ClockId::CLOCK_THREAD_CPUTIME_ID));
    }

    fn run_in_real_time(&mut self, is_stopped: &AtomicBool, view: &Mutex<View>) {
        let mut scratch = vec![0; VIRTIO + (64 << 10)];
        let (mut written_at, mut shown_at, mut has_slept) = (Time::ZERO, Time::ZERO, false);
        while !is_stopped.load(Ordering::Relaxed) && self.direction.failure().is_none() {
            let has_read = self.read(&mut scratch);
            let now = self.clock.now();
            if self.step(now, &mut shown_at, view) {
                written_at = now;
            }
            has_slept = self.wait(now, written_at + GRAIN, has_read, has_slept);
        }
    }

    /// No time passes while the thread works: one look at the clock serves for all that is done after a sleep, and what is not
    /// read at once is not late.
    fn run_in_virtual_time(&mut self, is_stopped: &AtomicBool, stop: &PipeReader, view: &Mutex<View>) {
        let mut scratch = vec![0; VIRTIO + (64 << 10)];
        let (mut now, mut shown_at) = (self.clock.now(), Time::ZERO);
        while !is_stopped.load(Ordering::Relaxed) && self.direction.failure().is_none() {
            let due = self.sleep(now, stop);
            now = due.unwrap_or_else(|| self.clock.now());
            if due.is_none()
                && let Ok(length) = self.from.read(&mut scratch)
            {
                self.receive(&scratch[..length], now);
            }
            self.step(now, &mut shown_at, view);
        }
    }

    /// Lets the line go on to the present, and writes what is due; says whether anything was.
    fn step(&mut self, now: Time, shown_at: &mut Time, view: &Mutex<View>) -> bool {
        self.direction.advance(now);
        let has_written = self.write(now);
        self.clear_decisions();
        if now.since(*shown_at) >= Span::from_millis(50) || self.direction.failure().is_some() {
            *shown_at = now;
            self.show(view);
        }
        has_written
    }

    /// Reads what has come; says whether anything has.
    fn read(&mut self, scratch: &mut [u8]) -> bool {
        for i in 0..BATCH {
            let Ok(length) = self.from.read(scratch) else { return i > 0 };
            self.receive(&scratch[..length], self.clock.now());
        }
        true
    }

    /// Takes what one read has given.
    fn receive(&mut self, read: &[u8], now: Time) {
        self.counts.read += 1;
        self.direction.advance(now);
        self.clear_decisions();
        match read.split_first_chunk::<VIRTIO>() {
            Some((virtio, ip)) => self.take(*virtio, ip, now),
            None => self.counts.unreadable += 1,
        }
    }

    /// Offers to the line what was read, packet by packet.
    fn take(&mut self, virtio: [u8; VIRTIO], ip: &[u8], now: Time) {
        let Some((block, layout)) = self.store.keep(virtio, ip) else {
            self.counts.unreadable += 1;
            return;
        };
        let parts = self.store.block(block).parts();
        if layout.is_multicast() {
            self.counts.multicast += 1;
            return self.store.release(block, parts);
        }
        let flow = self.flows.place(&layout);
        self.flows.arrives(flow, self.store.block(block));
        let (hash, host, traffic_class) = (layout.tuple.hash(), layout.tuple.host(), layout.traffic_class);
        let has_datagrams = self.flows.all()[flow as usize].tuple.has_datagrams();
        for part in 0..parts {
            if has_datagrams {
                self.calls.comes(flow, self.store.block(block).datagram(part), now);
            }
            let size = self.store.block(block).size(part) as u16;
            let slot = Slot { arrived: now, number: self.number, block, part, size, flow, hash, host, traffic_class };
            self.number = self.number.wrapping_add(1);
            if let Some(log) = &mut self.log {
                log.arrival(&slot);
            }
            self.direction.offer(slot, now);
        }
    }

    /// Frees what was dropped, and writes down what was decided.
    fn clear_decisions(&mut self) {
        for decision in self.direction.decisions.drain(..) {
            if let Some(log) = &mut self.log {
                log.decision(&decision);
            }
            if decision.outcome != PacketOutcome::Sent {
                self.store.release(decision.packet.block, 1);
            }
        }
    }

    /// Writes what is due; says whether anything was.
    fn write(&mut self, mut now: Time) -> bool {
        if self.is_warm != self.direction.is_warm() {
            self.is_warm = true;
            self.flows.restart();
            self.calls.restart();
            (self.lateness, self.transit) = Default::default();
        }
        let mut together: Option<Batch> = None;
        let until = now;
        while let Some(flying) = self.direction.take_due(until) {
            let slot = flying.packet;
            match &mut together {
                Some(run) if run.is_followed_by(&slot) => run.count += 1,
                _ => {
                    if let Some(run) = together.replace(Batch { first: slot, count: 1 }) {
                        self.write_together(&run, now);
                        now = if self.clock.is_virtual { now } else { self.clock.now() };
                    }
                }
            }
            self.lateness.add(now.since(flying.due));
            self.transit.add(now.since(slot.arrived));
        }
        together.inspect(|run| self.write_together(run, now)).is_some()
    }

    fn write_together(&mut self, run: &Batch, now: Time) {
        let Batch { first, count } = run;
        let block = self.store.block(first.block);
        self.flows.delivers(first, *count, block, now);
        if self.flows.all()[first.flow as usize].tuple.has_datagrams() {
            let is_marked = first.traffic_class & 3 == 3;
            for part in first.part..first.part + count {
                self.calls.goes(first.flow, block.datagram(part), block.size(part) as u64, is_marked, now);
            }
        }
        if let Some(capture) = &mut self.capture {
            for part in first.part..first.part + count {
                let ready = self.store.ready(first.block, part, 1, first.traffic_class);
                capture.packet(now, ready.header(), ready.rest);
            }
        }
        let ready = self.store.ready(first.block, first.part, *count, first.traffic_class);
        let parts = [IoSlice::new(&ready.virtio), IoSlice::new(ready.header()), IoSlice::new(ready.rest)];
        match tun::write(&self.to, &parts) {
            true => self.counts.written += 1,
            false => self.counts.refused += 1,
        }
        self.store.release(first.block, *count);
    }

    /// Sleeps in virtual time until a packet is due, and says when that is, or until one comes. Whoever stays awake there holds
    /// time still.
    fn sleep(&self, now: Time, stop: &PipeReader) -> Option<Time> {
        let due = self.direction.next_due().map(|due| now + Span::from_nanos(due.since(now).0.div_ceil(1000)));
        let timeout = due.map(|due| TimeSpec::from(Duration::from_nanos(due.since(now).0 / 1000)));
        let mut files =
            [PollFd::new(self.from.as_fd(), PollFlags::POLLIN), PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        let has_waited = ppoll(&mut files, timeout, None) == Ok(0);
        due.filter(|_| has_waited)
    }

    /// Sleeps in real time until a packet is due, but not before `earliest`, or until one comes; where some have just come, others may
    /// gather for a grain. Says whether it has slept long, or was told so and stays awake.
    fn wait(&self, now: Time, earliest: Time, has_read: bool, has_slept: bool) -> bool {
        let longest = if has_read { GRAIN } else { LONGEST_WAIT };
        let due = self.direction.next_due().map_or(longest, |due| due.max(earliest).since(now)).min(longest);
        if due < if has_slept { EARLY } else { SHORTEST_WAIT } {
            return has_slept;
        }
        let is_long = due >= LONG;
        let sleep = if is_long { due.0 - EARLY.0 } else { due.0 };
        let timeout = TimeSpec::from(Duration::from_nanos(sleep / 1000));
        let mut files = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
        ppoll(&mut files[usize::from(has_read)..], Some(timeout), None).ok();
        is_long
    }

    fn show(&self, view: &Mutex<View>) {
        let Ok(mut view) = view.try_lock() else { return };
        let queue = &self.direction.link.queue;
        let accounts = queue.accounts();
        let bytes = self.flows.all().iter().map(|flow| flow.bytes).sum();
        let observed = (0..self.direction.observables()).map(|i| queue.observe(i)).collect();
        let failure = self.direction.failure().map(ToString::to_string);
        *view =
            View { queue: queue.len(), bytes, dropped: accounts.dropped, marked: accounts.marked, observed, failure };
    }
}

impl Batch {
    /// True if this packet is the next part of the same block, with the same header.
    fn is_followed_by(&self, slot: &Slot) -> bool {
        let Batch { first, count } = self;
        slot.block == first.block && slot.part == first.part + count && slot.traffic_class == first.traffic_class
    }
}

/// Asks that the present thread goes before all ordinary ones, and before those of a real-time priority that it has inherited,
/// as the command has; says whether the machine allows it.
pub fn hurry() -> bool {
    let mut priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel writes and reads one structure, which outlives the calls.
    #[allow(unsafe_code)]
    unsafe {
        libc::sched_getparam(0, &raw mut priority);
        priority.sched_priority += 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const priority) == 0
    }
}

#[cfg(test)]
pub mod tests;
