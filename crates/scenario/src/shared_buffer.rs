//! Buffers that several links share, as those of a switch do.

use crate::keys::{KeySpec, MOST_BYTES, Section, ValueForm};
use crate::table_reader::{TableReader, kind, unknown_name};
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Problem, Problems};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// A buffer that several links share under dynamic thresholds (Choudhury and Hahne 1998).
#[derive(Clone, Debug, PartialEq)]
pub struct SharedBufferSpec {
    /// Its name.
    pub name: String,
    /// The most that may wait at all of its links together, bytes.
    pub size: u64,
    /// A queue may hold so many times what is free.
    pub alpha: f64,
}

/// The size of a buffer that links share, under the name that a table has for it.
pub const fn shared_size(name: &'static str, doc: &'static str) -> KeySpec {
    KeySpec::of::<Bytes>(name, doc).within("1 kB", MOST_BYTES).required("\"4 MB\"")
}

/// The key for the threshold of a buffer that links share.
pub const ALPHA: KeySpec =
    KeySpec::of::<f64>("alpha", "A queue may hold so many times what is free.").within("0.001", "1000").or("1");

/// Keys of `[[buffers]]`.
pub const BUFFERS: Section = Section::new(&[&[
    KeySpec::new("name", ValueForm::Name, "Name of the buffer, by which links refer to it.").required("\"switch\""),
    shared_size("size", "The most that may wait at all of its links together."),
    ALPHA,
]]);

impl SharedBufferSpec {
    /// The most that a queue can hold, bytes: while all others are empty, alpha * size / (1 + alpha).
    pub fn most(&self) -> u64 {
        (self.size as f64 * self.alpha / (1.0 + self.alpha)) as u64
    }

    /// `size` and `alpha` of a table.
    pub(super) fn read(name: String, key: &'static str, table: &mut TableReader) -> Option<Self> {
        let size: Option<Bytes> = table.required(key);
        let alpha = table.optional_or_default("alpha");
        Some(Self { name, size: size?.0 as u64, alpha: alpha? })
    }
}

/// `[[buffers]]`.
pub fn read_buffers(top: &mut TableReader) -> Vec<SharedBufferSpec> {
    let (mut buffers, mut names) = (Vec::new(), BTreeSet::new());
    for table in top.tables("buffers") {
        let shown = table.get("name").and_then(Value::as_str).unwrap_or("0");
        let mut buffer = TableReader::new(table, format!("buffers.{}", clip(shown)), &BUFFERS, top.found());
        if buffer.raw("name").is_none() {
            buffer.miss("name");
        }
        let name = buffer.name("0");
        if !names.insert(name.clone()) {
            buffer.refuse("name", "this name is used twice");
        }
        buffers.extend(SharedBufferSpec::read(name, "size", &mut buffer));
        buffer.finish();
    }
    buffers
}

/// The buffer that a link shares, by its index, if its `buffer` names one of `places`; then the most that the link can hold of it takes
/// its place.
pub fn share(
    table: &mut Table,
    at: &str,
    buffers: &[SharedBufferSpec],
    places: &BTreeMap<&str, usize>,
    found: &mut Vec<Problem>,
) -> Option<usize> {
    let Some(Value::Table(of)) = table.get("buffer") else { return None };
    let shared = match (of.get("shared"), of.len()) {
        (Some(Value::String(name)), 1) => places.get(name.as_str()).copied().ok_or_else(|| {
            let known = buffers.iter().map(|buffer| buffer.name.as_str());
            let is_kept = found.len() < Problems::MOST;
            format!("shared: {}", unknown_name("buffer of [[buffers]]", name, known, is_kept))
        }),
        (Some(other), 1) => Err(format!("shared: expected the name of a buffer, found {}", kind(other))),
        _ => Err("a table has one key here, as in { shared = \"switch\" }".into()),
    };
    let index = shared.map_err(|why| found.push(Problem::new(format!("{at}.buffer"), why))).ok();
    let most = index.map_or(1_000_000, |index| buffers[index].most());
    table.insert("buffer".into(), format!("{most} B").into());
    if index.is_some() && table.contains_key("classes") {
        let why = "have buffers of their own, and the link shares one; leave one of them out";
        found.push(Problem::new(format!("{at}.classes"), why));
    }
    index
}

#[cfg(test)]
mod tests {
    use crate::parse;

    const SWITCH: &str = r#"
schema = 1
duration = "1 s"
[[buffers]]
name = "switch"
size = "300 kB"
alpha = 2
[[links]]
name = "port"
count = 2
rate = "1 Gbit/s"
buffer = { shared = "switch" }
[[links]]
name = "other"
rate = "1 Gbit/s"
buffer = "9 packets"
[[flows]]
rtt = "1 ms"
tcp = "linux"
"#;

    #[test]
    fn links_share_a_buffer_by_its_name() {
        let scenario = parse(SWITCH, "switch", &[]).unwrap();
        let shared: Vec<_> = scenario.links.iter().map(|link| (link.shared, link.buffer_bytes())).collect();
        // alone a queue gets 2 * 300 / (1 + 2) kB
        assert_eq!(shared, [(Some(0), Some(200_000)), (Some(0), Some(200_000)), (None, None)]);
        assert_eq!((scenario.buffers[0].size, scenario.buffers[0].alpha), (300_000, 2.0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, message) in [
            ("alpha = 2", "alpha = 0", "buffers.switch.alpha: \"0\" is out of range: must lie in 0.001 ..= 1000"),
            ("size = \"300 kB\"", "", "buffers.switch.size: missing"),
            (
                "shared = \"switch\"",
                "shared = \"swich\"",
                "links.port.buffer: shared: unknown buffer of [[buffers]] \"swich\"",
            ),
            ("shared = \"switch\"", "share = \"switch\"", "links.port.buffer: a table has one key here"),
            ("buffer = { shared = \"switch\" }", "buffer = \"9 packets\"", "buffers.switch: no link shares it"),
            (
                "tcp = \"linux\"",
                "tcp = \"linux\"\n[[changes]]\nat = \"1 ms\"\npath = \"links.port-0.buffer\"\nvalue = \"9 kB\"",
                "is a share of buffers.switch",
            ),
        ] {
            let found = parse(&SWITCH.replacen(from, to, 1), "switch", &[]).unwrap_err().to_string();
            assert_eq!(found.matches(message).count(), 1, "{message}: {found}");
        }
    }
}
