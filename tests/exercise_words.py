"""Answers to the sheets of exercises as three students give them: one right, one wrong, one in words of their own."""

from collections.abc import Mapping

from aqmlab.exercise import ExerciseSheet
from aqmlab.exercise.sheet import ExerciseTask

ODD = {
    "01-bufferbloat": {
        "why": "Senders keep increasing their window; nothing is lost until there is no room left.",
        "cure": "Useless: even one user makes the delay come back.",
        "bytes": "At the slower rate the same size lasts longer. CoDel looks at how long packets stay.",
    },
    "02-red-knobs": {
        "point": "Depends on the number of senders: more of them need more drops.",
        "need": "TCP still requires as much; on a steep slope that is reached with a smaller queue",
        "weight": "Only the speed of the reaction. The final level is the same.",
    },
    "03-ared-states": {
        "why": "Above the threshold the curve still has its initial slope",
        "past": "Hysteresis.",
        "shorter": "The RTT shrinks, so each flow would send faster",
    },
    "04-pi-gains": {
        "integral": "It keeps changing p until the difference vanishes",
        "slow": "Because p grows only a little per second",
        "few": "The steps are big compared with p, hence oscillations",
    },
    "05-codel-pie": {
        "targets": "Minimum over an interval for CoDel, average for PIE.",
        "search": "PIE drops a fraction of what arrives; CoDel's drop rate increases too slowly",
        "fair": "Look at the utilisation at the same delay",
    },
    "06-neuron-relay": {
        "relay": "An on/off switch around the target",
        "unfair": "Nobody tuned PI",
        "late": "Feedback arrives later, so there is overshoot",
    },
    "07-fair-queues": {
        "why": "Its RTT is shorter, so the window increases more quickly",
        "first": "Each flow is isolated, and the call's queue is practically empty",
        "user": "Connections in the one, machines in the other",
    },
    "09-slow-start": {
        "why": "Exponential growth, and the news of the loss needs an RTT",
        "mend": "ACKs are cumulative: a retransmission per RTT. Selective ACKs name several gaps",
        "cure": "Neither can; HyStart can",
    },
    "10-round-trips": {
        "why": "Also the sojourn time. Whoever has a shorter RTT gets ACKs more often",
        "price": "The added wait dominates, so they become similar; latency suffers",
        "square": "Losses are synchronised, and near increases faster meanwhile",
    },
    "11-wifi": {
        "why": "It occupies the channel while the others wait",
        "fair": "Throughput in the former, airtime in the latter",
        "reach": "Fair to flows, blind to the slow rate",
    },
    "12-own-aqm": {
        "why": "At the threshold p is zero, but this load requires some loss",
        "limit": "Instability, since the feedback is delayed",
        "design": "It must accumulate the difference",
    },
    "08-l4s": {
        "two": "L4S has a separate queue with priority",
        "starve": "For the same marks CUBIC backs off far more",
        "coupling": "Who gets which part of the capacity; latency is unaffected",
    },
}
"""Good explanations in words that are none of the sheet's."""
WRONG = {
    "01-bufferbloat": {"why": "The buffer is too small for TCP, so it fills", "cure": "Yes.", "bytes": "CoDel is new"},
    "02-red-knobs": {"point": "RED has a target of 100 packets", "need": "I do not know", "weight": "Nothing"},
}
"""Explanations that say something false, or nothing."""


def numbered(task: ExerciseTask, value: float) -> str:
    """Return a number in base units as somebody writes it who has measured well."""
    scale = {"ms": 1e-3, "Mbit/s": 1e6, "%": 0.01}.get(task.unit, 1.0)
    return f"{value / scale:.4g} {task.unit}".strip()


def solved(each: ExerciseSheet, student: str, minutes: int) -> dict[str, str]:
    """Return answers as somebody gives them who has measured well."""
    told = {found["task"]: found for found in each.ask("solve", student, minutes)["solutions"]}
    found = {}
    for task in each.of(minutes):
        if task.kind == "explain":
            found[task.id] = told[task.id]["told"]
        elif task.kind == "predict":
            found[task.id] = f"1 {each.task(task.of).unit}".strip()
        else:
            found[task.id] = numbered(task, told[task.id]["measured"])
    return found


def oddly(sheet: ExerciseSheet, right: Mapping[str, str]) -> dict[str, str]:
    """Return the same answers in other units, roundings and words."""
    return {task.id: ODD[sheet.id].get(task.id) or _odd(task, right[task.id]) for task in sheet.tasks}


def _odd(task: ExerciseTask, text: str) -> str:
    if task.kind not in ("do", "compare"):
        return text
    value, _, unit = text.replace(",", "").partition(" ")
    if unit == "ms":
        return f"about {float(value) / 1000:.3g} seconds".replace(".", ",")
    if unit == "Mbit/s":
        return f"~{1000 * float(value):.3g} kbit/s"
    if unit == "packets":
        return f"{float(value) * 0.99:.0f}-{float(value) * 1.01:.0f} pkts"
    if unit == "%":
        return f"{float(value):.3g} percent of the time"
    return f"{float(value):.2g} times as long" if task.kind == "compare" else f"roughly {float(value):.3g}"


def wrongly(sheet: ExerciseSheet, right: Mapping[str, str]) -> dict[str, str]:
    """Return answers that are none: numbers too large, words that say nothing or something false."""
    found = {task.id: "no idea" for task in sheet.tasks}
    for task in sheet.tasks:
        value, _, unit = right[task.id].replace(",", "").partition(" ")
        if task.kind in ("do", "compare"):
            found[task.id] = f"{1.6 * float(value):.4g} {unit}".strip()
    return found | WRONG.get(sheet.id, {})
