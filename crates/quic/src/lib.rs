//! QUIC connections as flows of a scenario: quinn's client and server, whole, beside the simulator's own senders in the same queues.
//!
//! `quinn-proto` does no input or output and takes the time as an argument, so its connections live in virtual time. They are foreign
//! flows of the simulation ([`Simulation::hosting`]): this crate hands in their datagrams and gets them where they arrive. It stands outside of
//! the workspace, so that whoever builds aqmlab builds no QUIC.
//!
//! ```
//! let text = "schema = 1\nduration = '5 s'\n\
//!     [[links]]\nrate = '10 Mbit/s'\nbuffer = '100 packets'\naqm = 'fq-codel'\n\
//!     [[flows]]\nname = 'quic'\nkind = 'quic'\nrtt = '40 ms'\n\
//!     [[flows]]\nname = 'tcp'\nrtt = '40 ms'\ntcp = 'cubic'\n";
//! let scenario = aqmlab_scenario::parse(text, "beside", &[])?;
//! let output = aqmlab_quic::run(scenario, Default::default(), None)?;
//! let [quic, tcp] = [0, 1].map(|group: usize| output.result.flows[group].1.goodput);
//! assert!(quic + tcp > 8e6 && quic / tcp > 0.7 && quic / tcp < 1.4);
//! # Ok::<(), aqmlab_quic::QuicError>(())
//! ```
//!
//! What cannot be virtual: rustls asks the system's clock whether the certificate is valid, and the keys of the handshake are random, so
//! that the bytes of datagrams differ from run to run. Times, sizes, ECN fields and all results do not.

mod connection;
mod log;
mod setup;

