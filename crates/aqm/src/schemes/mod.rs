//! One file per scheme.

mod an_aqm;
mod ared;
mod droptail;
mod fapidnn;
mod iapi;
mod neuron;
mod neuron_pid;
mod nrl;
mod pi;
mod red;
mod rem;

pub use an_aqm::AnAqm;
pub use ared::Ared;
pub use droptail::DropTail;
pub use fapidnn::Fapidnn;
pub use iapi::Iapi;
pub use neuron_pid::NeuronPid;
pub use nrl::Nrl;
pub use pi::Pi;
pub use red::Red;
pub use rem::Rem;
