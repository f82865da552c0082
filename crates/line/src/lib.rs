//! A line with its queue and its active queue management (AQM), in the virtual time of whoever calls it: for the tests of
//! transport stacks, which so need no emulator, no privileges and no clock.
//!
//! ```text
//!   Line   one direction: queue and scheme, transmitter, wire        Path   both directions    SharedPath   the same with cross traffic
//!     push(now, packet, payload)  a packet enters; what became of it at once
//!     next_event()                when to call again
//!     pop(now)                    what comes out, and the mark it may have
//!     pop_dropped()               what does not, and why
//! ```
//!
//! ```
//! use aqmlab::{Ecn, Line, Packet};
//!
//! let mut line = Line::new("rate = '8 Mbit/s'\ndelay = '10 ms'\nbuffer = '100 packets'\naqm = 'fq-codel'", 1)?;
//! line.push(0, Packet::new(1000, Ecn::Ect0, 7), "a datagram")?;
//! let due = line.next_event().expect("a packet is under way");
//! assert_eq!(due, 11_000_000); // 1 ms to send 1000 bytes, and 10 ms on the wire
//! let delivery = line.pop(due)?.expect("it is not lost");
//! assert_eq!((delivery.payload, delivery.ecn, delivery.waited), ("a datagram", Ecn::Ect0, 0));
//! # Ok::<(), aqmlab::LineError>(())
//! ```
//!
//! Times are whole nanoseconds from a start of the caller's; within, a line counts picoseconds and loses none. It is the link of the
//! simulator and of live runs, not a second one. What it decides depends on its description, the seed and the calls alone.
//! Nothing is global. A line is `Send`, and `Clone` where its payloads are: a copy goes its own way from there on.

mod config;
mod counters;
mod error;
mod line;
mod path;
mod payloads;
mod shared;

pub use aqmlab_aqm::Ecn;
pub use aqmlab_core::{Problem, Problems};
pub use counters::Counters;
pub use error::LineError;
pub use line::{Delivery, DropReason, Dropped, Line, Packet, Verdict};
pub use path::{Path, Side};
pub use shared::SharedPath;
