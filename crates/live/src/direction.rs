//! One direction of the line as the simulator has it, over the packets of the store.

use crate::store::Slot;

/// The fate of a packet.
pub(crate) type Decision = aqmlab_sim::Decision<Slot>;
/// One direction.
pub(crate) type Direction = aqmlab_sim::Direction<Slot>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogRecord;
    use crate::replay::replay;
    use aqmlab_aqm::Discipline;
    use aqmlab_core::{Problems, Span, Stream, Time};
    use aqmlab_scenario::parse;
    use aqmlab_scenario::{AqmChoice, Scenario, SchemeAssignment};
    use aqmlab_sim::{Lines, PacketOutcome};

    /// One link called `up` with these keys, beside a round-trip time of 20 ms.
    fn scenario(keys: &str) -> Scenario {
        let text = format!(
            "schema = 1\nduration = \"9 s\"\nsample = \"1 s\"\n[[links]]\nname = \"up\"\n{keys}\n[[flows]]\nrtt = \"20 ms\"\n"
        );
        parse(&text, "live", &[]).unwrap()
    }

    fn direction(scenario: &Scenario, aqm: &str) -> Direction {
        let choice = AqmChoice::parse(aqm).unwrap();
        let mut direction = Direction::new(scenario, &Lines::of(scenario).unwrap().up, &choice, 1).unwrap();
        direction.logs = true;
        direction
    }

    fn us(number: u64) -> Time {
        Time::ZERO + Span::from_micros(number)
    }

    fn slot(number: u32, arrived: Time, size: u16) -> Slot {
        Slot { arrived, number, block: 0, part: 0, size, flow: 0, hash: 0, host: 0, traffic_class: 0 }
    }

    /// Offers packets of 1000 bytes at these times; returns when each comes out at the other end, by its number.
    fn crosses(keys: &str, times: &[u64]) -> Vec<(u32, Time)> {
        let mut direction = direction(&scenario(keys), "droptail");
        for (number, time) in (0..).zip(times) {
            direction.advance(us(*time));
            direction.offer(slot(number, us(*time), 1000), us(*time));
        }
        direction.advance(us(9_000_000));
        let due = std::iter::from_fn(|| direction.take_due(us(9_000_000)));
        due.map(|flying| (flying.packet.number, flying.due)).collect()
    }

    const BUFFER: &str = "buffer = \"2 packets\"";

    #[test]
    fn packets_leave_at_the_rate_of_the_line_and_arrive_a_delay_later() {
        // 8 Mbit/s: 1 us a byte, 1 ms a packet. The fourth finds one in service and two waiting.
        let found = crosses(&format!("rate = \"8 Mbit/s\"\n{BUFFER}"), &[0, 0, 100, 200, 20_000]);
        assert_eq!(found, [(0, us(11_000)), (1, us(12_000)), (2, us(13_000)), (4, us(31_000))]);
    }

    #[test]
    fn a_step_of_the_rate_counts_from_the_next_packet_on() {
        let steps = "rate = [[\"0 s\", \"8 Mbit/s\"], [\"1500 us\", \"2 Mbit/s\"]]";
        let found = crosses(&format!("{steps}\n{BUFFER}"), &[0, 0, 0]);
        assert_eq!(found, [(0, us(11_000)), (1, us(12_000)), (2, us(16_000))]);
    }

    #[test]
    fn a_line_follows_its_trace() {
        // 8 Mbit/s and 4 ms, from 2.5 ms on 2 Mbit/s and 9 ms. Of the 20 ms of the round trip 10 are on the way up. The third is
        // sent from 2 to 3 ms and flies 15 ms, the fourth is sent until 7 ms.
        let text = "time (ms),rate (Mbit/s),delay (ms),loss (%)\n0,8,4,0\n2.5,2,9,0\n30,2,9,100\n";
        let keys = format!("rate = {{ trace = \"it\" }}\nbuffer = \"9 packets\"\n[traces]\nit = '''\n{text}'''");
        let found = crosses(&keys, &[0, 0, 0, 0, 30_000]);
        assert_eq!(found, [(0, us(11_000)), (1, us(12_000)), (2, us(18_000)), (3, us(22_000))]);
    }

    #[test]
    fn a_change_that_a_line_cannot_make_is_refused() {
        let text = "rate = \"8 Mbit/s\"\nbuffer = \"9 packets\"\n[[changes]]\nat = \"1 s\"\npath = \"links.up.aqm\"\nvalue = \"pie\"";
        let Problems(found) = Lines::of(&scenario(text)).unwrap_err();
        assert!(found[0].path == "links.up.aqm" && found[0].reason.contains("cannot change here"), "{found:?}");
    }

    #[test]
    fn overhead_of_the_link_layer_takes_its_time() {
        // PPPoE over ATM: 1040 bytes are 22 cells of 53 bytes.
        let found = crosses(&format!("rate = \"8 Mbit/s\"\noverhead = \"40 B\"\nframing = \"atm\"\n{BUFFER}"), &[0]);
        assert_eq!(found, [(0, us(11_166))]);
    }

    #[test]
    fn packets_free_of_the_order_pass_others() {
        let wire = "jitter = { values = [\"5 ms\", \"0 ms\"] }\nreorder = \"100%\"";
        let found = crosses(&format!("rate = \"8 Mbit/s\"\n{BUFFER}\n{wire}"), &[0, 0]);
        assert_eq!(found, [(1, us(12_000)), (0, us(16_000))]);
    }

    #[test]
    fn what_is_lost_on_the_wire_is_told() {
        let scenario = scenario(&format!("rate = \"8 Mbit/s\"\n{BUFFER}\nloss = \"100%\""));
        let mut direction = direction(&scenario, "droptail");
        direction.offer(slot(7, us(0), 1000), us(0));
        direction.advance(us(2000));
        let fates: Vec<PacketOutcome> = direction.decisions.iter().map(|decision| decision.outcome).collect();
        assert_eq!((fates, direction.next_due()), (vec![PacketOutcome::Sent, PacketOutcome::Lost], None));
    }

    /// Random packets of ten flows, some with each ECN codepoint, at more than the line's rate: what an interface may give.
    fn arrivals(count: u32) -> Vec<Slot> {
        let (mut rng, mut now) = (Stream::new(1, "arrivals", 0), Time::ZERO);
        let arrival = |number| {
            now += Span::from_nanos(u64::from(rng.below(80_000)));
            let flow = rng.below(10);
            let (size, traffic_class) = (rng.below(1500) as u16 + 1, rng.below(256) as u8);
            Slot { flow, hash: flow * 0x0123_4567, host: flow / 2, traffic_class, ..slot(number, now, size) }
        };
        (0..count).map(arrival).collect()
    }

    /// Every scheme, and so many packets each that all together meet a million.
    #[test]
    fn decisions_do_not_depend_on_when_the_thread_wakes_and_every_account_balances() {
        let scenario =
            scenario("rate = \"100 Mbit/s\"\nbuffer = \"60 packets\"\ntarget = \"20 packets\"\nloss = \"1%\"");
        let entries = aqmlab_aqm::entries();
        let arrivals = arrivals(1_000_000 / entries.len() as u32 + 1);
        for entry in entries {
            let name = entry.info.name;
            let (mut direction, mut wakes) = (direction(&scenario, name), Stream::new(2, "wakes", 0));
            let mut log: Vec<u8> = Vec::new();
            for slot in &arrivals {
                for _ in 0..wakes.below(3) {
                    let before = Span(slot.arrived.since(Time::ZERO).0.saturating_sub(u64::from(wakes.below(1 << 25))));
                    direction.advance(Time::ZERO + before);
                }
                direction.advance(slot.arrived);
                direction.offer(*slot, slot.arrived);
                log.extend(LogRecord::of_arrival(slot).bytes());
            }
            direction.advance(arrivals.last().unwrap().arrived + Span::from_millis(1));
            log.extend(direction.decisions.iter().flat_map(|decision| LogRecord::of_decision(decision).bytes()));
            let chosen = SchemeAssignment::parse(name).unwrap();
            let found = replay(&scenario, Some(&chosen), 1, true, &log).unwrap();
            assert_eq!((found.same, found.first_difference), (found.decisions, None), "{name}");
            let (of, waiting) = (direction.link.queue.accounts(), u64::from(direction.link.queue.len()));
            assert!(direction.link.queue.accounts_balance(), "{name}");
            assert_eq!(of.arrived, arrivals.len() as u64, "{name}");
            let dropped =
                direction.decisions.iter().filter(|decision| decision.outcome != PacketOutcome::Sent).count() as u64;
            let lost = direction.link.impairment.as_ref().map_or(0, |wire| wire.lost);
            assert_eq!(of.arrived, of.departed + dropped - lost + waiting, "{name}");
        }
    }
}
