"""The template of a scheme from elsewhere is built outside the workspace, and its page's commands run."""

import os
import re
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "examples" / "own-scheme"
PAGE = (ROOT / "docs" / "own-scheme-rust.md").read_text(encoding="utf-8")
LOCKED = re.compile(r'^name = "(.*)"\nversion = "(.*)"', re.MULTILINE)


def commands() -> str:
    """What the page tells to type, but for the first block: that is the copy, which is made here."""
    return "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1:])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy that names aqmlab by absolute paths."""
    copy = shutil.copytree(TEMPLATE, tmp_path / "own-scheme", ignore=shutil.ignore_patterns("target", "*.so"))
    manifest = copy / "Cargo.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("../..", ROOT.as_posix()), encoding="utf-8")
    return copy


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A virtual environment that sees this one's packages, so that the template does not stay in this one."""
    own = tmp_path / "venv"
    venv.create(own)
    (packages,) = own.glob("lib/python*/site-packages")
    (packages / "these.pth").write_text(f"import site; site.addsitedir({site.getsitepackages()[0]!r})\n")
    return os.environ | {
        "VIRTUAL_ENV": str(own),
        "PATH": os.pathsep.join([str(own / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target")),  # nothing is compiled twice
        "CARGO_NET_OFFLINE": "true",
        "CARGO_PROFILE_RELEASE_LTO": "off",  # results do not depend on how the engine is linked, but the time does
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    }


@pytest.mark.nightly
def test_the_page_s_commands_run(project: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-euxc", commands()], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "keeps_the_contract_alone_and_in_flow_queueing ... ok" in done.stdout
    assert "Square-RED: RED without the straight line" in done.stdout
    assert '"aqm":"square-red:high=3","seed":2' in done.stdout
    assert "own-lab compare" in (project / "report" / "report.html").read_text(encoding="utf-8")
    # Half the target to twice the target is where its probability rises: 150 to 600 packets.
    assert 150 < float(done.stdout.split()[-1]) < 600


def test_the_template_is_locked_to_our_versions() -> None:
    ours, its = (set(LOCKED.findall((folder / "Cargo.lock").read_text())) for folder in (ROOT, TEMPLATE))
    assert its - ours == {("own-scheme", "0.1.0")}


def test_it_comes_before_aqmlab_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    import aqmlab._core

    monkeypatch.syspath_prepend(TEMPLATE / "python")
    monkeypatch.setitem(sys.modules, "own_scheme._native", sys)  # any module but aqmlab's
    with pytest.raises(ImportError, match="import own_scheme first"):
        import own_scheme  # noqa: F401
    assert sys.modules["aqmlab._core"] is aqmlab._core
