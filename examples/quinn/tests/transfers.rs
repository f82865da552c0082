//! What a test of a QUIC stack looks like: a whole transfer through a queue, in virtual time, the same each time.

use quinn_over_aqmlab::{Transfer, transfer};

const ACCESS: &str = "schema = 1\nduration = '60 s'\n\
    [[links]]\nname = 'up'\nrate = '10 Mbit/s'\nbuffer = '200 packets'\necn = true\n\
    [[links]]\nname = 'down'\nrate = '50 Mbit/s'\nbuffer = '200 packets'\n\
    [[flows]]\nrtt = '40 ms'\n";
const LTE: &str = "schema = 1\nduration = '60 s'\n\
    [[links]]\nname = 'up'\nrate = { trace = 'radio' }\nbuffer = '200 packets'\n\
    [[flows]]\nrtt = '40 ms'\n\
    [traces]\nradio = '''\ntime (s),rate (Mbit/s),loss (%)\n0,10,0\n0.4,3,2\n1,8,1\n2,5,0.5\n'''\n";
const BYTES: usize = 1_000_000;

/// Repeats; `AQMLAB_REPEATS` says how many, else 20.
fn repeats() -> usize {
    std::env::var("AQMLAB_REPEATS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// A transfer that is the same in every repeat.
fn repeated(scenario: &str, aqm: &str) -> Transfer {
    let first = transfer(scenario, aqm, BYTES);
    for _ in 1..repeats() {
        assert_eq!(transfer(scenario, aqm, BYTES), first, "{aqm}");
    }
    first
}

#[test]
fn flow_queueing_marks_and_drops_nothing() {
    let Transfer { time, packets: [sent, dropped, marked], .. } = repeated(ACCESS, "fq-codel");
    // 1 MB at 10 Mbit/s takes 0.8 s, and at least two round trips of 40 ms more.
    assert!((880_000_000..1_500_000_000).contains(&time), "{time} ns");
    assert!(sent > 800 && dropped == 0 && marked > 0, "{sent} {dropped} {marked}");
}

#[test]
fn the_dual_queue_serves_classic_quic() {
    let Transfer { time, packets: [sent, dropped, marked], .. } = repeated(ACCESS, "dualpi2");
    assert!((880_000_000..1_500_000_000).contains(&time), "{time} ns");
    // Slow start takes p above a quarter, from which on even what can be marked is dropped (RFC 9332, appendix A).
    assert!(marked > 0 && dropped < sent / 20, "{sent} {dropped} {marked}");
}

#[test]
fn a_lossy_radio_delays_it_the_same_each_time() {
    let Transfer { time, packets: [_, dropped, _], .. } = repeated(LTE, "droptail");
    assert!(dropped > 0 && time > 1_000_000_000, "{time} {dropped}");
    assert_ne!(transfer(LTE, "droptail", BYTES / 2).digest, transfer(LTE, "droptail", BYTES).digest);
}
