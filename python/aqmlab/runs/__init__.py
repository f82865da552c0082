"""Runs: done in threads, processes or on a cluster, stored, and what they say."""
