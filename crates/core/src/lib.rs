//! The ground floor of aqmlab: the vocabulary of every other crate.
//!
//! ```text
//!   time           Time (an instant) and Span (a length of time), whole picoseconds
//!   quantity       text with a unit -> typed value: "80 ms", "45 Mbit/s", "300 packets"
//!   params         params! declares a parameter once: struct, default, range, docs, reader
//!   runtime_param  the same for parameters that are declared while the program runs
//!   problem        problems of an input: path, reason, nearest valid name
//!   random         one named random stream per (seed, purpose, entity)
//!   sparse_table   a table that stores the rows that are used
//!   growth         growth of lists of which there are many
//! ```
//!
//! No input or output, no clock of the machine, no algorithm of the field.

pub mod growth;
pub mod params;
pub mod problem;
pub mod quantity;
pub mod random;
pub mod runtime_param;
pub mod sparse_table;
pub mod time;

pub use growth::make_room;
pub use params::{ParamHolder, ParamSet, ParamSpec};
pub use problem::{Problem, Problems};
pub use quantity::{Auto, Bytes, Frequency, Packets, Quantity, Rate, Ratio, Value, read_any};
pub use random::{Stream, Streams};
pub use runtime_param::RuntimeParam;
pub use sparse_table::SparseTable;
pub use time::{Span, Time};
