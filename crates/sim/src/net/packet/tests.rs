use super::*;

#[test]
fn data_carries_what_is_put_into_it() {
    let rtt = AnnouncedRtt::new(Span::from_seconds(0.08));
    let label = FlowTag { flow: 7, tuple: u32::MAX - 1, stamp: DscpEpoch::new(45, 255) };
    let (is_cwr, is_push, is_resent) = (true, true, true);
    let data = Data { sent_at: Time(u64::MAX - 1), seq: u32::MAX, rtt, ecn: Ecn::Ect1, is_cwr, is_push, is_resent };
    let mut packet = Packet::of_data(label, 1500, data);
    assert_eq!((packet.ecn(), packet.dscp(), packet.host()), (Ecn::Ect1, 45, MAX_HOSTS - 1));
    assert_eq!(packet.flow_hash(), u32::MAX - 1);
    packet.mark();
    let out = packet.data();
    assert!(out.is_resent && out.is_push);
    assert_eq!((out.sent_at, out.seq, out.rtt, out.ecn, out.is_cwr), (data.sent_at, data.seq, rtt, Ecn::Ce, true));
    assert_eq!((packet.epoch(), packet.flow, packet.size, packet.hop), (255, 7, 1500, 0));
}

#[test]
fn a_segment_sent_again_may_carry_when_it_was_sent_first() {
    let s = |seconds| Time::ZERO + Span::from_seconds(seconds);
    let (label, rtt) =
        (FlowTag { stamp: DscpEpoch::new(63, 255), ..label() }, AnnouncedRtt::new(Span::from_seconds(6.0)));
    let (is_cwr, is_push, is_resent) = (true, true, false);
    let data = Data { sent_at: s(3000.0), seq: 5, rtt, ecn: Ecn::Ce, is_cwr, is_push, is_resent };
    let first = Packet::of_data(label, 1500, data);
    assert_eq!((first.is_resent(), first.first_sent()), (false, Some(s(3000.0))));
    let mut again = Packet::of_data(label, 1500, Data { is_resent: true, ..data });
    assert_eq!((again.is_resent(), again.first_sent()), (true, None), "it does not say");
    for (told, kept) in [(2999.5, 2999.5), (2999.9, 2999.5), (1.000_001, 1.000_001)] {
        again.set_first_sent(s(told));
        assert_eq!(again.first_sent(), Some(s(kept)), "the earlier one");
        let out = again.data();
        assert_eq!(
            (out.sent_at, out.seq, out.rtt, out.ecn, out.is_cwr, out.is_push, out.is_resent),
            (s(3000.0), 5, rtt, Ecn::Ce, true, true, true)
        );
        assert_eq!((again.dscp(), again.epoch(), again.flow), (63, 255, 9));
    }
    assert!(!Packet::of_ack(label, 40, 0, &Ack { is_resent: true, ..Ack::default() }).is_resent(), "no segment");
}

#[test]
fn an_ack_takes_a_window_along_and_its_time_which_a_segment_echoes() {
    let (ms, ns) = (|ms| Time::ZERO + Span::from_millis(ms), Span::from_nanos(1700));
    for sent in [0, 1, 8388, 8389, 1_000_000_000].map(|sent| ms(sent) + ns) {
        let heard = sent + Span::from_millis(8000);
        let told = Time(sent.0 - Span::from_nanos(700).0);
        let ack = Ack { next: 70, sack: Sack { starts: [72, 80, 90], lens: [1, 2, 3] }, ..Ack::default() };
        let mut packet = Packet::of_ack(label(), 40, AT_SENDER, &ack);
        assert_eq!(packet.advertised(heard), None);
        packet.set_advertised(Advertised { edge: 70 + 1_048_575, sent_at: sent });
        assert_eq!(packet.advertised(heard), Some(Advertised { edge: 70 + 1_048_575, sent_at: told }));
        assert_eq!(packet.ack(), Ack { sack: Sack { starts: [72, 80, 0], lens: [1, 2, 0] }, ..ack });
        assert!((packet.is_data(), packet.goes_back()) == (false, true));
        let data = Data {
            sent_at: heard,
            seq: 5,
            rtt: AnnouncedRtt::default(),
            ecn: Ecn::Ect0,
            is_cwr: true,
            is_push: true,
            is_resent: false,
        };
        let mut segment = Packet::of_data(label(), 1500, data);
        assert_eq!(segment.echo(heard), None);
        segment.set_echo(sent);
        assert_eq!((segment.echo(heard), segment.first_sent()), (Some(told), Some(heard)));
        let out = segment.data();
        assert_eq!((out.seq, out.ecn, out.is_cwr, out.is_push, segment.epoch()), (5, Ecn::Ect0, true, true, 3));
    }
}

