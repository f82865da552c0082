//! One file per scheme, and the list of them: a new scheme is one file and one line here. A scheme's page is the doc
//! comment of its parameters.
#![allow(missing_docs)]

macro_rules! schemes {
    ($every:ident: $($module:ident::$scheme:ident)*) => {
        $(pub mod $module;)*

        /// Hands the list to a macro.
        macro_rules! $every {
            ($act:ident) => { $act! { $($module::$scheme)* } };
        }
        pub(crate) use $every;
    };
}

// Schemes of a single queue, in the order in which they are shown.
schemes! {
    every_scheme:
    droptail::DropTail
    red::Red
    nlred::NlRed
    ared::Ared
    pi::Pi
    rem::Rem
    iapi::Iapi
    neuron_pid::NeuronPid
    an_aqm::AnAqm
    fapidnn::Fapidnn
    nrl::Nrl
    rq_aqm::RqAqm
    pd_red::PdRed
    npd_red::NpdRed
    avq::Avq
    pid::Pid
    flc::Flc
    fuzzy_rtt::FuzzyRtt
    codel::Codel
    pie::Pie
    pi2::Pi2
    blue::Blue
    sfb::Sfb
    choke::Choke
    choker::Choker
    gred::Gred
    dctcp_step::DctcpStep
    switch_red::SwitchRed
    l4s_step::L4sStep
    pd::Pd
    spi_red::SpiRed
    lred::Lred
    green::Green
    sred::Sred
    fred::Fred
    dred::Dred
    sfc::Sfc
    cobalt::Cobalt
}

// Schemes of two queues, such as those that couple the two of RFC 9332.
schemes! {
    every_coupled:
    dualpi2::DualPi2
    docsis_lld::DocsisLld
    sparse_first::SparseFirst
}

// Schemes of many queues.
pub mod cake;
pub mod cake_mq;
pub mod fq;

// What an agent acts on: known by its name, not listed.
pub mod fixed_p;

// What several schemes share.
mod active_flows;
mod average;
pub mod fuzzy;
mod neuron;
mod round_trips;
