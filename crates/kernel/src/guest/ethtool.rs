//! Offloads of a device, by the old interface of ethtool, which needs no more than an `ioctl`.

use nix::libc;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Turns an offload off.
#[allow(unsafe_code)]
pub fn turn_off(device: &str, offload: u32) -> io::Result<()> {
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    let mut value = [offload, 0]; // struct ethtool_value
    // SAFETY: of all zeros the structure is a request without a name; the name is shorter than its room, which ends in a zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the kernel reads the request and the two numbers that it points to, which live until the call returns.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
