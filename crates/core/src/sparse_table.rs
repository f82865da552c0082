//! A table of which few rows are used: a network of ten thousand lines has many such tables.

use crate::make_room;
use std::iter::repeat_n;
use std::ops::{Index, IndexMut};

/// Rows that are stored together.
const ROWS: usize = 16;

/// A table that stores only the rows that have been written, and their neighbours; all others are alike.
///
/// It may have a million rows. A row beyond the end is an error, as in a list.
#[derive(Clone, Debug)]
pub struct SparseTable<T> {
    /// The page of each row, by row / `ROWS`; 0 is the blank one.
    pages: Vec<u16>,
    stored: Vec<[T; ROWS]>,
}

impl<T: Copy> SparseTable<T> {
    /// A table of at least so many rows, each `blank` until it is written.
    pub fn new(rows: usize, blank: T) -> Self {
        Self { pages: vec![0; rows.div_ceil(ROWS)], stored: vec![[blank; ROWS]] }
    }

    /// Has at least so many rows from now on.
    pub fn grow(&mut self, rows: usize) {
        let more = rows.div_ceil(ROWS).saturating_sub(self.pages.len());
        self.pages.reserve_exact(more);
        self.pages.extend(repeat_n(0, more));
    }

    /// All rows are blank again.
    pub fn clear(&mut self) {
        self.pages.fill(0);
        self.stored.truncate(1);
    }

    /// A row to be changed, if there is one of this number.
    #[inline(always)]
    pub fn get_mut(&mut self, row: usize) -> Option<&mut T> {
        let stored = match *self.pages.get(row / ROWS)? {
            0 => self.store(row / ROWS),
            stored => stored.into(),
        };
        Some(&mut self.stored[stored][row % ROWS])
    }

    /// Changes one row after the other, up to the first that is not stored; how many it has changed.
    #[inline(always)]
    pub fn for_each_stored(&mut self, rows: &[u16], change: impl Fn(&mut T)) -> usize {
        let (pages, stored) = (&*self.pages, &mut *self.stored);
        let is_missing = |row: &u16| {
            let row = usize::from(*row);
            match pages.get(row / ROWS) {
                None | Some(0) => true,
                Some(page) => {
                    change(&mut stored[usize::from(*page)][row % ROWS]);
                    false
                }
            }
        };
        rows.iter().position(is_missing).unwrap_or(rows.len())
    }

    #[cold]
    #[inline(never)]
    fn store(&mut self, page: usize) -> usize {
        let stored = self.stored.len();
        make_room(&mut self.stored);
        self.stored.push(self.stored[0]);
        self.pages[page] = u16::try_from(stored).expect("a table has a million rows at most");
        stored
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = T> {
        self.pages.iter().flat_map(|page| self.stored[usize::from(*page)])
    }

    /// Rows that are stored, with their numbers.
    pub fn stored(&self) -> impl Iterator<Item = (usize, T)> {
        let used = self.pages.iter().enumerate().filter(|(_, page)| **page > 0);
        used.flat_map(|(at, page)| (at * ROWS..).zip(self.stored[usize::from(*page)]))
    }
}

impl<T: Copy> Index<usize> for SparseTable<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, row: usize) -> &T {
        let page = self.pages[row / ROWS];
        &self.stored[usize::from(page)][row % ROWS]
    }
}

impl<T: Copy> IndexMut<usize> for SparseTable<T> {
    #[inline(always)]
    fn index_mut(&mut self, row: usize) -> &mut T {
        self.get_mut(row).expect("the table has this row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_what_is_written_and_others_stay_blank() {
        let mut table = SparseTable::new(65_535, 7);
        for row in [0, 65_534, 17, 16, 0] {
            table[row] += row + 1;
        }
        assert_eq!([0, 1, 16, 17, 18, 65_533, 65_534].map(|row| table[row]), [9, 7, 24, 25, 7, 7, 65_542]);
        assert_eq!(table.stored.len(), 4, "the blank page and three that are used");
        let written = table.stored().filter(|(_, value)| *value != 7).collect::<Vec<_>>();
        assert_eq!(written, [(0, 9), (16, 24), (17, 25), (65_534, 65_542)]);
        assert!(table.rows().enumerate().all(|(row, value)| value == table[row]));
        table.clear();
        assert!(table.rows().all(|value| value == 7));
    }

    #[test]
    fn a_table_grows_and_all_of_its_rows_can_be_used() {
        let mut table = SparseTable::new(0, 0);
        assert!(table.get_mut(0).is_none());
        table.grow(65_536);
        table.grow(10); // does not shrink
        (0..65_536).for_each(|row| table[row] = row);
        assert!((0..65_536).all(|row| table[row] == row));
        assert!(table.get_mut(65_536).is_none());
    }
}
