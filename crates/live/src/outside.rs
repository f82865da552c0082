//! A way out of the namespaces: `pasta` (package passt) carries what the far end forwards over sockets of the machine's own
//! network, without privileges there.

use crate::message::{Channel, InitRequest};
use crate::setup::CAPABILITIES_V3;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::{ForkResult, fork, geteuid};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};
use std::thread::sleep;
use std::time::Duration;

/// The far end's name server; pasta hands such questions to the machine's resolver.
pub const RESOLVER: &str = "198.18.1.53";

/// Options that close what pasta would open by itself: the machine's loopback at the gateway's address, and ports of either side.
const CLOSED: [&str; 9] = ["--no-map-gw", "-t", "none", "-u", "none", "-T", "none", "-U", "none"];

/// A process that still is in the network of the machine, and waits for a namespace to connect.
pub struct PastaHelper(Channel);

impl PastaHelper {
    /// Stays there, with the machine's files.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn stay() -> io::Result<Self> {
        let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        // SAFETY: the child runs `wait` only, which never returns; the process has one thread.
        #[allow(unsafe_code)]
        match unsafe { fork() }? {
            ForkResult::Child => {
                drop(ours);
                let why = wait(&Channel::new(theirs)).expect_err("an executed program does not return");
                eprintln!("Warning: pasta: {why}");
                exit(1)
            }
            ForkResult::Parent { .. } => {
                drop(theirs);
                let control = Channel::new(ours);
                control.receive::<InitRequest>()?; // it has mounts of its own now
                Ok(Self(control))
            }
        }
    }

    /// Connects the present network namespace, which `network` is; false if that takes too long.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn connect(self, network: &File) -> io::Result<bool> {
        for setting in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
            fs::write(format!("/proc/sys/{setting}"), "1").ok();
        }
        self.0.send_with_files(&InitRequest::Start, &[network.try_clone()?])?;
        let is_default = |line: &str| line.split_whitespace().nth(1) == Some("00000000");
        for _ in 0..200 {
            if fs::read_to_string("/proc/net/route")?.lines().any(is_default) {
                return Ok(true);
            }
            sleep(Duration::from_millis(10));
        }
        Ok(false)
    }
}

/// Becomes pasta when the namespace is there.
fn wait(control: &Channel) -> io::Result<std::convert::Infallible> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    control.send(&InitRequest::Start)?;
    let (_, files): (InitRequest, Vec<File>) = control.receive_with_files()?;
    let network = files.first().ok_or(io::ErrorKind::UnexpectedEof)?;
    fcntl(network, FcntlArg::F_SETFD(FdFlag::empty()))?;
    keep_privileges()?;
    let mut pasta = Command::new("pasta");
    pasta.args(["--foreground", "--quiet", "--config-net", "--netns-only", "--dns-forward", RESOLVER]).args(CLOSED);
    if geteuid().is_root() {
        pasta.args(["--runas", "0"]);
    }
    Err(pasta.arg("--netns").arg(format!("/proc/self/fd/{}", network.as_raw_fd())).exec())
}

/// Keeps this process's capabilities for programs it executes; they count in its own namespaces only.
fn keep_privileges() -> io::Result<()> {
    let mut sets = [0u32; 6]; // twice effective, permitted, inheritable
    // SAFETY: the kernel reads the header and reads or writes the sets; `prctl` takes numbers only.
    #[allow(unsafe_code)]
    unsafe {
        if libc::syscall(libc::SYS_capget, &raw const CAPABILITIES_V3, &raw mut sets) != 0 {
            return Err(io::Error::last_os_error());
        }
        (sets[2], sets[5]) = (sets[1], sets[4]);
        if libc::syscall(libc::SYS_capset, &raw const CAPABILITIES_V3, &raw const sets) != 0 {
            return Err(io::Error::last_os_error());
        }
        for capability in 0..64 {
            libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, capability, 0, 0);
        }
    }
    Ok(())
}
