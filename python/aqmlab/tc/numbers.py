"""Numbers as tc writes and reads them, by the names that declarations of parameters give to its units.

A bare number is a trap: microseconds where a time is wanted, bit/s for a rate, bytes for a size, milliseconds in SFB;
"kbps" is kilobytes per second, "k" of a size 1024 bytes. Written numbers have a unit wherever tc accepts one.
"""

import math
import re
from collections.abc import Callable

from aqmlab.problems import InputError

TIMES = {"": 1e-6, "us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3}
TIMES |= {"s": 1.0, "sec": 1.0, "secs": 1.0}
SIZES = {"": 1.0, "b": 1.0, "k": 1024.0, "kb": 1024.0, "m": 1024.0**2, "mb": 1024.0**2, "g": 1024.0**3, "gb": 1024.0**3}
SIZES |= {"kbit": 1024 / 8, "mbit": 1024**2 / 8, "gbit": 1024**3 / 8}
RATES = {"": 1.0, "bit": 1.0, "bps": 8.0}
RATES |= {f"{prefix}bit": 1000.0**n for n, prefix in enumerate("kmgt", 1)}
RATES |= {f"{prefix}bps": 8 * 1000.0**n for n, prefix in enumerate("kmgt", 1)}
RATES |= {f"{prefix}ibit": 1024.0**n for n, prefix in enumerate("kmgt", 1)}
RATES |= {f"{prefix}ibps": 8 * 1024.0**n for n, prefix in enumerate("kmgt", 1)}
SUFFIXES = {
    "time": TIMES,
    "milliseconds": {"": 1e-3},
    "bytes": SIZES,
    "rate": RATES,
    "packets": {"": 1.0},
    "packets/s": {"": 1.0},
    "percent": {"": 0.01, "%": 0.01},
    "sixteenths of a hertz": {"": 1 / 16},
    "number": {"": 1.0},
    "probability": {"": 1.0},
    "hertz": {"": 1.0},
}
"""Suffixes of a number, and their size in aqmlab's base unit: s, bytes, bit/s, packets, Hz, a share."""

SHOWN = {"packets": {"p": 1.0}, "packets/s": {"pps": 1.0}, "milliseconds": TIMES, "bytes": {"byte": 1.0}}
"""Further suffixes in tc's output."""
WHOLE = {"packets", "packets/s", "milliseconds", "sixteenths of a hertz", "number"}
"""Kinds whose numbers are whole; they may be typed as hexadecimal, with 0x."""
MOST = {"sixteenths of a hertz": 32, "percent": 100, "rate": 8 * (2**64 - 1), "hertz": 2**24 - 1, "probability": 1}
"""The largest number that tc takes, if that is not the maximum of 32 bits."""
RANGES = {"overhead": (-64, 256), "mpu": (0, 256)}
"""The numbers that tc takes of CAKE's words of that kind."""


def read(text: str, kind: str, word: str, *, shown: bool = False) -> float:
    """Return tc's meaning of `text` after `word`, typed or `shown`, in aqmlab's base unit."""
    suffixes = SUFFIXES[kind] | (SHOWN.get(kind, {}) if shown else {})
    digits = "[0-9]+" if kind in WHOLE and not shown else r"(?:[0-9]*\.)?[0-9]+(?:e-?[0-9]{1,2})?"
    number = re.fullmatch(rf"(-?{digits})([a-z%]*)", text.lower())
    if kind in WHOLE and (whole := re.fullmatch("0x([0-9a-f]{1,16})", text.lower())):
        number = re.fullmatch("([0-9]+)()", str(int(whole[1], 16)))
    scale = suffixes.get(number[2]) if number else None
    least, most = RANGES.get(word, (0, MOST.get(kind, 0xFFFFFFFF)))
    if number is None or scale is None or not least <= float(number[1]) * scale / SUFFIXES[kind][""] <= most:
        known = ", ".join(suffix for suffix in suffixes if suffix)
        is_told = word in RANGES or kind in WHOLE or most < 999
        bounds = f" from {least} to {most}" if is_told else ""
        raise InputError(
            word, f'"{text[:60]}" is not valid for tc; expected {kind}{bounds}' + (f" ({known})" if known else "")
        )
    value = round(float(number[1]) * scale, 15)
    if kind == "hertz":
        return hertz_of(round(value * 256) + 1 if shown else math.floor(value * 256))
    return value


def write(value: float, kind: str, word: str) -> str:
    """Return a value in our base unit as tc reads it, to the nearest that it can say."""
    text = WRITERS.get(kind, _whole(kind))(value)
    number = float(re.match(r"-?[0-9.e-]+", text)[0])  # type: ignore[index]
    most = 0xFFFFFFFF * 1e-6 if kind == "time" else MOST.get(kind, 0xFFFFFFFF)
    if (value if kind == "time" else number) > most and kind != "rate":
        raise InputError(word, f"{text} is above the maximum of tc, {most:.10g} ({kind})")
    return text


def _whole(kind: str) -> Callable[[float], str]:
    scale = SUFFIXES[kind][""]
    return lambda value: str(round(value / scale))


def _time(value: float) -> str:
    micro = round(value * 1e6)
    return f"{micro // 1000}ms" if micro % 1000 == 0 and micro else f"{micro}us"


def _rate(value: float) -> str:
    bits = round(value)
    for scale, unit in ((10**9, "gbit"), (10**6, "mbit"), (10**3, "kbit")):
        if bits % scale == 0 and bits:
            return f"{bits // scale}{unit}"
    return f"{bits}bit"


def hertz_of(parts: int) -> float:
    """Return what DualPI2 makes of a gain that tc sends as 256ths of a hertz: whole steps of 2**32 / 4e9 of them.

    It shows the 256ths below, so one less than was sent (`sch_dualpi2.c`, `dualpi2_scale_alpha_beta`).
    """
    steps = parts * (2**32 - 1) // 4_000_000_000
    return float(f"{steps * 4e9 / (2**32 - 1) / 256:.12g}")  # in the digits that schemes are written with


def parts_of(hertz: float) -> int:
    """Return the 256ths of a hertz that tc is to send for a gain: those that give it, or else the nearest."""
    exact = math.ceil(hertz * 256 - 1e-6)
    return exact if math.isclose(hertz_of(exact), hertz, rel_tol=1e-9) else round(hertz * 256)


def _hertz(value: float) -> str:
    return _plain(parts_of(value) / 256)


def _plain(value: float) -> str:
    return f"{value:.10f}".rstrip("0").rstrip(".")


WRITERS: dict[str, Callable[[float], str]] = {"time": _time, "rate": _rate, "probability": _plain, "hertz": _hertz}
