"""The presentation of results: the terminal, pictures and HTML reports."""
