//! Texts that the scenario language accepts: units, sizes by the path, overrides.

use super::{VALID, problems, valid_with};
use aqmlab_aqm::Limit;
use aqmlab_core::Span;
use aqmlab_scenario::{Distribution, parse};

#[test]
fn other_units_mean_the_same() {
    let same = [
        ("duration = \"10 s\"", "duration = \"10000 ms\""),
        ("warmup = \"1 s\"", "warmup = \"1e6 us\""),
        ("sample = \"10 ms\"", "sample = \"0.01 s\""),
        ("rate = \"8 Mbit/s\"", "rate = \"8_000 kbit/s\""),
        ("delay = \"1 ms\"", "delay = \"1000us\""),
        ("buffer = \"100 packets\"", "buffer = \" 1e2  packets \""),
        ("rate = \"20 Mbit/s\"", "rate = \"0.02 Gbit/s\""),
        ("buffer = \"50 kB\"", "buffer = \"50000 B\""),
        ("rtt = \"20 ms\"", "rtt = { values = [\"0.02 s\"] }"),
        ("stop = \"8 s\"", "stop = \"8e12 ps\""),
        ("packet = \"1000 B\"", "packet = \"1 kB\""),
        ("access_rate = \"100 Mbit/s\"", "access_rate = \"1e8 bit/s\""),
        ("window = \"64 packets\"", "window = \"+64 packets\""),
        ("median = \"50 ms\"", "median = \"0.05 s\""),
        ("a = 2e-5", "a = \"0.00002\""),
    ];
    let other = same.iter().fold(VALID.to_string(), |text, (here, there)| {
        assert_eq!(text.matches(here).count(), 1, "{here}");
        text.replace(here, there)
    });
    let resolved = |text: &str| {
        let mut resolved = parse(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}")).resolved();
        assert!(resolved["schemes"]["pi"]["a"].take().as_str().is_some()); // kept as it is written
        resolved
    };
    assert_eq!(resolved(VALID), resolved(&other));
}

#[test]
fn a_buffer_or_target_may_be_given_by_the_path() {
    // 8 Mbit/s for the longest typical RTT of 50 ms are 50 kB; the mean packet is 1040 B: 48.08, rounded up.
    let buffer = |text| valid_with(&[("links.bottleneck.buffer", text)]).links[0].buffer;
    assert_eq!(buffer("1 bdp"), Limit::Packets(49));
    assert_eq!(buffer("2 bdp"), Limit::Packets(97));
    assert_eq!(buffer("64 KiB"), Limit::Bytes(65536));
    assert_eq!(buffer("100 ms"), Limit::Bytes(100_000));
    // 10 ms at 8 Mbit/s are 10000 B.
    let target = |text| valid_with(&[("links.bottleneck.target", text)]).links[0].target;
    assert!((target("10 ms") - 10_000.0 / 1040.0).abs() < 1e-12);
    let text = VALID.replace("target = \"30 packets\"\n", "");
    assert!((parse(&text, "test", &[]).unwrap().links[0].target - 100.0 / 3.0).abs() < 1e-12, "a third of the buffer");
}

#[test]
fn a_link_layer_leaves_less_of_the_rate_for_packets() {
    // 1040 + 40 = 1080 B: 23 cells of 53 B, 1219 B; of the rate 1040 / 1219 is left.
    let link = |pairs: &[(&str, &str)]| {
        let layer = [("links.bottleneck.overhead", "40 B"), ("links.bottleneck.framing", "atm")];
        valid_with(&[&layer[..], pairs].concat()).links[0].clone()
    };
    assert_eq!(link(&[("links.bottleneck.buffer", "100 ms")]).buffer, Limit::Bytes(85_315));
    assert_eq!(link(&[("links.bottleneck.buffer", "1 bdp")]).buffer, Limit::Packets(42)); // 48.08 * 0.853 = 41.02
    let target = link(&[("links.bottleneck.target", "10 ms")]).target;
    assert!((target - 10_000.0 / 1219.0).abs() < 1e-12, "{target}");
    assert_eq!(link(&[]).rate, link(&[("links.bottleneck.mpu", "64 B")]).rate, "that of the wire");
}

#[test]
fn a_link_is_sized_by_the_flows_that_cross_it() {
    // 8 Mbit/s are 1 MB/s. Data of 1000 B over 100 ms cross the first link, of 500 B over 400 ms the second; ACKs of 40 B
    // of the first flow queue at the second and third; nothing crosses the fourth, for which the mean is (2*1000 + 500)/3.
    let link = |name: &str, buffer: &str| {
        format!("[[links]]\nname = \"{name}\"\nrate = \"8 Mbit/s\"\nbuffer = \"{buffer}\"\ntarget = \"10 ms\"\n")
    };
    let links = |buffer: &str| ["one", "two", "three", "four"].map(|name| link(name, buffer)).concat();
    let flows = "[[flows]]\nname = \"a\"\ncount = 2\nrtt = \"100 ms\"\npacket = \"960 B\"\ntcp = \"rfc\"\npath = [\"one\"]\n\
                 ack_path = [\"two\", \"three\"]\n\
                 [[flows]]\nname = \"b\"\nrtt = \"400 ms\"\npacket = \"460 B\"\ntcp = \"rfc\"\npath = [\"two\"]\n";
    let sized = |buffer: &str| {
        let text = format!("schema = 1\nduration = \"1 s\"\n{}{flows}", links(buffer));
        parse(&text, "crossing", &[]).unwrap_or_else(|problems| panic!("{problems}")).links
    };
    let [bdp, bytes] = [sized("1 bdp"), sized("100 kB")];
    let packets: Vec<Limit> = bdp.iter().map(|link| link.buffer).collect();
    assert_eq!(packets, [100, 800, 2500, 480].map(Limit::Packets));
    let buffers: Vec<f64> = bytes.iter().map(|link| link.buffer_packets).collect();
    assert_eq!(buffers, [100.0, 200.0, 2500.0, 120.0]);
    let targets: Vec<f64> = bytes.iter().map(|link| link.target.round()).collect();
    assert_eq!(targets, [10.0, 20.0, 250.0, 12.0]);
}

