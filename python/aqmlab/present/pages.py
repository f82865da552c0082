"""What the HTML reports share: their templates, and a scheme's parameters in words."""

import json
from functools import cache
from typing import TYPE_CHECKING

from aqmlab import catalogue
from aqmlab._core import Scenario

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def template(name: str) -> "Template":
    """Return a template of the package; what it is given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("aqmlab.present")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)


def parameters(scenario: Scenario, spec: str) -> str:
    """Return the parameters of a scheme as a scenario uses it, with their units."""
    units = {parameter.name: parameter.unit for parameter in catalogue.find(spec.partition(":")[0]).parameters}
    values = json.loads(scenario.scheme(spec))["parameters"]
    return ", ".join(f"{name} = {_with_unit(str(value), units[name])}" for name, value in values.items())


def _with_unit(value: str, unit: str) -> str:
    return value if unit in ("", "1", "ratio") or not _is_number(value) else f"{value} {unit}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
