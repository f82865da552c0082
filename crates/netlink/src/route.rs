//! Routes and rules of policy routing.

use crate::{CREATE, Message, Netlink, bytes, family};
use nix::libc;
use nix::net::if_::if_nametoindex;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// A route to one address, or to all.
pub struct KernelRoute<'a> {
    /// The address; all IPv4 addresses if `None`.
    pub to: Option<IpAddr>,
    /// The device that leads there.
    pub device: &'a str,
    /// Source address of what starts here.
    pub from: Option<IpAddr>,
    /// Its table; the main one if `None`.
    pub table: Option<u32>,
    /// Metrics of TCP.
    pub metrics: Metrics,
}

/// Metrics of a route that TCP reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Connections ask for ECN.
    pub ecn: bool,
    /// Initial window, segments.
    pub initial_window: Option<u32>,
    /// Congestion control of connections that come this way: a receiver takes DCTCP's SYN, which is ECN-capable, for one that may
    /// have ECN only if it has that law itself (`tcp_ecn_create_request`).
    pub law: Option<&'static str>,
}

const BOOT: u8 = 3; // RTPROT_BOOT
const RTAX_INITCWND: u16 = 11;
const RTAX_FEATURES: u16 = 12;
const RTAX_CC_ALGO: u16 = 16;
const FEATURE_ECN: u32 = 1;
const FR_ACT_TO_TBL: u8 = 1;
const FRA_IIFNAME: u16 = 3;
const FRA_TABLE: u16 = 15;

impl Netlink {
    /// Sends everything that has no better route to `gateway`.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn add_default_route(&self, device: &str, gateway: IpAddr) -> io::Result<()> {
        let body = header(gateway, 0, libc::RT_TABLE_MAIN, libc::RT_SCOPE_UNIVERSE);
        let body = body.with(libc::RTA_GATEWAY, &bytes(gateway)).with_u32(libc::RTA_OIF, if_nametoindex(device)?);
        self.ask(libc::RTM_NEWROUTE, CREATE, &body)
    }

    /// Adds a route.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn add_route(&self, route: &KernelRoute) -> io::Result<()> {
        let address = route.to.map_or_else(Vec::new, bytes);
        let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let bits = 8 * address.len() as u8;
        let mut body = header(route.to.unwrap_or(any), bits, libc::RT_TABLE_UNSPEC, libc::RT_SCOPE_LINK);
        if bits > 0 {
            body = body.with(libc::RTA_DST, &address);
        }
        body = body.with_u32(libc::RTA_OIF, if_nametoindex(route.device)?);
        body = body.with_u32(libc::RTA_TABLE, route.table.unwrap_or(libc::RT_TABLE_MAIN.into()));
        if let Some(from) = route.from {
            body = body.with(libc::RTA_PREFSRC, &bytes(from));
        }
        if route.metrics != Metrics::default() {
            body = body.nested(libc::RTA_METRICS, &route.metrics.message());
        }
        self.ask(libc::RTM_NEWROUTE, CREATE, &body)
    }

    /// Routes by `table` what comes in by `device`.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn add_rule(&self, device: &str, table: u32) -> io::Result<()> {
        let body = Message::of(&[libc::AF_INET as u8, 0, 0, 0, libc::RT_TABLE_UNSPEC, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0]);
        let body = body.with_text(FRA_IIFNAME, device).with_u32(FRA_TABLE, table);
        self.ask(libc::RTM_NEWRULE, CREATE, &body)
    }
}

impl Metrics {
    fn message(self) -> Message {
        let message = Message::default().with_u32(RTAX_FEATURES, if self.ecn { FEATURE_ECN } else { 0 });
        let message = self.law.into_iter().fold(message, |message, law| message.with_text(RTAX_CC_ALGO, law));
        self.initial_window.into_iter().fold(message, |message, window| message.with_u32(RTAX_INITCWND, window))
    }
}

/// `struct rtmsg`.
fn header(to: IpAddr, bits: u8, table: u8, scope: u8) -> Message {
    Message::of(&[family(to), bits, 0, 0, table, BOOT, scope, libc::RTN_UNICAST, 0, 0, 0, 0])
}
