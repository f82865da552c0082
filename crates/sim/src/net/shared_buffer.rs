//! A buffer that several links share, as those of a switch do, under dynamic thresholds (Choudhury and Hahne 1998): a queue may hold
//! alpha times what is free.

use aqmlab_scenario::SharedBufferSpec;

/// The packets that wait in a shared buffer. A packet in transmission does not.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    /// Bytes.
    size: u64,
    alpha: f64,
    used: u64,
}

/// A link's part of a shared buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferShare {
    /// Index of the buffer.
    pub buffer: usize,
    /// Bytes.
    held: u64,
}

impl SharedBuffer {
    /// Nothing waits.
    pub fn new(spec: &SharedBufferSpec) -> Self {
        Self { size: spec.size, alpha: spec.alpha, used: 0 }
    }

    /// Bytes that a queue may hold now with the packet that arrives: the threshold, and no more than there is room for.
    pub fn limit(&self, share: &BufferShare) -> u64 {
        let free = self.size.saturating_sub(self.used);
        ((self.alpha * free as f64) as u64).min(share.held + free)
    }

    /// A link holds so many bytes from now on.
    pub fn follow(&mut self, share: &mut BufferShare, bytes: u64) {
        self.used = self.used + bytes - share.held;
        share.held = bytes;
    }
}

impl BufferShare {
    /// Of a link at rest.
    pub fn of(buffer: usize) -> Self {
        Self { buffer, held: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills so many queues in turn with packets of 10 B until none may take more; returns what each holds.
    fn filled(alpha: f64, queues: usize) -> Vec<u64> {
        let spec = SharedBufferSpec { name: "switch".into(), size: 3000, alpha };
        let (mut buffer, mut shares) = (SharedBuffer::new(&spec), vec![BufferShare::of(0); queues]);
        while shares.iter_mut().fold(false, |any, share| {
            let takes = share.held + 10 <= buffer.limit(share);
            if takes {
                buffer.follow(share, share.held + 10);
            }
            any | takes
        }) {}
        assert_eq!(buffer.used, shares.iter().map(|share| share.held).sum::<u64>());
        shares.iter().map(|share| share.held).collect()
    }

    #[test]
    fn each_of_n_queues_gets_alpha_of_one_and_n_alpha() {
        // Choudhury and Hahne: n full queues hold alpha B / (1 + n alpha) each, so that B / (1 + n alpha) stays free.
        assert_eq!(filled(1.0, 1), [1500]);
        assert_eq!(filled(1.0, 2), [1000, 1000]);
        assert_eq!(filled(2.0, 1), [2000]);
        assert_eq!(filled(0.5, 4), [500; 4]);
        // However great alpha is, no more waits than the buffer holds.
        assert_eq!(filled(1000.0, 3).iter().sum::<u64>(), 3000);
    }

    #[test]
    fn a_threshold_falls_as_others_fill() {
        let mut buffer = SharedBuffer::new(&SharedBufferSpec { name: "switch".into(), size: 3000, alpha: 1.0 });
        let (mut first, mut second) = (BufferShare::of(0), BufferShare::of(0));
        buffer.follow(&mut first, 1200);
        assert_eq!((buffer.limit(&first), buffer.limit(&second)), (1800, 1800));
        buffer.follow(&mut second, 900);
        assert_eq!(buffer.limit(&first), 900, "it holds more than it may now, and takes no packet");
        buffer.follow(&mut first, 0);
        assert_eq!((buffer.used, buffer.limit(&second)), (900, 2100));
    }
}
