//! How memory is used: a cache miss takes longer than an event.

/// Asks for the cache lines of a value that is needed soon. Nothing depends on their coming.
#[inline(always)]
#[allow(unsafe_code)]
pub fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(value).cast::<i8>();
        for line in 0..size_of::<T>().div_ceil(64) {
            // SAFETY: a prefetch reads and writes nothing that a program can see, and faults at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(64 * line)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
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
