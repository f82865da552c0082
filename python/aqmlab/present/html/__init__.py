"""HTML pages, each one file that loads nothing."""
