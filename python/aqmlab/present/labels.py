"""The labels of schemes and controllers: the title, with a mark if the algorithm is not entirely as published."""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from aqmlab import catalogue
from aqmlab.catalogue import Scheme
from aqmlab.problems import InputError
from aqmlab.study.paper import PaperPanel, PaperTable, Study


class Mark(NamedTuple):
    """A sign after the name of a scheme, and its meaning."""

    sign: str
    meaning: str


MARKS = {
    "fitted": Mark("†", "fitted to printed results, which it therefore does not confirm"),
    "reconstructed": Mark("‡", "reconstructed where the source is silent or was not available"),
}
"""By the standing of a scheme's algorithm; a published one has none."""


def label(spec: str) -> str:
    """Return the title of a scheme or a congestion controller with its parameters, or a name that is not known here.

    A scheme has its mark. Schemes for single links are "up: CAKE, down: CoDel".
    """
    if at := catalogue.by_link(spec):
        return ", ".join(f"{link}: {label(each)}" for link, each in at.items())
    name, parameters = catalogue.halves(spec)
    given = f" ({parameters})" if parameters else ""
    with suppress(InputError):
        return marked(catalogue.find(name).title, name) + given
    if name in catalogue.NOTED:
        return catalogue.NOTED[name].title + given
    titles = {law.name: law.title for law in catalogue.laws()}
    return titles[name] + given if name in titles else spec


def marked(text: str, *specs: str) -> str:
    """Return a text with the marks of its schemes."""
    kinds = set()
    for spec in specs:
        with suppress(InputError):  # not in the catalogue
            kinds.add(catalogue.find(spec.partition(":")[0]).standing.kind)
    return text + "".join(mark.sign for kind, mark in MARKS.items() if kind in kinds)


def in_table(table: PaperTable, row: str) -> str:
    """Return the paper's name of a row with the marks of our schemes."""
    return marked(row, *(table.schemes.get(name, name) for name in table.parts(row)))


def in_figure(study: Study, name: str) -> str:
    """Return the paper's name of a curve in a figure with the mark of aqmlab's scheme."""
    return marked(name, study.spec(name))


def of_panel(study: Study, panel: PaperPanel) -> str:
    """Return the title of a panel, with a mark if it shows a single scheme."""
    return marked(panel.title, *map(study.spec, panel.schemes)) if len(panel.schemes) == 1 else panel.title


def standing(scheme: Scheme) -> str:
    """Return the source of a scheme's algorithm, and the part that differs from it."""
    found = scheme.standing
    mark = MARKS.get(found.kind)
    return f"{mark.sign} {found.kind}: {found.why}" if mark else f"Algorithm: {found.kind}"


def footnote(labels: Iterable[str]) -> str:
    """Return what the marks in these labels mean, nothing if there are none."""
    shown = "".join(labels)
    meanings = [f"{mark.sign} {mark.meaning}" for mark in MARKS.values() if mark.sign in shown]
    return "; ".join([*meanings, "see aqmlab show NAME."]) if meanings else ""
