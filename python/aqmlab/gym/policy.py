"""A trained policy as a scheme: one file of plain NumPy, with the weights in it.

Needs neither Gymnasium nor torch: it reads the entry that `aqmlab.gym.sb3.save` adds to a model.
"""

import re
import zipfile
import zlib
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab import untrusted
from aqmlab.problems import InputError

ENTRY = "aqmlab.json"
"""The entry of a model's file that an export reads."""
SAMPLES = 256
"""Observations against whose answers an export is held."""
TOLERANCE = 1e-5
LARGEST_MODEL = 1024 * untrusted.MIB
"""Bytes of the file, of which only the entry is read."""
LARGEST = untrusted.LARGEST_JSON
"""Bytes of the entry, unpacked."""

OBSERVED = {
    "queue": "scaled(queue.packets, queue.target)",
    "error": "scaled(queue.packets - queue.target, queue.target)",
    "trend": "scaled(queue.packets - self.queue, queue.target / 10)",
    "backlog": "scaled(queue.packets / capacity, queue.target / capacity)",
    "arrival_rate": "scaled((queue.arrived_packets - self.arrived) / EVERY, capacity)",
    "p": "self.p**0.5",
    "capacity": "scaled(capacity, 1000)",
    "target": "scaled(queue.target, 100)",
}
"""A scheme's state of its queue, as an environment scales it. The size of packets is the mean of those that came."""

TEMPLATE = '''"""{title}: a trained scheme; made by `aqmlab export-policy`.

Trained with {recipe} on the reward {reward}.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import aqmlab

Vector = NDArray[np.float32]


def identity(x: Vector) -> Vector:
    """Leave it as it is."""
    return x


def relu(x: Vector) -> Vector:
    """Nothing below zero."""
    return np.maximum(x, np.float32(0))


def scaled(x: float, reference: float) -> float:
    """A number between -1 and 1: 1/2 at the reference."""
    return x / (abs(x) + reference) if x else 0.0


EVERY = {every!r}
LAYERS: list[tuple[list[list[float]], list[float], Callable[[Vector], Vector]]] = [  # weights, biases, what follows
{layers}
]
NETWORK = [(np.array(weights, dtype=np.float32), np.array(bias, dtype=np.float32), f) for weights, bias, f in LAYERS]
LEAST, MOST, STEP = {least!r}, {most!r}, {step!r}


def network(x: Vector) -> Vector:
    """Return the action, between -1 and 1."""
    for weights, bias, follows in NETWORK:
        x = follows(weights @ x + bias)
    return {squash}


class {name}(aqmlab.Aqm):
    """A trained policy that sets the drop probability."""

    title = "{title}"
    tick = EVERY

    def reset(self, queue: aqmlab.Queue) -> None:
        """Start from an empty queue."""
        self.queue = self.arrived = 0

    def on_tick(self, queue: aqmlab.Queue) -> None:
        """Observe and act."""
        size = queue.arrived_bytes / queue.arrived_packets if queue.arrived_packets else 1000
        capacity = queue.rate / (8 * size)
        observation = [
{observed}
        ]
        self.queue, self.arrived = queue.packets, queue.arrived_packets
        action = float(network(np.array(observation, dtype=np.float32))[0])
        {move}
'''


def read(path: Path) -> dict[str, Any]:
    """Return the entry of a model's file; InputError if there is none."""
    try:
        with untrusted.opened(path, LARGEST_MODEL, field="model") as packed:
            untrusted.check_zip(packed, str(path), "model")
            with zipfile.ZipFile(packed) as file:
                size = file.getinfo(ENTRY).file_size
                document = untrusted.parse_json(file.read(ENTRY)) if size <= LARGEST else None
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("model", f"{path}: no such file") from None
    except KeyError:
        raise InputError(
            "model", f"{path}: does not say what it was trained for; save it with aqmlab.gym.sb3.save(model, env, path)"
        ) from None
    except (OSError, ValueError, RuntimeError, EOFError, ArithmeticError, zipfile.BadZipFile, zlib.error):
        raise InputError("model", f"{path}: is not a model that Stable-Baselines3 saved") from None
    if not isinstance(document, dict):
        raise InputError("model", f"{path}: its {ENTRY} is no table, or larger than {LARGEST:,} bytes")
    return document


