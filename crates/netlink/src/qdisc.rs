//! Queueing disciplines: set, changed, and asked for their counts.

use crate::message::{answer, attribute, next_attribute};
use crate::{Message, Netlink, message};
use nix::libc;
use nix::sys::socket::{MsgFlags, recv};
use std::io;
use std::os::fd::AsRawFd;

/// A handle of traffic control, `major:minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub u32);

/// The place of a device's own discipline.
pub const ROOT: Handle = Handle(u32::MAX);

impl Handle {
    /// `major:minor`.
    pub fn new(major: u16, minor: u16) -> Self {
        Self(u32::from(major) << 16 | u32::from(minor))
    }
}

/// Counts of a queueing discipline since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QdiscStats {
    /// Bytes that left it, link headers included.
    pub bytes: u64,
    /// Packets that left it.
    pub packets: u64,
    /// Packets that wait.
    pub waiting: u32,
    /// Packets dropped.
    pub dropped: u32,
    /// The discipline's own statistics, in a layout of its own.
    pub own: Vec<u8>,
}

impl QdiscStats {
    /// Packets marked in all tins of a CAKE.
    pub fn marked_in_tins(&self) -> u64 {
        let mut left = attribute(&self.own, TCA_CAKE_STATS_TIN_STATS).unwrap_or(&[]);
        let mut sum = 0;
        while let Some((_, tin, rest)) = next_attribute(left) {
            let marked = attribute(tin, TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS).and_then(|count| word(count, 0));
            sum += u64::from(marked.unwrap_or(0));
            left = rest;
        }
        sum
    }
}

/// A class of HTB that sends at a rate, with the least bucket: a packet leaves when the one before has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Bytes a second.
    pub rate: u64,
    /// Bytes that each packet takes on the wire beyond its own.
    pub overhead: u16,
    /// Bytes that a packet takes at least.
    pub mpu: u16,
    /// Packets are sent in cells of 48 bytes in 53.
    pub atm: bool,
}

/// Gilbert-Elliott loss: a wire is in a good or a bad state, and may change after each packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetemLoss {
    /// Probability of a change from good to bad.
    pub p: f64,
    /// Probability of a change from bad to good.
    pub r: f64,
    /// Probability that a packet is lost in the bad state.
    pub bad: f64,
    /// Probability that a packet is lost in the good state.
    pub good: f64,
}

/// The options of a netem: what it does to each packet, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Netem {
    /// Delay, ns.
    pub delay: u64,
    /// Bytes a second, if it takes time to send; the delay comes on top.
    pub rate: Option<u64>,
    /// Bytes that each packet takes then beyond its own.
    pub overhead: u16,
    /// Packets are sent in cells of 48 bytes in 53.
    pub atm: bool,
    /// Loss; a change puts it into the good state.
    pub loss: Option<NetemLoss>,
    /// Extra delays, ns: each packet takes one of them at random. None passes another if there is a rate.
    pub jitter: Vec<u64>,
    /// Seed of its random numbers; without one a change leaves them as they are.
    pub seed: Option<u64>,
}

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
const TCA_STATS_PKT64: u16 = 8;
const TCA_NETEM_DELAY_DIST: u16 = 2;
const TCA_NETEM_LOSS: u16 = 5;
const NETEM_LOSS_GE: u16 = 2;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_NETEM_PRNG_SEED: u16 = 14;
const TCA_CAKE_STATS_TIN_STATS: u16 = 10;
const TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS: u16 = 8;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const LINK_LAYER_ETHERNET: u8 = 1;
const LINK_LAYER_ATM: u8 = 2;

