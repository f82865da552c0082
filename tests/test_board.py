"""The board: what a cell contains, its order, and its numbers beside those of Linux and of the last release."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))
import board

from conftest import Aqmlab

FIRST = board.Place("board/cable-up", "cubic", "codel")


def test_the_board_has_every_controller_under_twelve_schemes_on_nine_links() -> None:
    places = board.places()
    assert len(set(places)) == len(places) == 14 * 12 * 9
    assert {place.controller for place in places} == {each.name for each in board.catalogue.laws() if each.page}


def test_a_picture_is_the_course_of_the_queue() -> None:
    """Forty points of which the second half is twice as high: 35 of 35 parts of the maximum, and 17.5."""
    assert board.picture([10.0] * 100 + [20.0] * 100) == {"peak": 20.0, "queue": "i" * 20 + "z" * 20}
    assert board.picture([0.0] * 200)["queue"] == "0" * 40


def test_numbers_are_means_with_intervals_in_the_units_of_tables() -> None:
    """The 95 % quantile of Student's t of three values is 4.303: 4.303 * 1 / sqrt(3) = 2.48 for 1, 2 and 3."""
    runs = [{board.DELAY: x / 1e3, board.GOODPUT: 8e6, "flows.bulk.jain": None} for x in (1, 2, 3)]
    assert board.numbers(runs) == [[2.0, 2.48], [8.0, 0.0], None]


def test_a_cell_shows_linux_and_the_last_release_where_they_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = FIRST._replace(controller="reno")
    monkeypatch.setattr(board, "places", lambda: [FIRST, second])
    monkeypatch.setattr(board, "ON_LINUX", tmp_path / "linux.jsonl")
    monkeypatch.setattr(board, "RELEASED", tmp_path / "released.json")
    monkeypatch.setattr(board, "DATA", tmp_path / "board.json")
    drawn = {"peak": 1.0, "queue": "z" * 40}
    cells = {place: {"sim": [[1.0, 0.1], [2.0, 0.1], [0.9, 0.0]], **drawn} for place in (FIRST, second)}
    board.DATA.write_text(board.written(board.board(cells)), encoding="utf-8")
    board.store_release("0.2.0")
    row = {"cell": FIRST, "linux": [[1.1, 0.1], None, None], "kernel": "7.3.4", "date": "2026-12-01"}
    board.ON_LINUX.write_text(json.dumps(row) + "\n", encoding="utf-8")
    cells[FIRST]["sim"] = [[1.5, 0.1], [2.0, 0.1], [0.9, 0.0]]
    document = json.loads(board.written(board.board(cells)))
    changed, same = document["cells"]
    assert (document["released"], changed["was"][0], changed["kernel"]) == ("0.2.0", [1.0, 0.1], "7.3.4")
    assert not {"was", "linux"} & set(same)


def test_linux_measures_what_it_supports() -> None:
    assert board.supported(FIRST)
    assert not board.supported(FIRST._replace(controller="prague"))
    assert not board.supported(FIRST._replace(scheme="pi2"))
    assert not board.supported(FIRST._replace(link="board/lte"))


def test_the_stored_board_is_that_of_the_experiment(aqmlab: Aqmlab) -> None:
    """Its cells in their order, and one of them repeated by its command."""
    stored = json.loads(board.DATA.read_text(encoding="utf-8"))
    assert [board.Place(*cell["cell"]) for cell in stored["cells"]] == board.places()
    [cell] = [cell["sim"] for cell in stored["cells"] if board.Place(*cell["cell"]) == FIRST]
    assert aqmlab(*FIRST.command.split()[1:]).returncode == 0
    assert board.repeated(FIRST) == cell
