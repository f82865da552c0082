//! RTP (RFC 3550) and its feedback on congestion (RFC 8888), as datagrams carry them, on one port or on two (RFC 5761).
//!
//! Total: any bytes give an answer, none a panic.

use crate::packet::word;
use aqmlab_aqm::Ecn;

/// Bytes of a header without sources and extension.
const HEADER: usize = 12;
/// RTCP's transport-layer feedback (RFC 4585), and its format for congestion control (RFC 8888).
const TRANSPORT_FEEDBACK: u8 = 205;
const CONGESTION_CONTROL: u8 = 11;

/// The header of an RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpHeader {
    /// Of the last packet of a frame of video; of the first after a silence of speech.
    pub marker: bool,
    /// The type of what is in it, as the two ends have agreed.
    pub payload_type: u8,
    /// Counts packets.
    pub seq: u16,
    /// The time at which it was sampled, in units that the two ends have agreed on; packets of a frame have the same.
    pub timestamp: u32,
    /// The stream it belongs to.
    pub ssrc: u32,
    /// Bytes of media.
    pub media: u32,
}

impl RtpHeader {
    /// Reads one; `None` if a datagram cannot be RTP. One that can be need not be.
    pub fn of(datagram: &[u8]) -> Option<Self> {
        let (first, second) = (*datagram.first()?, *datagram.get(1)?);
        let payload_type = second & 0x7f;
        // Version 2, and no type that RTCP has on the same port (RFC 5761, section 4).
        if first >> 6 != 2 || (64..=95).contains(&payload_type) {
            return None;
        }
        let mut header = HEADER + 4 * usize::from(first & 15);
        if first & 0x10 != 0 {
            header += 4 + 4 * usize::from(word(datagram, header + 2)?);
        }
        let padding = if first & 0x20 == 0 { 0 } else { usize::from(*datagram.last()?) };
        let media = datagram.len().checked_sub(header + padding)?;
        Some(Self {
            marker: second & 0x80 != 0,
            payload_type,
            seq: word(datagram, 2)?,
            timestamp: long(datagram, 4)?,
            ssrc: long(datagram, 8)?,
            media: media as u32,
        })
    }
}

/// A receiver's report on some packets of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtpReport {
    /// The stream.
    pub ssrc: u32,
    /// Sequence number of the first.
    pub begin: u16,
    /// Of each whether it has arrived, and then its ECN field.
    pub packets: Vec<Option<Ecn>>,
}

/// The reports of RFC 8888 in a datagram of RTCP; none if there are none that are whole, as in one that is encrypted.
pub fn reports(datagram: &[u8]) -> Vec<RtpReport> {
    let (mut found, mut rest) = (Vec::new(), datagram);
    while let [first, kind, ..] = *rest {
        // RTCP's own types are 192 to 223 (RFC 5761, section 4).
        let length = 4 + 4 * word(rest, 2).map_or(0, usize::from);
        if first >> 6 != 2 || !(192..=223).contains(&kind) || length > rest.len() {
            break;
        }
        let (packet, behind) = rest.split_at(length);
        if kind == TRANSPORT_FEEDBACK && first & 0x1f == CONGESTION_CONTROL {
            found.extend(blocks(packet, 0).or_else(|| blocks(packet, 1)).unwrap_or_default());
        }
        rest = behind;
    }
    found
}