impl Netlink {
    /// Puts a queueing discipline in a place; `options` are the attributes in its `TCA_OPTIONS`,
    /// or the bytes of its structure, which disciplines of old have instead.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn set_qdisc(&self, device: u32, place: Handle, handle: Handle, kind: &str, options: &[u8]) -> io::Result<()> {
        let flags = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
        let body = header(device, place, handle).with_text(TCA_KIND, kind);
        let body = if options.is_empty() { body } else { body.nested(TCA_OPTIONS, &Message::of(options)) };
        self.ask(libc::RTM_NEWQDISC, flags, &body)
    }

    /// Makes `handle` an HTB with the class `handle:1`, by which all is sent.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn set_shaper(&self, device: u32, handle: Handle, shaper: Shaper) -> io::Result<()> {
        let (version, rate_to_quantum, default) = (3, 10, 1);
        let global = [version, rate_to_quantum, default, 0, 0u32].map(u32::to_ne_bytes).concat();
        let options = Message::default().with(TCA_HTB_INIT, &global);
        let flags = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
        let body = header(device, ROOT, handle).with_text(TCA_KIND, "htb").nested(TCA_OPTIONS, &options);
        self.ask(libc::RTM_NEWQDISC, flags, &body)?;
        self.change_shaper(device, handle, shaper)
    }

    /// Changes the rate of such a class.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn change_shaper(&self, device: u32, handle: Handle, shaper: Shaper) -> io::Result<()> {
        let class = Handle(handle.0 | 1);
        let flags = libc::NLM_F_CREATE as u16;
        let body = header(device, handle, class).with_text(TCA_KIND, "htb").nested(TCA_OPTIONS, &shaper.options());
        self.ask(libc::RTM_NEWTCLASS, flags, &body)
    }

    /// The counts of the discipline `handle` in `place`.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn qdisc_stats(&self, device: u32, place: Handle, handle: Handle) -> io::Result<QdiscStats> {
        self.send(libc::RTM_GETQDISC, libc::NLM_F_ECHO as u16, &header(device, place, handle))?; // the answer goes to nobody else
        let mut bytes = [0; 16384];
        let length = recv(self.socket.as_raw_fd(), &mut bytes, MsgFlags::empty())?;
        let cut = || io::Error::other("the kernel's answer is cut");
        match answer(&bytes[..length]).ok_or_else(cut)? {
            (libc::RTM_NEWQDISC, body) => stats(&body[20..]).ok_or_else(cut),
            _ => Err(io::Error::from_raw_os_error(-message::error_code(&bytes[..length]).unwrap_or(0))),
        }
    }
}

impl NetemLoss {
    fn options(self) -> Message {
        let share = |probability: f64| (probability * f64::from(u32::MAX)).round() as u32;
        let model = [share(self.p), share(self.r), share(1.0 - self.bad), share(self.good)];
        Message::default().with(NETEM_LOSS_GE, &model.map(u32::to_ne_bytes).concat())
    }
}

impl Netem {
    /// As netlink has them.
    pub fn options(&self) -> Vec<u8> {
        const ROOM: u32 = 1_000_000; // packets: never full
        let (latency, loss, gap, duplicate, jitter) = (0, 0, 0, 0, 0);
        let header = [latency, ROOM, loss, gap, duplicate, jitter].map(u32::to_ne_bytes).concat();
        let (delay, spread, table) = self.delays();
        let mut message = Message::of(&header).with(TCA_NETEM_LATENCY64, &delay.to_ne_bytes());
        if spread > 0 {
            message = message.with(TCA_NETEM_JITTER64, &spread.to_ne_bytes()).with(TCA_NETEM_DELAY_DIST, &table);
        }
        if let Some(seed) = self.seed {
            message = message.with(TCA_NETEM_PRNG_SEED, &seed.to_ne_bytes());
        }
        if let Some(loss) = self.loss {
            message = message.nested(TCA_NETEM_LOSS, &loss.options());
        }
        let Some(rate) = self.rate else { return message.into() };
        let of_32_bits = u32::try_from(rate).unwrap_or(u32::MAX);
        let (cell, cell_overhead) = if self.atm { (48, 5) } else { (0, 0) };
        let message = message.with(
            TCA_NETEM_RATE,
            &[of_32_bits, self.overhead.into(), cell, cell_overhead].map(u32::to_ne_bytes).concat(),
        );
        message.with(TCA_NETEM_RATE64, &rate.to_ne_bytes()).into()
    }

