//! What packets cross: links, routes compiled to delays, and the access links at both ends of a flow.

pub mod deliveries;
pub mod flow;
pub mod impairment;
pub mod link;
pub mod route;
