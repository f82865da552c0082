"""A scenario as a drawing: each group of flows is a curve from its senders through the links to its receivers."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from aqmlab._core import columns_of

SENDERS, COLUMN, BOX, ROW = 216, 200, 160, 92
"""Room for the names of the senders, from link to link, width of a link, height of a group of flows; pixels."""

Groups = Sequence[Mapping[str, Any]]
"""Groups of flows of `Scenario.resolved`, sorted by their paths."""


def topology(resolved: Mapping[str, Any], under: Mapping[str, Sequence[str]]) -> str:
    """Return a scenario as an SVG element in the colours of the page; `under` are the lines under a link's name."""
    groups = sorted(resolved["flows"], key=lambda group: group["path"])
    columns = columns_of([group["path"] for group in groups], len(resolved["links"]))
    width, height = SENDERS + COLUMN * (max(columns) + 1), ROW * len(groups)
    parts = [part for row, group in enumerate(groups) for part in _line(group, row, columns)]
    parts += [
        part
        for i, link in enumerate(resolved["links"])
        for first, last in _spans(groups, i, columns)
        for part in _link(columns[i], first, last, [link["name"], *under[link["name"]]])
    ]
    title = f"{len(groups)} groups of flows over {len(resolved['links'])} links"
    return (
        f'<svg class="topology" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{title}">{"".join(parts)}</svg>'
    )


def _spans(groups: Groups, link: int, columns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last row of each box of a link; another link of its column between two groups makes two boxes."""
    rows = [row for row, group in enumerate(groups) if link in group["path"]]
    beside = [
        row
        for row, group in enumerate(groups)
        if any(columns[other] == columns[link] for other in group["path"] if other != link)
    ]
    starts = [at for at, (a, b) in enumerate(pairwise(rows), 1) if any(a < row < b for row in beside)]
    for begin, end in pairwise([0, *starts, len(rows)]):
        if begin < end:
            yield rows[begin], rows[end - 1]


def _line(group: Mapping[str, Any], row: int, columns: Sequence[int]) -> Iterator[str]:
    y = ROW * row + ROW // 2
    end = SENDERS + COLUMN * max(columns[link] for link in group["path"]) + BOX + 24
    count = sum(part["count"] for part in group["groups"])
    yield f'<path class="flow" d="M8 {y} H{end}"/><path class="tip" d="M{end} {y - 5} l10 5 l-10 5 z"/>'
    yield _text(8, y - 8, f"{count} × {group['name']}", "name")
    yield _text(8, y + 16, f"{kind(group)}, RTT {group['rtt']}", "small")


def _link(column: int, first: int, last: int, lines: Sequence[str]) -> Iterator[str]:
    x, top, height = SENDERS + COLUMN * column, ROW * first + 4, ROW * (last - first + 1) - 8
    y = top + height / 2 - 8 * len(lines) + 12
    yield f'<rect x="{x}" y="{top}" width="{BOX}" height="{height}" rx="6"/>'
    for i, line in enumerate(lines):
        yield _text(x + BOX / 2, y + 16 * i, line, "small middle" if i else "name middle")


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(text)}</text>'


def kind(group: Mapping[str, Any]) -> str:
    """Return what a group of flows sends: its congestion-control law, or the rate of its datagrams."""
    if "tcp" in group:
        law = str(group["tcp"]["congestion_control"]).partition(":")[0]
        return law if group["kind"] == "ftp" else f"{group['kind']}, {law}"
    return f"{group['kind']} {group.get('rate') or group.get('rate_on')}"
