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
/// pages move, and nothing is copied, or what has been copied is given back.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) {
    const MANY: usize = 1 << 22; // bytes
    const ANY_PLACE: usize = 16; // the alignment of what may lie anywhere, so that the system can move its pages
    if list.capacity() - list.len() >= more {
        return;
    }
    let is_long = list.len() * size_of::<T>() >= MANY;
    let more = more.max(if is_long { list.len() / 8 } else { list.len() });
    if is_long && align_of::<T>() > ANY_PLACE { move_in_steps(list, more) } else { list.reserve_exact(more) }
}

/// Moves values to where there is room for more, and gives their memory back step by step: it is not taken twice.
#[allow(unsafe_code)]
fn move_in_steps<T>(list: &mut Vec<T>, more: usize) {
    const STEP: usize = 1 << 20; // bytes
    let (count, step) = (list.len(), (STEP / size_of::<T>()).max(1));
    let mut longer: Vec<T> = Vec::with_capacity(count + more);
    // SAFETY: each value is moved once, to where there is room for it, and from then on `longer` owns it; the list, which owns none
    // from before the first move, is freed unread.
    unsafe {
        list.set_len(0);
        for start in (0..count).step_by(step) {
            let (from, len) = (list.as_ptr().add(start), step.min(count - start));
            std::ptr::copy_nonoverlapping(from, longer.as_mut_ptr().add(start), len);
            #[cfg(target_os = "linux")]
            advise(from, len, libc::MADV_DONTNEED);
        }
        longer.set_len(count);
    }
    *list = longer;
}

#[inline(always)]
#[allow(unsafe_code)]
fn fetch_from<T>(start: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let crosses = align_of::<T>() < LINE.min(size_of::<T>());
        let lines = size_of::<T>().div_ceil(LINE) + usize::from(crosses); // perhaps in one more
        for line in 0..lines {
            let byte = (line * LINE).min(size_of::<T>() - 1);
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
        if values.capacity() * size_of::<T>() >= MANY {
            // SAFETY: the range is the vector's own memory; this advice changes nothing that a program can see.
            unsafe { advise(values.as_ptr(), values.capacity(), libc::MADV_HUGEPAGE) };
        }
    }
    values
}

/// Tells the system of the whole pages of so many values; it does not matter if it refuses.
///
/// # Safety
/// The advice may be taken: nobody reads what it discards.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
unsafe fn advise<T>(values: *const T, count: usize, advice: libc::c_int) {
    // SAFETY: this only asks.
    let Ok(page) = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) else { return };
    let skipped = values.cast::<u8>().align_offset(page);
    let whole = (count * size_of::<T>()).saturating_sub(skipped) / page * page;
    let start = values.cast::<libc::c_void>().cast_mut().wrapping_byte_add(skipped);
    // SAFETY: whole pages within the range; the caller answers for the advice.
    unsafe { libc::madvise(start, whole, advice) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a cache line, and with memory of its own.
    #[derive(Clone, Debug, PartialEq)]
    #[repr(align(64))]
    struct Line(Box<usize>);

    #[test]
    fn values_stay_when_a_long_list_grows() {
        let values = |count| (0..count).map(|i| Line(Box::new(i)));
        let mut list: Vec<Line> = values(100_000).collect();
        list.shrink_to_fit();
        reserve(&mut list, 1);
        assert_eq!(list.capacity(), 112_500);
        list.extend(values(1));
        assert!(values(100_000).chain(values(1)).eq(list.iter().cloned()));
    }

    #[test]
    fn a_short_list_grows_to_twice_its_length() {
        let mut list = vec![0; 10];
        reserve(&mut list, 1);
        assert!(list.capacity() >= 20);
    }
}
