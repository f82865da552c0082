"""What the pictures of each kind of result show: the data for `plots`, taken from runs, studies, suites and sweeps."""