fn label() -> FlowTag {
    FlowTag { flow: 9, tuple: 0x1abc, stamp: DscpEpoch::new(46, 3) }
}

/// The largest offset, the longest block, the last segment of all.
const NEXT: u32 = u32::MAX - (1 << 20);
const THREE: Sack = Sack { starts: [NEXT + 1, NEXT + (1 << 18) - 1, NEXT + 7], lens: [1, u16::MAX, u16::MAX] };

#[test]
fn an_ack_carries_what_is_put_into_it() {
    let two = Sack { starts: [NEXT + 9, NEXT + 5, 0], lens: [u16::MAX, 2, 0] };
    let far = Sack { starts: [NEXT + 1, NEXT + (1 << 18), NEXT + 3], lens: [1, 1, 1] };
    let near = Sack { starts: [NEXT + 1, 0, 0], lens: [1, 0, 0] };
    for (sack, kept) in [(THREE, THREE), (two, two), (far, near), Default::default()] {
        for ece in [false, true] {
            let ack = Ack { next: NEXT, ece, sack, ..Ack::default() };
            let packet = Packet::of_ack(label(), 40, AT_SENDER, &ack);
            assert_eq!(packet.ack(), Ack { sack: kept, ..ack });
            assert_eq!((packet.epoch(), packet.hop, packet.flow), (3, AT_SENDER, 9));
            assert_eq!((packet.dscp(), packet.host()), (46, MAX_HOSTS + 1), "its flow's DSCP, the receiver's host");
            assert_eq!(packet.flow_hash(), !0x1abc);
            assert!(packet.ecn() == Ecn::NotEct && packet.rtt().is_none());
        }
    }
}

#[test]
fn an_ack_tells_of_a_segment_that_has_arrived_twice_in_the_place_of_a_block() {
    let two = Sack { starts: [THREE.starts[0], THREE.starts[1], 0], lens: [1, u16::MAX, 0] };
    for (sack, kept) in [(THREE, two), (two, two), Default::default()] {
        for dsack in [NEXT - 1, NEXT - (1 << 17) + 1, NEXT + 1, NEXT + (1 << 17) - 1] {
            for is_resent in [false, true] {
                let ack = Ack { next: NEXT, sack, dsack: Some(dsack), is_resent, ..Ack::default() };
                assert_eq!(Packet::of_ack(label(), 40, AT_SENDER, &ack).ack(), Ack { sack: kept, ..ack });
            }
        }
    }
    let far = Ack { next: NEXT, dsack: Some(NEXT - (1 << 17)), ..Ack::default() };
    assert_eq!(Packet::of_ack(label(), 40, AT_SENDER, &far).ack().dsack, None);
}

#[test]
fn a_new_window_is_told_in_the_place_of_a_third_block_that_is_empty() {
    let two = Sack { starts: [THREE.starts[0], THREE.starts[1], 0], lens: [1, u16::MAX, 0] };
    let one = Sack { starts: [THREE.starts[0], 0, 0], lens: [1, 0, 0] };
    let told = |sack, dsack| {
        let ack = Ack { next: NEXT, sack, dsack, has_new_window: true, ..Ack::default() };
        let carried = Packet::of_ack(label(), 40, AT_SENDER, &ack).ack();
        assert_eq!(carried, Ack { has_new_window: carried.has_new_window, ..ack });
        carried.has_new_window
    };
    assert_eq!([Sack::default(), one, two].map(|sack| told(sack, None)), [true; 3]);
    assert_eq!([Sack::default(), one].map(|sack| told(sack, Some(NEXT - 1))), [true; 2]);
    assert_eq!((told(THREE, None), told(two, Some(NEXT - 1))), (false, false), "no place is left");
}

