"""The studio shows a paper reproduced."""

import json
from pathlib import Path

import pytest

from aqmlab import InputError
from aqmlab.present.reports.reproduction import files
from aqmlab.studio.results import folder
from aqmlab.study.reproduction import reproduce
from studio_client import serving


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("paper")
    for name, content in files(reproduce("li2014", tables=["1"]), "").items():
        (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_published_numbers_stand_beside_ours_with_figures(left: Path) -> None:
    with serving("--results", str(left)) as server:
        server.enter()
        found = server.json("/api/results/0")
        assert found["told"] == "30 of 32 published numbers match, 2 are near"
        [table, sentences] = found["tables"]
        assert table["title"] == "li2014, Table 1"
        assert table["rows"][0] == ["ARED", "link efficiency", "ratio", "0.9524", "0.9528", "match"]
        assert len(table["rows"]) == 32
        assert sentences["columns"] == ["Sentence", "Verdict", "Measured"]
        assert [figure["name"] for figure in found["figures"]] == ["table-1-p", "table-1-queue"]
        assert all(server.ask(figure["svg"])[0] == 200 for figure in found["figures"])
        assert server.ask("/api/results/0/figure/report.svg")[0] == 404
        assert server.ask(f"/api/results/0?since={found['version']}")[0] == 304


def test_a_figure_that_leads_elsewhere_is_not_shown(left: Path, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes((left / "results.json").read_bytes())
    (tmp_path / "secret.svg").symlink_to("/etc/passwd")
    found = folder(tmp_path)
    assert found.document()["figures"] == []
    with pytest.raises(InputError, match="no figure"):
        found.figure("secret")


@pytest.mark.parametrize("document", [{"coverage": 3}, {"coverage": {"match": 1}}, {"coverage": {}, "studies": [1]}])
def test_what_is_not_of_a_reproduction_is_refused(document: object, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"results\.json is not of a reproduction"):
        folder(tmp_path).document()
