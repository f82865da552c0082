//! A session of the studio: schemes side by side under the same arrivals, played, changed and watched.
//!
//! It performs no I/O and reads no clock: Python's server and the worker of a web page pass messages and times, and deliver the outputs.
//!
//! ```text
//!   messages     requests and messages to the page, typed once; TypeScript's types follow from them
//!   host         the program that hosts a session
//!   opening      the scenario and schemes of a session, within limits
//!   layout       the drawing of a scenario
//!   lanes        schemes side by side under one seed
//!   label        titles of schemes
//!   frames       samples on their way to a page
//!   player       the clock of a session
//!   session      the answer to each request
//!   export       files that can be saved
//! ```

mod error;
mod export;
mod frames;
mod host;
mod label;
mod lanes;
mod layout;
mod messages;
mod opening;
mod player;
mod session;

pub use export::{ExportRequest, ExportedFile, Recording};
pub use host::SessionHost;
pub use layout::columns_of;
pub use opening::{LANES, MOST_FLOWS, check};
pub use player::SessionOutput;
pub use session::{MARKS, Session};
