"""The choices of the studio: schemes with their parameters, scenarios, kinds of traffic, measures, studies."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from aqmlab import _core, catalogue, scenario
from aqmlab.runs.metrics import OF_FLOWS, OF_LINK, Metric
from aqmlab.study import paper

KINDS = {
    "ftp": "long transfers: unlimited data",
    "app-limited": "transfers limited by their applications, which offer data at a rate",
    "short": "short transfers that arrive at random",
    "http": "web pages, one after the other",
    "video": "adaptive video over HTTP",
    "media": "adaptive video calls",
    "udp-cbr": "datagrams at a constant rate, such as calls",
    "udp-onoff": "datagrams in bursts",
}
"""Kinds of traffic; docs/traffic.md describes them."""

COLUMNS = {
    ("link", "queue"): ("Queue", "packets", "packets waiting"),
    ("link", "delay"): ("Sojourn time", "s", "mean time in the queue of the packets taken into service"),
    ("link", "delay_max"): ("Longest sojourn time", "s", "longest time in the queue"),
    ("link", "utilisation"): ("Utilisation", "ratio", "share of the link's capacity in use"),
    ("link", "rate"): ("Rate sent", "bit/s", "bits sent, headers included"),
    ("link", "drops"): ("Drops", "packets/s", "packets dropped at the queue"),
    ("link", "marks"): ("Marks", "packets/s", "packets marked at the queue"),
    ("group", "goodput"): ("Goodput", "bit/s", "payload received by all flows of the group"),
    ("group", "packet_delay"): ("Packet delay", "s", "mean delay from source to destination"),
    ("flow", "cwnd"): ("Congestion window", "segments", "congestion window"),
    ("flow", "srtt"): ("Smoothed RTT", "s", "smoothed round-trip time"),
}
"""Curves: title, unit and meaning, by whose they are and their name."""


def document(own: Sequence[str], more: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return the catalogue; `own` are schemes of the user, `more` further scenarios with their titles."""
    from aqmlab.studio.lessons import lessons

    studies = [paper.load_study(name) for name in paper.studies()]
    return {
        "version": _core.version(),
        "commit": _core.commit(),
        "schemes": [
            *(_scheme(scheme, is_own=False) for scheme in catalogue.schemes()),
            *(_scheme(catalogue.find(name), is_own=True) for name in own),
        ],
        "families": list(dict.fromkeys(scheme.family for scheme in catalogue.schemes())),
        "scenarios": [
            *({"name": name, "title": title, "study": None} for name, title in more),
            *(
                {"name": name, "title": scenario.load(name).title, "study": name.partition("/")[0]}
                for name in scenario.scenarios()
            ),
        ],
        "changeable": _core.changeable_keys(),
        "kinds": [{"name": name, "doc": doc} for name, doc in KINDS.items()],
        "tcps": [
            {
                "name": law.name,
                "title": law.title,
                "summary": law.summary,
                "parameters": [asdict(parameter) for parameter in law.parameters],
            }
            for law in catalogue.laws()
        ],
        "measures": [*(_measure("link", each) for each in OF_LINK), *(_measure("flows", each) for each in OF_FLOWS)],
        "columns": [
            {"of": of, "name": name, "title": title, "unit": unit, "doc": doc}
            for (of, name), (title, unit, doc) in COLUMNS.items()
        ],
        "studies": [{"name": each.name, "title": each.title, "source": each.source} for each in studies],
        "lessons": [{"id": each.id, "title": each.title, "summary": each.summary} for each in lessons()],
    }


def _scheme(scheme: catalogue.Scheme, *, is_own: bool) -> dict[str, Any]:
    entry = asdict(scheme)
    kept = ("name", "title", "family", "year", "source", "summary", "parameters", "observables", "target")
    return {key: entry[key] for key in kept} | {"own": is_own, "standing": scheme.standing.kind}


def _measure(of: str, metric: Metric) -> dict[str, Any]:
    entry = asdict(metric)
    kept = ("name", "title", "unit", "definition", "better", "shown")
    return {"of": of} | {key: entry[key] for key in kept}
