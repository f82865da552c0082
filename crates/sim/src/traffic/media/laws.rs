//! The laws of calls, each by its name in a scenario.

use super::control::{MediaControl, MediaSetup, RateRange};
use aqmlab_aqm::Ecn;
use aqmlab_scenario::{Media, MediaLaw};

/// Declares the laws: a new one is its file, one line below, and its name in [`MediaLaw`].
macro_rules! laws {
    ($($name:ident: $module:ident::$law:ident)*) => {
        /// The law of a stream.
        #[derive(Clone, Debug)]
        pub enum StreamLaw {
            $($name(Box<super::$module::$law>)),*
        }

        impl StreamLaw {
            fn named(name: MediaLaw, setup: &MediaSetup) -> Self {
                match name {
                    $(MediaLaw::$name => Self::$name(Box::new(super::$module::$law::new(setup)))),*
                }
            }

            /// The law, to be asked.
            pub fn get(&self) -> &dyn MediaControl {
                match self {
                    $(Self::$name(law) => &**law),*
                }
            }

            /// The same, to act.
            pub fn get_mut(&mut self) -> &mut dyn MediaControl {
                match self {
                    $(Self::$name(law) => &mut **law),*
                }
            }
        }
    };
}

laws! {
    Constant: constant::ConstantRate
    Scream: scream::Scream
    Gcc: gcc::Gcc
    Nada: nada::Nada
}

impl StreamLaw {
    /// The law of a scenario at rest; `mss` is the payload of a full packet, bytes, and `ecn` the field of its packets.
    pub fn new(media: &Media, mss: u32, ecn: Ecn) -> Self {
        let range = RateRange { start: media.rate.0, min: media.rate_min.0, max: media.rate_max.0 };
        let (mss, frame_rate) = (f64::from(mss), media.frame_rate.0);
        Self::named(media.law, &MediaSetup { range, mss, frame_rate, is_l4s: ecn == Ecn::Ect1 })
    }
}
