//! A table of which few rows are used: a box of ten thousand lines has many such tables.

use std::ops::{Index, IndexMut};

/// Rows that are stored together.
const ROWS: usize = 8;

/// A table that stores only pages of rows that have been written; the other rows are all alike.
#[derive(Clone)]
pub(super) struct SparseTable<T> {
    /// The page of each row, by row / `ROWS`; 0 is the blank one.
    pages: Box<[u16]>,
    stored: Vec<[T; ROWS]>,
}

impl<T: Copy> SparseTable<T> {
    /// A table of up to 65,536 rows, each `blank` until it is written.
    pub(super) fn new(rows: u32, blank: T) -> Self {
        Self { pages: vec![0; (rows as usize).div_ceil(ROWS)].into(), stored: vec![[blank; ROWS]] }
    }

    #[cold]
    fn store(&mut self, page: usize) -> usize {
        self.stored.push(self.stored[0]);
        self.pages[page] = (self.stored.len() - 1) as u16;
        self.stored.len() - 1
    }
}

impl<T: Copy> Index<u32> for SparseTable<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, row: u32) -> &T {
        let page = self.pages[row as usize / ROWS];
        &self.stored[usize::from(page)][row as usize % ROWS]
    }
}

impl<T: Copy> IndexMut<u32> for SparseTable<T> {
    #[inline(always)]
    fn index_mut(&mut self, row: u32) -> &mut T {
        let page = row as usize / ROWS;
        let stored = match self.pages[page] {
            0 => self.store(page),
            stored => stored.into(),
        };
        &mut self.stored[stored][row as usize % ROWS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_what_is_written_and_others_stay_blank() {
        let mut table = SparseTable::new(65_535, 7);
        for row in [0, 65_534, 9, 8, 0] {
            table[row] += row + 1;
        }
        assert_eq!([0, 1, 8, 9, 10, 65_533, 65_534].map(|row| table[row]), [9, 7, 16, 17, 7, 7, 65_542]);
        assert_eq!(table.stored.len(), 4, "the blank page and three that are used");
    }

    #[test]
    fn all_rows_of_the_largest_table_can_be_used() {
        let mut table = SparseTable::new(65_536, 0);
        (0..65_536).for_each(|row| table[row] = row);
        assert!((0..65_536).all(|row| table[row] == row));
    }
}