#[test]
fn overrides_reach_every_level_and_list_items_by_name_or_index() {
    let scenario = valid_with(&[
        ("duration", "20 s"),
        ("links.bottleneck.rate", "15 Mbit/s"),
        ("links.1.buffer", "\"20 packets\""),
        ("flows.ftp.count", "7"),
        ("flows.ftp.path", "[\"uplink\"]"),
        ("flows.ftp.rtt", "{ uniform = [\"30 ms\", \"40 ms\"] }"),
        ("flows.ftp.tcp.window", "10 packets"),
        ("flows.late.groups.1.count", "5"),
        ("schemes.rem.phi", "1.002"),
    ]);
    assert_eq!(scenario.duration, Span::from_seconds(20.0));
    assert_eq!(scenario.links[0].rate.0, 15e6);
    assert_eq!(scenario.links[1].buffer, Limit::Packets(20));
    assert_eq!((scenario.flows[0].count(), &scenario.flows[0].path[..]), (7, &[1][..]));
    assert_eq!(scenario.flows[0].rtt, Distribution::Uniform(Span::from_seconds(0.03), Span::from_seconds(0.04)));
    assert_eq!(scenario.flows[0].tcp.window.0, 10.0);
    assert_eq!(scenario.flows[1].batches.iter().map(|batch| batch.count).collect::<Vec<_>>(), [2, 5]);
    assert!(scenario.schemes.contains(&("rem".into(), vec![("phi".into(), "1.002".into())])));
}

#[test]
fn the_last_override_of_a_path_counts() {
    assert_eq!(valid_with(&[("duration", "20 s"), ("duration", "30 s")]).duration, Span::from_seconds(30.0));
}

#[test]
fn overrides_that_name_nothing_are_refused() {
    for (path, value, expected) in [
        (
            "links.botleneck.rate",
            "1 Mbit/s",
            "links.botleneck.rate: unknown link \"botleneck\"; did you mean \"bottleneck\"?",
        ),
        ("links.2.rate", "1 Mbit/s", "links.2.rate: unknown link \"2\";"),
        ("flows.http.count", "1", "flows.http.count: unknown flow \"http\";"),
        ("flows.late.groups.2.count", "1", "flows.late.groups.2.count: unknown group \"2\";"),
        ("links.rate", "1 Mbit/s", "links.rate: names a list; write links.NAME.rate"),
        ("duration.x", "1", "duration.x: \"duration\" is text, not a table"),
        ("links.bottleneck.rat", "1", "links.bottleneck.rat: unknown key \"rat\"; did you mean \"rate\"?"),
        ("nonsense", "1", "nonsense: unknown key \"nonsense\";"),
        ("nonsense.deep.down", "1", "nonsense: unknown key \"nonsense\";"),
        ("schemes.pio.a", "1", "schemes.pio: unknown scheme \"pio\"; did you mean \"pi\"?"),
        ("", "1", "\"\": is not a path; write e.g. links.bottleneck.rate="),
        ("links..rate", "1", "links..rate: is not a path"),
        ("links.bottleneck.", "1", "links.bottleneck.: is not a path"),
    ] {
        let found = problems(VALID, &[(path, value)]);
        assert!(found.contains(expected), "{path}: {found}");
    }
}

#[test]
fn a_quic_connection_has_a_size_a_law_and_packets_of_its_own() {
    let text = "schema = 1\nduration = '1 s'\n[[links]]\nname = 'there'\nrate = '8 Mbit/s'\nbuffer = '9 packets'\n\
                [[links]]\nname = 'back'\nrate = '8 Mbit/s'\nbuffer = '9 packets'\n\
                [[flows]]\nkind = 'quic'\nrtt = '20 ms'\npath = ['there']\nack_path = ['back']\n";
    let shown = |more: &str| parse(&format!("{text}{more}"), "test", &[]).unwrap().resolved()["flows"][0].clone();
    let plain = shown("");
    assert_eq!((plain["size"].as_str(), plain["congestion_control"].as_str()), (Some("no end"), Some("cubic")));
    assert_eq!((plain["packet"].as_str(), plain["header"].as_str()), (Some("1452 B"), Some("28 B")));
    let own = shown("size = '5 MB'\ncongestion_control = 'bbr'\npacket = '1200 B'\n");
    assert_eq!((own["size"].as_str(), own["congestion_control"].as_str()), (Some("5000000 B"), Some("bbr")));
    for (more, why) in [
        ("packet = '1199 B'\n", "1200 B"),
        ("congestion_control = 'cubc'\n", "did you mean \"cubic\""),
        ("access_rate = '1 Mbit/s'\n", "unknown key"),
        ("size = '0 B'\n", "size"),
    ] {
        let found = parse(&format!("{text}{more}"), "test", &[]).unwrap_err().to_string();
        assert!(found.contains(why), "{found}");
    }
}
