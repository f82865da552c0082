"""The ranges of NPD-RED's gains: the numbers of Xiong et al. 2010, hand calculation, and the argument principle."""

import json
from math import atan, pi
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import aqmlab
from aqmlab.analysis.ranges import LoopConstants, exact, lies_in, routh
from conftest import Aqmlab

PAPER = {"rate": "45 Mbit/s", "rtt": "100 ms", "flows": 50, "buffer": "100 packets", "packet": "460 B", "unit": "bits"}
"""Section 4.1; TCP's 40 B make packets of the paper's 500."""

IN_PACKETS = LoopConstants(n=50, r=0.1, c=750, b=75)
"""The link that the paper simulates: 3 Mbit/s of 500 B."""

LINK = (
    *("--rate", "45 Mbit/s", "--rtt", "200 ms", "--flows", "60", "--ecn"),
    *("--buffer", "900 packets", "--target", "300 packets"),
)


def test_the_printed_coefficients() -> None:
    """Section 4.1: (0.02 - 51637.5 K_d) (0.002 + 5568.75 K_d) + 253.125 K_d (4.4e-6 + 1.0e5 K_d)."""
    terms = aqmlab.gain_ranges("npd-red", **PAPER, simulate=False).coefficients
    assert terms["a4"] == pytest.approx((0, 0, -253.125))
    assert terms["a3"] == pytest.approx((0.002, 0, 5568.75))
    assert f"{terms['a1'][0]:.1e}" == "4.4e-06"
    assert f"{terms['a1'][2]:.1e}" == "1.0e+05"
    # g = R C^2/(2 N^2 B) = 101250: eq. (15) has g R^2/2, (16) -g R, (17) g.
    assert [terms[name][1] for name in ("a2", "a1", "a0")] == pytest.approx([506.25, -10125, 101250])


def test_one_printed_coefficient_has_a_power_of_r_too_many() -> None:
    """The last 0.1 in R C^2/(4 N^2 B) + R^2 C^2/(2 N^2 B) = 50625 + 10125 is squared in the printed 51637.5."""
    constant, _, k_d = aqmlab.gain_ranges("npd-red", **PAPER, simulate=False).coefficients["a2"]
    assert f"{constant:.2f}" == "0.02"
    assert k_d == pytest.approx(-(50625 + 10125))
    assert 50625 + 0.1 * 10125 == 51637.5


def test_the_printed_ranges() -> None:
    """-0.002/5568.75 is the bound of K_d; 3.99e-10 has the right digits; the printed pair is unstable."""
    found = aqmlab.gain_ranges("npd-red:k_p=2e-10,k_d=-3.59e-11", **PAPER, simulate=False)
    assert f"{found.k_d['printed'][0]:.3e}" == "-3.591e-07"
    [row] = [row for row in found.k_p if row.k_d == -3.59e-11]
    [(low, high)] = row.routh
    assert low == 0
    assert f"{high:.3e}" == "3.998e-11"
    printed = found.gains[-1]
    assert (printed.k_p, printed.routh, printed.exact) == (2e-10, False, False)
    # a1 > 0 at K_p = 0: K_d > -4.444e-6/101250.
    assert found.k_d["routh"][0] == pytest.approx(-4.3896e-11, rel=1e-4)


def test_only_the_cut_exponential_asks_for_a_negative_k_d() -> None:
    """a4 = -R^3 C^2 K_d/(8 N^2 B); with the exact delays K_p = 2 is stable for K_d from -2 to 4."""
    for k_d in (-2, -1, 0, 1, 2, 3, 4):
        assert lies_in(2, exact(IN_PACKETS, k_d)), k_d
    for k_d in (-2.5, 4.5):
        assert not lies_in(2, exact(IN_PACKETS, k_d)), k_d
    assert not any(routh(IN_PACKETS, k_d) for k_d in (0.0, 1.0, 4.0))


def test_without_k_d_the_bound_is_where_the_phase_is_half_a_turn() -> None:
    n, r, c, b = IN_PACKETS
    slow = 2 * n / (r**2 * c)
    w = brentq(lambda w: pi / 2 - atan(w / slow) - atan(w * r) - w * r, 1e-3, pi / r)
    # K_p C^2/(2NB) / (w |jw + 2N/(R^2 C)| |jw + 1/R|) = 1.
    bound = w * abs(1j * w + slow) * abs(1j * w + 1 / r) * 2 * n * b / c**2
    assert exact(IN_PACKETS, 0.0) == ((0.0, pytest.approx(bound)),)


