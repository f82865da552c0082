//! quinn's client and server, whole, over a path of aqmlab in virtual time. quinn-proto does no input or output and takes the time as an
//! argument, so a transfer needs no socket, no runtime and no wait. What cannot be virtual: rustls asks the system's clock whether the
//! certificate is valid, and the keys of the handshake are random, so that the bytes of a packet differ from run to run. Times, sizes, ECN
//! fields and verdicts do not.

use aqmlab::{Delivery, Ecn, Packet, Path, Side, Verdict};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, TransportConfig,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// IPv4 and UDP.
const HEADERS: u32 = 28;
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 50_000);

/// What came of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Until the last byte had arrived, ns.
    pub time: u64,
    /// Packets sent by both ends, dropped, and marked at their end.
    pub packets: [u64; 3],
    /// Of times, sizes, ECN fields and verdicts, in order.
    pub digest: u64,
}

/// One end: quinn's endpoint with its only connection.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    side: Side,
}

/// Sends so many bytes from client to server.
pub fn transfer(scenario: &str, aqm: &str, bytes: usize) -> Transfer {
    let path = Path::new(scenario, Some(aqm), 1).expect("a scenario that is right");
    let base = Instant::now(); // only differences count
    let (client, server) = configurations();
    let end = |server: Option<ServerConfig>, seed: u8, peer, side| {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([seed; 32]));
        End {
            endpoint: Endpoint::new(Arc::new(config), server.map(Arc::new), true, None),
            connection: None,
            peer,
            side,
        }
    };
    let mut ends = [end(None, 1, SERVER, Side::Up), end(Some(server), 2, CLIENT, Side::Down)];
    ends[0].connection = Some(ends[0].endpoint.connect(base, client, SERVER, "server").expect("an address"));
    let mut run = Run { path, base, now: 0, packets: [0; 3], digest: 0xcbf2_9ce4_8422_2325 };
    let (mut written, mut read) = (0, 0);
    while read < bytes {
        for end in &mut ends {
            written = end.write(written, bytes);
            run.send(end);
            read += end.read();
        }
        let timers = ends.iter_mut().filter_map(|end| end.connection.as_mut()?.1.poll_timeout());
        let timer = timers.map(|at| at.saturating_duration_since(base).as_nanos() as u64).min();
        let due = run.path.next_event();
        run.now = run.now.max(due.into_iter().chain(timer).min().expect("something is under way"));
        if due.is_some_and(|due| due <= run.now) {
            if let Some((side, delivery)) = run.path.pop(run.now).expect("it is due") {
                run.deliver(&mut ends[usize::from(side == Side::Up)], delivery);
            }
            continue;
        }
        let instant = run.instant();
        ends.iter_mut()
            .filter_map(|end| end.connection.as_mut())
            .for_each(|(_, connection)| connection.handle_timeout(instant));
    }
    Transfer { time: run.now, packets: run.packets, digest: run.digest }
}

/// A client that trusts the server's own certificate.
fn configurations() -> (ClientConfig, ServerConfig) {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let certificate = rcgen::CertificateParams::new(vec!["server".into()]).and_then(|params| params.self_signed(&key));
    let certificate = certificate.expect("a certificate").der().clone();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let mut transport = TransportConfig::default();
    transport.initial_rtt(Duration::from_millis(100));
    let transport = Arc::new(transport);
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
    client.transport_config(transport.clone());
    let mut server = ServerConfig::with_single_cert(vec![certificate], key).expect("a server");
    server.transport_config(transport);
    (client, server)
}

/// A transfer going on.
struct Run {
    path: Path<Vec<u8>>,
    base: Instant,
    now: u64,
    packets: [u64; 3],
    digest: u64,
}

impl Run {
    fn instant(&self) -> Instant {
        self.base + Duration::from_nanos(self.now)
    }

    fn note(&mut self, value: u64) {
        self.digest = (self.digest ^ value).wrapping_mul(0x0100_0000_01b3);
    }

    /// Lets an end send what it may.
    fn send(&mut self, end: &mut End) {
        let (instant, mut data) = (self.instant(), Vec::new());
        let Some((handle, connection)) = &mut end.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = end.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(transmit) = connection.poll_transmit(instant, 1, &mut data) {
            let ecn = match transmit.ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            };
            let length = transmit.size as u32 + HEADERS;
            let packet = Packet::new(length, ecn, 1);
            let verdict = self.path.push(end.side, self.now, packet, std::mem::take(&mut data)).expect("time goes on");
            self.packets[0] += 1;
            self.note(self.now);
            let verdict = match verdict {
                Verdict::Joined => 0,
                Verdict::Marked => 1,
                Verdict::Dropped(_) => 2,
            };
            self.note(u64::from(length) << 8 | (ecn as u64) << 4 | verdict);
            while let Some((_, dropped)) = self.path.pop_dropped() {
                self.packets[1] += 1;
                self.note(dropped.at);
            }
        }
    }

    /// A packet reaches an end.
    fn deliver(&mut self, end: &mut End, delivery: Delivery<Vec<u8>>) {
        let ecn = match delivery.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        self.packets[2] += u64::from(delivery.ecn == Ecn::Ce);
        self.note(delivery.at);
        self.note((delivery.payload.len() as u64) << 8 | delivery.ecn as u64);
        let (instant, mut answer) = (self.instant(), Vec::new());
        let data = BytesMut::from(&delivery.payload[..]);
        match end.endpoint.handle(instant, end.peer, None, ecn, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                end.connection.as_mut().expect("it is this one's").1.handle_event(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                end.connection = end.endpoint.accept(incoming, instant, &mut answer, None).ok();
            }
            _ => {}
        }
    }
}

impl End {
    /// The client writes what its stream takes; returns how much it has written.
    fn write(&mut self, mut written: usize, bytes: usize) -> usize {
        let (Side::Up, Some((_, connection))) = (self.side, &mut self.connection) else { return written };
        if connection.is_handshaking() || written == bytes {
            return written;
        }
        if written == 0 && connection.streams().open(Dir::Uni).is_none() {
            return 0;
        }
        let stream = quinn_proto::StreamId::new(quinn_proto::Side::Client, Dir::Uni, 0);
        let block = [0; 16_384];
        while written < bytes {
            match connection.send_stream(stream).write(&block[..block.len().min(bytes - written)]) {
                Ok(taken) => written += taken,
                Err(_) => return written, // blocked
            }
        }
        connection.send_stream(stream).finish().expect("it is open");
        written
    }

    /// The server reads what has come; returns how much.
    fn read(&mut self) -> usize {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut read = 0;
        while let Some(event) = connection.poll() {
            let Event::Stream(StreamEvent::Opened { .. } | StreamEvent::Readable { .. }) = event else { continue };
            connection.streams().accept(Dir::Uni);
            let stream = quinn_proto::StreamId::new(quinn_proto::Side::Client, Dir::Uni, 0);
            let mut receiver = connection.recv_stream(stream);
            let Ok(mut chunks) = receiver.read(true) else { continue };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                read += chunk.bytes.len();
            }
            let _ = chunks.finalize();
        }
        read
    }
}
