//! Two network namespaces behind TUN devices, made without privileges, seen from outside.
//!
//! ```text
//!   emulator ── keeper ── init (pid 1 of a PID namespace) ─┬─ command        in the client's network namespace
//!      └───────control──────┘                              └─ serve ...      in the server's
//! ```
//!
//! To reach the outside there is one more process, which stays in the machine's own network: pasta.
//!
//! Everything dies with the emulator, even if it is killed: the keeper and init ask for it (`PR_SET_PDEATHSIG`), init
//! ends when the control socket closes, and with init the kernel ends all of its PID namespace. Namespaces, devices and
//! mounts have no name outside and go with their last process.

use crate::inside;
use crate::message::{Channel, InitMessage};
use crate::setup::Setup;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getpid};
use std::fs::File;
use std::io;

/// The reason why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The machine refused a step.
    #[error("{0}")]
    Refused(String),
    /// The machine failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The namespaces, and a way to speak with the init inside.
pub struct Sandbox {
    control: Channel,
    keeper: Pid,
    /// The device whose packets come from the client.
    pub client: File,
    /// The device whose packets come from the server.
    pub server: File,
}

impl Sandbox {
    /// Makes it; the command does not run yet.
    ///
    /// # Errors
    /// If the machine does not allow it; the message says which step failed.
    pub fn new(setup: &Setup) -> Result<Self, SandboxError> {
        let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
            .map_err(io::Error::from)?;
        let parent = getpid();
        // SAFETY: the child runs `inside::keep` only, which never returns; glibc keeps its allocator usable after a fork.
        #[allow(unsafe_code)]
        match unsafe { fork() }.map_err(io::Error::from)? {
            ForkResult::Child => {
                drop(ours);
                inside::keep(Channel::new(theirs), setup, parent)
            }
            ForkResult::Parent { child } => {
                drop(theirs);
                Self::meet(Channel::new(ours), child)
            }
        }
    }

    /// Waits until init has made everything.
    fn meet(control: Channel, keeper: Pid) -> Result<Self, SandboxError> {
        let met = control.receive_with_files();
        let refused = |why: String| {
            waitpid(keeper, None).ok();
            Err(SandboxError::Refused(why))
        };
        match met {
            Ok((InitMessage::Ready, files)) => match <[File; 2]>::try_from(files) {
                Ok([client, server]) => Ok(Self { control, keeper, client, server }),
                Err(_) => refused("the namespaces came without their devices".into()),
            },
            Ok((InitMessage::Refused(why), _)) => refused(why),
            Ok((other, _)) => refused(format!("unexpected: {other:?}")),
            Err(_) => refused("the process that makes the namespaces ended at once".into()),
        }
    }

    /// The channel to the init inside.
    pub fn control(&self) -> &Channel {
        &self.control
    }

    /// Ends everything inside, and waits for it.
    pub fn end(self) {
        let Self { control, keeper, .. } = self;
        drop(control);
        waitpid(keeper, None).ok();
    }
}
