//! A connection: both ends, and the application on them.

use crate::ENDS;
use crate::log::ConnectionLog;
use crate::setup::{ConnectionSetup, SERVER_NAME};
use aqmlab_aqm::Ecn;
use aqmlab_core::Time;
use aqmlab_sim::ForeignFlow;
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event,
    StreamEvent, StreamId, VarInt,
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
/// Streams that a connection divides its data among. A receiver of quinn-proto 0.11.19 gives a connection up when a stream has more than
/// 1,024 gaps. Packets carry the streams in turn, so each has its share of the gaps: of the 11,000 packets that [`WINDOW`] lets be under
/// way at most every second one can be a gap, 424 in each of 13 streams. Their number is odd, because slow start loses every second packet.
///
/// [`WINDOW`]: crate::setup::WINDOW
const STREAMS: usize = 13;
/// Code with which a stream is reset when its flow stops.
const STOPPED: VarInt = VarInt::from_u32(0);

/// A connection with some streams, which the client fills and the server reads.
pub struct QuicConnection {
    pub flow: ForeignFlow,
    pub ends: [ConnectionEnd; 2],
    /// Of each end, if there are any.
    pub logs: [Option<ConnectionLog>; 2],
    /// The client's, until it starts.
    client: Option<ClientConfig>,
    /// Bytes that the client has to send; `None` for no end.
    pub size: Option<u64>,
    /// Those that it has still to write.
    left: Option<u64>,
    /// The client's, in the order of their opening.
    streams: Vec<StreamId>,
    /// The server's.
    streams_read: Vec<StreamId>,
    /// The one of the client's that is written to next.
    next: usize,
    /// Those whose data have all been acknowledged.
    finished: usize,
    /// All is written.
    is_finishing: bool,
    /// All is acknowledged.
    is_complete: bool,
    /// It sends nothing any longer, whatever it has.
    is_stopped: bool,
    is_lost: bool,
    marks: bool,
}

/// The events at an end since it was last asked.
#[derive(Debug, Default)]
pub struct EndProgress {
    /// Bytes that the server has read.
    pub received: u64,
    /// All data of the client have been acknowledged.
    pub is_complete: bool,
    /// The connection is lost, for this reason.
    pub lost: Option<ConnectionError>,
}

/// One end.
pub struct ConnectionEnd {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
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
    pub fn new(flow: ForeignFlow, size: Option<u64>, setup: &ConnectionSetup) -> Self {
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
            size,
            left: size,
            streams: Vec::new(),
            streams_read: Vec::new(),
            next: 0,
            finished: 0,
            is_finishing: false,
            is_complete: false,
            is_stopped: false,
            is_lost: false,
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

    /// The client writes what its streams take, the server reads what has come.
    pub fn run_application(&mut self, at: usize, stopped: bool) -> EndProgress {
        let mut progress = EndProgress::default();
        let Some((_, connection)) = &mut self.ends[at].connection else { return progress };
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Finished { .. }) => {
                    self.finished += 1;
                    self.is_complete = self.left == Some(0) && self.finished == self.streams.len();
                    progress.is_complete = self.is_complete;
                }
                // An idle connection whose work is done may time out.
                Event::ConnectionLost { reason } if !self.is_complete && !self.is_stopped && !self.is_lost => {
                    self.is_lost = true;
                    progress.lost = Some(reason);
                }
                _ => {}
            }
        }
        if at == ENDS[1] {
            progress.received = read(connection, &mut self.streams_read);
        } else if stopped {
            self.is_stopped = true;
            // What is written and not yet sent would go on for long (RFC 9000, 19.4). A stream that has finished has nothing to reset.
            self.streams.iter().for_each(|stream| drop(connection.send_stream(*stream).reset(STOPPED)));
        } else if !connection.is_handshaking() && !self.is_finishing && !self.is_lost {
            self.write();
        }
        progress
    }

    /// Writes to one stream after the other until none takes more, or nothing is left.
    fn write(&mut self) {
        let Some((_, connection)) = &mut self.ends[ENDS[0]].connection else { return };
        while self.left != Some(0) {
            if self.next == self.streams.len() {
                let Some(stream) = connection.streams().open(Dir::Uni) else { return };
                self.streams.push(stream);
            }
            let most = self.left.map_or(BLOCK.len(), |left| BLOCK.len().min(left as usize));
            let Ok(taken) = connection.send_stream(self.streams[self.next]).write(&BLOCK[..most]) else { return }; // blocked
            self.left = self.left.map(|left| left - taken as u64);
            self.next = (self.next + 1) % STREAMS;
        }
        self.is_finishing = true;
        self.streams.iter().for_each(|stream| drop(connection.send_stream(*stream).finish()));
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

/// Reads all that has come on the streams of a connection, and returns how many bytes that is.
fn read(connection: &mut Connection, streams: &mut Vec<StreamId>) -> u64 {
    while let Some(stream) = connection.streams().accept(Dir::Uni) {
        streams.push(stream);
    }
    let mut read = 0;
    for stream in streams {
        let mut receiver = connection.recv_stream(*stream);
        let Ok(mut chunks) = receiver.read(true) else { continue };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            read += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }
    read
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
