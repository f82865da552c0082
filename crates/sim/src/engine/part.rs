//! A run of numbered things, of all that there are.

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

    /// Takes away those below a number.
    pub fn split_below(&mut self, number: usize) -> Self {
        let others = self.things.split_off(number.clamp(self.first, self.first + self.things.len()) - self.first);
        let first = std::mem::replace(&mut self.first, number);
        Self { first, things: std::mem::replace(&mut self.things, others) }
    }

    /// Takes back those after its own.
    pub fn append(&mut self, after: Self) {
        self.things.extend(after.things);
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
