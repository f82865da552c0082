"""What RFC 7928's experiments say, as pictures, tables and a page."""
