//! The settings of a live run.

use aqmlab_core::Span;
use aqmlab_scenario::{Scenario, SchemeAssignment};
use serde::Deserialize;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;

/// The options of a live run.
pub struct LiveOptions {
    /// The line.
    pub scenario: Arc<Scenario>,
    /// Scheme of all links, or of each; the scenario's own if `None`.
    pub aqm: Option<SchemeAssignment>,
    /// Of all random streams.
    pub seed: u64,
    /// Programs and settings.
    pub setup: Setup,
    /// The command is ended after this time.
    pub duration: Option<Span>,
    /// Folder for a log and a capture of each direction.
    pub log: Option<PathBuf>,
    /// The kernel's clock is virtual: it stands still while anything runs.
    pub is_virtual: bool,
    /// Time between two calls of the callback.
    pub look: Span,
}

/// Addresses of the client, in the networks set aside for benchmarks (RFC 2544, RFC 5180).
pub const CLIENT: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1))];
/// Addresses of the server.
pub const SERVER: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2)), IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2))];

/// The programs of both ends. JSON has the names of these fields; see `OsString` of serde for words.
#[derive(Clone, Debug, Deserialize)]
pub struct Setup {
    /// Program and arguments of the client.
    pub command: Vec<OsString>,
    /// Lines for a shell, each run at the far end.
    pub serve: Vec<String>,
    /// Lines for a shell, each run at the near end beside the command.
    pub also: Vec<String>,
    /// Seconds from the start of these programs to that of the command.
    pub start: f64,
    /// The folder for the output of these programs; else it is discarded.
    pub logs: Option<PathBuf>,
    /// The far end is connected to the machine's own network, by `pasta`.
    pub outside: bool,
    /// The command prints on stderr: stdout is for the result.
    pub quiet_stdout: bool,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// The command gets the terminal.
    pub foreground: bool,
    /// Settings of the kernel for both ends: `net.ipv4.tcp_ecn` and its value.
    pub sysctls: Vec<(String, String)>,
}

/// `struct __user_cap_header_struct`: version 3, of the present process.
pub static CAPABILITIES_V3: [u32; 2] = [0x2008_0522, 0];
