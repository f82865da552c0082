//! qlog: what quinn tells of an end of a connection, in the form that viewers read, with the ECN fields of its datagrams.
//!
//! The form is qlog 0.3 (draft-ietf-quic-qlog-main-schema-05) in JSON text sequences: later drafts have other names of fields and events, which
//! viewers such as qvis do not know. quinn's own records depart from it where it matters to them: round-trip times in seconds, lengths
//! in the header, times in single precision, and a group that changes with the connection identifier.

use aqmlab_aqm::Ecn;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Round-trip times of `recovery:metrics_updated`, which quinn gives in seconds; qlog has milliseconds.
const TIMES: [&str; 4] = ["min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"];

/// The log of one end of a connection. Clones write to the same file.
#[derive(Clone)]
pub struct ConnectionLog(Arc<Mutex<LogFile>>);

struct LogFile {
    out: BufWriter<File>,
    /// A record of quinn's, as far as it has come.
    record: Vec<u8>,
    /// Present time, ns.
    now: u64,
    /// Why a record could not be written.
    failure: Option<io::Error>,
}

impl ConnectionLog {
    /// Begins a file; `title` names the connection and `end` is "client" or "server".
    pub fn new(path: &Path, title: &str, end: &str) -> io::Result<Self> {
        let out = BufWriter::new(File::create(path)?);
        let mut file = LogFile { out, record: Vec::new(), now: 0, failure: None };
        file.put(&json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": "aqmlab",
            "trace": {
                "title": title,
                "vantage_point": { "name": format!("{title}-{end}"), "type": end },
                "common_fields": { "protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 0 },
            },
        }))?;
        Ok(Self(Arc::new(Mutex::new(file))))
    }

    /// Sets the time of what is logged from now on, ns.
    pub fn reach(&self, now: u64) {
        self.file().now = now;
    }

    /// A datagram of so many bytes of UDP payload, with the ECN field that it has at this end; `what` is "sent" or "received".
    pub fn datagram(&self, what: &str, bytes: usize, ecn: Ecn) {
        let ecn = match ecn {
            Ecn::NotEct => "Not-ECT",
            Ecn::Ect1 => "ECT(1)",
            Ecn::Ect0 => "ECT(0)",
            Ecn::Ce => "CE",
        };
        let data = json!({ "count": 1, "raw": [{ "length": bytes }], "ecn": [ecn] });
        self.file().event(&format!("transport:datagrams_{what}"), data);
    }

    /// Ends the file; tells if anything could not be written.
    pub fn finish(&self) -> io::Result<()> {
        let mut file = self.file();
        file.failure.take().map_or(Ok(()), Err)?;
        file.out.flush()
    }

    fn file(&self) -> MutexGuard<'_, LogFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes quinn's records, piece by piece.
impl Write for ConnectionLog {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let mut file = self.file();
        file.record.extend_from_slice(piece);
        if piece.ends_with(b"\n") {
            let record = std::mem::take(&mut file.record);
            let text = record.strip_prefix(b"\x1e").unwrap_or(&record); // RFC 7464
            let mut event: Map<String, Value> = serde_json::from_slice(text)?;
            // The first record is quinn's own heading, which has neither.
            if let (Some(Value::String(name)), Some(Value::Object(data))) = (event.remove("name"), event.remove("data"))
            {
                let data = amended(&name, data);
                file.event(&name, data.into());
            }
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogFile {
    /// Writes an event of the present time.
    fn event(&mut self, name: &str, data: Value) {
        let written = self.put(&json!({ "time": self.now as f64 / 1e6, "name": name, "data": data }));
        if let Err(why) = written {
            self.failure.get_or_insert(why);
        }
    }

    fn put(&mut self, record: &Value) -> io::Result<()> {
        writeln!(self.out, "\x1e{record}")
    }
}

/// The data of an event of quinn's, as the draft has them.
fn amended(name: &str, mut data: Map<String, Value>) -> Map<String, Value> {
    for time in TIMES {
        if let Some(seconds) = data.get(time).and_then(Value::as_f64) {
            data.insert(time.into(), json!((seconds * 1e6).round() / 1e3));
        }
    }
    if data.get("ssthresh").and_then(Value::as_u64) == Some(u64::MAX) {
        data.remove("ssthresh"); // none yet
    }
    let length = data.get_mut("header").and_then(|header| header.as_object_mut()?.remove("length"));
    if let (Some(length), "transport:packet_sent") = (length, name) {
        data.insert("raw".into(), json!({ "length": length }));
    }
    data
}
