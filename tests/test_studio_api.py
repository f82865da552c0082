"""What the studio tells over HTTP: the catalogue, scenarios, what is wrong as one types, papers, folders of results."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import aqmlab
from aqmlab.scenario import scenarios
from conftest import SMALL
from studio_client import Server, serving
from sweeping import split, sweep

EXPERIMENT = """
schema = 1
title = "Small & quick"
scenarios = ["small.toml"]
aqms = ["droptail", "pi"]
seeds = 3
[set]
links.bottleneck.rate = ["5 Mbit/s", "10 Mbit/s"]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "small.toml").write_text(SMALL.read_text())
    (folder / "e.toml").write_text(EXPERIMENT)
    sweep(folder, jobs=2)
    return folder / "out"


@pytest.fixture(scope="module")
def studio(results: Path) -> Iterator[Server]:
    with serving(str(SMALL), "--results", str(results)) as server:
        server.enter()
        yield server


def test_the_catalogue_has_all_there_is(studio: Server) -> None:
    found = studio.json("/api/catalogue")
    assert [each["name"] for each in found["schemes"]] == [each.name for each in aqmlab.catalogue.schemes()]
    pi = next(each for each in found["schemes"] if each["name"] == "pi")
    assert [(p["name"], p["default"], p["unit"]) for p in pi["parameters"]][-1] == ("w", "170 Hz", "Hz")
    assert pi["observables"][0]["name"] == "p"
    assert found["scenario"] == "small"
    assert [each["name"] for each in found["scenarios"]] == ["small", *scenarios()]
    assert {each["name"] for each in found["kinds"]} == {
        "ftp",
        "app-limited",
        "short",
        "http",
        "video",
        "media",
        "udp-cbr",
        "udp-onoff",
    }
    assert {each["name"] for each in found["studies"]} >= {"li2014", "sun2007", "xiong2010"}
    assert len(found["lessons"]) == 12
    assert found["limits"] == {"lanes": 8, "marks": 16, "flows": 16, "bytes": 1048576}


def test_columns_of_the_catalogue_are_those_of_frames(studio: Server) -> None:
    told = {(each["of"], each["name"]): each["unit"] for each in studio.json("/api/catalogue")["columns"]}
    simulation = aqmlab.Simulation(str(SMALL), "pie")
    columns = simulation.sample_columns([("ftp", 0)])
    assert {(each.of, each.name): each.unit for each in columns if each.of not in ("time", "scheme")} == told
    assert ("scheme", "p") in {(each.of, each.name) for each in columns}


@pytest.mark.parametrize("name", ["small", "li2014/table-1", "home/rrul"])
def test_a_scenario_has_its_text(studio: Server, name: str) -> None:
    found = studio.json(f"/api/scenario/{name}")
    assert found["name"] == name
    assert "[[links]]" in found["text"]
    assert studio.json("/api/check", {"text": found["text"]})["problems"] == []


def test_every_lesson_can_be_opened(studio: Server) -> None:
    for lesson in studio.json("/api/catalogue")["lessons"]:
        found = studio.json(f"/api/lessons/{lesson['id']}")
        assert studio.json("/api/check", {"text": found["open"]["text"]})["problems"] == []
    assert studio.ask("/api/lessons/09-nothing")[0] == 404


def test_the_sheet_of_a_student_is_shown_and_checked(studio: Server) -> None:
    route, asked = "/api/exercise/01-bufferbloat", {"student": "4711", "minutes": 15}
    found = studio.json(route, asked | {"want": "show"})
    assert found["values"] == {"links.up.rate": "10 Mbit/s", "links.up.buffer": "950 ms"}
    assert [task["id"] for task in found["tasks"]] == ["guess", "standing", "managed", "why"]
    found = studio.json(route, asked | {"want": "check", "answers": {"standing": "857 ms"}})
    assert [verdict["taken"] for verdict in found["verdicts"]] == [False, True, False, False]
    assert "error" in studio.json(route, asked | {"want": "show", "student": " "})
    for wrong in ({"want": "solve"}, {"want": "check", "minutes": 20}, {"want": "check", "answers": {"guess": 3}}):
        assert studio.ask(route, data=json.dumps(asked | wrong).encode())[0] in (400, 404)
    assert studio.ask("/api/exercise/01-nothing", data=json.dumps(asked | {"want": "show"}).encode())[0] == 404


