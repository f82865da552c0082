//! A connection: both ends, and the application on them.

use crate::ENDS;
use crate::log::ConnectionLog;
use crate::setup::{ConnectionSetup, SERVER_NAME};
use aqmlab_aqm::Ecn;
use aqmlab_core::Time;
use aqmlab_sim::ForeignFlow;
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, StreamEvent, StreamId,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

const ADDRESSES: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 50_000),
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 443),
];
/// What the application writes at once.
const BLOCK: [u8; 16_384] = [0; 16_384];

/// A connection with one stream, which the client fills and the server reads.
pub struct QuicConnection {
    pub flow: ForeignFlow,
    pub ends: [ConnectionEnd; 2],
    /// Of each end, if there are any.
    pub logs: [Option<ConnectionLog>; 2],
    /// The client's, until it starts.
    client: Option<ClientConfig>,
    /// Bytes that the client has still to write; `None` for no end.
    left: Option<u64>,
    stream: Option<StreamId>,
    is_ended: bool,
    marks: bool,
}

/// One end.
pub struct ConnectionEnd {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, quinn_proto::Connection)>,
    /// The time at which it is to act by itself, as has been arranged.
    pub arranged: Option<Time>,
}

impl ConnectionEnd {
    /// The time at which it is to act by itself.
    pub fn due(&mut self, now: Instant) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout().map(|due| due.max(now))
    }
}

impl QuicConnection {
    /// Before its start, with so many bytes to send.
    pub fn new(flow: ForeignFlow, left: Option<u64>, setup: &ConnectionSetup) -> Self {
        let end = |at: usize| {
            let server = (at == ENDS[1]).then(|| Arc::new(setup.server()));
            let endpoint = Endpoint::new(Arc::new(setup.endpoint(at)), server, false, None);
            ConnectionEnd { endpoint, connection: None, arranged: (at == ENDS[0]).then_some(flow.start) }
        };
        Self {
            flow,
            ends: ENDS.map(end),
            logs: setup.logs.clone(),
            client: Some(setup.client()),
            left,
            stream: None,
            is_ended: false,
            marks: setup.spec.ecn.is_capable(),
        }
    }

    /// An end is to act: the client starts, or a timer has expired.
    pub fn timer(&mut self, at: usize, now: Instant) {
        let end = &mut self.ends[at];
        end.arranged = None;
        match (&mut end.connection, self.client.take()) {
            (Some((_, connection)), _) => connection.handle_timeout(now),
            (none, Some(config)) => {
                let made = end.endpoint.connect(now, config, ADDRESSES[ENDS[1]], SERVER_NAME);
                *none = Some(made.expect("addresses and configuration that are right"));
            }
            (None, None) => {}
        }
    }

    /// A datagram arrives at an end.
    pub fn receive(&mut self, at: usize, now: Instant, data: &[u8], ecn: Ecn) {
        let (end, mut answer) = (&mut self.ends[at], Vec::new());
        let from = ADDRESSES[1 - at];
        if let Some(log) = &self.logs[at] {
            log.datagram("received", data.len(), ecn);
        }
        match end.endpoint.handle(now, from, None, codepoint(ecn), BytesMut::from(data), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut end.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if end.connection.is_none() => {
                end.connection = end.endpoint.accept(incoming, now, &mut answer, None).ok();
            }
            _ => {}
        }
    }

    /// The client writes what its stream takes, the server reads what has come; returns how many bytes have.
    pub fn run_application(&mut self, at: usize, stopped: bool) -> u64 {
        if at == ENDS[1] {
            return self.read();
        }
        let Some((_, connection)) = &mut self.ends[at].connection else { return 0 };
        while connection.poll().is_some() {}
        if connection.is_handshaking() || self.is_ended {
            return 0;
        }
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(stream) = self.stream else { return 0 };
        let mut sender = connection.send_stream(stream);
        while !stopped && self.left != Some(0) {
            let most = self.left.map_or(BLOCK.len(), |left| BLOCK.len().min(left as usize));
            let Ok(taken) = sender.write(&BLOCK[..most]) else { return 0 }; // blocked
            self.left = self.left.map(|left| left - taken as u64);
        }
        self.is_ended = sender.finish().is_ok();
        0
    }

    fn read(&mut self) -> u64 {
        let Some((_, connection)) = &mut self.ends[ENDS[1]].connection else { return 0 };
        let mut read = 0;
        while let Some(event) = connection.poll() {
            let Event::Stream(StreamEvent::Opened { .. } | StreamEvent::Readable { .. }) = event else { continue };
            while let Some(stream) = connection.streams().accept(Dir::Uni) {
                self.stream.get_or_insert(stream);
            }
            let Some(stream) = self.stream else { continue };
            let mut receiver = connection.recv_stream(stream);
            let Ok(mut chunks) = receiver.read(true) else { continue };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                read += chunk.bytes.len() as u64;
            }
            let _ = chunks.finalize();
        }
        read
    }

    /// Lets an end send what it may.
    pub fn transmit(&mut self, at: usize, now: Instant, mut send: impl FnMut(Vec<u8>, Ecn)) {
        let end = &mut self.ends[at];
        let Some((handle, connection)) = &mut end.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = end.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        let mut data = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut data) {
            let ecn = if self.marks { ecn_of(transmit.ecn) } else { Ecn::NotEct };
            if let Some(log) = &self.logs[at] {
                log.datagram("sent", data.len(), ecn);
            }
            send(std::mem::take(&mut data), ecn);
        }
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn ecn_of(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
