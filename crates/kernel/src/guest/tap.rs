//! The packets that pass the devices of a namespace: a packet socket whose ring the kernel fills (packet(7)).

use crate::sockets::set;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a frame of the ring: the kernel's header, an address, and the start of a packet.
const FRAME: usize = 256;
const FRAMES: usize = 1 << 16;
const BLOCK: usize = 1 << 16;
/// Bytes of a packet that are kept.
pub const SNAP: u32 = 96;
/// Length of `struct tpacket2_hdr`, behind which the address stands.
const HEADER: usize = 32;
const TPACKET_V2: libc::c_int = 1;
const KERNEL: u32 = 0;

/// A packet at a device.
pub struct Passing<'a> {
    /// Nanoseconds since 1970, by the kernel's clock.
    pub at: u64,
    /// The device.
    pub device: u32,
    /// It leaves by the device; otherwise it came in.
    pub leaves: bool,
    /// From the link header on, as far as it is kept.
    pub frame: &'a [u8],
    /// Its whole length, bytes.
    pub length: u32,
    /// From the IP header on.
    pub packet: &'a [u8],
}

/// The ring.
pub struct Tap {
    socket: OwnedFd,
    ring: NonNull<c_void>,
    next: usize,
}

impl Tap {
    /// Of all devices of the present namespace.
    ///
    /// # Errors
    /// Of the kernel.
    #[allow(unsafe_code)]
    pub fn open() -> io::Result<Self> {
        let all = (libc::ETH_P_ALL as u16).to_be(); // only such sockets see what leaves
        // SAFETY: the call takes numbers only; the file that it returns is ours alone.
        let socket = unsafe {
            let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            if socket < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(socket)
        };
        let keep = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: SNAP };
        let filter = libc::sock_fprog { len: 1, filter: (&raw const keep).cast_mut() };
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (FRAMES * FRAME / BLOCK) as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: FRAMES as u32,
        };
        set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &TPACKET_V2)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let length = NonZeroUsize::new(FRAMES * FRAME).expect("not empty");
        // SAFETY: a fresh mapping of the socket's ring, which nothing else refers to and which lives as long as the process.
        let ring = unsafe {
            mmap(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, &socket, 0)
        }?;
        // SAFETY: of all zeros this structure says "any device"; its length is given.
        let bound = unsafe {
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = all;
            let length = size_of::<libc::sockaddr_ll>() as u32;
            libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length)
        };
        if bound < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { socket, ring, next: 0 })
    }

    /// Shows `each` packet since the last call, in order.
    #[allow(unsafe_code)]
    pub fn drain(&mut self, mut each: impl FnMut(Passing)) {
        loop {
            // SAFETY: `next` is below FRAMES, so the frame lies in the mapping, which is aligned to a page.
            let frame = unsafe { self.ring.as_ptr().cast::<u8>().add(self.next * FRAME) };
            // SAFETY: the first word of a frame is its status, which kernel and user pass back and forth.
            let status = unsafe { &*frame.cast::<AtomicU32>() };
            if status.load(Ordering::Acquire) == KERNEL {
                return;
            }
            // SAFETY: the kernel has handed the frame over, and takes it back only when the status is set below.
            let bytes = unsafe { std::slice::from_raw_parts(frame, FRAME) };
            if let Some(passing) = read(bytes) {
                each(passing);
            }
            status.store(KERNEL, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// Packets that found no room in the ring since the last call.
    #[allow(unsafe_code)]
    pub fn missed(&self) -> u32 {
        let mut counts = [0u32; 2]; // struct tpacket_stats: packets, drops
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `counts`.
        let done = unsafe {
            let to = (&raw mut counts).cast();
            libc::getsockopt(self.socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &raw mut length)
        };
        if done == 0 { counts[1] } else { 0 }
    }
}

/// A frame: `struct tpacket2_hdr`, `struct sockaddr_ll`, and the packet at the place that the header says.
fn read(frame: &[u8]) -> Option<Passing<'_>> {
    let word = |at: usize| Some(u32::from_ne_bytes(frame.get(at..at + 4)?.try_into().ok()?));
    let place = |at: usize| Some(usize::from(u16::from_ne_bytes(frame.get(at..at + 2)?.try_into().ok()?)));
    let (link, network) = (place(12)?, place(14)?);
    let end = link + word(8)? as usize;
    Some(Passing {
        at: u64::from(word(16)?) * 1_000_000_000 + u64::from(word(20)?),
        device: word(HEADER + 4)?,
        leaves: frame[HEADER + 10] == libc::PACKET_OUTGOING,
        frame: frame.get(link..end)?,
        length: word(4)?,
        packet: frame.get(network..end)?,
    })
}
