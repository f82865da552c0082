"""A trained policy becomes a scheme of plain NumPy that does the same."""

import json
import runpy
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as lab
from aqmlab.gym.policy import OBSERVED, export
from conftest import SMALL, Aqmlab

TRAINED = Path(__file__).parent.parent / "examples" / "gym"


def network(x: Any) -> Any:
    """Two layers by hand: an integral controller with a little of the trend, through tanh."""
    return np.tanh(x @ np.array([[0.6], [0.9], [0.1], [-0.2]]) + 0.05) @ np.array([[0.8]]) - 0.01


def document(**other: Any) -> dict[str, Any]:
    samples = np.random.default_rng(1).uniform(-1, 1, (64, 4)).astype(np.float32)
    return {
        "schema": 1,
        "every": 0.02,
        "observe": ["error", "trend", "target", "p"],
        "act": {"scheme": "fixed-p", "moved": [["p", [0.0, 0.5], "square", 0.05]]},
        "layers": [
            {"weights": [[0.6, 0.9, 0.1, -0.2]], "bias": [0.05], "activation": "tanh"},
            {"weights": [[0.8]], "bias": [-0.01], "activation": "none"},
        ],
        "squash": "clip",
        "samples": samples.tolist(),
        "answers": np.clip(network(samples.astype(float)), -1, 1).tolist(),
        "recipe": "by hand",
        "reward": {"error": 1.0},
        **other,
    }


def model(folder: Path, **other: Any) -> Path:
    path = folder / "model.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("aqmlab.json", json.dumps(document(**other)))
    return path


def test_an_export_runs_wherever_a_scheme_does(aqmlab: Aqmlab, tmp_path: Path) -> None:
    done = aqmlab("export-policy", model(tmp_path), "--out", "by_hand.py")
    assert done.returncode == 0, done.stderr
    results = [aqmlab("run", SMALL, "--aqm", "by_hand.py", "--json") for _ in range(2)]
    first, second = (json.loads(each.stdout) for each in results)
    assert first["links"] == second["links"]
    assert first["links"]["bottleneck"]["dropped"] > 0


def test_a_scheme_does_what_its_policy_does_in_the_environment(tmp_path: Path) -> None:
    env_module = pytest.importorskip("aqmlab.gym.env", reason="needs gymnasium")
    file = tmp_path / "same_law.py"
    file.write_text(export(model(tmp_path), "SameLaw"))
    law = {"act": "increment:0.05", "ranges": {"p": (0.0, 0.5, "square")}, "observe": document()["observe"]}
    env = env_module.AqmEnv(SMALL, every="20 ms", **law)
    observation, _ = env.reset(seed=1)
    scenario, seed = lab.load(SMALL, {"flows.ftp.rtt": "23.4567 ms"}), 5  # no arrival at the instant of a tick
    env.vector._engine.reset(0, scenario, seed)
    simulation = lab.Simulation(scenario, str(file), seed)
    truncated, both = False, []
    while not truncated:
        action = np.clip(network(observation.astype(float)), -1, 1).astype(np.float32)
        observation, _, _, truncated, _ = env.step(action)
        simulation.step_until(0.02 * (1 + len(both)) - 1e-9)  # just before the next tick
        link = simulation.probe().links["bottleneck"]
        both.append((env.readings()["p"], link["observables"]["p"], env.readings()["queue"], link["queue"]))
    there, here, queue, other = np.array(both).T
    assert there.max() > 0.01
    assert there == pytest.approx(here, abs=1e-5)
    assert queue.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"answers": (np.zeros((64, 1)) + 0.5).tolist()}, "differs from the trained one by"),
        (
            {"observe": ["error", "trend", "flows", "p"]},
            "observes flows, which a scheme cannot see; it sees queue, error",
        ),
        ({"act": {"scheme": "pi", "moved": [["a", None, None, None]]}}, "moves parameters of pi"),
    ],
)
def test_what_no_scheme_can_do_is_refused(tmp_path: Path, other: dict[str, Any], message: str) -> None:
    with pytest.raises(lab.InputError, match=message):
        export(model(tmp_path, **other), "MyAqm")


def test_files_that_are_no_such_models(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip")
    with zipfile.ZipFile(tmp_path / "plain.zip", "w") as file:
        file.writestr("data", "{}")
    expected = {"none.zip": "no such file", "text.zip": "is not a model", "plain.zip": "aqmlab.gym.sb3.save"}
    for name, message in expected.items():
        done = aqmlab("export-policy", name, "--out", "x_aqm.py")
        assert done.returncode == 2
        assert message in done.stderr
        assert not (tmp_path / "x_aqm.py").exists()
    with pytest.raises(lab.InputError, match="is not the name of a class"):
        export(model(tmp_path), "my-aqm")


def test_words_of_a_model_are_no_code(tmp_path: Path) -> None:
    text = export(model(tmp_path, recipe='"""\nraise SystemExit\n"""'), "Quoted")
    (tmp_path / "quoted.py").write_text(text)
    runpy.run_path(str(tmp_path / "quoted.py"))
    assert "raise SystemExit" in text.splitlines()[2]


@pytest.mark.parametrize("squash", ["clip", "tanh"])
@pytest.mark.parametrize(("scale", "ends"), [("linear", [0.0, 1.0]), ("square", [0.0, 0.3]), ("log", [1e-4, 0.5])])
@pytest.mark.parametrize("step", [None, 0.1])
def test_every_kind_of_action_runs(
    tmp_path: Path, squash: str, scale: str, ends: list[float], step: float | None
) -> None:
    asked = network(np.array(document()["samples"]))
    answers = np.tanh(asked) if squash == "tanh" else np.clip(asked, -1, 1)
    moved = {"scheme": "fixed-p", "moved": [["p", ends, scale, step]]}
    path = model(tmp_path, act=moved, squash=squash, answers=answers.tolist())
    name = f"{scale}{squash}{'At' if step is None else 'By'}".capitalize()
    (tmp_path / "kind.py").write_text(export(path, name))
    run = lab.run(SMALL, str(tmp_path / "kind.py"), series=True)
    p = run.series["bottleneck"]["p"]
    assert p.min() >= ends[0] - 1e-12
    assert p.max() <= ends[1] + 1e-12
    assert len(set(p.tolist())) > 3


def test_all_that_a_scheme_knows_can_be_observed(tmp_path: Path) -> None:
    names = [*OBSERVED]
    samples = np.zeros((4, len(names))).tolist()
    layers = [{"weights": [[0.1] * len(names)], "bias": [0.0], "activation": "relu"}]
    path = model(tmp_path, observe=names, layers=layers, samples=samples, answers=[[0.0]] * 4)
    (tmp_path / "all.py").write_text(export(path, "All"))
    assert lab.run(SMALL, str(tmp_path / "all.py")).links["bottleneck"].departed > 0


def test_the_shipped_scheme_is_what_its_model_exports() -> None:
    assert export(TRAINED / "model.zip", "TrainedAqm") == (TRAINED / "trained_aqm.py").read_text(encoding="utf-8")