    /// The delay in the middle, the spread around it, and the table of extra delays as parts of the spread: netem adds
    /// `spread * t / 8192` of a random `t` in the table (`tabledist`).
    fn delays(&self) -> (u64, u64, Vec<u8>) {
        const SCALE: f64 = 8192.0;
        const MOST: f64 = i16::MAX as f64;
        let (Some(least), Some(greatest)) = (self.jitter.iter().min(), self.jitter.iter().max()) else {
            return (self.delay, 0, Vec::new());
        };
        let half = (greatest - least).div_ceil(2);
        let spread = (half as f64 * SCALE / MOST).ceil();
        let part = |delay: &u64| ((*delay as f64 - (least + half) as f64) / spread * SCALE).round() as i16;
        let table = self.jitter.iter().flat_map(|delay| part(delay).to_ne_bytes()).collect();
        (self.delay + least + half, spread as u64, table)
    }
}

impl Shaper {
    fn options(self) -> Message {
        let of_32_bits = u32::try_from(self.rate).unwrap_or(u32::MAX);
        let layer = if self.atm { LINK_LAYER_ATM } else { LINK_LAYER_ETHERNET };
        let mut rate = vec![0, layer];
        rate.extend(self.overhead.to_ne_bytes());
        rate.extend([0; 2]); // cell alignment
        rate.extend(self.mpu.to_ne_bytes());
        rate.extend(of_32_bits.to_ne_bytes());
        let (bucket, quantum, level, priority) = (2000 / 64, 1514, 0, 0); // 2 us: timers may be a little late
        let rest = [bucket, bucket, quantum, level, priority].map(u32::to_ne_bytes).concat();
        let options = Message::default().with(TCA_HTB_PARMS, &[rate.clone(), rate, rest].concat());
        let whole = self.rate.to_ne_bytes();
        options.with(TCA_HTB_RATE64, &whole).with(TCA_HTB_CEIL64, &whole)
    }
}

/// `struct tcmsg`.
fn header(device: u32, place: Handle, handle: Handle) -> Message {
    Message::of(&[0; 4]).and_u32(device).and_u32(handle.0).and_u32(place.0).and_u32(0)
}

/// Counts from the attributes of an answer.
fn stats(attributes: &[u8]) -> Option<QdiscStats> {
    let stats = attribute(attributes, TCA_STATS2)?;
    let (basic, queue) = (attribute(stats, TCA_STATS_BASIC)?, attribute(stats, TCA_STATS_QUEUE)?);
    let packets = attribute(stats, TCA_STATS_PKT64).and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)));
    Some(QdiscStats {
        bytes: u64::from_ne_bytes(basic.get(..8)?.try_into().ok()?),
        packets: packets.or_else(|| Some(u64::from(word(basic, 8)?)))?,
        waiting: word(queue, 0)?,
        dropped: word(queue, 8)?,
        own: attribute(stats, TCA_STATS_APP).unwrap_or(&[]).to_vec(),
    })
}

/// The number of 32 bits at this byte.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_where_the_kernel_writes_them() {
        let basic = [7u64.to_ne_bytes().to_vec(), 3u32.to_ne_bytes().to_vec(), vec![0; 4]].concat();
        let queue = [5u32, 900, 2, 0, 0].map(u32::to_ne_bytes).concat();
        let nested = Message::default().with(TCA_STATS_BASIC, &basic).with(TCA_STATS_QUEUE, &queue);
        let message = Message::default().nested(TCA_STATS2, &nested).framed(0, 0);
        let found = stats(&message[16..]).unwrap();
        assert_eq!(found, QdiscStats { bytes: 7, packets: 3, waiting: 5, dropped: 2, own: vec![] });
        assert_eq!(stats(&message[16..40]), None);
    }

    #[test]
    fn extra_delays_are_parts_of_a_spread_around_their_middle() {
        let netem = Netem { delay: 5_000_000, jitter: vec![0, 2_000_000, 20_000_000], ..Netem::default() };
        let (middle, spread, table) = netem.delays();
        let parts: Vec<i64> = table.chunks(2).map(|part| i16::from_ne_bytes([part[0], part[1]]).into()).collect();
        let delays: Vec<i64> = parts.iter().map(|t| middle as i64 + spread as i64 * t / 8192).collect();
        let wanted = [5_000_000, 7_000_000, 25_000_000];
        assert!(delays.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 400), "{delays:?}");
    }

    #[test]
    fn a_handle_is_two_halves() {
        assert_eq!(Handle::new(1, 1), Handle(0x1_0001));
    }
}
