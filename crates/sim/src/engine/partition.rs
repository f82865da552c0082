//! Numbered items of one partition of a network.

use crate::memory;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Things from some number on. In a whole network they are numbered from 0. In a region of a tree each number is that of the one
/// before and 2 to the power of `shift`, so that each region goes on counting for itself.
#[derive(Clone, Debug)]
pub struct Partition<T> {
    first: usize,
    shift: u32,
    things: Vec<T>,
}

impl<T> Default for Partition<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Partition<T> {
    fn from(things: Vec<T>) -> Self {
        Self { first: 0, shift: 0, things }
    }
}

impl<T> Partition<T> {
    /// The number of them.
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// One more; returns its number.
    pub fn push(&mut self, thing: T) -> usize {
        self.things.push(thing);
        self.first + ((self.things.len() - 1) << self.shift)
    }

    /// The one of this number, if it is here.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Option<&T> {
        self.things.get(self.place(number))
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let place = self.place(number);
        self.things.get_mut(place)
    }

    /// Where the one of this number is; nowhere, far beyond the end, if it is not here.
    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        number.wrapping_sub(self.first).rotate_right(self.shift)
    }

    /// The one of this number is this one; `filler` stands where numbers have been left out.
    pub fn put(&mut self, number: usize, thing: T, filler: impl Fn() -> T) {
        let place = self.place(number);
        let more = (place + 1).saturating_sub(self.things.len());
        memory::reserve(&mut self.things, more);
        while self.things.len() < place {
            self.things.push(filler());
        }
        match self.things.get_mut(place) {
            Some(filled) => *filled = thing,
            None => self.things.push(thing),
        }
    }

    /// Of numbers whose last `shift` bits tell the region, those of each of so many.
    pub fn by_region(self, shift: u32, regions: usize) -> Vec<Self> {
        let room = self.things.len().div_ceil(1 << shift);
        let part = |first| Self { first, shift, things: memory::room_for(room) };
        let mut parts: Vec<Self> = (0..regions).map(part).collect();
        for (number, thing) in self.things.into_iter().enumerate() {
            if let Some(part) = parts.get_mut(number & ((1 << shift) - 1)) {
                part.things.push(thing);
            }
        }
        parts
    }

    /// Joins the parts of all regions; `filler` takes the numbers that no part has.
    ///
    /// It begins with the last number, so that the parts give their memory back while the whole grows.
    pub fn of_regions(parts: Vec<Self>, filler: impl Fn() -> T) -> Self {
        const STEPS: usize = 16;
        let shift = parts.first().map_or(0, |part| part.shift);
        let mut parts: Vec<Vec<T>> = parts.into_iter().map(|part| part.things).collect();
        let rounds = parts.iter().map(Vec::len).max().unwrap_or(0);
        let mut things = VecDeque::with_capacity(rounds << shift);
        for round in (0..rounds).rev() {
            for region in (0..1 << shift).rev() {
                let part = parts.get_mut(region).filter(|part| part.len() > round);
                things.push_front(part.and_then(Vec::pop).unwrap_or_else(&filler));
            }
            if round % rounds.div_ceil(STEPS) == 0 {
                parts.iter_mut().for_each(Vec::shrink_to_fit);
            }
        }
        Vec::from(things).into()
    }

    /// All, in the order of their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.things.iter()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.things.iter_mut()
    }

    /// The number of the first.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Takes away those from a number on.
    pub fn split_off(&mut self, number: usize) -> Self {
        let others = self.things.drain((number - self.first).min(self.things.len())..);
        let mut things = memory::room_for(others.len());
        things.extend(others);
        Self { first: number, shift: self.shift, things }
    }

    /// Puts together what has been taken apart, in order.
    pub fn joined(parts: Vec<Self>) -> Self {
        let mut things = memory::room_for(parts.iter().map(Self::len).sum());
        let first = parts.first().map_or(0, Self::first);
        parts.into_iter().for_each(|part| things.extend(part.things));
        Self { first, shift: 0, things }
    }
}

impl<T> Index<usize> for Partition<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        &self.things[self.place(number)]
    }
}

impl<T> IndexMut<usize> for Partition<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        let place = self.place(number);
        &mut self.things[place]
    }
}

impl<T> IntoIterator for Partition<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.things.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Partition<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.things.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Partition<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.things.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_when_things_are_taken_apart() {
        let mut first = Partition::from(vec!['a', 'b', 'c', 'd']);
        let rest = first.split_off(3);
        let second = first.split_off(1);
        let none = first.split_off(1);
        assert_eq!((first[0], second[1], second[2], rest[3]), ('a', 'b', 'c', 'd'));
        assert_eq!((first.get(1), second.get(0), rest.get(2), none.len()), (None, None, None, 0));
        assert_eq!(Partition::joined(vec![first, none, second, rest]).into_iter().collect::<String>(), "abcd");
    }

    #[test]
    fn each_region_counts_for_itself() {
        let mut whole = Partition::default();
        [(0, 'a'), (1, 'b'), (4, 'c'), (6, 'd')]
            .into_iter()
            .for_each(|(number, thing)| whole.put(number, thing, || '-'));
        let [mut first, second, mut third] = whole.by_region(2, 3).try_into().unwrap();
        assert_eq!((first.len(), second.len(), third.len()), (2, 2, 2), "2 and 5 have been left out");
        assert_eq!((first[4], second[1], third[6]), ('c', 'b', 'd'));
        assert_eq!((first.get(1), first.get(8), second.get(4), third.get(0)), (None, None, None, None));
        assert_eq!(first.push('e'), 8);
        third.put(10, 'f', || '-');
        let whole = Partition::of_regions(vec![first, second, third], || '.');
        assert_eq!(whole.iter().collect::<String>(), "ab-.c-d.e.f.");
        assert_eq!((whole[8], whole[10]), ('e', 'f'));
    }
}
