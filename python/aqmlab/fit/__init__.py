"""The twin of a measured access link: readers, estimators, and a search over simulated runs."""
