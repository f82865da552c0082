"""The data of the pictures that `plots` draws, taken from runs, studies, suites and sweeps."""
