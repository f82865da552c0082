//! Records in which order, and when, the kernel that this runs in sends segments under a script: the first and only process of a kernel
//! in virtual time (`validation/sequences.py` starts it).
//!
//! Sender and receiver are two network namespaces with a TUN device each. This program is the path between them: a link of 10 Mbit/s,
//! 20 ms there and 20 ms back. It loses, marks, delays or holds back segments as the script says, so what happens on the path is exact.
//! The application of the sender writes at once all that it has; that of the receiver reads at once. The path takes PSH off segments:
//! a read that empties the buffer would acknowledge at once whatever ends a write (`tcp_cleanup_rbuf`), and where a single large write
//! has its ends is a matter of the receiver's window (`forced_push`).

use aqmlab_netlink::{KernelRoute, Metrics, Netlink};
use nix::libc::{self, c_int};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrIn, accept4, bind, connect, listen, recv, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORT: u16 = 5001;
const MSS: u32 = 1448;
const BITS_PER_SECOND: u64 = 10_000_000;
const DELAY: u64 = 20_000_000;
const MS: u64 = 1_000_000;
/// A script begins at a multiple of this, so that the kernel's timer wheel is in the same position for each.
const ALIGNMENT: u64 = 32_768 * MS;
const DEVICE: &str = "tun0";
/// `struct ifreq`: a name and, of a union of 24 bytes, the flags.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

#[allow(unsafe_code)] // the macros of nix make unsafe functions
mod ioctl {
    use super::{Request, c_int};
    nix::ioctl_write_ptr_bad!(set_interface, nix::request_code_write!(b'T', 202, size_of::<c_int>()), Request);
    nix::ioctl_read_bad!(bytes_that_wait, nix::libc::FIONREAD, c_int);
}

fn main() {
    let done = OpenOptions::new().append(true).open("/result.jsonl").and_then(|mut result| {
        run(&mut result).or_else(|why| writeln!(result, "{}", json!({ "error": why.to_string() })))
    });
    drop(done); // nobody is left to hear of it
    reboot(RebootMode::RB_POWER_OFF).ok();
}

fn run(result: &mut File) -> io::Result<()> {
    let order: Value = serde_json::from_str(&fs::read_to_string("/order.json")?)?;
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), None::<&str>)?;
    mount(Some("dev"), "/dev", Some("devtmpfs"), MsFlags::empty(), None::<&str>)?;
    let ends = [End::new(SENDER, RECEIVER)?, End::new(RECEIVER, SENDER)?];
    for script in order["scripts"].as_array().into_iter().flatten() {
        for law in order["laws"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let row = Recorder::record(&ends, script, law, &mut Vec::new())?;
            writeln!(result, "{row}")?;
        }
    }
    writeln!(result, "{}", json!({ "done": true }))
}

/// A host: a network namespace whose packets go through a TUN device.
struct End {
    namespace: File,
    device: File,
}

impl End {
    fn new(own: Ipv4Addr, peer: Ipv4Addr) -> io::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNET)?;
        let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        let mut request = Request { name: [0; _], flags: 0x1001, rest: [0; _] }; // IFF_TUN, IFF_NO_PI
        request.name[..DEVICE.len()].copy_from_slice(DEVICE.as_bytes());
        // SAFETY: the file is open, and the kernel reads and writes one `struct ifreq`, which `Request` has the layout of.
        #[allow(unsafe_code)]
        unsafe { ioctl::set_interface(device.as_raw_fd(), &request) }?;
        let net = Netlink::open()?;
        net.bring_up(DEVICE, Some((1500, 10_000)))?;
        net.segment_singly(DEVICE)?;
        net.add_address(DEVICE, own.into(), 32)?;
        let (from, metrics) = (Some(own.into()), Metrics::default());
        net.add_route(&KernelRoute { to: Some(peer.into()), device: DEVICE, from, table: None, metrics })?;
        set("net/ipv4/tcp_no_metrics_save", "1")?;
        set("net/ipv4/tcp_wmem", "4096 4194304 67108864")?;
        Ok(Self { namespace: File::open("/proc/self/ns/net")?, device })
    }

    fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.namespace, CloneFlags::CLONE_NEWNET)?)
    }
}

/// When a packet arrives, its number, whether at the receiver, and its bytes.
type PacketOnTheWay = (u64, u32, bool, Vec<u8>);

