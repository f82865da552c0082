//! The memory that the engine holds, for bounds that are kept while runs go on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes that a thread holds unsaid at most: to say each would have the cores wait for each other.
const UNSAID: i64 = 1 << 16;

/// Bytes that all threads hold, but for what is unsaid.
static HELD: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static REST: Rest = const { Rest };
    static UNSAID_HERE: Cell<i64> = const { Cell::new(0) };
    /// Bytes that this thread has taken since it began a run, less those that it gave back.
    static OWN: Cell<i64> = const { Cell::new(0) };
}

/// Says what is left unsaid in a thread that ends.
struct Rest;

impl Drop for Rest {
    fn drop(&mut self) {
        HELD.fetch_add(UNSAID_HERE.replace(0), Ordering::Relaxed);
    }
}

/// Bytes that the engine holds in this process.
pub fn held() -> u64 {
    HELD.load(Ordering::Relaxed).max(0) as u64
}

/// Bytes that this thread has come to hold since [`begin`]; negative if it gave back what others took.
pub fn own() -> i64 {
    OWN.get()
}

/// The outcome of some work, and the bytes that this thread has come to hold by it.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, i64) {
    let before = OWN.get();
    let found = work();
    (found, OWN.get() - before)
}

/// The outcome of some work of a run that held so many bytes before, and those that it holds then; [`own`] are its bytes meanwhile.
pub fn going_on<T>(held: i64, work: impl FnOnce() -> T) -> (T, i64) {
    REST.with(|_| ());
    let before = OWN.replace(held);
    let found = work();
    let now = OWN.get();
    OWN.set(before + now - held);
    (found, now)
}

/// A run begins in this thread.
pub fn begin() {
    OWN.set(0);
}

/// The system's allocator, which counts.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: i64) {
    // A thread that ends may free memory when its counters are gone.
    let _ = OWN.try_with(|own| own.set(own.get() + bytes));
    let _ = UNSAID_HERE.try_with(|unsaid| {
        let all = unsaid.get() + bytes;
        if all.abs() > UNSAID {
            HELD.fetch_add(all, Ordering::Relaxed);
        }
        unsaid.set(if all.abs() > UNSAID { 0 } else { all });
    });
}

// SAFETY: the system's allocator does the work; counting allocates nothing.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        unsafe { System.realloc(place, layout, size) }
    }
}