def test_the_law_in_rust_has_the_same_bound() -> None:
    """At half the bound, python-control's gain margin of Hollot's P(s) and the scheme's own linear law is 2."""
    capacity = 45e6 / 8 / 1040
    loop = LoopConstants(60, 0.2, capacity, 900)
    both = exact(loop, 0.01)[0][1]
    for k_p, k_d in ((exact(loop, 0.0)[0][1] / 2, 0.0), (both / 2, 0.005)):
        spec = f"npd-red:base=integral,k_p={k_p},k_d={k_d},buffer=900 packets"
        rtt = f"{0.2 - 301 / capacity} s"  # the model adds the sending of a packet
        found = aqmlab.analyse(spec, rate="45 Mbit/s", rtt=rtt, flows=60, target="300 packets", ecn=True)
        assert found.models["hollot"].margins.gain == pytest.approx(2, rel=1e-3)


def unstable_poles(loop: LoopConstants, k_p: float, k_d: float) -> int:
    """Turns of the characteristic function around 0 along the right half-plane's edge: axis, then quarter circle."""
    n, r, c, b = loop
    g = r * c**2 / (2 * n**2 * b)
    radius = 10 / r + 4 * (g * n / r * (abs(k_p) + 2 * abs(k_d))) ** (1 / 3)
    even = np.arange(0, radius, 0.02 / max(r, 1))
    axis = np.concatenate([[0.0], np.geomspace(1e-9 * radius, radius, 4000), even[1:]])
    s = np.concatenate([1j * np.sort(axis), radius * np.exp(1j * np.linspace(pi / 2, 0, 4000))])
    around = s * (s * r / n + 2 / (r * c)) * (s + 1 / r) + g * np.exp(-r * s) * (k_p + k_d * (1 - np.exp(-s)))
    angle = np.unwrap(np.angle(around))
    return round((angle[0] - angle[-1]) / pi)


def test_the_argument_principle_agrees_at_300_points() -> None:
    """K_d to both sides, over three decades; K_p up to 1.5 times the largest stable one, 0.1 % around ends left out."""
    rng = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    while sum(seen.values()) < 300:
        loop = LoopConstants(
            rng.uniform(5, 500), 10 ** rng.uniform(-1.5, -0.2), 10 ** rng.uniform(2, 4.3), 10 ** rng.uniform(1.3, 3.3)
        )
        damping = 4 * loop.n**2 * loop.b / (loop.r * loop.c) ** 3
        k_d = damping * rng.choice([-1, 1]) * 10 ** rng.uniform(-2, 1)
        found = exact(loop, k_d)
        top = found[-1][1] if found else exact(loop, 0.0)[0][1]
        k_p = top * rng.uniform(0, 1.5)
        if any(abs(k_p - end) < 1e-3 * top for ends in found for end in ends):
            continue
        stable = lies_in(k_p, found)
        assert (unstable_poles(loop, k_p, k_d) == 0) is stable, (loop, k_p, k_d)
        seen[stable] += 1
    assert min(seen.values()) > 75


def test_stable_k_p_may_have_a_gap() -> None:
    """Found by a search over random links; the poles are counted within each part."""
    loop = LoopConstants(411.87649941196526, 0.046240917389995556, 7702.091700612124, 35.266461844299194)
    k_d = 4.806689727578657 * 4 * loop.n**2 * loop.b / (loop.r * loop.c) ** 3
    assert exact(loop, k_d) == (
        (0.0, pytest.approx(3.09797, rel=1e-4)),
        (pytest.approx(5.28196, rel=1e-4), pytest.approx(5.49641, rel=1e-4)),
    )
    assert [unstable_poles(loop, k_p, k_d) > 0 for k_p in (3.0, 3.2, 5.2, 5.4, 5.6)] == [False, True, True, False, True]


