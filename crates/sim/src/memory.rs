//! Memory access: prefetching and large pages. A cache miss takes longer than an event.

/// Asks for the cache lines of a value that is needed soon. Nothing depends on their coming.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    fetch_from(value);
}

/// The same of a value in a list, which may be shorter.
#[inline(always)]
pub fn fetch_at<T>(list: &[T], index: usize) {
    fetch_from(list.as_ptr().wrapping_add(index));
}

/// Appends a value, and asks for the cache lines of the next ones: another core may have them.
#[inline(always)]
pub fn append<T>(list: &mut Vec<T>, value: T) {
    list.push(value);
    fetch_at(list, list.len() + 3);
}

/// Makes room for so many more values, and for as many again as there are, or an eighth of them where they are many: then
/// pages move, and nothing is copied.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) {
    const MANY: usize = 1 << 22; // bytes
    if list.capacity() - list.len() < more {
        let spare = if list.len() * size_of::<T>() < MANY { list.len() } else { list.len() / 8 };
        list.reserve_exact(more.max(spare));
    }
}

#[inline(always)]
#[allow(unsafe_code)]
fn fetch_from<T>(start: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let last = if align_of::<T>() < LINE { size_of::<T>().saturating_sub(1) } else { 0 }; // perhaps in one line more
        for byte in (0..size_of::<T>()).step_by(LINE).chain((last > 0).then_some(last)) {
            // SAFETY: a prefetch reads and writes nothing that a program can see, and faults at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.cast::<i8>().wrapping_add(byte)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = start;
}

/// Room for so many values, where there are many in large pages: a processor knows where too few small ones lie.
#[allow(unsafe_code)]
pub fn room_for<T>(count: usize) -> Vec<T> {
    let values: Vec<T> = Vec::with_capacity(count);
    #[cfg(target_os = "linux")]
    {
        const MANY: usize = 1 << 24;
        const SMALL_PAGE: usize = 1 << 12;
        let start = values.as_ptr().cast::<libc::c_void>().cast_mut();
        let bytes = values.capacity() * size_of::<T>();
        if bytes >= MANY {
            let skipped = start.align_offset(SMALL_PAGE);
            // SAFETY: from the first whole page on, the range lies in the vector's own memory; the advice changes nothing
            // that a program can see, and it does not matter if the system refuses it.
            unsafe { libc::madvise(start.wrapping_byte_add(skipped), bytes - skipped, libc::MADV_HUGEPAGE) };
        }
    }
    values
}
