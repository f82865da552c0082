//! Reads the links of a scenario.

use super::reader::{Found, Reader, kind, scalar};
use super::{AqmChoice, FlowSpec, LinkSpec};
use aqmlab_aqm::Limit;
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Packets, Quantity, Rate, Span};
use toml::{Table, Value};

/// One `[[links]]`; the flows tell packet sizes and round-trip times.
pub fn read_link(table: &Table, flows: &[FlowSpec], found: &mut Found) -> Option<LinkSpec> {
    let shown = table.get("name").and_then(Value::as_str).unwrap_or("bottleneck");
    let mut link = Reader::new(table, format!("links.{}", clip(shown)), found);
    let name = link.name("bottleneck");
    let rate: Option<Rate> = link.required("rate", "\"45 Mbit/s\"");
    let rate = link.within("rate", rate, "1 bit/s", "10 Tbit/s");
    let delay: Option<Span> = link.optional("delay");
    let delay = link.within("delay", delay, "0 s", "1000 s").unwrap_or(Span::ZERO);
    let buffer = read_buffer(&mut link, rate, flows);
    let buffer_packets = buffer.map(|buffer| match buffer {
        Limit::Packets(packets) => f64::from(packets),
        Limit::Bytes(bytes) => bytes as f64 / mean_wire_size(flows),
    });
    let target = read_target(&mut link, rate, buffer_packets, flows);
    let aqm = match AqmChoice::parse(link.text("aqm").unwrap_or("droptail")) {
        Ok(choice) => Some(choice),
        Err(reason) => {
            link.refuse("aqm", reason);
            None
        }
    };
    let fixed = link.optional("fixed").unwrap_or(false);
    link.finish();
    Some(LinkSpec {
        name,
        rate: rate?,
        delay,
        buffer: buffer?,
        buffer_packets: buffer_packets?,
        target: target?,
        aqm: aqm?,
        fixed,
    })
}

fn read_buffer(link: &mut Reader, rate: Option<Rate>, flows: &[FlowSpec]) -> Option<Limit> {
    let Some(value) = link.raw("buffer") else {
        link.refuse("buffer", "missing; write e.g. buffer = \"900 packets\", \"1 MB\" or \"2 bdp\"");
        return None;
    };
    let text = scalar(value).unwrap_or_else(|| kind(value).to_string());
    if text.trim().ends_with("bdp") && rate.is_none() {
        return None; // what is wrong with the rate has been said
    }
    limit(&text, rate, flows).map_err(|reason| link.refuse("buffer", reason)).ok()
}

/// Packets, bytes, or multiples of the bandwidth-delay product at the longest RTT.
fn limit(text: &str, rate: Option<Rate>, flows: &[FlowSpec]) -> Result<Limit, String> {
    if text.trim().ends_with('B') {
        return match Bytes::parse(text)? {
            Bytes(bytes) if (1.0..=1e12).contains(&bytes) => Ok(Limit::Bytes(bytes as u64)),
            _ => Err(format!("\"{}\" is out of range: must lie in 1 B ..= 1000000 MB", clip(text))),
        };
    }
    let packets = match text.trim().strip_suffix("bdp") {
        Some(multiple) => {
            let longest = flows.iter().map(|f| f.rtt.typical_longest().seconds()).fold(0.0, f64::max);
            let bdp = rate.map_or(0.0, |rate| rate.0) * longest / 8.0 / mean_wire_size(flows);
            (f64::parse(multiple)? * bdp).ceil()
        }
        None => Packets::parse(text)?.0,
    };
    if !(1.0..=1e7).contains(&packets) || packets.fract() != 0.0 {
        return Err(format!(
            "\"{}\" is out of range: must be a whole number in 1 packet ..= 10000000 packets",
            clip(text)
        ));
    }
    Ok(Limit::Packets(packets as u32))
}

/// Packets, or a delay at the link's rate; a third of the buffer (as in the papers) when it is not given.
fn read_target(link: &mut Reader, rate: Option<Rate>, buffer_packets: Option<f64>, flows: &[FlowSpec]) -> Option<f64> {
    let (value, buffer_packets) = (link.raw("target"), buffer_packets?);
    let Some(value) = value else { return Some(buffer_packets / 3.0) };
    let text = scalar(value).unwrap_or_else(|| kind(value).to_string());
    let packets = match Packets::parse(&text) {
        Ok(Packets(packets)) => Ok(packets),
        Err(reason) => match Span::parse(&text) {
            Ok(delay) => Ok(delay.seconds() * rate?.0 / 8.0 / mean_wire_size(flows)),
            Err(_) => Err(format!("{reason}, or a delay such as \"10 ms\"")),
        },
    };
    match packets {
        Ok(packets) if packets > 0.0 && packets <= buffer_packets => Some(packets),
        Ok(_) => {
            link.refuse(
                "target",
                format!("\"{}\" must be above 0 and not above the buffer ({buffer_packets} packets)", clip(&text)),
            );
            None
        }
        Err(reason) => {
            link.refuse("target", reason);
            None
        }
    }
}

/// Packet size on the wire, over all flows, bytes.
fn mean_wire_size(flows: &[FlowSpec]) -> f64 {
    let count: f64 = flows.iter().map(|f| f64::from(f.count())).sum();
    let bytes: f64 = flows.iter().map(|f| f64::from(f.count()) * f64::from(f.wire_size())).sum();
    if count > 0.0 { bytes / count } else { 1040.0 }
}