def test_what_is_typed_is_checked_and_drawn(studio: Server) -> None:
    text = SMALL.read_text()
    found = studio.json("/api/check", {"text": text, "aqms": ["pi", "piz", "codel:target=1 h"]})
    assert [(each["lane"], each["line"]) for each in found["problems"]] == [(1, None), (2, None)]
    [link], [group] = found["opened"]["links"], found["opened"]["groups"]
    assert (link["name"], link["rate"], link["packets"], link["x"]) == ("bottleneck", 10e6, 100, 0)
    assert (group["name"], group["count"], group["path"], group["rtt"]) == ("ftp", 10, ["bottleneck"], 0.02)
    wrong = studio.json("/api/check", {"text": text.replace("count = 10", "cuont = 10")})
    assert [(each["field"], each["line"]) for each in wrong["problems"]] == [("flows.ftp.cuont", 17)]
    fixed = text.replace('name = "bottleneck"', 'name = "bottleneck"\nfixed = true')
    found = studio.json("/api/check", {"text": fixed, "aqms": ["pi", "pi@bottleneck"]})
    [problem] = found["problems"]
    assert problem["lane"] == 0
    assert "no link of this scenario takes a scheme" in problem["message"]


def test_what_a_paper_prints_can_be_laid_over(studio: Server) -> None:
    found = studio.json("/api/published/li2014")
    cells = [
        cell
        for table in found["tables"]
        if "li2014/table-1" in table["scenarios"]
        for cell in table["cells"]
        if cell["aqm"] == "pi" and cell["ours"] == "links.bottleneck.queue_mean"
    ]
    assert cells
    for cell in cells:
        assert cell["published"] == pytest.approx(cell["value"])  # the paper counts packets too
    assert studio.ask("/api/published/nobody1900")[0] == 404


def test_a_finished_sweep_is_shown(studio: Server) -> None:
    assert studio.json("/api/results")["folders"] == [{"id": 0, "name": "out"}]
    found = studio.json("/api/results/0")
    assert (found["title"], found["done"], found["planned"], found["failed"]) == ("Small & quick", 12, 12, 0)
    assert len(found["tables"]) == 2
    table = found["tables"][0]
    assert table["columns"][0] == "Scheme"
    assert [row[0] for row in table["rows"]] == ["DropTail", "PI"]
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    for figure in found["figures"]:
        status, svg, headers = studio.ask(figure["svg"])
        assert status == 200
        assert b"<svg" in svg[:1000]
        assert headers["content-type"].startswith("image/svg+xml")
    assert studio.ask(f"/api/results/0?since={found['version']}")[0] == 304
    assert studio.ask("/api/results/1")[0] == 404
    assert studio.ask("/api/results/0/figure/0-nothing.svg")[0] == 404


def test_a_sweep_at_work_is_shown_as_far_as_it_is(results: Path, tmp_path: Path) -> None:
    import shutil

    at_work = tmp_path / "work"
    shutil.copytree(results, at_work)
    for name in ("runs.parquet", "timing.parquet"):
        (at_work / name).unlink(missing_ok=True)
    parts = split(at_work, 4)
    last = parts[-1].read_bytes()
    parts[-1].unlink()
    with serving("--results", str(at_work)) as server:
        server.enter()
        before = server.json("/api/results/0")
        assert (before["done"], before["planned"]) == (8, 12)
        parts[-1].write_bytes(last)
        after = server.json(f"/api/results/0?since={before['version']}")
        assert (after["done"], after["planned"]) == (12, 12)


def test_the_page_is_served_with_all_that_it_names(studio: Server) -> None:
    status, page, headers = studio.ask("/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    for name, kind in {"studio.js": "text/javascript", "studio.css": "text/css", "icon.svg": "image/svg+xml"}.items():
        assert f"/static/{name}".encode() in page
        status, _, headers = studio.ask(f"/static/{name}")
        assert status == 200
        assert headers["content-type"].startswith(kind)
    assert studio.ask("/static/nothing.js")[0] == 404
