//! Sockets as a scenario's flows need them.

use aqmlab_aqm::Ecn;
use aqmlab_kernel::law_of_linux;
use aqmlab_scenario::FlowSpec;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrIn, accept4, bind, connect, getpeername, getsockname,
    listen, recv, send, setsockopt, socket, sockopt,
};
use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Port of the receivers.
const PORT: u16 = 5001;
/// Bytes that are written, or read, at once.
pub const CHUNK: usize = 1 << 17;
/// Bytes of TCP's options on each segment: time stamps, which the kernel counts as a part of the segment.
const TIMESTAMPS: u32 = 12;
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// An address and a port: they name a flow to its receiver.
pub type Name = (Ipv4Addr, u16);

/// The counters that TCP has of a connection, of which only these are asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Segments sent again.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

/// A socket that waits for connections, in the present namespace.
pub fn listener() -> io::Result<OwnedFd> {
    let socket = stream()?;
    bind(socket.as_raw_fd(), &SockaddrIn::new(0, 0, 0, 0, PORT))?;
    listen(&socket, Backlog::MAXCONN)?;
    Ok(socket)
}

/// A socket that takes datagrams, in the present namespace.
pub fn sink() -> io::Result<OwnedFd> {
    let socket = datagrams()?;
    setsockopt(&socket, sockopt::RcvBufForce, &(1 << 24))?;
    bind(socket.as_raw_fd(), &SockaddrIn::new(0, 0, 0, 0, PORT))?;
    Ok(socket)
}

/// A connection of this group to a receiver, under way.
pub fn connection(flows: &FlowSpec, to: Ipv4Addr) -> io::Result<OwnedFd> {
    let socket = stream()?;
    let law = law_of_linux(flows.control.name()).unwrap_or("cubic");
    setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(law))?;
    setsockopt(&socket, sockopt::TcpMaxSeg, &(flows.payload + TIMESTAMPS))?;
    setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
    set_class(&socket, flows)?;
    if let Some(rate) = flows.max_pacing_rate {
        set(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &((rate.0 / 8.0).round() as u64))?;
    }
    match connect(socket.as_raw_fd(), &address(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket),
        Err(why) => Err(why.into()),
    }
}

/// A source of datagrams of this group to a receiver.
pub fn source(flows: &FlowSpec, to: Ipv4Addr) -> io::Result<OwnedFd> {
    let socket = datagrams()?;
    setsockopt(&socket, sockopt::SndBuf, &(1 << 22))?;
    set_class(&socket, flows)?;
    connect(socket.as_raw_fd(), &address(to))?;
    Ok(socket)
}

/// The next connection that waits, and the name of its sender.
pub fn accept(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, Name)>> {
    match accept4(listener.as_raw_fd(), SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC) {
        Ok(file) => {
            // SAFETY: `accept4` has just made the file, and nobody else has it.
            #[allow(unsafe_code)]
            let socket = unsafe { OwnedFd::from_raw_fd(file) };
            let peer: SockaddrIn = getpeername(socket.as_raw_fd())?;
            Ok(Some((socket, (peer.ip(), peer.port()))))
        }
        Err(Errno::EAGAIN | Errno::ECONNABORTED) => Ok(None),
        Err(why) => Err(why.into()),
    }
}

/// The name of this end.
pub fn name(socket: &OwnedFd) -> io::Result<Name> {
    let own: SockaddrIn = getsockname(socket.as_raw_fd())?;
    Ok((own.ip(), own.port()))
}

/// Writes at most `most` bytes; how many there was room for.
pub fn write(socket: &OwnedFd, most: u64) -> io::Result<u64> {
    let mut written = 0;
    while written < most {
        let chunk = (most - written).min(CHUNK as u64) as usize;
        match send(socket.as_raw_fd(), &ZEROS[..chunk], MsgFlags::MSG_NOSIGNAL) {
            Ok(sent) => written += sent as u64,
            Err(Errno::EAGAIN) => break,
            Err(why) => return Err(why.into()),
        }
    }
    Ok(written)
}

/// Takes what has arrived in order, as much as there is room for; `None` at the end. What is cut is not copied to the room: nobody
/// looks at it.
pub fn read(socket: &OwnedFd, room: &mut [u8]) -> io::Result<Option<u64>> {
    match recv(socket.as_raw_fd(), room, MsgFlags::MSG_TRUNC) {
        Ok(0) => Ok(None),
        Ok(taken) => Ok(Some(taken as u64)),
        Err(Errno::EAGAIN) => Ok(Some(0)),
        Err(Errno::ECONNRESET) => Ok(None),
        Err(why) => Err(why.into()),
    }
}

