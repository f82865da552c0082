//! A ring of values, one for each segment within a sliding window.

use std::ops::{Index, IndexMut, Range};

/// A value for each number of a window that its owner knows.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// That of `seq` is at `seq` mod their number, a power of two.
    values: Box<[T]>,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Self { values: Box::new([T::default()]) }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Sets the value of the last of `window`; those before it keep theirs.
    #[inline]
    pub fn push(&mut self, window: Range<u32>, value: T) {
        if window.len() > self.values.len() {
            self.grow(window.clone());
        }
        self[window.end - 1] = value;
    }

    #[cold]
    fn grow(&mut self, window: Range<u32>) {
        let mut values = vec![T::default(); window.len().next_power_of_two()].into_boxed_slice();
        let mask = values.len() - 1;
        for seq in window.start..window.end - 1 {
            values[seq as usize & mask] = self[seq];
        }
        self.values = values;
    }
}

impl<T> Index<u32> for Ring<T> {
    type Output = T;

    #[inline]
    fn index(&self, seq: u32) -> &T {
        &self.values[seq as usize & (self.values.len() - 1)]
    }
}

impl<T> IndexMut<u32> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, seq: u32) -> &mut T {
        &mut self.values[seq as usize & (self.values.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_while_the_window_slides_and_grows() {
        let mut ring = Ring::default();
        (0..4).for_each(|seq| ring.push(0..seq + 1, seq));
        (4..7).for_each(|seq| ring.push(3..seq + 1, seq)); // four at most: none moves
        assert_eq!(ring.values.len(), 4);
        (7..100).for_each(|seq| ring.push(5..seq + 1, seq));
        assert!((5..100).all(|seq| ring[seq] == seq) && ring.values.len() == 128);
    }
}
