//! Addresses and routes of a network namespace, asked of the kernel by rtnetlink (RFC 3549).

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// A conversation with the kernel about the present namespace.
pub struct Netlink {
    socket: OwnedFd,
}

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
        let mut body = link_message(if_nametoindex(device)?, libc::IFF_UP as u32);
        if let Some((mtu, queue)) = sizes {
            attribute(&mut body, libc::IFLA_MTU, &mtu.to_ne_bytes());
            attribute(&mut body, libc::IFLA_TXQLEN, &queue.to_ne_bytes());
        }
        self.ask(libc::RTM_NEWLINK, 0, &body)
    }

    /// Gives a device an address within a network of so many bits.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn add_address(&self, device: &str, address: IpAddr, bits: u8) -> io::Result<()> {
        let mut body = vec![family(address), bits, libc::IFA_F_NODAD as u8, 0];
        body.extend(if_nametoindex(device)?.to_ne_bytes());
        attribute(&mut body, libc::IFA_LOCAL, &bytes(address));
        attribute(&mut body, libc::IFA_ADDRESS, &bytes(address));
        self.ask(libc::RTM_NEWADDR, (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16, &body)
    }

    /// Sends everything that has no better route to `gateway`.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn add_default_route(&self, device: &str, gateway: IpAddr) -> io::Result<()> {
        const STATIC: u8 = 4;
        let mut body = vec![family(gateway), 0, 0, 0, libc::RT_TABLE_MAIN, STATIC, libc::RT_SCOPE_UNIVERSE];
        body.extend([libc::RTN_UNICAST, 0, 0, 0, 0]);
        attribute(&mut body, libc::RTA_GATEWAY, &bytes(gateway));
        attribute(&mut body, libc::RTA_OIF, &if_nametoindex(device)?.to_ne_bytes());
        self.ask(libc::RTM_NEWROUTE, (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16, &body)
    }

    /// Sends a request and waits for the kernel's word on it.
    fn ask(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut message = ((16 + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend([kind.to_ne_bytes(), flags.to_ne_bytes()].concat());
        message.extend([0; 8]);
        message.extend(body);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        let mut answer = [0; 1024];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        match answer[..length].get(16..20).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(-code)),
            None => Err(io::Error::other("the kernel's answer is cut")),
        }
    }
}

/// `struct ifinfomsg` that sets flags.
fn link_message(index: u32, flags: u32) -> Vec<u8> {
    let mut body = vec![libc::AF_UNSPEC as u8, 0, 0, 0];
    [index, flags, flags].iter().for_each(|word| body.extend(word.to_ne_bytes()));
    body
}

fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(((4 + value.len()) as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
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
