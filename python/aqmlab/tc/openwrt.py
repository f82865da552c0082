"""Settings of OpenWrt's SQM (sqm-scripts): a shaper with CAKE, or htb with FQ-CoDel, in both directions."""

import re
from collections.abc import Iterable
from dataclasses import replace

from aqmlab.problems import InputError
from aqmlab.tc.link import PLAIN, Layer, Link
from aqmlab.tc.options import say
from aqmlab.tc.syntax import OTHER_WAY, Lines, Setting, prepared, write

SCRIPTS = {"cake": {"besteffort": "piece_of_cake.qos"}, "fq_codel": {}}
OTHERWISE = {"cake": "layer_cake.qos", "fq_codel": "simplest.qos"}
OF_INCOMING = {"ingress"}
"""Words of CAKE for incoming traffic, which would be wrong for outgoing traffic."""
HOSTS = {*OTHER_WAY, *OTHER_WAY.values()}
"""Words by which CAKE distinguishes hosts; hosts that share an address need nat."""


def sqm(setting: Setting, down: Link | float | None = None, *, nat: bool = True) -> Lines:
    """Return the `uci` lines that give a router this setting: `setting.link` is up, `down` the other way.

    A rate alone (bit/s) is a link with the same buffer. `nat` says that the router translates addresses, so CAKE must
    look up the hosts' own addresses. InputError for parameters that SQM does not support.
    """
    qdisc, values = prepared(setting)
    if qdisc.kind not in SCRIPTS:
        raise InputError("openwrt", f"SQM has scripts for cake and fq_codel, not for {qdisc.kind}")
    if "unlimited=true" in setting.scheme.replace(" ", ""):
        raise InputError("unlimited", "SQM sets CAKE's bandwidth; leave it out, or print tc commands without --openwrt")
    rate = values["bandwidth"] if qdisc.is_cake else setting.link.rate and setting.link.shaped
    if not isinstance(rate, float):
        raise InputError("rate", "SQM is a shaper and needs the rate of the link; give --rate, such as 50Mbit/s")
    incoming = down if isinstance(down, Link) else replace(setting.link, rate=down)
    egress, ingress = (_options(setting, link, nat=nat) for link in (setting.link, incoming))
    options = {
        "enabled": "1",
        "interface": setting.dev,
        "upload": _kilobits(rate),
        "download": _kilobits(incoming.rate if qdisc.is_cake else incoming.shaped) if incoming.rate else "0",
        "qdisc": qdisc.kind,
        "script": SCRIPTS[qdisc.kind].get(str(values.get("diffserv")), OTHERWISE[qdisc.kind]),
        **_layer(PLAIN if qdisc.is_cake else setting.link.layer),  # CAKE has words of its own for it
        "qdisc_advanced": "1",
        "qdisc_really_really_advanced": "1",
    }
    if qdisc.kind == "fq_codel":
        ecn = "ECN" if setting.link.ecn else "NOECN"
        usual = qdisc.without.split()[0]
        options |= {"egress_ecn": ecn, "ingress_ecn": ecn}
        options |= {"elimit": egress.pop("limit", usual), "ilimit": ingress.pop("limit", usual)}
        options |= {"etarget": egress.pop("target"), "itarget": ingress.pop("target")}
    else:  # by itself SQM puts all that comes in into one tin
        squash = str(int(values["diffserv"] == "besteffort"))
        options |= {"squash_ingress": squash, "squash_dscp": squash}
    options["eqdisc_opts"] = _words(word for word in egress.items() if word[0] not in OF_INCOMING)
    options["iqdisc_opts"] = _words((OTHER_WAY.get(word, word), text) for word, text in ingress.items())
    section = re.sub(r"\W", "_", setting.dev)
    notes = list(write(setting).notes)
    if not incoming.rate:
        notes.append("download: 0 leaves the download unshaped; give --down for the rate of the other direction")
    return Lines((f"uci set sqm.{section}=queue", *_set(section, options), *APPLY), tuple(notes))


def _layer(layer: Layer) -> dict[str, str]:
    """Return the settings by which SQM gives HTB a size table."""
    if layer == PLAIN:
        return {"linklayer": "none"}
    return {
        "linklayer": "atm" if layer.framing == "atm" else "ethernet",
        "linklayer_advanced": "1",
        "linklayer_adaptation_mechanism": "tc_stab",
        "overhead": str(layer.overhead),
        "tcMPU": str(layer.mpu),
    }


def _options(setting: Setting, link: Link, *, nat: bool) -> dict[str, str]:
    """Return the options of a direction in addition to its rate: each option with its value."""
    qdisc, values = prepared(replace(setting, link=link))
    [words] = say(qdisc, values, link)
    given = _pairs(words)
    for word in ("bandwidth", "unlimited", "ecn", "noecn"):  # SQM says these
        given.pop(word, None)
    return given | ({"nat": ""} if nat and HOSTS & given.keys() else {})


def _words(given: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{word} {text}".rstrip() for word, text in given)


APPLY = ("uci commit sqm", "/etc/init.d/sqm restart")


def _set(section: str, options: dict[str, str]) -> list[str]:
    return [f"uci set sqm.{section}.{name}='{value}'" for name, value in options.items()]


def _pairs(words: list[str]) -> dict[str, str]:
    """Return options with their values; a word without a number has no value."""
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
