//! The keys of a link.

use crate::classes::CLASSES;
use crate::fading::FADING;
use crate::impairments::WIRE;
use crate::keys::{DELAYS, Engine, Form, Key, RATES, Section};
use crate::presets::NAMES;
use crate::repeat::COUNT;
use crate::sizing::{BUFFER, TARGET};
use aqmlab_aqm::link_layer::Framing;
use aqmlab_core::{Bytes, Rate, Span};

const RATE: Form = Form::of::<Rate>().within(RATES.0, RATES.1);

/// Keys of `[[links]]`.
pub const LINKS: Section = Section::new(&[
    &[
        Key::new("name", Form::Name, "Name that paths and results use.").or("bottleneck"),
        COUNT,
        Key::new("preset", Form::Words(&NAMES), "A measured kind of link, whose keys are the defaults of this one."),
        Key::new(
            "rate",
            Form::Any(&[
                RATE,
                Form::Some(&Form::Tuple(&[Form::of::<Span>(), RATE])),
                Form::Table(&WANDER),
                Form::Table(&TRACE),
            ]),
            "Rate of the transmitter: one rate, a schedule of times and rates, rates that hold for a while each, or a trace.",
        )
        .example("\"45 Mbit/s\"")
        .changeable(),
    ],
    QUEUE,
    WIRE,
    &[Key::new("classes", Form::Tables(&CLASSES), "Classes that share the link, as in Linux's HTB.")
        .refused_by(Engine::Linux, "are not supported on Linux; expected a link without classes")],
]);

/// Keys of a rate that is drawn again and again.
const WANDER: Section = Section::new(&[&[
    Key::new("values", Form::Some(&RATE), "The rates, two or more.").required("[\"3 Mbit/s\", \"1 Mbit/s\"]"),
    Key::distribution::<Span>("hold", "Time that each rate holds; at least 1 us.").required("\"2 s\""),
]]);

/// Keys of a rate that follows a trace.
const TRACE: Section = Section::new(&[&[
    Key::new("trace", Form::Text, "Name of a trace in `[traces]`, or its file.").required("\"FILE\"")
]]);

/// Keys of a link's queue and of its layer, which the links of trees, fabrics and cells have, too.
pub const QUEUE: &[Key] = &[
    Key::of::<Span>("delay", "Propagation delay, one way.").within(DELAYS.0, DELAYS.1).or("0 s").changeable(),
    Key::new(
        "buffer",
        Form::Any(&[BUFFER, Form::Table(&SHARED)]),
        "Capacity of the queue: packets, bytes, a time at the rate, a multiple of the bandwidth-delay product, or a shared buffer.",
    )
    .example("\"900 packets\", \"1 MB\", \"100 ms\" or \"2 bdp\"")
    .changeable(),
    Key::new("target", TARGET, "Reference of the schemes that have one: packets or a delay. Default: a third of the buffer.")
        .changeable(),
    Key::new("aqm", Form::Scheme, "Scheme, with parameters in the form NAME:KEY=VALUE,... `--aqm` replaces it.")
        .or("droptail")
        .changeable(),
    Key::of::<bool>("fixed", "`--aqm` does not replace the scheme, unless it names the link.").or("false"),
    Key::of::<bool>("ecn", "The scheme marks packets of ECN-capable flows where it would drop others.").or("true"),
    Key::of::<bool>("host", "The link is the interface of the sending host.")
        .or("false")
        .refused_by(Engine::Fluid, "the fluid model does not support the queue of a sending host; leave it out")
        .refused_by(
            Engine::Linux,
            "is not supported on Linux, where the interfaces of hosts have unlimited rates; leave it out",
        ),
    Key::of::<Bytes>("overhead", "Added to the size of each packet on the wire.").within("-64 B", "256 B").or("0 B"),
    Key::of::<Bytes>("mpu", "No packet takes less than this on the wire, before framing.").within("0 B", "256 B").or("0 B"),
    Key::of::<Framing>("framing", "Cells of ATM, 48 B in 53 B, or PTM's 65 B for 64 B.").or("none"),
    Key::new("fading", Form::Table(&FADING), "The rate fades around its mean, as that of a radio link.")
        .example("{ deviation = 0.6, memory = \"5 s\", every = \"20 ms\" }"),
];

/// Keys of a buffer that is shared.
const SHARED: Section =
    Section::new(&[&[Key::new("shared", Form::Text, "Name of a buffer in `[[buffers]]`.").required("\"switch\"")]]);
