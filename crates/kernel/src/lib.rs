//! A scenario on a real Linux in virtual time.
//!
//! ```text
//!   check       what of a scenario a Linux can do; the rest is refused by name
//!   order       what the program inside is told
//!   guest/      that program: the first and only process of the kernel
//!     network     namespaces, devices, delays, shapers and queueing disciplines
//!     live        a command of the user on an emulated line
//!     play        the traffic: one loop over times and sockets
//!     sockets     sockets as the scenario's flows need them
//!     tap         what passes the devices, packet by packet
//!     flights     where each packet has been, and which were dropped or sent again
//!     counts      the measures of a run, from what is counted inside
//! ```

mod check;
mod order;

pub use check::{UDP_HEADER, law_of_linux, problems};
pub use order::{ETHERNET_HEADER, GuestOrder, Queue, largest_frame};
