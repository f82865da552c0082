"""Names from anywhere: unknown ones, in one wording with the nearest valid one, and as a terminal may show them."""

from collections.abc import Iterable
from difflib import get_close_matches

from aqmlab._core import InputError


def unknown(field: str, what: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a `name` given in `field` that is none of `known`; `what` says what it is not."""
    choices = sorted(set(known))
    near = get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(choices)}"
    return InputError(f'{field}: {what} "{name}"; {hint}')


def plain(text: str) -> str:
    """Return a text without what a terminal would obey: control characters are written out.

    Lines, tabs and fixed spaces stay.
    """
    shown = (each.isprintable() or each in "\n\t\N{NO-BREAK SPACE}" for each in text)
    return "".join(each if is_shown else ascii(each)[1:-1] for each, is_shown in zip(text, shown, strict=True))
