"""What people read in a terminal: answers on stdout, progress on stderr."""
