//! The setup of connections: certificate, transport parameters, logs.

use crate::ENDS;
use crate::log::ConnectionLog;
use aqmlab_core::Stream;
use aqmlab_scenario::{FlowSpec, Quic, QuicControl};
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn_proto::{ClientConfig, EndpointConfig, QlogConfig, ServerConfig, TransportConfig, VarInt};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;
use std::time::Duration;

/// IPv4 and UDP, bytes.
pub const HEADERS: u32 = 28;
/// Name of the server in its certificate.
pub const SERVER_NAME: &str = "server";
/// Bytes that may be under way on a connection: quinn's window of 1.25 MB is for 100 Mbit/s and 100 ms.
pub const WINDOW: u32 = 16_000_000;
/// An Ed25519 key in PKCS #8 (RFC 8410): a fixed one, so that all handshakes have one length. It protects nothing.
const KEY: [u8; 48] = {
    let mut der = [7; 48];
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let mut i = 0;
    while i < head.len() {
        der[i] = head[i];
        i += 1;
    }
    der
};

/// The server's certificate, signed by itself.
pub struct ServerIdentity {
    certificate: CertificateDer<'static>,
}

impl ServerIdentity {
    pub fn new() -> Self {
        let key = PrivatePkcs8KeyDer::from(&KEY[..]);
        let key =
            rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&key, &rcgen::PKCS_ED25519).expect("a key that is right");
        let mut params = rcgen::CertificateParams::new(vec![SERVER_NAME.into()]).expect("a name that is right");
        params.serial_number = Some(1u64.into());
        Self { certificate: params.self_signed(&key).expect("a certificate that is right").der().clone() }
    }
}

/// The setup of a connection.
pub struct ConnectionSetup<'a> {
    pub quic: &'a Quic,
    pub spec: &'a FlowSpec,
    pub identity: &'a ServerIdentity,
    /// That of the run, and the connection's number.
    pub seed: [u64; 2],
    /// Of both ends.
    pub logs: [Option<ConnectionLog>; 2],
}

impl ConnectionSetup<'_> {
    /// That of an end, with random numbers of its own.
    pub fn endpoint(&self, at: usize) -> EndpointConfig {
        let mut config = EndpointConfig::default();
        let mut rng = Stream::new(self.seed[0], "quic", 2 * self.seed[1] + at as u64);
        config.rng_seed(Some(std::array::from_fn(|_| (rng.uniform() * 256.0) as u8)));
        config
    }

    /// Of the client, which sends and trusts the server's own certificate.
    pub fn client(&self) -> ClientConfig {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.identity.certificate.clone()).expect("a certificate that is right");
        let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("roots that are right");
        client.transport_config(Arc::new(self.transport(ENDS[0])));
        client
    }

    pub fn server(&self) -> ServerConfig {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY.to_vec()));
        let chain = vec![self.identity.certificate.clone()];
        let mut server = ServerConfig::with_single_cert(chain, key).expect("a certificate that is right");
        server.transport_config(Arc::new(self.transport(ENDS[1])));
        server
    }

    /// That of an end.
    fn transport(&self, at: usize) -> TransportConfig {
        let log = self.logs[at].clone().and_then(|log| {
            let mut config = QlogConfig::default();
            config.writer(Box::new(log));
            config.into_stream()
        });
        let mut transport = TransportConfig::default();
        transport
            .initial_rtt(Duration::from_millis(333)) // RFC 9002, section 6.2.2
            .initial_mtu(self.spec.payload as u16)
            .mtu_discovery_config(None)
            .send_window(WINDOW.into())
            .stream_receive_window(VarInt::from_u32(WINDOW))
            .qlog_stream(log);
        match self.quic.control {
            QuicControl::Cubic => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
            QuicControl::NewReno => transport.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
            QuicControl::Bbr => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        };
        transport
    }
}
