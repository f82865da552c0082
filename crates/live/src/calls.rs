//! Calls among the datagrams of a direction: streams of RTP, their frames as a line sees them, and what feedback says of them.
//!
//! At the line a frame begins when its first packet comes, and is complete when its last one has come through. What waited at the
//! sender before is not seen.

mod feedback;
mod sequence;
mod stream;

use crate::flows::FlowCounts;
use crate::packet::FiveTuple;
use crate::rtp::{RtpHeader, reports};
use aqmlab_core::Time;
use aqmlab_sim::media::{MediaFacts, RtpFacts, rms};
use aqmlab_sim::{MediaResult, RtpResult};
use feedback::StreamFeedback;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use stream::RtpStream;

/// Streams of a direction that are told apart, and streams that feedback may speak of; later ones are not measured.
const MOST: usize = 256;

/// The calls of one direction.
#[derive(Debug)]
pub struct Calls {
    /// When measuring begins.
    warmup: Time,
    /// By flow and number of the stream.
    streams: BTreeMap<(u32, u32), RtpStream>,
    /// By the flow that feedback came in, and the stream that it speaks of.
    feedback: BTreeMap<(u32, u32), StreamFeedback>,
}

impl Calls {
    /// They count from `warmup` on.
    pub fn new(warmup: Time) -> Self {
        Self { warmup, streams: BTreeMap::new(), feedback: BTreeMap::new() }
    }

    /// A datagram of a flow has come to the line.
    pub fn comes(&mut self, flow: u32, datagram: &[u8], now: Time) {
        let Some(header) = RtpHeader::of(datagram) else { return };
        let key = (flow, header.ssrc);
        if self.streams.len() >= MOST && !self.streams.contains_key(&key) {
            self.streams.retain(|_, stream| stream.is_recognised());
        }
        if self.streams.len() >= MOST && !self.streams.contains_key(&key) {
            return;
        }
        let new = || RtpStream::new(&header, self.warmup..Time::NEVER);
        let stream = self.streams.entry(key).or_insert_with(new);
        if !stream.fits(&header) {
            *stream = new();
        }
        stream.comes(&header, now);
    }

    /// A datagram of a flow has come through, so many bytes of IP.
    pub fn goes(&mut self, flow: u32, datagram: &[u8], size: u64, is_marked: bool, now: Time) {
        if let Some(header) = RtpHeader::of(datagram) {
            if let Some(stream) = self.streams.get_mut(&(flow, header.ssrc)) {
                stream.goes(&header, is_marked, now);
            }
            return;
        }
        let reports = reports(datagram);
        for report in &reports {
            let key = (flow, report.ssrc);
            if self.feedback.len() < MOST || self.feedback.contains_key(&key) {
                self.feedback.entry(key).or_default().take(report, size / reports.len() as u64, now);
            }
        }
    }

    /// Counts from now on.
    pub fn restart(&mut self) {
        self.streams.values_mut().for_each(RtpStream::restart);
        self.feedback.values_mut().for_each(StreamFeedback::restart);
    }

    /// What feedback that goes the other way says of a stream between these ends.
    fn feedback_on(&self, ssrc: u32, of: &FiveTuple, flows: &[FlowCounts]) -> StreamFeedback {
        let is_back = |flow: u32| {
            let back = &flows[flow as usize].tuple;
            (back.source, back.destination) == (of.destination, of.source)
        };
        let found = self.feedback.iter().find(|((flow, about), _)| *about == ssrc && is_back(*flow));
        found.map_or_else(StreamFeedback::default, |(_, feedback)| feedback.clone())
    }
}

/// The streams of a direction at the end, and all of them together.
pub struct CallReport {
    /// For each stream its flow, numbers and measures.
    pub streams: Vec<Value>,
    /// Of all, if there is any.
    pub all: Option<MediaResult>,
}

impl CallReport {
    /// Of calls and their flows, and those of the other direction, which have the feedback.
    pub fn new(calls: (&Calls, &[FlowCounts]), back: (&Calls, &[FlowCounts]), direction: &str, now: Time) -> Self {
        let recognised = calls.0.streams.iter().filter(|(_, stream)| stream.is_recognised());
        let facts: Vec<(MediaFacts, Value)> = recognised
            .map(|((flow, ssrc), stream)| {
                let tuple = &calls.1[*flow as usize].tuple;
                let (media, rtp) = stream.facts(&back.0.feedback_on(*ssrc, tuple, back.1), now);
                let described = described(&media, &rtp, direction, tuple, *ssrc, stream.payload_type);
                (media, described)
            })
            .collect();
        let all = together(facts.iter().map(|(media, _)| media)).map(|media| measured(&media));
        Self { streams: facts.into_iter().map(|(_, described)| described).collect(), all }
    }
}

fn described(
    media: &MediaFacts,
    rtp: &RtpFacts,
    direction: &str,
    tuple: &FiveTuple,
    ssrc: u32,
    payload_type: u8,
) -> Value {
    json!({
        "direction": direction, "flow": tuple.to_string(), "ssrc": ssrc, "payload_type": payload_type,
        "media": measured(media), "rtp": RtpResult::of(rtp),
    })
}

/// What a line can know: not what the sender's law has asked for.
fn measured(media: &MediaFacts) -> MediaResult {
    MediaResult { target: None, ..MediaResult::of(media) }
}

fn together<'a>(streams: impl Iterator<Item = &'a MediaFacts>) -> Option<MediaFacts> {
    let streams: Vec<&MediaFacts> = streams.collect();
    let mut all = MediaFacts { seconds: streams.first()?.seconds, ..MediaFacts::default() };
    streams.iter().for_each(|media| all.stats.merge(&media.stats));
    all.rate_variation = rms(streams.iter().filter_map(|media| media.rate_variation));
    all.rates = Some(streams.iter().filter_map(|media| media.rates.clone()).flatten().collect());
    Some(all)
}

#[cfg(test)]
mod tests;
