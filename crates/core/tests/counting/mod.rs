//! An allocator that counts what the current thread takes: allocations, and the bytes that it holds at most.

#![allow(dead_code)] // a test takes what it needs

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Counts the bytes that a thread holds.
struct Counting;

fn take(bytes: usize) {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    BYTES.set(BYTES.get() + bytes);
    HELD.set(HELD.get().wrapping_add(bytes));
    MOST.set(MOST.get().max(HELD.get()));
}

fn give(bytes: usize) {
    HELD.set(HELD.get().wrapping_sub(bytes));
}

// SAFETY: the system's allocator does the work.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        give(layout.size());
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size); // both are held while one is copied
        give(layout.size());
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What something took: its allocations, the bytes that they asked for together, and the bytes held at once at most.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub allocations: usize,
    pub bytes: usize,
    pub peak: usize,
}

/// What `work` takes on this thread.
pub fn taken<T>(work: impl FnOnce() -> T) -> Taken {
    let (allocations, bytes, held) = (ALLOCATIONS.get(), BYTES.get(), HELD.get());
    MOST.set(held);
    drop(work());
    Taken { allocations: ALLOCATIONS.get() - allocations, bytes: BYTES.get() - bytes, peak: MOST.get() - held }
}

/// Doubles an input from `least` parts up to `largest`, and refuses any
/// step that takes more than 2.2 times as much. Returns the last input's parts and what it took.
pub fn grows_as_its_input(name: &str, [least, largest]: [u32; 2], mut work: impl FnMut(u32) -> Taken) -> Taken {
    let (mut parts, mut before) = (least, work(least));
    while 2 * parts <= largest {
        parts *= 2;
        let after = work(parts);
        let pairs = [(before.allocations, after.allocations), (before.bytes, after.bytes), (before.peak, after.peak)];
        for (small, large) in pairs {
            assert!(large as f64 <= 2.2 * small as f64, "{name}, {parts} parts: {before:?}, then {after:?}");
        }
        before = after;
    }
    assert!(before.peak <= 1_000_000_000, "{name}, {parts} parts: {before:?}");
    before
}