/// Sends a datagram; false if there is no room.
pub fn emit(socket: &OwnedFd, size: usize) -> io::Result<bool> {
    match send(socket.as_raw_fd(), &ZEROS[..size], MsgFlags::empty()) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ECONNREFUSED) => Ok(false),
        Err(why) => Err(why.into()),
    }
}

/// The names of the senders of all datagrams that wait.
pub fn received(sink: &OwnedFd) -> io::Result<Vec<Name>> {
    let mut from = Vec::new();
    let mut bytes = [0; 64];
    loop {
        match nix::sys::socket::recvfrom::<SockaddrIn>(sink.as_raw_fd(), &mut bytes) {
            Ok((_, Some(sender))) => from.push((sender.ip(), sender.port())),
            Ok((_, None)) => {}
            Err(Errno::EAGAIN) => return Ok(from),
            Err(why) => return Err(why.into()),
        }
    }
}

/// Wakes who waits for the socket's error queue when what was written is acknowledged.
pub fn tell_of_acks(socket: &OwnedFd) -> io::Result<()> {
    use nix::sys::socket::TimestampingFlag as Flag;
    let flags = Flag::SOF_TIMESTAMPING_SOFTWARE | Flag::from_bits_retain(libc::SOF_TIMESTAMPING_TX_ACK);
    let flags = flags | Flag::from_bits_retain(libc::SOF_TIMESTAMPING_OPT_TSONLY);
    Ok(setsockopt(socket, sockopt::Timestamping, &flags)?)
}

/// Empties the error queue.
pub fn hear_of_acks(socket: &OwnedFd) {
    let mut bytes = [0; 64];
    while recv(socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_ERRQUEUE).is_ok() {}
}

/// The error by which a connection has ended, if it has.
pub fn failure(socket: &OwnedFd) -> Option<i32> {
    nix::sys::socket::getsockopt(socket, sockopt::SocketError).ok().filter(|code| *code != 0)
}

/// Bytes that were written and not acknowledged yet.
pub fn unacknowledged(socket: &OwnedFd) -> u64 {
    nix::ioctl_read_bad!(bytes_on_their_way, libc::TIOCOUTQ, libc::c_int);
    let mut bytes = 0;
    // SAFETY: the kernel writes one number.
    #[allow(unsafe_code)]
    let done = unsafe { bytes_on_their_way(socket.as_raw_fd(), &raw mut bytes) };
    done.map_or(0, |_| bytes as u64)
}

/// Bytes that have arrived in order and were not read.
pub fn unread(socket: &OwnedFd) -> u64 {
    nix::ioctl_read_bad!(bytes_that_wait, libc::FIONREAD, libc::c_int);
    let mut bytes = 0;
    // SAFETY: the kernel writes one number.
    #[allow(unsafe_code)]
    let done = unsafe { bytes_that_wait(socket.as_raw_fd(), &raw mut bytes) };
    done.map_or(0, |_| bytes as u64)
}

/// Closes a connection at once: what is not sent yet is not sent.
pub fn abort(socket: OwnedFd) {
    setsockopt(&socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).ok();
}

/// Counts of a connection.
#[allow(unsafe_code)]
pub fn counters(socket: &OwnedFd) -> Counters {
    const TOTAL_RETRANS: usize = 100;
    const TOTAL_RTO: usize = 240;
    let mut info = [0u8; 320]; // struct tcp_info, which grows at its end
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`.
    let done = unsafe {
        let to = info.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
    };
    if done < 0 {
        return Counters::default();
    }
    let long = u32::from_ne_bytes(info[TOTAL_RETRANS..TOTAL_RETRANS + 4].try_into().unwrap_or_default());
    let short = u16::from_ne_bytes(info[TOTAL_RTO..TOTAL_RTO + 2].try_into().unwrap_or_default());
    Counters { retransmits: long.into(), timeouts: short.into() }
}

/// Sets an option of a socket that `nix` does not have.
#[allow(unsafe_code)]
pub fn set<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads the bytes of `value` only.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), size_of::<T>() as u32)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn stream() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket(AddressFamily::Inet, SockType::Stream, flags, None)?)
}

fn datagrams() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket(AddressFamily::Inet, SockType::Datagram, flags, None)?)
}

/// DSCP and, of datagrams, ECN field.
fn set_class(socket: &impl AsFd, flows: &FlowSpec) -> io::Result<()> {
    let ecn = if flows.traffic.is_udp() { flows.ecn } else { Ecn::NotEct };
    let field = i32::from(flows.dscp) << 2 | ecn as i32;
    Ok(setsockopt(socket, sockopt::Ipv4Tos, &field)?)
}

fn address(to: Ipv4Addr) -> SockaddrIn {
    let [a, b, c, d] = to.octets();
    SockaddrIn::new(a, b, c, d, PORT)
}
