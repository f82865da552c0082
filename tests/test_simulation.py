"""A simulation stepped from Python: the same result, whatever is looked at; changes that can be repeated; copies."""

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab


def result(run: Any) -> dict[str, Any]:
    """All of a run but the time that it took."""
    document: dict[str, Any] = json.loads(run.json())
    del document["engine"]["wall"]
    return document


@pytest.mark.parametrize("aqm", ["pi", "codel", "fq-codel", "cake", "dualpi2"])
def test_stopping_and_looking_changes_nothing(small: str, aqm: str) -> None:
    plain = result(aqmlab.run(small, aqm))
    simulation = aqmlab.Simulation(small, aqm)
    while simulation.now < simulation.end:
        simulation.step_until(simulation.now + 0.37)
        simulation.probe()
    assert result(simulation.finish()) == plain


def test_causal_is_deprecated(small: str) -> None:
    with pytest.warns(DeprecationWarning, match="has no effect"):
        aqmlab.Simulation(small, causal=True)


def test_probes_add_up(small: str) -> None:
    simulation = aqmlab.Simulation(small, "pi")
    arrived = dropped = 0
    while simulation.now < simulation.end:
        simulation.step_until(simulation.now + 0.5)
        link = simulation.probe().links["bottleneck"]
        arrived, dropped = arrived + link["arrived"], dropped + link["dropped"]
        assert set(link["observables"]) >= {"p"}
        assert sum(simulation.content("bottleneck").values()) == link["queue"]
    assert arrived > dropped > 0


def test_probes_count_the_losses_of_the_wire(small: str) -> None:
    simulation = aqmlab.Simulation(small, set={"links.bottleneck.loss": "5%"})
    lost = 0
    while simulation.now < simulation.end:
        simulation.step_until(simulation.now + 0.5)
        lost += simulation.probe().links["bottleneck"]["lost"]
    assert lost == simulation.finish().links["bottleneck"].lost > 0


def test_what_was_done_by_hand_can_be_repeated(small: str, tmp_path: Path) -> None:
    simulation = aqmlab.Simulation(small, "pi")
    simulation.step_until(1)
    simulation.set("links.bottleneck.rate", "3 Mbit/s")
    simulation.step_until(1.5)
    simulation.set("links.bottleneck.aqm", "codel")
    file = tmp_path / "by-hand.toml"
    file.write_text(simulation.to_toml())
    again, by_hand = result(aqmlab.run(str(file), "pi")), result(simulation.finish())
    assert again["links"] == by_hand["links"]
    assert again["flows"] == by_hand["flows"]


def test_a_copy_goes_its_own_way(small: str) -> None:
    plain = result(aqmlab.run(small, "ared"))
    simulation = aqmlab.Simulation(small, "ared")
    simulation.step_until(1)
    copy = simulation.clone()
    copy.set("links.bottleneck.buffer", "5 packets")
    assert result(simulation.finish()) == plain
    assert result(copy.finish()) != plain


class Counting(aqmlab.Aqm):
    """Drops every n-th packet, n growing."""

    def reset(self, queue: aqmlab.Queue) -> None:
        self.seen = 0

    def on_enqueue(self, packet: aqmlab.Packet, queue: aqmlab.Queue) -> aqmlab.Verdict:
        self.seen += 1
        return aqmlab.DROP if self.seen % 50 == 0 else aqmlab.PASS


class Uncopied(Counting):
    """Has something that nobody can copy."""

    def reset(self, queue: aqmlab.Queue) -> None:
        super().reset(queue)
        self.held = (i for i in range(3))


def test_schemes_in_python_are_copied_or_refused(small: str) -> None:
    plain = result(aqmlab.run(small, Counting))
    simulation = aqmlab.Simulation(small, Counting)
    simulation.step_until(1)
    copy = simulation.clone()
    assert result(simulation.finish()) == plain
    assert result(copy.finish()) == plain
    simulation = aqmlab.Simulation(small, Uncopied)
    simulation.step_until(1)
    with pytest.raises(aqmlab.SchemeError, match="cannot pickle 'generator' object"):
        simulation.clone()


def test_bad_input_says_what_is_wrong(small: str) -> None:
    simulation = aqmlab.Simulation(small, "pi")
    simulation.step_until(1)
    for path, value, said in [
        ("links.bottelneck.target", "9 packets", 'did you mean "bottleneck"'),
        ("links.bottleneck.aqm.alpha", "1", "alpha"),
        ("flows.ftp.count", "many", "is not a whole number"),
    ]:
        with pytest.raises(aqmlab.InputError, match=said):
            simulation.set(path, value)
    with pytest.raises(aqmlab.InputError, match="is not a time"):
        simulation.step_until(float("nan"))
    simulation.finish()
    with pytest.raises(RuntimeError, match="is finished"):
        simulation.step_until(2)