/// The blocks between the sender's number and the time of the report; `None` if they do not end with the packet.
///
/// `num_reports` is their number (erratum 8166). Some, such as Ericsson's SCReAM, take it as the RFC's text has it, for the distance of
/// the last from the first: there is one `more`, which may be where a word is filled up.
fn blocks(packet: &[u8], more: usize) -> Option<Vec<RtpReport>> {
    let mut rest = packet.get(8..packet.len().checked_sub(4)?)?;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (ssrc, begin, count) = (long(rest, 0)?, word(rest, 4)?, more + usize::from(word(rest, 6)?));
        let filled = count.next_multiple_of(2);
        let ecn = |bits: u8| [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(bits & 3)];
        let metrics = rest.get(8..8 + 2 * filled)?.chunks_exact(2).map(|pair| pair[0]);
        let mut packets: Vec<_> = metrics.map(|metric| (metric & 0x80 != 0).then(|| ecn(metric >> 5))).collect();
        if packets.last().is_some_and(Option::is_none) {
            packets.truncate(count);
        }
        found.push(RtpReport { ssrc, begin, packets });
        rest = &rest[8 + 2 * filled..];
    }
    Some(found)
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::cases::config;
    use proptest::prelude::*;

    /// A datagram of RTP with so many bytes of media.
    pub fn rtp(ssrc: u32, seq: u16, timestamp: u32, marker: bool, media: usize) -> Vec<u8> {
        let mut datagram = vec![0x80, 96 | u8::from(marker) << 7];
        datagram.extend(seq.to_be_bytes());
        datagram.extend([timestamp.to_be_bytes(), ssrc.to_be_bytes()].as_flattened());
        datagram.resize(HEADER + media, 0);
        datagram
    }

    /// Feedback of RFC 8888 on one stream: of each packet the 16 bits.
    pub fn feedback(ssrc: u32, begin: u16, packets: &[u16]) -> Vec<u8> {
        let mut body = [7u32.to_be_bytes(), ssrc.to_be_bytes()].concat();
        body.extend([begin.to_be_bytes(), (packets.len() as u16).to_be_bytes()].as_flattened());
        packets.iter().for_each(|bits| body.extend(bits.to_be_bytes()));
        body.resize(body.len().next_multiple_of(4) + 4, 0);
        let length = (body.len() / 4) as u16;
        [&[0x80 | CONGESTION_CONTROL, TRANSPORT_FEEDBACK], &length.to_be_bytes()[..], &body].concat()
    }

    #[test]
    fn a_header_by_hand() {
        let plain = RtpHeader::of(&rtp(0x0102_0304, 0xfffe, 90_000, true, 100)).unwrap();
        let expected =
            RtpHeader { marker: true, payload_type: 96, seq: 0xfffe, timestamp: 90_000, ssrc: 0x0102_0304, media: 100 };
        assert_eq!(plain, expected);
        // Two sources (8 bytes), an extension of one word (4 + 4), and 5 bytes of padding, of the 100.
        let mut full = rtp(1, 2, 3, false, 100);
        full[0] |= 0x20 | 0x10 | 2;
        full[12 + 8 + 3] = 1;
        *full.last_mut().unwrap() = 5;
        assert_eq!(RtpHeader::of(&full).unwrap().media, 100 - 8 - 8 - 5);
    }

    #[test]
    fn what_is_no_rtp_is_none() {
        let sound = rtp(1, 2, 3, false, 0);
        assert!(RtpHeader::of(&sound).is_some() && RtpHeader::of(&sound[..11]).is_none());
        let with = |first: u8, second: u8| RtpHeader::of(&[&[first, second][..], &sound[2..]].concat());
        // STUN, DTLS, TURN's channels, QUIC (RFC 9443), and RTCP on the same port.
        assert_eq!([0, 22, 64, 0xc0].map(|first| with(first, 96)), [None; 4]);
        assert_eq!([200, 205, 64, 95].map(|second| with(0x80, second)), [None; 4]);
        assert_eq!(with(0x81, 96), None, "a source that is not there");
        assert_eq!(with(0x90, 96), None, "an extension that is not there");
    }

    #[test]
    fn feedback_by_hand() {
        // Received with ECT(1), lost, received with CE 3/1024 s ago.
        let ccfb = feedback(9, 0xffff, &[0xa000, 0, 0xe003]);
        assert_eq!((ccfb.len(), word(&ccfb, 2)), (4 + 4 + 8 + 8 + 4, Some(6)));
        let report = RtpReport { ssrc: 9, begin: 0xffff, packets: vec![Some(Ecn::Ect1), None, Some(Ecn::Ce)] };
        assert_eq!(reports(&ccfb), std::slice::from_ref(&report));
        // Behind a receiver report of one word (RFC 3550, 6.4.2), as in a compound packet.
        let compound = [&[0x80, 201, 0, 1, 0, 0, 0, 7][..], &ccfb].concat();
        assert_eq!(reports(&compound), [report]);
        assert_eq!(reports(&ccfb[..ccfb.len() - 1]), [], "cut");
        let mut wrong = ccfb.clone();
        wrong[15] = 200;
        assert_eq!(reports(&wrong), [], "more packets than there is room for");
        assert!(RtpHeader::of(&ccfb).is_none());
    }

    #[test]
    fn feedback_that_counts_from_the_first_to_the_last() {
        for packets in [vec![0xa000, 0, 0xe003], vec![0xa000, 0, 0, 0xe003]] {
            let mut ccfb = feedback(9, 7, &packets);
            ccfb[15] -= 1;
            let [report] = &reports(&ccfb)[..] else { panic!("one report") };
            assert_eq!((report.packets.len(), report.packets.last()), (packets.len(), Some(&Some(Ecn::Ce))));
        }
    }

    proptest! {
        #![proptest_config(config(500))]
        #[test]
        fn any_datagram_is_read(mut bytes in prop::collection::vec(any::<u8>(), 0..200), first in 0x80u8..0xc0, is_feedback in any::<bool>()) {
            if let [one, two, ..] = bytes.as_mut_slice() {
                *one = first;
                if is_feedback {
                    (*one, *two) = (0x80 | CONGESTION_CONTROL, TRANSPORT_FEEDBACK);
                }
            }
            RtpHeader::of(&bytes);
            for report in reports(&bytes) {
                prop_assert!(2 * report.packets.len() <= bytes.len());
            }
        }
    }
}