/// One script under one law.
struct Recorder<'a> {
    ends: &'a [End; 2],
    script: &'a Value,
    origin: u64,
    /// Packets on their way.
    on_the_way: BinaryHeap<Reverse<PacketOnTheWay>>,
    count: u32,
    link_free: u64,
    first: u32,
    port: u16,
    copies: HashMap<u32, u32>,
    sent: Vec<(u32, u64, bool)>,
    acks: Vec<(u32, u64, String)>,
    left: usize,
}

impl<'a> Recorder<'a> {
    fn record(ends: &'a [End; 2], script: &'a Value, law: &str, states: &mut Vec<Value>) -> io::Result<Value> {
        let origin = (now()? / ALIGNMENT + 1) * ALIGNMENT;
        let mut recorder = Self {
            ends,
            script,
            origin,
            on_the_way: BinaryHeap::new(),
            count: 0,
            link_free: 0,
            first: 0,
            port: 0,
            copies: HashMap::new(),
            sent: Vec::new(),
            acks: Vec::new(),
            left: number(&script["segments"]) as usize * MSS as usize,
        };
        recorder.play(law, states)?;
        let (sent, us): (Vec<u32>, Vec<f64>) =
            recorder.sent.iter().map(|(n, at, _)| (*n, at.div_euclid(100) as f64 / 10.0)).unzip();
        let cwr: Vec<usize> = (0..recorder.sent.len()).filter(|i| recorder.sent[*i].2).collect();
        let acks: Vec<Value> = recorder.acks.iter().map(|(n, at, text)| json!([n, *at as f64 / 1e3, text])).collect();
        Ok(
            json!({ "name": script["name"], "law": law, "sent": sent, "us": us, "cwr": cwr, "acks": acks, "states": states }),
        )
    }

