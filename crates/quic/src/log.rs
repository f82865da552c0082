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
    /// Why a record could not be read or written.
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
        if !file.record.is_empty() {
            file.fail(io::Error::other("the last record is cut off"));
        }
        file.failure.take().map_or(Ok(()), Err)?;
        file.out.flush()
    }

    fn file(&self) -> MutexGuard<'_, LogFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes quinn's records, piece by piece. quinn passes over an error of a writer, so `finish` tells of it.
impl Write for ConnectionLog {
    fn write(&mut self, pieces: &[u8]) -> io::Result<usize> {
        let mut file = self.file();
        for piece in pieces.split_inclusive(|byte| *byte == b'\n') {
            file.record.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                file.take_record();
            }
        }
        Ok(pieces.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogFile {
    /// Writes a record of quinn's, which has all come. quinn's own heading is left out.
    fn take_record(&mut self) {
        match read(&std::mem::take(&mut self.record)) {
            Ok(Some((name, data))) => self.event(&name, amended(&name, data).into()),
            Ok(None) => {}
            Err(why) => self.fail(why),
        }
    }

    /// Remembers the first failure.
    fn fail(&mut self, why: io::Error) {
        self.failure.get_or_insert(why);
    }

    /// Writes an event of the present time.
    fn event(&mut self, name: &str, data: Value) {
        let written = self.put(&json!({ "time": self.now as f64 / 1e6, "name": name, "data": data }));
        written.unwrap_or_else(|why| self.fail(why));
    }

    fn put(&mut self, record: &Value) -> io::Result<()> {
        writeln!(self.out, "\x1e{record}")
    }
}

/// Reads a record: the name and the data of an event, nothing of a heading.
fn read(record: &[u8]) -> io::Result<Option<(String, Map<String, Value>)>> {
    let text = record.strip_prefix(b"\x1e").unwrap_or(record); // RFC 7464
    let mut record: Map<String, Value> = serde_json::from_slice(text)?;
    match (record.remove("name"), record.remove("data")) {
        (Some(Value::String(name)), Some(Value::Object(data))) => Ok(Some((name, data))),
        _ if record.contains_key("qlog_version") => Ok(None),
        _ => Err(io::Error::other("a record is neither an event nor a heading")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Stream;
    use std::path::PathBuf;

    /// Cases: `AQMLAB_FUZZ` (`make fuzz`), else 300.
    fn cases() -> u64 {
        std::env::var("AQMLAB_FUZZ").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
    }

    /// A place for the log of a test.
    fn place(test: &str) -> PathBuf {
        std::env::temp_dir().join(format!("aqmlab-{test}-{}.sqlog", std::process::id()))
    }

    /// What is logged of pieces of records: the events, and whether the end tells of a failure.
    fn logged<'a>(path: &Path, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Value>, bool) {
        let mut log = ConnectionLog::new(path, "t", "client").unwrap();
        pieces.for_each(|piece| log.write_all(piece).unwrap_or(())); // quinn passes over an error
        let has_failed = log.finish().is_err();
        drop(log);
        let text = std::fs::read_to_string(path).unwrap();
        let records = text.split('\u{1e}').skip(2).map(|record| serde_json::from_str(record).unwrap());
        (records.collect(), has_failed)
    }

    /// A record as quinn may write it, or one that no viewer could read; true if it is an event.
    fn any_record(rng: &mut Stream) -> (Vec<u8>, bool) {
        let names = ["transport:packet_sent", "recovery:metrics_updated", "x\ny", ""];
        let values = [json!(0.04), json!(u64::MAX), json!(-1), json!(null), json!({"length": 9}), json!("\u{1e}\n")];
        let mut pick = |most: usize| rng.below(most as u32) as usize;
        let keys = ["min_rtt", "ssthresh", "header", "congestion_window", "name"];
        let data: Map<String, Value> = (0..pick(4)).map(|_| (keys[pick(5)].into(), values[pick(6)].clone())).collect();
        let event = json!({ "time": 1.5, "name": names[pick(4)], "data": data });
        let (text, is_event) = match pick(12) {
            0 => (json!({ "qlog_version": "0.3", "trace": {} }).to_string(), false),
            1 => (json!({ "time": 1, "name": "no data" }).to_string(), false),
            2 => (json!([event]).to_string(), false),
            3 => (event.to_string()[..pick(20)].to_string(), false),
            _ => (event.to_string(), true),
        };
        (format!("\u{1e}{text}\n").into_bytes(), is_event)
    }

    /// However records are cut into pieces, every event is in the log, and whatever is not is told of.
    #[test]
    fn any_record_is_in_the_log_or_a_failure() {
        let (path, mut rng) = (place("any-record"), Stream::new(1, "records", 0));
        for case in 0..cases() {
            let records: Vec<(Vec<u8>, bool)> = (0..rng.below(6)).map(|_| any_record(&mut rng)).collect();
            let mut all: Vec<u8> = records.iter().flat_map(|(text, _)| text.clone()).collect();
            let heading = |text: &[u8]| text.starts_with(b"\x1e{\"qlog_version\"");
            let mut is_faulty = records.iter().any(|(text, is_event)| !is_event && !heading(text));
            let mut events = records.iter().filter(|(_, is_event)| *is_event).count();
            if rng.below(8) == 0 && records.last().is_some_and(|(_, is_event)| *is_event) {
                all.pop();
                (is_faulty, events) = (true, events - 1);
            }
            let step = 1 + rng.below(80) as usize;
            let (found, has_failed) = logged(&path, all.chunks(step));
            assert_eq!(
                (found.len(), has_failed),
                (events, is_faulty),
                "case {case}: {}",
                String::from_utf8_lossy(&all)
            );
        }
        std::fs::remove_file(path).unwrap();
    }
}
