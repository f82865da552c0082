"""Results at the prompt and in a notebook: a short line, tables with the numbers, and names that stay text."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import aqmlab
from aqmlab.notebook import Result, Sheet, bar
from aqmlab.runs import sweep

MOST = 300
"""Characters of a result at the prompt."""


class Named(Result):
    """A result with a name that looks like HTML."""

    headline = "<script>alert(1)</script>"

    def sheets(self) -> list[Sheet]:
        return [Sheet("<b>", ["<i>"], [["<script>", "&"]])]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A result of each kind, as cheap as can be."""
    folder = tmp_path_factory.mktemp("shown")
    small = str(Path(__file__).parent / "small.toml")
    (folder / "e.toml").write_text(
        f'schema = 1\ntitle = "E"\nscenarios = ["{small}"]\naqms = ["pi", "red"]\nseeds = 2\n'
    )
    return {
        "run": aqmlab.run(small, "pi", series=True),
        "compare": aqmlab.compare(small, "pi,droptail", seeds=12),
        "sweep": sweep.sweep(folder / "e.toml", folder / "out"),
        "reproduce": aqmlab.reproduce("li2014", tables=["1"]),
        "analyse": aqmlab.analyse("pi", rate="45 Mbit/s", rtt="80 ms", flows=60),
    }


def test_a_result_is_a_short_line_at_the_prompt(results: dict[str, Any]) -> None:
    for name, result in results.items():
        assert isinstance(result, Result)
        assert len(repr(result)) < MOST, name
        assert "\n" not in repr(result)
        assert result.headline in repr(result)


def test_a_notebook_shows_the_numbers(results: dict[str, Any]) -> None:
    run, compared, reproduced = results["run"], results["compare"], results["reproduce"]
    link = next(iter(run.links.values()))
    assert f"<td>{link.queue_mean:.1f}</td>" in run._repr_html_()
    assert f"<td>{run.total.goodput / 1e6:.2f}</td>" in run._repr_html_()
    assert compared.text("pi", f"links.{compared.scenario.links[0]}.queue_mean") in compared._repr_html_()
    cell = next(cell for cell in reproduced.cells if cell.row == "PI" and cell.metric.metric.name == "queue_mean")
    assert f"{cell.ours.mean:.1f} ({cell.published:.1f})" in reproduced._repr_html_()
    assert "droptail" not in results["sweep"]._repr_html_()
    assert results["sweep"]._repr_html_().count("<tr>") == 1 + 2
    assert "Hollot et al.&#x27;s P(s)" in results["analyse"]._repr_html_()


def test_names_are_text_in_a_notebook() -> None:
    html = Named()._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert html.count("&lt;script&gt;") == 2


def test_a_simulation_says_where_it_is(small: str) -> None:
    simulation = aqmlab.Simulation(small, "pi")
    simulation.step_until(0.5)
    assert repr(simulation) == f"<Simulation: at 0.5 s of {simulation.end:g} s>"


def test_a_bar_goes_to_its_end(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, text: str) -> None:
            shown.append(text)

    def display(text: str, **_: object) -> Handle:
        shown.append(text)
        return Handle()

    module = ModuleType("IPython.display")
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    vars(module).update(HTML=str, display=display)
    aqmlab.compare(small, "pi,droptail", seeds=2, progress=bar("<Runs>"))
    assert 'value="0" max="1"' in shown[0]
    assert 'value="4" max="4"' in shown[-1]
    assert "&lt;Runs&gt;" in shown[-1]
