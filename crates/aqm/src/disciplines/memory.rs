//! The memory that packets take in Linux (`truesize`), which CAKE's buffer counts in place of their bytes.

use super::Limit;

/// `struct sk_buff`, bytes.
const BUFFER_HEAD: u32 = 256;
/// Behind the data: `struct skb_shared_info`, and the alignment of both.
const SHARED_INFO: u32 = 320;
const CACHE_LINE: u32 = 64;
/// Before the data: room for the link header of the device.
const HEADROOM: u32 = 32;
/// The least piece: of small packets (`SKB_SMALL_HEAD_CACHE_SIZE`, on kernels without Wi-Fi and tunnels).
const LEAST: u32 = 576;
/// Ethernet's largest frame, bytes, and the memory that it takes.
const FRAME: u32 = 1514;
const FULL: u64 = truesize(FRAME) as u64;

/// Memory of a packet of `size` bytes: what it needs in one piece, of which there are powers of two, and its head.
pub(super) const fn truesize(size: u32) -> u32 {
    let needed = (size + HEADROOM).next_multiple_of(CACHE_LINE) + SHARED_INFO;
    BUFFER_HEAD + if needed <= LEAST { LEAST } else { needed.next_power_of_two() }
}

/// Memory of the full packets that a limit allows.
pub(super) fn allowed(limit: Limit) -> u64 {
    match limit {
        Limit::Packets(packets) => u64::from(packets) * FULL,
        Limit::Bytes(bytes) => {
            u64::try_from(u128::from(bytes) * u128::from(FULL) / u128::from(FRAME)).unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_take_powers_of_two_and_a_head() {
        // 1514 + 32 = 1546, in lines of 64 B 1600, + 320 = 1920 B: a piece of 2048. 542: 576 + 320 = 896 B: 1024. 214: 256 + 320
        // = 576 B, the least. 9014: 9088 + 320: 16384.
        assert_eq!([1514, 1040, 542, 214, 66, 9014].map(truesize), [2304, 2304, 1280, 832, 832, 16640]);
    }

    #[test]
    fn limits_are_those_of_full_packets() {
        assert_eq!(allowed(Limit::Packets(100)), 230_400);
        assert_eq!(allowed(Limit::Bytes(151_400)), 230_400);
        assert_eq!(allowed(Limit::NONE), u64::MAX);
    }
}
