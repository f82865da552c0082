"""Results as reports: the parts of each, given once, and the files of its page."""