def export(model: Path, name: str) -> str:
    """Return the text of a scheme called `name` that does what a model does, within 1e-5; InputError if it cannot.

    A model may come from a stranger: the text contains its numbers, names of aqmlab's that it chooses, and one line of
    text in a docstring.
    """
    document = read(model)
    try:
        return _export(document, name)
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(
            "model", f"{model}: its {ENTRY} is not as aqmlab.gym.sb3.save writes it ({type(error).__name__}: {error})"
        ) from error


def _export(document: dict[str, Any], name: str) -> str:
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        raise InputError("name", f'"{name}" is not the name of a class; write e.g. MyAqm')
    if document["act"]["scheme"] != "fixed-p":
        raise InputError(
            "model", f"moves parameters of {document['act']['scheme']}; only a policy that sets p can be a scheme"
        )
    for gauge in document["observe"]:
        if gauge not in OBSERVED:
            raise InputError("model", f"observes {gauge}, which a scheme cannot see; it sees {', '.join(OBSERVED)}")
    text = _text(document, name)
    _hold(text, document)
    return text


def _text(document: dict[str, Any], name: str) -> str:
    ((_, ends, scale, step),) = document["act"]["moved"]
    least, most = ends
    follows = {"none": "identity", "tanh": "np.tanh", "relu": "relu"}
    layers = [
        f"    ({_rows(each['weights'])}, {_row(each['bias'])}, {follows[each['activation']]}),"
        for each in document["layers"]
    ]
    reward = " + ".join(f"{weight:g} {part}" for part, weight in document["reward"].items())
    return TEMPLATE.format(
        name=name,
        title=name,
        recipe=_plain(document["recipe"] or "an unknown recipe"),
        reward=_plain(reward),
        every=_number(document["every"]),
        layers="\n".join(layers),
        least=_number(least),
        most=_number(most),
        step=None if step is None else _number(step),
        squash="np.tanh(x)" if document["squash"] == "tanh" else "np.clip(x, -1, 1)",
        observed="\n".join(f"            {OBSERVED[gauge]}," for gauge in document["observe"]),
        move=_move(scale, step),
    )


def _plain(text: str) -> str:
    """One line that ends no docstring."""
    line = " ".join(text.replace("\\", "/").replace('"', "'").split())
    return "".join(each for each in line if each.isprintable())


def _move(scale: str, step: float | None) -> str:
    """The statement that sets p."""
    back = {
        "linear": "share",
        "square": "share**0.5",
        "log": "np.log(max(self.p, LEAST) / LEAST) / np.log(MOST / LEAST)",
    }[scale]
    place = back.replace("share", "((max(self.p, LEAST) - LEAST) / (MOST - LEAST))")
    u = "(action + 1) / 2" if step is None else f"min(max({place} + STEP * action, 0), 1)"
    value = {
        "linear": "LEAST + u * (MOST - LEAST)",
        "square": "LEAST + u**2 * (MOST - LEAST)",
        "log": "LEAST * (MOST / LEAST) ** u",
    }[scale]
    return f"u = {u}\n        self.p = min(max({value}, LEAST), MOST)"


def _number(value: Any) -> float:
    """A number as Python has it; ValueError for anything else, and for one that is not finite."""
    number = float(value)
    if not isfinite(number):
        raise ValueError(f"{number} is not finite")
    return number


def _row(values: list[float]) -> str:
    return "[" + ", ".join(f"{_number(value):.9g}" for value in values) + "]"


def _rows(rows: list[list[float]]) -> str:
    if not rows:
        raise ValueError("a layer without weights")
    return "[\n        " + ",\n        ".join(map(_row, rows)) + ",\n    ]"


def _hold(text: str, document: dict[str, Any]) -> None:
    """Hold the network in the text against the answers of the trained one."""
    kept = text[: text.index("\nclass ")].replace("import aqmlab\n", "")
    names: dict[str, Any] = {}
    with np.errstate(all="ignore"):  # a difference that is no number is refused below
        exec(compile(kept, "policy", "exec"), names)  # our own template; what a file adds are numbers
        samples: NDArray[np.float32] = np.array(document["samples"], dtype=np.float32)
        answers = np.array([names["network"](each) for each in samples], dtype=np.float64)
        worst = float(np.abs(answers - np.array(document["answers"])).max())
    if not worst <= TOLERANCE:
        raise InputError(
            "model", f"the exported network differs from the trained one by {worst:.2g}, over {TOLERANCE:g}"
        )
