//! A run of numbered things, of all that there are.

use crate::memory;
use std::ops::{Index, IndexMut};

/// Things from some number on. In a whole network they are numbered from 0.
#[derive(Clone, Debug)]
pub struct Part<T> {
    first: usize,
    things: Vec<T>,
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Part<T> {
    fn from(things: Vec<T>) -> Self {
        Self { first: 0, things }
    }
}

impl<T> Part<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// One more; returns its number.
    pub fn push(&mut self, thing: T) -> usize {
        self.things.push(thing);
        self.first + self.things.len() - 1
    }

    /// The one of this number, if it is here.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Option<&T> {
        self.things.get(number.wrapping_sub(self.first))
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.things.get_mut(number.wrapping_sub(self.first))
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
        Self { first: number, things }
    }

    /// What has been taken apart, in order.
    pub fn joined(parts: Vec<Self>) -> Self {
        let mut things = memory::room_for(parts.iter().map(Self::len).sum());
        let first = parts.first().map_or(0, Self::first);
        parts.into_iter().for_each(|part| things.extend(part.things));
        Self { first, things }
    }
}

impl<T> Index<usize> for Part<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        &self.things[number.wrapping_sub(self.first)]
    }
}

impl<T> IndexMut<usize> for Part<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.things[number.wrapping_sub(self.first)]
    }
}

impl<T> IntoIterator for Part<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.things.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Part<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.things.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Part<T> {
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
        let mut first = Part::from(vec!['a', 'b', 'c', 'd']);
        let rest = first.split_off(3);
        let second = first.split_off(1);
        let none = first.split_off(1);
        assert_eq!((first[0], second[1], second[2], rest[3]), ('a', 'b', 'c', 'd'));
        assert_eq!((first.get(1), second.get(0), rest.get(2), none.len()), (None, None, None, 0));
        assert_eq!(Part::joined(vec![first, none, second, rest]).into_iter().collect::<String>(), "abcd");
    }
}
