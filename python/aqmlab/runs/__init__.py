"""Runs: done in threads, processes or on a cluster, stored, and what they say."""

from numbers import Integral

from aqmlab.problems import InputError

MOST_SEEDS = 10_000
"""Most seeds of a comparison; where --precision adds seeds, too."""

LARGEST_SEED = 2**64 - 1


def check_seed(seed: object) -> None:
    """Raise InputError unless `seed` is the seed of a run."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= int(seed) <= LARGEST_SEED:
        raise InputError("seed", f"{repr(seed)[:60]}: expected a whole number from 0 to {LARGEST_SEED}")


def check_seeds(seeds: object) -> None:
    """Raise InputError unless `seeds` is a number of seeds."""
    if isinstance(seeds, bool) or not isinstance(seeds, Integral):
        raise InputError("seeds", f"{repr(seeds)[:60]}: expected how many, such as 3 for the seeds 1, 2 and 3")
    if not 1 <= int(seeds) <= MOST_SEEDS:
        raise InputError("seeds", f"{seeds}: out of range; 1 to {MOST_SEEDS}")
