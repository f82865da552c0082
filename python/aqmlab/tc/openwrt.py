"""Settings of OpenWrt's SQM (sqm-scripts): a shaper with CAKE, or htb with FQ-CoDel, in both directions."""

import re

from aqmlab.problems import InputError
from aqmlab.tc.options import say
from aqmlab.tc.syntax import OTHER_WAY, Lines, Setting, prepared, write

SCRIPTS = {"cake": {"besteffort": "piece_of_cake.qos"}, "fq_codel": {}}
OTHERWISE = {"cake": "layer_cake.qos", "fq_codel": "simplest.qos"}


def sqm(setting: Setting, down: float | None = None) -> Lines:
    """Return the `uci` lines that give a router this setting; `setting.link.rate` is up, `down` the other way, bit/s.

    InputError for what SQM cannot be told.
    """
    qdisc, values = prepared(setting)
    if qdisc.kind not in SCRIPTS:
        raise InputError("openwrt", f"SQM has scripts for cake and fq_codel, not for {qdisc.kind}")
    if setting.link.rate is None:
        raise InputError("rate", "SQM is a shaper and needs that of the link; give --rate, such as 50Mbit/s")
    [words] = say(qdisc, values, setting.link)
    given = _pairs(words)
    given.pop("bandwidth", None)
    options = {
        "enabled": "1",
        "interface": setting.dev,
        "upload": _kilobits(setting.link.rate),
        "download": _kilobits(down) if down else "0",
        "qdisc": qdisc.kind,
        "script": SCRIPTS[qdisc.kind].get(str(values.get("diffserv")), OTHERWISE[qdisc.kind]),
        "linklayer": "none",
        "qdisc_advanced": "1",
        "qdisc_really_really_advanced": "1",
    }
    if qdisc.kind == "fq_codel":
        ecn = "ECN" if setting.link.ecn else "NOECN"
        given = {word: text for word, text in given.items() if word not in ("ecn", "noecn")}
        limit = given.pop("limit", qdisc.without.split()[0])
        options |= {"egress_ecn": ecn, "ingress_ecn": ecn, "elimit": limit, "ilimit": limit}
        options |= dict.fromkeys(("etarget", "itarget"), given.pop("target"))
    else:
        given = {word: text for word, text in given.items() if word not in ("besteffort", "diffserv3")}
    opts = [f"{word} {text}".rstrip() for word, text in given.items()]
    options["eqdisc_opts"] = " ".join(opts)
    options["iqdisc_opts"] = " ".join(OTHER_WAY.get(each, each) for each in opts)
    section = re.sub(r"\W", "_", setting.dev)
    notes = list(write(setting).notes)
    if not down:
        notes.append("download: 0 leaves what comes in unshaped; give --down for the rate of the other direction")
    return Lines((f"uci set sqm.{section}=queue", *_set(section, options), *APPLY), tuple(notes))


APPLY = ("uci commit sqm", "/etc/init.d/sqm restart")


def _set(section: str, options: dict[str, str]) -> list[str]:
    return [f"uci set sqm.{section}.{name}='{value}'" for name, value in options.items()]


def _pairs(words: list[str]) -> dict[str, str]:
    """Return options with their values; a word behind which no number stands has none."""
    found: dict[str, str] = {}
    for word in words:
        if word[0].isdigit() or word[0] == "-":
            found[next(reversed(found))] = word
        else:
            found[word] = ""
    return found


def _kilobits(rate: float) -> str:
    if rate < 1000 or rate % 1000:
        raise InputError("rate", f"SQM takes whole kbit/s, not {rate:.12g} bit/s")
    return f"{rate / 1000:.0f}"
