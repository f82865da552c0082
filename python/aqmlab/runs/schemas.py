"""The JSON Schema of each kind of file that people write; the keys of an experiment file are declared here."""

import json
from collections.abc import Mapping
from typing import Any

from aqmlab import _core
from aqmlab.names import unknown
from aqmlab.runs import MOST_SEEDS
from aqmlab.runs.grid import MOST_STEPS, RANGE, SCALES
from aqmlab.runs.task import ENGINES, SIM

FILES = ("scenario", "experiment", "exercise")
"""The kinds of files."""
MSER = "mser"
LARGEST_SEED = 2**63 - 1
REQUIRED = ("schema", "scenarios", "aqms")
"""The keys that an experiment file must have."""

_TEXT = {"type": "string"}
_SINGLE = {"type": ["string", "number", "boolean"]}
_END = {"type": ["string", "number"], "examples": ["50 Hz"]}
_VALUES = {
    "description": "A value, a list of values or a range.",
    "anyOf": [
        _SINGLE,
        {"type": "array", "items": _SINGLE, "minItems": 1},
        {
            "type": "object",
            "properties": dict(
                zip(
                    RANGE,
                    (_END, _END, {"type": "integer", "minimum": 2, "maximum": MOST_STEPS}, {"enum": [*SCALES]}),
                    strict=True,
                )
            ),
            "required": ["from", "to", "steps"],
            "additionalProperties": False,
        },
    ],
}
_TEXTS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}

KEYS: Mapping[str, Mapping[str, Any]] = {
    "schema": {"const": 1, "description": "Version of the format."},
    "title": {**_TEXT, "description": "One line for people."},
    "scenarios": {**_TEXTS, "description": 'Names of scenarios, patterns such as "li2014/*", and files.'},
    "aqms": {
        "description": "Schemes with parameters, each as a text or as a table; or deployed, seed-papers or all.",
        "examples": [["red", "pie:target=20ms", {"name": "pi", "w": ["85 Hz", "170 Hz"]}]],
        "anyOf": [
            _TEXT,
            {
                "type": "array",
                "minItems": 1,
                "items": {
                    "anyOf": [
                        _TEXT,
                        {
                            "type": "object",
                            "properties": {"name": _TEXT},
                            "required": ["name"],
                            "additionalProperties": {"$ref": "#/$defs/values"},
                        },
                    ]
                },
            },
        ],
    },
    "set": {"$ref": "#/$defs/set", "description": "Values of the scenarios by their paths, as of --set."},
    "seeds": {
        "description": "A number of seeds, or a list of them.",
        "default": 1,
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS},
            {
                "type": "array",
                "items": {"type": "integer", "minimum": 0, "maximum": LARGEST_SEED},
                "minItems": 1,
                "maxItems": MOST_SEEDS,
                "uniqueItems": True,
            },
        ],
    },
    "warmup": {
        "description": f'"{MSER}" to measure the warm-up, or a table of scenarios and times.',
        "anyOf": [{"const": MSER}, {"type": "object", "additionalProperties": _TEXT}],
    },
    "engine": {"enum": [*ENGINES], "default": SIM, "description": "The engine of the runs."},
    "command": {
        "type": "array",
        "items": _TEXT,
        "minItems": 1,
        "description": "A program and its arguments, in virtual time, instead of the scenarios' flows.",
        "examples": [["curl", "-s", "http://server:8000/page"]],
    },
    "serve": {**_TEXTS, "description": "Commands at the far end, the host server."},
    "also": {**_TEXTS, "description": "Commands at the near end, next to the program."},
    "measure": {
        "type": "object",
        "additionalProperties": _TEXT,
        "description": "Numbers of the program by name: a regular expression, json:$.a.b, exit or time.",
        "examples": [{"load": "LOAD=([0-9.]+)"}],
    },
    "start_spread": {
        **_TEXT,
        "description": "The program starts up to this time later, drawn from the seed.",
        "examples": ["500 ms"],
    },
    "law": {**_TEXT, "description": "Congestion control of all TCP flows.", "examples": ["cubic"]},
}
"""The keys of an experiment file, each with the JSON Schema of its values."""


def schema(of: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a kind of file: "scenario", "experiment" or "exercise".

    Its "$id" ends with the version of the format. It knows each key with its values, units and range; it does not know
    the conditions between keys, which only reading the file checks. InputError for any other kind.
    """
    if of not in FILES:
        raise unknown("kind", "no kind of file", of, FILES)
    if of != "experiment":
        found: dict[str, Any] = json.loads(_core.schema(of))
        return found
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:aqmlab:experiment:1",
        "title": "Experiment of aqmlab",
        "type": "object",
        "properties": KEYS,
        "required": [*REQUIRED],
        "additionalProperties": False,
        "$defs": {
            "values": _VALUES,
            "set": {
                "type": "object",
                "additionalProperties": {"anyOf": [{"$ref": "#/$defs/values"}, {"$ref": "#/$defs/set"}]},
            },
        },
    }
