"""The command `schema`."""

import json
from typing import Annotated

import typer

EPILOG = "Example: aqmlab schema scenario > scenario.schema.json"


def schema(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="scenario, experiment or exercise.")],
) -> None:
    """Print the JSON Schema of scenarios, experiments or exercises, for editors and programs."""
    from aqmlab.runs import schemas

    print(json.dumps(schemas.schema(kind), indent=1))
