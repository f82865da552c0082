//! Devices, addresses, routes and queueing disciplines of a network namespace, asked of the kernel by rtnetlink (RFC 3549).

mod message;
mod qdisc;
mod route;

pub use message::Message;
pub use qdisc::{Handle, Netem, NetemLoss, QdiscStats, ROOT, Shaper};
pub use route::{KernelRoute, Metrics};

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A conversation with the kernel about the network namespace in which it was opened.
pub struct Netlink {
    socket: OwnedFd,
}

/// One end of a pair of virtual Ethernet devices.
pub struct VethEnd<'a> {
    /// Name of the device.
    pub name: &'a str,
    /// File of the namespace that it goes to; the present one if `None`.
    pub namespace: Option<RawFd>,
}

const CREATE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
const VETH_INFO_PEER: u16 = 1;

impl Netlink {
    /// Opens it.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        Ok(Self { socket })
    }

    /// Brings a device up; `mtu` and the length of its queue are left as they are where `None`.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn bring_up(&self, device: &str, sizes: Option<(u32, u32)>) -> io::Result<()> {
        let mut body = device_header(if_nametoindex(device)?, libc::IFF_UP as u32);
        if let Some((mtu, queue)) = sizes {
            body = body.with_u32(libc::IFLA_MTU, mtu).with_u32(libc::IFLA_TXQLEN, queue);
        }
        self.ask(libc::RTM_NEWLINK, 0, &body)
    }

    /// Segments leave by a device one by one: sockets are not allowed to hand it several in one, or to wait for them
    /// (`sk_setup_caps`, `tcp_tso_segs`).
    ///
    /// # Errors
    /// Of the kernel.
    pub fn segment_singly(&self, device: &str) -> io::Result<()> {
        let body = device_header(if_nametoindex(device)?, 0).with_u32(libc::IFLA_GSO_MAX_SEGS, 1);
        self.ask(libc::RTM_NEWLINK, 0, &body)
    }

    /// Makes two devices that are joined by a wire without addresses of its own: both ends have the same hardware
    /// address, so that nobody asks for one (no ARP).
    ///
    /// # Errors
    /// Of the kernel.
    pub fn add_wire(&self, ends: [VethEnd; 2], address: [u8; 6], mtu: u32) -> io::Result<()> {
        let describe = |end: &VethEnd| {
            let body = device_header(0, libc::IFF_NOARP as u32);
            let body = body.with_text(libc::IFLA_IFNAME, end.name).with(libc::IFLA_ADDRESS, &address);
            let body = body.with_u32(libc::IFLA_MTU, mtu);
            match end.namespace {
                Some(file) => body.with_u32(libc::IFLA_NET_NS_FD, file as u32),
                None => body,
            }
        };
        let [near, far] = [describe(&ends[0]), describe(&ends[1])];
        let data = Message::default().nested(VETH_INFO_PEER, &far);
        let info = Message::default().with_text(libc::IFLA_INFO_KIND, "veth").nested(libc::IFLA_INFO_DATA, &data);
        self.ask(libc::RTM_NEWLINK, CREATE, &near.nested(libc::IFLA_LINKINFO, &info))
    }

    /// Gives a device an address within a network of so many bits.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn add_address(&self, device: &str, address: IpAddr, bits: u8) -> io::Result<()> {
        let body = Message::of(&[family(address), bits, libc::IFA_F_NODAD as u8, 0]).and_u32(if_nametoindex(device)?);
        let body = body.with(libc::IFA_LOCAL, &bytes(address)).with(libc::IFA_ADDRESS, &bytes(address));
        self.ask(libc::RTM_NEWADDR, CREATE, &body)
    }

    /// Sends a request and waits for the kernel's word on it.
    fn ask(&self, kind: u16, flags: u16, body: &Message) -> io::Result<()> {
        self.send(kind, flags | libc::NLM_F_ACK as u16, body)?;
        let mut answer = [0; 4096];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        match message::error_code(&answer[..length]) {
            Some(0) => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(-code)),
            None => Err(io::Error::other("the kernel's answer is cut")),
        }
    }

    fn send(&self, kind: u16, flags: u16, body: &Message) -> io::Result<()> {
        send(self.socket.as_raw_fd(), &body.framed(kind, flags | libc::NLM_F_REQUEST as u16), MsgFlags::empty())?;
        Ok(())
    }
}

/// `struct ifinfomsg` that sets flags.
fn device_header(index: u32, flags: u32) -> Message {
    Message::of(&[libc::AF_UNSPEC as u8, 0, 0, 0]).and_u32(index).and_u32(flags).and_u32(flags)
}

fn family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
