"""Runs: done in threads, processes or on a cluster, stored, and what they say."""

from numbers import Integral

from aqmlab.problems import InputError
from aqmlab.quantities import shown, whole

MOST_SEEDS = 10_000
"""Most seeds of a comparison; where --precision adds seeds, too."""

LARGEST_SEED = 2**64 - 1
MOST_AT_ONCE = 1024
"""Most threads of a run, and most runs at the same time."""


def check_seed(seed: object) -> None:
    """Raise InputError unless `seed` is the seed of a run."""
    whole("seed", seed, 0, LARGEST_SEED)


def check_seeds(seeds: object) -> None:
    """Raise InputError unless `seeds` is a number of seeds."""
    if isinstance(seeds, bool) or not isinstance(seeds, Integral):
        raise InputError("seeds", f"{shown(seeds)}: expected the number of seeds, such as 3 for the seeds 1, 2 and 3")
    if not 1 <= int(seeds) <= MOST_SEEDS:
        raise InputError("seeds", f"{shown(seeds)}: out of range; 1 to {MOST_SEEDS}")