#[test]
fn a_window_is_whole_beside_blocks_counts_and_delays_and_absent_from_an_ack_that_queues() {
    for sack in [Sack::default(), THREE] {
        for rwnd in [1, 995, u32::MAX] {
            let ack = Ack { next: NEXT, sack, rwnd, ..Ack::default() };
            let mut packet = Packet::of_ack(label(), 40, AT_SENDER, &ack);
            assert_eq!(packet.ack(), ack);
            packet.set_marks(7);
            assert_eq!((packet.ack().rwnd, packet.ack().ce), (rwnd, 7));
            let mut packet = Packet::of_ack(label(), 40, AT_SENDER, &ack);
            packet.set_delay(Span(5));
            assert_eq!((packet.ack().rwnd, packet.ack().delay), (rwnd, Span(5)));
            let mut packet = Packet::of_ack(label(), 40, 0, &ack);
            packet.hop = AT_SENDER;
            assert_eq!((packet.ack().rwnd, packet.flow_hash()), (0, !label().tuple));
        }
    }
}

#[test]
fn a_delay_takes_the_place_of_the_third_block() {
    let two = Sack { starts: [THREE.starts[0], THREE.starts[1], 0], lens: [1, u16::MAX, 0] };
    for (sack, kept) in [(THREE, two), (two, two), Default::default()] {
        for (ps, carried) in [(0, 0), (8_345_678_901_234, 8_345_678_901_234), (u64::MAX, (1 << 43) - 1)] {
            let ack = Ack { next: NEXT, ece: true, sack, ..Ack::default() };
            let mut packet = Packet::of_ack(label(), 40, AT_SENDER, &ack);
            packet.set_delay(Span(ps));
            assert_eq!(packet.ack(), Ack { sack: kept, delay: Span(carried), ..ack });
            assert_eq!((packet.epoch(), packet.dscp()), (3, 46));
        }
    }
}

#[test]
fn a_count_of_marks_takes_the_place_of_the_last_block_that_is_left() {
    let [two, one] = [2, 1].map(|blocks| {
        let mut sack = THREE;
        sack.starts[blocks..].fill(0);
        sack.lens[blocks..].fill(0);
        sack
    });
    for (sack, two, one) in [(THREE, two, one), Default::default()] {
        let delay = Span::from_millis(123);
        let ack = Ack { next: NEXT, ece: true, ce: Ack::CE_MASK, sack, delay, ..Ack::default() };
        let mut packet = Packet::of_ack(label(), 40, AT_SENDER, &ack);
        packet.set_marks(ack.ce);
        assert_eq!(packet.ack(), Ack { sack: two, delay: Span::ZERO, ..ack });
        let mut packet = Packet::of_ack(label(), 40, AT_SENDER, &ack);
        packet.set_delay(ack.delay);
        packet.set_marks(ack.ce);
        assert_eq!(packet.ack(), Ack { sack: one, ..ack });
        assert_eq!((packet.epoch(), packet.dscp(), packet.flow_hash()), (3, 46, !0x1abc));
    }
}

#[test]
fn announces_round_trip_times_to_a_tenth_of_a_millisecond() {
    let told = |ms: f64| AnnouncedRtt::new(Span::from_seconds(ms / 1000.0)).span().map(|span| span.seconds() * 1000.0);
    assert_eq!((told(80.04), told(0.01), told(9000.0)), (Some(80.0), Some(0.1), Some(6553.5)));
    assert_eq!(AnnouncedRtt::default().span(), None);
}
