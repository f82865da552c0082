//! Once a line has been as full as it gets, a packet allocates nothing.

use aqmlab::{Ecn, Line, Packet};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts allocations by thread.
struct Counting;

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: the system's allocator does the work.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Pushes packets of eight flows, at twice the rate for a while and then less than it, in turns, and takes what comes out.
fn carry(line: &mut Line<u64>, packets: u64) {
    let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1];
    for number in 0..packets {
        let gap = if number % 2048 < 1024 { 50_000 } else { 200_000 };
        let now = line.now() + gap;
        while let Some(at) = line.next_event().filter(|at| *at <= now) {
            line.pop(at).unwrap();
        }
        let packet = Packet::new(1000, codepoints[number as usize % 3], number as u32 % 8);
        line.push(now, packet, number).unwrap();
        while line.pop_dropped().is_some() {}
    }
}

/// A store grows when more packets wait in it than ever before, a table when other rows are used; cake-mq has these for each of its
/// queues.
const GROWTH: u64 = 12;

#[test]
fn a_packet_allocates_nothing() {
    let mut found_to_allocate = Vec::new();
    for entry in aqmlab_aqm::entries() {
        let name = entry.info.name;
        let config = format!("rate = '80 Mbit/s'\nbuffer = '300 packets'\ndelay = '5 ms'\nloss = '1%'\naqm = '{name}'");
        let mut line = Line::new(&config, 1).unwrap();
        carry(&mut line, 30_000);
        let before = ALLOCATIONS.get();
        carry(&mut line, 10_000);
        let (allocations, found) = (ALLOCATIONS.get() - before, line.counters());
        if allocations > GROWTH {
            found_to_allocate.push((name, allocations));
        }
        assert!(found.delivered > 20_000 && found.dropped() > 0, "{name}: {found:?}");
    }
    assert_eq!(found_to_allocate, []);
}
