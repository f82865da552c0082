"""What people look at: the terminal, pictures and HTML reports."""
