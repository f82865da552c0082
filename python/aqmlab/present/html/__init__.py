"""HTML pages, each one file that loads nothing: what only they show."""
