"""Runs: done in threads, processes or on a cluster, stored, and what they say."""

MOST_SEEDS = 10_000
"""Most seeds of a comparison; where --precision adds seeds, too."""