use aqmlab_core::{Problem, Problems, Time};
use aqmlab_scenario::{Scenario, Traffic};
use aqmlab_sim::{ForeignFlow, ForeignPacket, Options, Output, PacketOutcome, RunError, Simulation};
use connection::{EndProgress, QuicConnection};
use log::ConnectionLog;
use quinn_proto::ConnectionError;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// The reason for which there is no result.
#[derive(Debug, thiserror::Error)]
pub enum QuicError {
    /// The scenario.
    #[error(transparent)]
    Input(#[from] Problems),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A connection that one of its ends has given up.
    #[error("flows.{flows}: a QUIC connection ended at {at:.3} s: {reason}")]
    Lost {
        /// Name of its group.
        flows: String,
        /// Time, s.
        at: f64,
        /// The reason, as quinn words it.
        reason: ConnectionError,
    },
    /// A qlog that cannot be written.
    #[error("qlog: {0}")]
    Log(#[from] std::io::Error),
}

/// The two ends of a connection: that which sends the data, and that which gets them.
const ENDS: [usize; 2] = [0, 1];

/// Runs a scenario from start to end, with its flows of kind `quic`. With `qlog`, a folder that is there, each connection leaves what its
/// ends know as `GROUP-NUMBER-client.sqlog` and `GROUP-NUMBER-server.sqlog` there. The client sends the data.
///
/// # Errors
/// If the scenario is wrong or a scheme breaks down; if a log cannot be written.
pub fn run(scenario: Scenario, options: Options, qlog: Option<&Path>) -> Result<Output, QuicError> {
    let seed = options.seed;
    refuse_changes(&scenario)?;
    let started = instant();
    let mut simulation = Simulation::hosting(scenario, options)?;
    let mut host = Host::new(&simulation, seed, started, qlog)?;
    let end = simulation.end();
    loop {
        let due = host.timers.first().map_or(Time::NEVER, |(time, ..)| *time);
        match simulation.next_foreign(due.min(end))? {
            Some(event) => {
                let data = host.payloads.take(event.packet.number);
                if event.outcome == PacketOutcome::Sent {
                    let at = usize::from(!event.packet.is_reply);
                    let index = host.of_flow[event.packet.flow as usize];
                    let (connection, now) = host.wake(event.time, index, at);
                    connection.receive(at, now, &data, event.packet.ecn);
                    host.act(&mut simulation, index, at)?;
                }
            }
            None if due > end => break,
            None => {
                let (_, index, at) = host.timers.pop_first().expect("it is due");
                let (connection, now) = host.wake(simulation.now(), index, at);
                connection.timer(at, now);
                host.act(&mut simulation, index, at)?;
            }
        }
    }
    host.connections
        .iter()
        .flat_map(|connection| connection.logs.iter().flatten())
        .try_for_each(ConnectionLog::finish)?;
    let mut output = simulation.finish()?;
    output.result.engine.wall = started.elapsed().as_secs_f64();
    Ok(output)
}

/// Connections neither begin nor end by hand.
fn refuse_changes(scenario: &Scenario) -> Result<(), Problem> {
    let quic = scenario.flows.iter().filter(|flows| matches!(flows.traffic, Traffic::Quic(_)));
    let meant = |path: &str| {
        quic.clone().any(|flows| path.starts_with(&format!("flows.{}.", flows.name)) || path.starts_with("flows.*"))
    };
    match scenario.changes.iter().find(|change| meant(&change.path)) {
        Some(change) => Err(Problem::new(&change.path, "flows of kind \"quic\" do not change during a run")),
        None => Ok(()),
    }
}

/// All connections, in the time of a simulation.
struct Host {
    connections: Vec<QuicConnection>,
    /// The connection of each flow of the simulation, by number.
    of_flow: Vec<usize>,
    payloads: Payloads,
    /// When an end of a connection is to act by itself.
    timers: BTreeSet<(Time, usize, usize)>,
    /// Time zero.
    base: Instant,
}

impl Host {
    fn new(simulation: &Simulation, seed: u64, base: Instant, qlog: Option<&Path>) -> Result<Self, QuicError> {
        let (scenario, flows) = (simulation.scenario().clone(), simulation.foreign_flows());
        let last = flows.iter().map(|flow| flow.flow as usize + 1).max().unwrap_or(0);
        let (mut connections, mut of_flow, mut timers) = (Vec::new(), vec![0; last], BTreeSet::new());
        let identity = setup::ServerIdentity::new();
        for flow in flows {
            let spec = &scenario.flows[flow.group];
            let Traffic::Quic(quic) = &spec.traffic else { continue };
            let number = connections.iter().filter(|one: &&QuicConnection| one.flow.group == flow.group).count();
            let title = format!("{}-{number}", spec.name);
            let mut logs = [None, None];
            if let Some(folder) = qlog {
                for (log, end) in logs.iter_mut().zip(["client", "server"]) {
                    *log = Some(ConnectionLog::new(&folder.join(format!("{title}-{end}.sqlog")), &title, end)?);
                }
            }
            of_flow[flow.flow as usize] = connections.len();
            if flow.start <= simulation.end() {
                timers.insert((flow.start, connections.len(), ENDS[0]));
            }
            let seed = [seed, connections.len() as u64];
            let setup = setup::ConnectionSetup { quic, spec, identity: &identity, seed, logs };
            connections.push(QuicConnection::new(flow, quic.size.map(|size| size.0 as u64), &setup));
        }
        Ok(Self { connections, of_flow, payloads: Payloads::default(), timers, base })
    }

    fn at(&self, time: Time) -> Instant {
        self.base + Duration::from_nanos(time.0 / 1000)
    }

    /// A connection at an end of which something happens, and the time as it is told it.
    fn wake(&mut self, time: Time, index: usize, at: usize) -> (&mut QuicConnection, Instant) {
        let now = self.at(time);
        let connection = &mut self.connections[index];
        if let Some(log) = &connection.logs[at] {
            log.reach(time.0 / 1000);
        }
        (connection, now)
    }

    /// Lets an end of a connection send what it may, and notes when it is to act again.
    fn act(&mut self, simulation: &mut Simulation, index: usize, at: usize) -> Result<(), QuicError> {
        let now = self.at(simulation.now());
        let (connection, payloads) = (&mut self.connections[index], &mut self.payloads);
        let flow = connection.flow.flow;
        let stopped = simulation.now() >= connection.flow.stop;
        let progress = connection.run_application(at, stopped);
        count(simulation, &connection.flow, connection.size, progress)?;
        connection.transmit(at, now, |data, ecn| {
            let size = (data.len() as u32 + setup::HEADERS) as u16;
            let number = payloads.put(data);
            simulation.send_foreign(ForeignPacket { flow, is_reply: at == ENDS[1], size, ecn, number });
        });
        let due = connection.ends[at].due(now).map(|due| {
            let nanos = due.saturating_duration_since(self.base).as_nanos() as u64;
            Time(nanos.saturating_mul(1000)).max(simulation.now())
        });
        let arranged = std::mem::replace(&mut connection.ends[at].arranged, due);
        if let Some(before) = arranged {
            self.timers.remove(&(before, index, at));
        }
        if let Some(due) = due {
            self.timers.insert((due, index, at));
        }
        Ok(())
    }
}

/// Has a simulation count what has happened at an end of a connection. A network may keep a connection silent until it times out: that
/// counts as failed. For any other reason an end has given up what it should carry: there is no result then.
fn count(
    simulation: &mut Simulation,
    flow: &ForeignFlow,
    size: Option<u64>,
    progress: EndProgress,
) -> Result<(), QuicError> {
    simulation.count_received(flow.flow, progress.received);
    if progress.is_complete {
        simulation.count_transfer(flow, size.unwrap_or(0));
    }
    match progress.lost {
        None => Ok(()),
        Some(ConnectionError::TimedOut) => {
            simulation.count_lost_connection(flow);
            Ok(())
        }
        Some(reason) => {
            let flows = simulation.scenario().flows[flow.group].name.clone();
            Err(QuicError::Lost { flows, at: simulation.now().seconds(), reason })
        }
    }
}

/// Datagrams under way, each under a number that is used again.
#[derive(Default)]
struct Payloads {
    places: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Payloads {
    fn put(&mut self, data: Vec<u8>) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(Vec::new());
            self.places.len() as u32 - 1
        });
        self.places[number as usize] = data;
        number
    }

