//! TUN devices: packets of a network namespace as a file (Linux, Documentation/networking/tuntap.rst).

use nix::errno::Errno;
use nix::libc::{self, c_int};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Name of the device in both namespaces.
pub const DEVICE: &str = "aqm0";

/// Bytes before each packet that say how its large segments are to be cut (virtio 1.2, section 5.1.6).
pub const VIRTIO: usize = 10;

const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;

const TUN_F_CSUM: c_int = 0x01;
const TUN_F_TSO4: c_int = 0x02;
const TUN_F_TSO6: c_int = 0x04;
const TUN_F_TSO_ECN: c_int = 0x08;
const TUN_F_USO: c_int = 0x20 | 0x40;

/// `struct ifreq`: a name and, of a union of 24 bytes, the flags.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

#[allow(unsafe_code, missing_docs)] // the macros of nix make unsafe functions
mod ioctl {
    use super::Request;
    nix::ioctl_write_ptr_bad!(
        set_interface,
        nix::request_code_write!(b'T', 202, size_of::<nix::libc::c_int>()),
        Request
    );
    nix::ioctl_write_int_bad!(set_offload, nix::request_code_write!(b'T', 208, size_of::<nix::libc::c_uint>()));
}

/// Makes a device in the present network namespace. It goes with the last copy of the file.
///
/// # Errors
/// If `/dev/net/tun` is not there or may not be used.
pub fn open() -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = Request { name: [0; _], flags: IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, rest: [0; _] };
    request.name[..DEVICE.len()].copy_from_slice(DEVICE.as_bytes());
    // SAFETY: the file is open, and the kernel reads and writes one `struct ifreq`, which `Request` has the layout of.
    #[allow(unsafe_code)]
    unsafe { ioctl::set_interface(file.as_raw_fd(), &request) }?;
    let tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    // SAFETY: the argument is a number; no memory is shared.
    #[allow(unsafe_code)]
    let set = |flags| unsafe { ioctl::set_offload(file.as_raw_fd(), flags) };
    set(tcp | TUN_F_USO).or_else(|_| set(tcp))?; // USO came with Linux 6.2
    Ok(file)
}

/// Writes one packet made of parts; false if the device did not take it.
pub fn write(mut device: &File, parts: &[IoSlice]) -> bool {
    loop {
        match device.write_vectored(parts) {
            Ok(_) => return true,
            Err(error) if error.raw_os_error() == Some(Errno::EINTR as i32) => {}
            Err(_) => return false,
        }
    }
}
