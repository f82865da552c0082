//! Messages between the emulator and the init inside: JSON, one message a packet.

use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, send, sendmsg};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// A message of init.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InitMessage {
    /// All is made; the two devices come along.
    Ready,
    /// A step was refused.
    Refused(String),
    /// The command could not be started: the code a shell would give, and why.
    NotStarted(i32, String),
    /// Something went wrong that the user should know.
    Warning(String),
    /// The command has ended with this code, 128 and the number of the signal if one has killed it.
    Ended(i32),
    /// The kernel's counts at the devices of the client and the server.
    Counts(DeviceCounts, DeviceCounts),
}

/// A request of the emulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InitRequest {
    /// Run it.
    Start,
    /// Send the command a signal.
    Signal(i32),
    /// End all processes and count.
    Count,
}

/// The kernel's counts at a device, from its namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// Taken by the emulator; a large segment counts as one.
    pub sent: u64,
    /// Lost because the emulator did not take them in time.
    pub overrun: u64,
    /// Given by the emulator.
    pub received: u64,
    /// Not taken from the emulator.
    pub refused: u64,
}

/// One end of the conversation.
pub struct Channel(OwnedFd);

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Channel {
    /// Over a socket that keeps packets apart.
    pub fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Says something.
    ///
    /// # Errors
    /// If nobody listens.
    pub fn send(&self, what: &impl Serialize) -> io::Result<()> {
        send(self.0.as_raw_fd(), &serde_json::to_vec(what)?, MsgFlags::MSG_NOSIGNAL)?;
        Ok(())
    }

    /// Says something and hands files over.
    ///
    /// # Errors
    /// If nobody listens.
    pub fn send_with_files(&self, what: &impl Serialize, files: &[File]) -> io::Result<()> {
        let (text, files) = (serde_json::to_vec(what)?, files.iter().map(AsRawFd::as_raw_fd).collect::<Vec<RawFd>>());
        let (text, rights) = ([IoSlice::new(&text)], [ControlMessage::ScmRights(&files)]);
        sendmsg::<()>(self.0.as_raw_fd(), &text, &rights, MsgFlags::MSG_NOSIGNAL, None)?;
        Ok(())
    }

    /// Waits for the next message; an error if the other end has closed.
    ///
    /// # Errors
    /// If the other end has closed or says what is unknown.
    pub fn receive<T: for<'a> Deserialize<'a>>(&self) -> io::Result<T> {
        Ok(self.receive_with_files()?.0)
    }

    /// The same, with the files that come along.
    ///
    /// # Errors
    /// As `receive`.
    pub fn receive_with_files<T: for<'a> Deserialize<'a>>(&self) -> io::Result<(T, Vec<File>)> {
        let (mut text, mut space) = ([0; 8192], cmsg_space!([RawFd; 2]));
        let mut parts = [IoSliceMut::new(&mut text)];
        let message = recvmsg::<()>(self.0.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
        let mut files = Vec::new();
        for rights in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(received) = rights {
                // SAFETY: the kernel has just made these descriptors for us, and nobody else knows them.
                #[allow(unsafe_code)]
                files.extend(received.into_iter().map(|file| unsafe { File::from_raw_fd(file) }));
            }
        }
        let length = message.bytes;
        match length {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok((serde_json::from_slice(&text[..length])?, files)),
        }
    }
}
