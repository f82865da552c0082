"""The output in a terminal: answers on stdout, progress on stderr."""
