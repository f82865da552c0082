//! One file per scheme.

mod an_aqm;
mod ared;
mod avq;
mod droptail;
mod fapidnn;
mod iapi;
mod neuron;
mod neuron_pid;
mod npd_red;
mod nrl;
mod pd_red;
mod pi;
mod red;
mod rem;
mod rq_aqm;

pub use an_aqm::AnAqm;
pub use ared::Ared;
pub use avq::Avq;
pub use droptail::DropTail;
pub use fapidnn::Fapidnn;
pub use iapi::Iapi;
pub use neuron_pid::NeuronPid;
pub use npd_red::NpdRed;
pub use nrl::Nrl;
pub use pd_red::PdRed;
pub use pi::Pi;
pub use red::Red;
pub use rem::Rem;
pub use rq_aqm::RqAqm;