    fn play(&mut self, law: &str, states: &mut Vec<Value>) -> io::Result<()> {
        let ends = self.ends;
        let ecn = self.script["ecn"].as_bool().unwrap_or_default();
        ends[1].enter()?;
        let room = self.script["room"].as_u64().unwrap_or(131_072);
        set("net/ipv4/tcp_rmem", &format!("4096 {room} {}", if room < 131_072 { room } else { 6 << 20 }))?;
        let listener = stream()?;
        setsockopt(&listener, sockopt::ReuseAddr, &true)?;
        if law == "dctcp" {
            setsockopt(&listener, sockopt::TcpCongestion, &OsString::from(law))?; // else no ECN (`tcp_ecn_create_request`)
        }
        bind(listener.as_raw_fd(), &address(Ipv4Addr::UNSPECIFIED))?;
        listen(&listener, Backlog::MAXCONN)?;
        ends[0].enter()?;
        set("net/ipv4/tcp_ecn", if ecn { "1" } else { "2" })?;
        let sender = stream()?;
        setsockopt(&sender, sockopt::TcpCongestion, &OsString::from(law))?;
        setsockopt(&sender, sockopt::TcpNoDelay, &true)?;
        let epoll = Epoll::new(EpollCreateFlags::empty())?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK)?;
        for (file, token) in [(ends[0].device.as_fd(), 0), (ends[1].device.as_fd(), 1), (timer.as_fd(), 2)] {
            epoll.add(file, EpollEvent::new(EpollFlags::EPOLLIN, token))?;
        }
        let (mut is_connecting, mut is_open, mut peer, mut rest) = (false, false, None::<OwnedFd>, None);
        let pause: Vec<u64> = self.script["pause"].as_array().into_iter().flatten().map(|n| number(n).into()).collect();
        let end = self.origin + 30_000 * MS;
        loop {
            let next = self.on_the_way.peek().map_or(end, |Reverse(first)| first.0);
            let next = next.min(rest.unwrap_or(end)).min(if is_connecting { end } else { self.origin });
            let at = TimeSpec::new((next / 1_000_000_000) as i64, (next % 1_000_000_000) as i64);
            timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            epoll.wait(&mut [EpollEvent::empty(); 4], EpollTimeout::NONE)?;
            timer.wait().ok();
            let now = now()?;
            if now >= end {
                break;
            }
            if !is_connecting && now >= self.origin {
                is_connecting = true;
                match connect(sender.as_raw_fd(), &address(RECEIVER)) {
                    Ok(()) | Err(nix::errno::Errno::EINPROGRESS) => {}
                    Err(why) => return Err(why.into()),
                }
            }
            while self.on_the_way.peek().is_some_and(|Reverse(first)| first.0 <= now) {
                let Some(Reverse((_, _, to_receiver, bytes))) = self.on_the_way.pop() else { break };
                (&ends[usize::from(to_receiver)].device).write_all(&bytes).ok();
                if to_receiver {
                    peer = peer.or_else(|| accepted(&listener));
                    peer.iter().for_each(read_all);
                } else if !is_open && established(&sender) {
                    is_open = true;
                    let first = pause.first().map_or(self.left, |segments| (*segments * u64::from(MSS)) as usize);
                    self.write(&sender, first)?;
                    rest = pause.get(1).map(|ms| now + ms * MS);
                }
                if self.script["states"].as_bool() == Some(true) && !to_receiver {
                    states.push(state(&sender, now - self.origin));
                }
                self.forward(now)?;
            }
            if rest.is_some_and(|rest| rest <= now) {
                rest = None;
                self.write(&sender, self.left)?;
            }
            self.forward(now)?;
            if is_open && self.left == 0 && self.on_the_way.is_empty() && unacknowledged(&sender) == 0 {
                break;
            }
        }
        for socket in [Some(sender), peer].into_iter().flatten() {
            setsockopt(&socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).ok();
        }
        self.forward(now()?)?; // resets go nowhere
        Ok(())
    }

    fn write(&mut self, sender: &OwnedFd, bytes: usize) -> io::Result<()> {
        let written = send(sender.as_raw_fd(), &vec![0; bytes], MsgFlags::MSG_NOSIGNAL)?;
        self.left -= written;
        if written < bytes { Err(io::Error::other("no room for what is written")) } else { Ok(()) }
    }

    /// Takes what the hosts have sent.
    fn forward(&mut self, now: u64) -> io::Result<()> {
        let mut bytes = [0; 2048];
        for (side, end) in self.ends.iter().enumerate() {
            loop {
                match (&end.device).read(&mut bytes) {
                    Ok(count) if bytes[0] >> 4 == 4 && bytes[9] == 6 => {
                        self.take(side == 0, bytes[..count].to_vec(), now)
                    }
                    Ok(_) => {}
                    Err(why) if why.kind() == io::ErrorKind::WouldBlock => break,
                    Err(why) => return Err(why),
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, from_sender: bool, mut bytes: Vec<u8>, now: u64) {
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (ports, seq, ack, flags) = (word(20), word(24), word(28), bytes[33]);
        let size = bytes.len() as u32 - 20 - 4 * u32::from(bytes[32] >> 4);
        let port = if from_sender { (ports >> 16) as u16 } else { ports as u16 };
        let is_syn = flags & 2 != 0;
        if from_sender && is_syn {
            (self.first, self.port) = (seq, port);
        }
        if flags & 4 != 0 || port != self.port {
            return; // a reset, or of an earlier connection
        }
        let since = now - self.origin;
        let mut at = now + DELAY;
        if !from_sender {
            let number = ack.wrapping_sub(self.first + 1) / MSS;
            self.acks.push((number, since, sacks(&bytes, self.first, flags)));
            let range: Vec<u32> = self.script["drop_acks"].as_array().into_iter().flatten().map(self::number).collect();
            if !is_syn && range.len() == 2 && (range[0]..=range[1]).contains(&number) {
                return;
            }
        } else if is_syn || size > 0 {
            let number = if is_syn { 0 } else { seq.wrapping_sub(self.first + 1) / MSS + 1 };
            let copy = self.copies.entry(number).or_default();
            *copy += 1;
            let copy = *copy;
            self.sent.push((number, since, flags & 0x80 != 0));
            let between = |key: &str, at: u64| {
                let span: Vec<u64> = self.script[key]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|n| u64::from(self::number(n)) * MS)
                    .collect();
                span.len() == 2 && (span[0]..span[1]).contains(&at)
            };
            let mut begin = since.max(self.link_free);
            if between("stall", begin) {
                begin = u64::from(self::number(&self.script["stall"][1])) * MS;
            }
            self.link_free = begin + bytes.len() as u64 * 8 * 1_000_000_000 / BITS_PER_SECOND;
            if has(self.script, "drop", number, copy) || between("outage", begin) {
                return;
            }
            if has(self.script, "mark", number, copy) && bytes[1] & 3 != 0 {
                mark(&mut bytes);
            }
            unpush(&mut bytes);
            at = self.origin + self.link_free + DELAY;
            at += late(self.script, number).filter(|_| copy == 1).unwrap_or(0);
        }
        self.count += 1;
        self.on_the_way.push(Reverse((at, self.count, from_sender, bytes)));
    }
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap_or_default() as u32
}

/// A list of the script names this copy of a segment.
fn has(script: &Value, key: &str, segment: u32, copy: u32) -> bool {
    script[key].as_array().into_iter().flatten().any(|pair| number(&pair[0]) == segment && number(&pair[1]) == copy)
}

fn late(script: &Value, segment: u32) -> Option<u64> {
    let pair = script["late"].as_array().into_iter().flatten().find(|pair| number(&pair[0]) == segment)?;
    Some((pair[1].as_f64()? * 1e6) as u64)
}

/// Clears PSH, and lets the checksum follow (RFC 1624).
fn unpush(bytes: &mut [u8]) {
    const PSH: u8 = 8;
    if bytes[33] & PSH != 0 {
        bytes[33] &= !PSH;
        let (sum, carry) = u16::from_be_bytes([bytes[36], bytes[37]]).overflowing_add(PSH.into());
        [bytes[36], bytes[37]] = (sum + u16::from(carry)).to_be_bytes();
    }
}

/// Sets CE, and the checksum of the header.
fn mark(bytes: &mut [u8]) {
    bytes[1] |= 3;
    (bytes[10], bytes[11]) = (0, 0);
    let sum: u32 = bytes[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = !((folded & 0xffff) + (folded >> 16)) as u16;
    bytes[10..12].copy_from_slice(&folded.to_be_bytes());
}

/// What else an ACK tells, as text: ECE and its blocks, in segments.
fn sacks(bytes: &[u8], first: u32, flags: u8) -> String {
    let mut told = if flags & 0x42 == 0x40 { "E".to_string() } else { String::new() };
    let end = 20 + 4 * usize::from(bytes[32] >> 4);
    let mut at = 40;
    while at + 1 < end {
        match bytes[at] {
            0 => break,
            1 => at += 1,
            kind => {
                let length = usize::from(bytes[at + 1]);
                if kind == 5 {
                    for block in bytes[at + 2..at + length].chunks(8) {
                        let segment =
                            |b: &[u8]| (u32::from_be_bytes([b[0], b[1], b[2], b[3]]).wrapping_sub(first + 1)) / MSS + 1;
                        told += &format!(" {}-{}", segment(block), segment(&block[4..]));
                    }
                }
                at += length.max(2);
            }
        }
    }
    told
}

/// `TCP_INFO` of a sender.
#[allow(unsafe_code)]
fn state(socket: &OwnedFd, at: u64) -> Value {
    let mut info = [0u8; 320];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`.
    unsafe {
        let to = info.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length);
    }
    let word = |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
    json!({ "ms": at as f64 / 1e6, "ca": info[1], "rto": word(8), "unacked": word(24), "sacked": word(28), "lost": word(32), "retrans": word(36),
            "srtt": word(68), "ssthresh": word(76), "cwnd": word(80), "pacing": u64::from(word(104)) | u64::from(word(108)) << 32 })
}

fn read_all(socket: &OwnedFd) {
    let mut bytes = vec![0; waiting(socket).max(0) as usize];
    recv(socket.as_raw_fd(), &mut bytes, MsgFlags::empty()).ok();
}

#[allow(unsafe_code)]
fn waiting(socket: &OwnedFd) -> c_int {
    let mut bytes = 0;
    // SAFETY: the kernel writes one number.
    unsafe { ioctl::bytes_that_wait(socket.as_raw_fd(), &raw mut bytes) }.map_or(0, |_| bytes)
}

fn unacknowledged(socket: &OwnedFd) -> c_int {
    nix::ioctl_read_bad!(bytes_on_their_way, libc::TIOCOUTQ, c_int);
    let mut bytes = 0;
    // SAFETY: the kernel writes one number.
    #[allow(unsafe_code)]
    let done = unsafe { bytes_on_their_way(socket.as_raw_fd(), &raw mut bytes) };
    done.map_or(0, |_| bytes)
}

fn established(socket: &OwnedFd) -> bool {
    nix::sys::socket::getpeername::<SockaddrIn>(socket.as_raw_fd()).is_ok()
}

fn accepted(listener: &OwnedFd) -> Option<OwnedFd> {
    let file = accept4(listener.as_raw_fd(), SockFlag::SOCK_NONBLOCK).ok()?;
    // SAFETY: `accept4` has just made the file, and nobody else has it.
    #[allow(unsafe_code)]
    Some(unsafe { OwnedFd::from_raw_fd(file) })
}

fn stream() -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_NONBLOCK, None)?)
}

fn address(to: Ipv4Addr) -> SockaddrIn {
    let [a, b, c, d] = to.octets();
    SockaddrIn::new(a, b, c, d, PORT)
}

fn now() -> io::Result<u64> {
    let now = clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// Sets a value under /proc/sys.
fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/{name}"), value).map_err(|why| io::Error::other(format!("{name} = {value}: {why}")))
}