    fn take(&mut self, number: u32) -> Vec<u8> {
        self.free.push(number);
        std::mem::take(&mut self.places[number as usize])
    }
}

/// Only differences to it count; the wall clock times the run.
#[allow(clippy::disallowed_methods)]
fn instant() -> Instant {
    Instant::now()
}

impl From<Problem> for QuicError {
    fn from(problem: Problem) -> Self {
        Self::Input(problem.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_an_end_gives_up_ends_the_run_and_one_that_times_out_counts() {
        let text = "schema = 1\nduration = '1 s'\n[[links]]\nrate = '10 Mbit/s'\nbuffer = '9 packets'\n\
            [[flows]]\nname = 'quic'\nkind = 'quic'\nrtt = '9 ms'\n";
        let scenario = aqmlab_scenario::parse(text, "lost", &[]).unwrap();
        let mut simulation = Simulation::hosting(scenario, Options::default()).unwrap();
        let flow = simulation.foreign_flows()[0];
        let lost = |reason| EndProgress { lost: Some(reason), ..EndProgress::default() };
        let error = count(&mut simulation, &flow, None, lost(ConnectionError::Reset)).unwrap_err();
        assert_eq!(error.to_string(), "flows.quic: a QUIC connection ended at 0.000 s: reset by peer");
        count(&mut simulation, &flow, None, lost(ConnectionError::TimedOut)).unwrap();
        assert_eq!(simulation.finish().unwrap().result.flows[0].1.failed, 1);
    }
}
