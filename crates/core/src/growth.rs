//! Growth of lists of which a network has many.

/// Makes room for one more value and a quarter of those there are: doubled, lists would leave a third of their memory unused.
pub fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(1 + list.len() / 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_grows_by_a_quarter() {
        let mut list = Vec::with_capacity(8);
        list.extend([0; 8]);
        make_room(&mut list);
        assert_eq!(list.capacity(), 11, "8, 1 and a quarter of 8");
        list.push(0);
        make_room(&mut list);
        assert_eq!(list.capacity(), 11, "there is room for two more");
    }
}
