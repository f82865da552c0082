"""Parts of pages that are written between two marks, while the rest of the page is written by hand."""


def between(text: str, name: str, content: str, by: str = "make docs") -> str:
    """Return a page with the part of that name replaced, which `by` writes; ValueError if its marks are missing."""
    begin, end = f"<!-- {name}: written by `{by}` -->\n", f"<!-- end of {name} -->"
    before, opened, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (opened and closed):
        raise ValueError(f"no marks {begin.strip()} and {end}")
    return f"{before}{begin}\n{content}\n\n{end}{after}"