def test_one_document_with_what_was_simulated(aqmlab: Aqmlab) -> None:
    """Gains inside hold 300 packets; twice the bound swings and leaves the link idle now and then."""
    document = json.loads(aqmlab("analyse", "npd-red:k_p=2,k_d=-2", "--ranges", *LINK, "--json").stdout)
    assert document["capacity"] == pytest.approx(45e6 / 8 / 1040)
    # R less the wait for 300 packets.
    assert document["network"]["classes"] == [{"flows": 60, "rtt": pytest.approx(0.2 - 300 / document["capacity"])}]
    inside, exactly, outside, given = document["gains"]
    assert [(each["routh"], each["exact"]) for each in document["gains"]] == [
        (True, True),
        (False, True),
        (False, False),
        (False, False),
    ]
    assert (given["k_p"], given["k_d"]) == (2, -2)
    for each in (inside, exactly):
        assert each["simulated"]["queue_mean"] == pytest.approx(300, rel=0.05)
    assert exactly["simulated"]["queue_std"] < outside["simulated"]["queue_std"] / 2
    assert inside["simulated"]["utilisation"] > outside["simulated"]["utilisation"]


def test_the_table_has_a_line_to_paste_for_each_pair(aqmlab: Aqmlab, tmp_path: Path) -> None:
    answer = aqmlab("analyse", "npd-red", "--ranges", *LINK, "--out", "out")
    assert answer.returncode == 0, answer.stderr
    left = json.loads((tmp_path / "out" / "analysis.json").read_text())
    for each in left["gains"]:
        assert f"--aqm {each['spec']}" in answer.stdout
    assert "300 packets" not in answer.stderr
    assert aqmlab("run", "xiong2010/table-4", "--aqm", left["gains"][0]["spec"]).returncode == 0


def test_where_the_model_does_not_hold_it_says_so(aqmlab: Aqmlab) -> None:
    """50 flows at 750 packets/s and 0.1 s: windows of 1.5 packets."""
    options = ("--rate", "3 Mbit/s", "--rtt", "100 ms", "--flows", "50", "--buffer", "75 packets", "--packet", "460 B")
    answer = aqmlab("analyse", "npd-red", "--ranges", *options, "--json")
    assert "Warning: the model does not hold here" in answer.stderr
    assert json.loads(answer.stdout)["holds"] is False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pi", "--ranges", *LINK), ["aqm", '"pi"', "npd-red"]),
        (("npd-red:base=fixed", "--ranges", *LINK), ["aqm.base", "k_p and k_d"]),
        (("npd-red:k_p=2000", "--ranges", *LINK), ["k_p", "2000", "1000"]),
        (("npd-red", "--ranges", *LINK[:-4]), ["buffer", "missing"]),
        (("npd-red", "--ranges", *LINK, "--unit", "bit"), ["unit", '"bit"', '"bits"']),
        (("npd-red", "--ranges", *LINK, "--rtt", "40 ms"), ["rtt", "40 ms", "55.65 ms"]),
        (("npd-red", "--ranges", *LINK, "--buffer", "9 parsec"), ["buffer", "9 parsec"]),
        (("npd-red", "--ranges", *LINK, "--design"), ["design", "--ranges"]),
        (("npd-red", "--ranges", "--scenario", "xiong2010/table-4"), ["scenario", "--ranges"]),
        (
            ("pi", "--rate", "45 Mbit/s", "--rtt", "80 ms", "--flows", "60", "--buffer", "9 packets"),
            ["buffer", "--ranges"],
        ),
    ],
)
def test_bad_input_is_refused(aqmlab: Aqmlab, tmp_path: Path, arguments: tuple[str, ...], words: list[str]) -> None:
    answer = aqmlab("analyse", *arguments, "--out", "out")
    assert answer.returncode == 2, answer.stderr
    assert answer.stdout == ""
    assert "Traceback" not in answer.stderr
    for word in words:
        assert word in answer.stderr, answer.stderr
    assert not (tmp_path / "out").exists()


def test_self_tuning_gains_are_refused_for_another_law(aqmlab: Aqmlab) -> None:
    answer = aqmlab("run", "xiong2010/table-4", "--aqm", "npd-red:gains=self-tuning")
    assert answer.returncode == 2
    for word in ("npd-red", "loss_ratio", "integral"):
        assert word in answer.stderr
