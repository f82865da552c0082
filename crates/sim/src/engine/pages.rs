//! Lists of events on pages of one memory: a list grows without being moved, and what one gives back another takes.

/// Events of a page.
const PAGE: usize = 64;
const NONE: u32 = u32::MAX;

/// A list: its pages in a chain, and how many events it holds.
#[derive(Clone, Copy, Debug)]
pub struct List {
    first: u32,
    last: u32,
    pub len: u32,
}

impl List {
    pub const EMPTY: List = List { first: NONE, last: NONE, len: 0 };
}

/// The memory of all lists.
#[derive(Clone)]
pub struct Pages<T> {
    items: Vec<T>,
    /// For each page the one that follows it, in its list or among the free ones.
    following: Vec<u32>,
    free: u32,
}

impl<T: Copy + Default> Pages<T> {
    pub fn new() -> Self {
        Self { items: Vec::new(), following: Vec::new(), free: NONE }
    }

    /// Where one more item of a list is to be written.
    #[inline]
    pub fn add(&mut self, list: &mut List) -> &mut T {
        let within = list.len as usize % PAGE;
        if within == 0 {
            self.add_page(list);
        }
        list.len += 1;
        &mut self.items[PAGE * list.last as usize + within]
    }

    fn add_page(&mut self, list: &mut List) {
        let page = self.take();
        match list.last {
            NONE => list.first = page,
            last => self.following[last as usize] = page,
        }
        list.last = page;
    }

    fn take(&mut self) -> u32 {
        if self.free == NONE {
            self.items.resize(self.items.len() + PAGE, T::default());
            self.following.push(NONE);
            return self.following.len() as u32 - 1;
        }
        let page = self.free;
        self.free = std::mem::replace(&mut self.following[page as usize], NONE);
        page
    }

    /// Gives the pages of a list back; what is on them stays readable until others take them.
    pub fn clear(&mut self, list: &mut List) {
        if list.last != NONE {
            self.following[list.last as usize] = std::mem::replace(&mut self.free, list.first);
        }
        *list = List::EMPTY;
    }

    /// Calls `see` with each item of a list and its place, in order.
    #[inline]
    pub fn each(&self, list: &List, mut see: impl FnMut(u32, &T)) {
        let (mut page, mut left) = (list.first, list.len as usize);
        while left > 0 {
            let start = PAGE * page as usize;
            let here = &self.items[start..start + left.min(PAGE)];
            here.iter().enumerate().for_each(|(i, item)| see((start + i) as u32, item));
            left -= here.len();
            page = self.following[page as usize];
        }
    }

    /// The item at a place.
    #[inline]
    pub fn at(&self, place: u32) -> &T {
        &self.items[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lists hold what was added to them, in order, whatever others do.
        #[test]
        fn lists_on_pages_are_lists(steps in prop::collection::vec((0usize..5, 0u32..200), 0..60)) {
            let mut pages = Pages::new();
            let mut lists = [List::EMPTY; 4];
            let mut expected = vec![Vec::new(); 4];
            for (step, (which, count)) in steps.into_iter().enumerate() {
                match which.checked_sub(1) {
                    Some(i) => for n in 0..count {
                        *pages.add(&mut lists[i]) = (step, n);
                        expected[i].push((step, n));
                    },
                    None => {
                        pages.clear(&mut lists[count as usize % 4]);
                        expected[count as usize % 4].clear();
                    }
                }
                for (list, expected) in lists.iter().zip(&expected) {
                    let mut found = Vec::new();
                    pages.each(list, |place, item| {
                        assert_eq!(pages.at(place), item);
                        found.push(*item);
                    });
                    prop_assert_eq!(&found, expected);
                }
            }
            let most: usize = pages.items.len() / PAGE;
            prop_assert!(most <= 60 * 4, "pages are taken again");
        }
    }
}
