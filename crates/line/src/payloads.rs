//! The payloads of the packets that a line holds, each under a key that stays.

/// Payloads by key. Keys are used again, so that nothing is allocated once it has been as full as it gets.
#[derive(Clone)]
pub struct Payloads<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Payloads<T> {
    pub const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Keeps a payload; returns its key.
    pub fn put(&mut self, payload: T) -> u32 {
        if let Some(key) = self.free.pop() {
            self.places[key as usize] = Some(payload);
            return key;
        }
        self.places.push(Some(payload));
        self.free.reserve(self.places.len()); // all may become free
        (self.places.len() - 1) as u32
    }

    /// Takes the payload of a key that was given out and not taken since.
    pub fn take(&mut self, key: u32) -> T {
        self.free.push(key);
        self.places[key as usize].take().expect("each packet leaves the line once")
    }

    /// The number of payloads.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
