"""What a sweep has found, as pictures, tables and a page."""
