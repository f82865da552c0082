//! Sequence numbers of RTP.

/// A step of the sequence numbers that begins them anew (RFC 3550, appendix A.1).
pub const MAX_DROPOUT: u64 = 3000;
/// Packets of a stream that are remembered.
pub const REMEMBERED: usize = 8192;

/// Sequence numbers of 16 bits as one count that does not wrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwrapped(pub(super) Option<u64>);

impl Unwrapped {
    /// The one that is nearest to the last.
    pub fn of(&mut self, seq: u16) -> u64 {
        let last = self.0.unwrap_or(u64::from(seq) + (1 << 48));
        let step = seq.wrapping_sub(last as u16) as i16;
        let number = last.wrapping_add_signed(step.into());
        self.0 = Some(number);
        number
    }
}
