//! The keys of a link.

use crate::fading::FADING;
use crate::impairments::WIRE;
use crate::keys::{DELAYS, Engine, KeySpec, RATES, Section, ValueForm};
use crate::presets::NAMES;
use crate::repeat::COUNT;
use crate::sizing::{BUFFER, TARGET};
use aqmlab_aqm::link_layer::Framing;
use aqmlab_core::{Bytes, Rate, Span};

const RATE: ValueForm = ValueForm::of::<Rate>().within(RATES.0, RATES.1);

/// Keys of `[[links]]`.
pub const LINKS: Section = Section::new(&[
    &[
        KeySpec::new("name", ValueForm::Name, "Name that paths and results use.").or("bottleneck"),
        COUNT,
        KeySpec::new("preset", ValueForm::Words(&NAMES), "A measured kind of link, whose keys are the defaults of this one."),
        KeySpec::new(
            "rate",
            ValueForm::Any(&[
                RATE,
                ValueForm::Some(&ValueForm::Tuple(&[ValueForm::of::<Span>(), RATE])),
                ValueForm::Table(&WANDER),
                ValueForm::Table(&TRACE),
            ]),
            "Rate of the transmitter: one rate, a schedule of times and rates, rates that hold for a while each, or a trace.",
        )
        .example("\"45 Mbit/s\"")
        .changeable(),
    ],
    QUEUE,
    WIRE,
    &[KeySpec::new("classes", ValueForm::Tables(&CLASSES), "Classes that share the link, as in Linux's HTB.")
        .refused_by(Engine::Linux, "are not supported on Linux; expected a link without classes")],
]);

/// Keys of a rate that is drawn again and again.
const WANDER: Section = Section::new(&[&[
    KeySpec::new("values", ValueForm::Some(&RATE), "The rates, two or more.").required("[\"3 Mbit/s\", \"1 Mbit/s\"]"),
    KeySpec::distribution::<Span>("hold", "Time that each rate holds; at least 1 us.").required("\"2 s\""),
]]);

/// Keys of a rate that follows a trace.
const TRACE: Section =
    Section::new(&[&[
        KeySpec::new("trace", ValueForm::Text, "Name of a trace in `[traces]`, or its file.").required("\"FILE\"")
    ]]);

/// Keys of a link's queue and of its layer, which the links of trees, fabrics and cells have, too.
pub const QUEUE: &[KeySpec] = &[
    KeySpec::of::<Span>("delay", "Propagation delay, one way.").within(DELAYS.0, DELAYS.1).or("0 s").changeable(),
    KeySpec::new(
        "buffer",
        ValueForm::Any(&[BUFFER, ValueForm::Table(&SHARED)]),
        "Capacity of the queue: packets, bytes, a time at the rate, a multiple of the bandwidth-delay product, or a shared buffer.",
    )
    .example("\"900 packets\", \"1 MB\", \"100 ms\" or \"2 bdp\"")
    .changeable(),
    KeySpec::new("target", TARGET, "Reference of the schemes that have one: packets or a delay. Default: a third of the buffer.")
        .changeable(),
    KeySpec::new("aqm", ValueForm::Scheme, "Scheme, with parameters in the form NAME:KEY=VALUE,... `--aqm` replaces it.")
        .or("droptail")
        .changeable(),
    KeySpec::of::<bool>("fixed", "`--aqm` does not replace the scheme, unless it names the link.").or("false"),
    KeySpec::of::<bool>("ecn", "The scheme marks packets of ECN-capable flows where it would drop others.").or("true"),
    KeySpec::of::<bool>("host", "The link is the interface of the sending host.")
        .or("false")
        .refused_by(Engine::Fluid, "the fluid model does not support the queue of a sending host; leave it out")
        .refused_by(
            Engine::Linux,
            "is not supported on Linux, where the interfaces of hosts have unlimited rates; leave it out",
        ),
    KeySpec::of::<Bytes>("overhead", "Added to the size of each packet on the wire.").within("-64 B", "256 B").or("0 B"),
    KeySpec::of::<Bytes>("mpu", "No packet takes less than this on the wire, before framing.").within("0 B", "256 B").or("0 B"),
    KeySpec::of::<Framing>("framing", "Cells of ATM, 48 B in 53 B, or PTM's 65 B for 64 B.").or("none"),
    KeySpec::new("fading", ValueForm::Table(&FADING), "The rate fades around its mean, as that of a radio link.")
        .example("{ deviation = 0.6, memory = \"5 s\", every = \"20 ms\" }"),
];

/// Keys of a buffer that is shared.
const SHARED: Section =
    Section::new(&[&[
        KeySpec::new("shared", ValueForm::Text, "Name of a buffer in `[[buffers]]`.").required("\"switch\"")
    ]]);

/// The bytes that a class may send at once.
const BYTES: (&str, &str) = ("1 B", "100 MB");

/// Keys of `[[links.classes]]`. `tc` adds the default burst to what the rate gives in a tick of the clock, which is next to nothing
/// with clocks of nanoseconds.
pub const CLASSES: Section = Section::new(&[&[
    KeySpec::new("name", ValueForm::Name, "Name of the class.").required("\"gold\""),
    KeySpec::new("parent", ValueForm::Text, "The class above it; without one it is a child of the link."),
    KeySpec::of::<Rate>("rate", "Guaranteed rate.").within(RATES.0, RATES.1).required("\"10 Mbit/s\""),
    KeySpec::of::<Rate>("ceil", "Ceiling up to which it borrows; default: the rate, so that nothing is borrowed.")
        .within(RATES.0, RATES.1),
    KeySpec::of::<Bytes>("burst", "Sent at once after a pause, at the rate.").within(BYTES.0, BYTES.1).or("1600 B"),
    KeySpec::of::<Bytes>("cburst", "Sent at once after a pause, at the ceiling.").within(BYTES.0, BYTES.1).or("1600 B"),
    KeySpec::of::<Bytes>(
        "quantum",
        "Sent in a turn; default: what the rate sends in 100 ms, at least 1000 B and at most 200 kB.",
    )
    .within(BYTES.0, BYTES.1),
    KeySpec::of::<u32>("prio", "Order in which classes borrow: the lowest first.").within("0", "7").or("0"),
    KeySpec::new("aqm", ValueForm::Scheme, "Scheme of a leaf's queue; default: that of the link."),
    KeySpec::new("buffer", BUFFER, "Capacity of a leaf's queue; times are at the ceiling. Default: that of the link."),
    KeySpec::new(
        "flows",
        ValueForm::List(&ValueForm::Text),
        "Groups of flows of a leaf; one leaf without `flows` has all others.",
    ),
]]);
