"""The control loop: closed forms, published designs, an independent root search, the fluid model, the packets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import atan, degrees, pi, radians, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

import aqmlab
from aqmlab import InputError
from aqmlab._core import Law, Scenario, Windows, fluid
from aqmlab.analysis.beside import period
from aqmlab.analysis.design import design, tustin
from aqmlab.analysis.loop import Loop, close
from aqmlab.analysis.maps import Axis, axes, stability_map
from aqmlab.analysis.network import FlowClass, Network, network
from aqmlab.analysis.op import CLASSIC, REFINED, solve
from aqmlab.catalogue import with_law

HOLLOT = Network(rate=30e6, packet=1000, target=175, buffer=800, ecn=True, window=1e6, classes=(FlowClass(60, 0.2),))
"""Hollot et al. 2001: 60 flows, 3750 packets/s, 200 ms and 175 packets: a window of 15.4 in R = 246.7 ms."""

PI = {"a": 1.822e-5, "b": 1.816e-5, "w": 160.0}
CONTINUOUS = 1e5
"""Hz; sampling that a loop of some rad/s does not notice."""


def made(name: str, params: Mapping[str, float | bool | str]) -> Law:
    """A scheme's law with these parameters, numbers in base units."""
    texts = {key: str(value).lower() for key, value in params.items() if isinstance(value, str | bool)}
    return Law(name, texts).vary({key: value for key, value in params.items() if not isinstance(value, str | bool)})


def one_link(
    rtt: float,
    ecn: bool = False,
    flows: int = 60,
    duration: float = 150,
    set: Mapping[str, str] | None = None,
) -> Scenario:
    """A link of 45 Mbit/s (5409 packets/s) with a target of 200 packets."""
    text = f"""
schema = 1
title = "Long-lived flows"
duration = "{duration} s"
[[links]]
name = "bottleneck"
rate = "45 Mbit/s"
buffer = "1500 packets"
target = "200 packets"
[[flows]]
name = "ftp"
count = {flows}
rtt = "{rtt:.9g} ms"
ecn = {str(ecn).lower()}
tcp = {{ variant = "sack" }}
"""
    return Scenario.parse(text, "one-link", list((set or {}).items()))


def test_operating_point_of_pi_is_the_closed_form() -> None:
    point = solve(HOLLOT, made("pi", PI))
    assert point.queue == 175
    assert point.window == pytest.approx(0.24666667 * 3750 / 60)  # R C / N
    assert point.p == pytest.approx(2 / 15.416667**2)


def test_drops_do_not_join_the_queue() -> None:
    """With p = 5 % dropped: W = sqrt(40) and N = C R / (0.95 W)."""
    classes = (FlowClass(3750 * 0.24666667 / (0.95 * sqrt(40)), 0.2),)
    dropping = Network(30e6, 1000, 175, 800, False, 1e6, classes)
    point = solve(dropping, made("pi", PI))
    assert point.p == pytest.approx(0.05)
    assert point.offered == pytest.approx(3750 / 0.95)


def test_red_rests_where_its_line_meets_the_flows() -> None:
    """p_b = 1.5 p; at q = 60 of 10 to 110 packets p_b = 0.05, p = 1/30, W = sqrt(60), R = 0.1 + 60/1000 = 0.16."""
    red = {"min_th": 10.0, "max_th": 110.0, "max_p": 0.1, "q_weight": 0.002, "wait": True, "gentle": True}
    flows = 1000 * 0.16 / sqrt(60)
    point = solve(Network(8e6, 1000, 60, 500, True, 1e6, (FlowClass(flows, 0.1),)), made("red", red))
    assert point.queue == pytest.approx(60)
    assert point.p == pytest.approx(1 / 30)


def test_rem_rests_below_its_target_by_what_it_drops() -> None:
    """Its page: by about c d / ((1 - d) alpha), c in packets of an interval: 10 * (0.05/0.95) / 0.1."""
    rem = {"phi": 1.001, "alpha": 0.1, "gamma": 0.001, "input_weight": 1.0, "interval": 0.002, "mean_packet": 1000.0}
    link = Network(40e6, 1000, 300, 900, False, 1e6, (FlowClass(1, 0.1),))
    assert made("rem", rem).queue(0.05, link) == pytest.approx(300 - 10 * 0.05 / 0.95 / 0.1)


def test_two_classes_have_one_window_and_share_by_round_trip() -> None:
    """30 flows of 100 ms and 30 of 300 ms, q/C = 0.1 s: C = W (30/0.2 + 30/0.4) = 225 W."""
    point = solve(Network(8e6, 1000, 100, 500, True, 1e6, (FlowClass(30, 0.1), FlowClass(30, 0.3))), made("pi", PI))
    assert point.window == pytest.approx(1000 / 225)
    assert point.rtts == pytest.approx((0.2, 0.4))


def test_integrator_and_delay_have_the_margins_of_the_book() -> None:
    """PID cancels both poles: pi/(6R) e^{-sR}/s has gain margin 3, phase margin 60 degrees, delay margin 2R."""
    gains = design(made("pid", {"k_i": 1.0, "k_p": 1.0, "w": CONTINUOUS}), HOLLOT).parameters
    params = {name: float(gains[name]) for name in ("k_p", "k_i", "k_d")}
    loop = close(HOLLOT, made("pid", {**params, "derivative_weight": 1.0, "w": CONTINUOUS}), exact=False)
    found, rtt = loop.margins(), 0.2466667
    assert found.gain == pytest.approx(3, rel=1e-3)
    assert found.phase_crossover == pytest.approx(pi / (2 * rtt), rel=1e-3)
    assert found.phase == pytest.approx(60, rel=1e-3)
    assert found.gain_crossover == pytest.approx(pi / (6 * rtt), rel=1e-3)
    assert found.delay == pytest.approx(2 * rtt, rel=1e-3)


def test_integrator_lag_and_delay_have_the_phase_margin_of_the_formula() -> None:
    """Hollot's PI crosses at z: phase margin 90 degrees - z R - atan(z R)."""
    z = 2 * 60 / (0.2466667**2 * 3750)
    a, b = tustin(1e-3, z, CONTINUOUS)
    plain = close(HOLLOT, made("pi", {"a": a, "b": b, "w": CONTINUOUS}), exact=False)
    scale = 1 / abs(plain.response(np.array([1j * z]))[0])
    found = Loop(plain.point, plain.law, exact=False, gain=float(scale)).margins()
    assert found.gain_crossover == pytest.approx(z, rel=1e-4)
    assert found.phase == pytest.approx(90 - degrees(z * 0.2466667) - degrees(atan(z * 0.2466667)), rel=1e-3)
    assert found.delay == pytest.approx(radians(found.phase or 0) / z, rel=1e-3)


def test_two_lags_and_delay_have_the_gain_margin_of_the_formula() -> None:
    """Proportional control K P(s): w R + atan(w R) + atan(w/z) = pi, margin |1 + jwR| |1 + jw/z| / (K P(0))."""
    k = {"k_p": 0.002, "k_d": 0.0, "interval": 1e-6, "buffer": 100.0, "base": "fixed", "p0": 0.0}
    rule = made("npd-red", k | {"loss_interval": 1.0, "loss_weight": 0.9})
    loop = close(Network(30e6, 1000, 1, 2000, True, 1e6, (FlowClass(60, 0.2),)), rule, exact=False)
    rtt, window = loop.point.rtt, loop.point.window
    z, rest = 2 / (window * rtt), 0.002 / 100 * window**2 / 4 * rtt * 3750
    crossing = brentq(lambda w: w * rtt + atan(w * rtt) + atan(w / z) - pi, 1e-3, 1e3)
    expected = abs(1 + 1j * crossing * rtt) * abs(1 + 1j * crossing / z) / rest
    assert loop.margins().gain == pytest.approx(expected, rel=1e-3)
    assert loop.judge().gain == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", with_law())
def test_the_gain_margin_is_where_the_verdict_changes(name: str) -> None:
    scenario = one_link(60)
    rule, net = scenario.law(name), network(scenario)
    loop = close(net, rule)
    gain = loop.judge().gain
    assert gain is not None
    assert loop.margins().gain == pytest.approx(gain, rel=2e-3)  # python-control's interpolation against ours
    if name not in {"rem", "rq-aqm"}:  # their answer to their own drops is scaled, too
        assert close(net, rule, gain=0.98 * gain).judge().stable
        assert not close(net, rule, gain=1.02 * gain).judge().stable


def rightmost(matrices: Sequence[NDArray[np.float64]], delays: Sequence[float], nodes: int = 18) -> float:
    """The largest real part of a root of x' = A_0 x + A_1 x(t - t_1) + ..., by Chebyshev collocation (Breda et al.)."""
    size = len(matrices[0])
    places = np.cos(pi * np.arange(nodes + 1) / nodes)
    weights = np.where(np.isin(np.arange(nodes + 1), (0, nodes)), 0.5, 1.0) * (-1.0) ** np.arange(nodes + 1)
    apart = places[:, None] - places + np.eye(nodes + 1)
    slopes = weights[None, :] / weights[:, None] / apart
    slopes -= np.diag(slopes.sum(axis=1))
    longest = max(delays)
    whole = np.kron(slopes * 2 / longest, np.eye(size))
    whole[:size] = np.kron(np.eye(nodes + 1)[0], matrices[0])
    for matrix, delay in zip(matrices[1:], delays, strict=True):
        distance = 1 - 2 * delay / longest - places
        near = np.abs(distance) < 1e-14
        basis = near.astype(float) if near.any() else (weights / distance) / np.sum(weights / distance)
        whole[:size] += np.kron(basis, matrix)
    return float(np.max(np.real(np.linalg.eigvals(whole))))


def pi_matrices(net: Network, k: dict[str, float], exact: bool) -> tuple[list[NDArray[np.float64]], list[float]]:
    """Windows, queue and p under PI as x' = A x + B x(t - R) + D x(t - T); p' = (a q - b q(t - T))/T."""
    [flows] = net.classes
    rtt = flows.rtt + net.target / net.capacity
    window, capacity, period = rtt * net.capacity / flows.flows, net.capacity, 1 / k["w"]
    now, then, tick = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    now[0, 0] = -(1 if exact else 2) / (window * rtt)
    then[0, 0] = -1 / (window * rtt) if exact else 0
    now[0, 1], then[0, 1] = (-1 / (rtt**2 * capacity), 1 / (rtt**2 * capacity)) if exact else (0, 0)
    then[0, 2] = -(window**2) / (2 * rtt)
    now[1, :2] = flows.flows / rtt, -1 / rtt
    now[2, 1], tick[2, 1] = k["a"] / period, -k["b"] / period
    return [now, then, tick], [rtt, period]


@pytest.mark.parametrize("exact", [True, False])
def test_verdicts_equal_an_independent_root_search(exact: bool) -> None:
    """PI at 150 random operating points; those within 1 % of the boundary are left out."""
    rng = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    for _ in range(150):
        flows, rtt, gain = rng.uniform(20, 200), rng.uniform(0.03, 0.4), 10 ** rng.uniform(-1, 2)
        net = Network(30e6, 1000, rng.uniform(20, 300), 1000, True, 1e6, (FlowClass(flows, rtt),))
        k = {"a": 1.822e-5 * gain, "b": 1.816e-5 * gain, "w": float(rng.uniform(50, 300))}
        if net.capacity * (rtt + net.target / net.capacity) / flows < 2:
            continue
        verdict = close(net, made("pi", k), exact=exact).judge()
        assert verdict.gain is not None
        if abs(verdict.gain - 1) < 0.01:
            continue
        assert verdict.stable == (rightmost(*pi_matrices(net, k, exact)) < 0), (net, k)
        seen[verdict.stable] += 1
    assert min(seen.values()) > 30


@pytest.mark.parametrize("ecn", [False, True])
@pytest.mark.parametrize("name", with_law())
def test_the_fluid_model_oscillates_beyond_the_boundary_and_not_before(name: str, ecn: bool) -> None:
    """The boundary in the round-trip time, against the fluid under the scheme's own code."""

    def margin(rtt: float) -> float:
        scenario = one_link(rtt, ecn)
        verdict = close(network(scenario), scenario.law(name)).judge()
        return -1.0 if verdict.stable else 1.0

    edge = brentq(margin, 20, 600, xtol=0.2)
    for factor, moves in ((0.9, False), (1.12, True)):
        summary = fluid(one_link(factor * edge, ecn), name).document()["summary"]
        assert (summary["oscillation"]["amplitude"] > 30) == moves, (factor, summary)


def test_hollots_design_comes_out() -> None:
    """K = 9.64e-6 and z = 0.53 with R = 0.2467 s; a = 1.822e-5, b = 1.816e-5 at 160 Hz from these as printed."""
    printed = Network(30e6, 1000, 175.125, 800, True, 1e6, (FlowClass(60, 0.2),))
    found = design(made("pi", PI), printed)
    assert "K = 9.64e-06" in found.rule
    assert "0.526 rad/s" in found.rule
    assert [f"{value:.3e}" for value in tustin(9.64e-6, 0.53, 160)] == ["1.822e-05", "1.816e-05"]
    assert float(found.parameters["a"]) == pytest.approx(1.822e-5, rel=0.01)  # z not rounded to 0.53: 0.7 % more
    assert float(found.parameters["b"]) == pytest.approx(1.816e-5, rel=0.01)


def test_pids_defaults_are_the_rule_for_hollots_example() -> None:
    """The scheme's page: 8.34e-5, 3.90e-5 and 1.82e-5 for R = 246 ms."""
    example = Network(30e6, 1000, 0.046 * 3750, 800, True, 1e6, (FlowClass(60, 0.2),))
    found = design(made("pid", {"k_p": 1.0, "k_i": 1.0, "w": 160.0}), example).parameters
    assert [f"{float(found[name]):.2e}" for name in ("k_p", "k_i", "k_d")] == ["8.34e-05", "3.90e-05", "1.82e-05"]


def test_reds_rule_gives_the_published_pole() -> None:
    """Hollot et al. 2001: L = 1.86e-4 asks for K = 0.005 (their example, rounded); the weight is 1 - e^{-K/C}."""
    # Spaced drops make L = max_p/(max_th - min_th)/1.5.
    params = {"min_th": 150.0, "max_th": 150 + 0.1 / 1.86e-4 / 1.5, "max_p": 0.1, "q_weight": 1.0, "wait": True}
    found = design(made("red", params | {"gentle": True}), HOLLOT)
    pole = -3750 * np.log(1 - float(found.parameters["q_weight"]))
    assert pole == pytest.approx(0.005, rel=0.05)


def test_pi2s_rule_gives_the_defaults_of_rfc_9332() -> None:
    """A.1: target 15 ms and RTT_max 100 ms: 15 ms, 0.15 Hz, 3 Hz."""
    link = Network(30e6, 1000, 56, 800, True, 1e6, (FlowClass(60, 0.1),))
    found = design(made("pi2", {"alpha": 1.0, "target": 0.015, "t_update": 1.0}), link).parameters
    assert found == {"alpha": "0.15 Hz", "beta": "3 Hz", "t_update": "15 ms"}


def test_rq_aqms_design_is_pid_in_other_units() -> None:
    k = {"mean_packet": 1000.0, "rtt": 0.1, "interval": 1e-5, "q_ki": 1.0, "q_kp": 1.0, "r_kp": 1.0}
    found = design(made("rq-aqm", k), HOLLOT).parameters
    gains = {name: float(found[name]) for name in ("r_kp", "q_kp", "q_ki")}
    margins = close(HOLLOT, made("rq-aqm", {**k, **gains, "rtt": 0.2}), exact=False).margins()
    assert margins.gain == pytest.approx(3, rel=2e-3)
    assert margins.phase == pytest.approx(60, rel=2e-3)


def test_a_map_holds_the_verdicts_of_single_loops() -> None:
    rule = made("pi", PI)
    flows = Axis("flows", np.array([30.0, 60.0]), 60.0)
    gain = Axis("gain", np.array([1.0, 20.0]), 1.0)
    found = stability_map(HOLLOT, rule, flows, gain)
    for row, factor in enumerate(gain.values):
        for column, count in enumerate(flows.values):
            loop = close(HOLLOT.scaled(flows=count / 60), rule, gain=factor)
            assert found.margin[row, column] == pytest.approx(loop.judge().gain)
    assert found.stable == 0.5
    assert found.holds.all()


def test_a_map_tells_where_the_model_holds() -> None:
    """Marks hold down to a window of 4 packets: 3750 packets/s times 0.24667 s among 231 flows."""
    flows = Axis("flows", np.array([225.0, 235.0, 1e4]), 60.0)
    found = stability_map(HOLLOT, made("pi", PI), flows, Axis("gain", np.array([1.0]), 1.0))
    assert found.holds.tolist() == [[True, False, False]]
    assert np.isnan(found.margin).tolist() == [[False, False, True]]


def test_a_map_over_a_gain_of_spi_red_changes_that_gain() -> None:
    """Its law is that of `pd` with the two gains in each other's place."""
    scenario = one_link(50)
    rule, gains = scenario.law("spi-red"), Axis("k_p", np.array([0.25, 0.5]), 0.5)
    found = stability_map(network(scenario), rule, gains, Axis("gain", np.array([1.0]), 1.0))
    single = [close(network(scenario), scenario.law(f"spi-red:k_p={k}")).judge().gain for k in gains.values]
    assert found.margin[0] == pytest.approx(single)
    assert single[0] != pytest.approx(single[1])


def test_the_step_response_starts_after_a_round_trip_and_ends_at_one() -> None:
    times, queue = close(HOLLOT, made("pi", PI)).step()
    assert np.all(np.abs(queue[times < 0.24]) < 0.01)
    assert queue[-1] == pytest.approx(1, abs=0.01)
    assert np.max(queue) < 1.1  # a phase margin of 75 degrees does not overshoot


def test_the_period_is_that_of_the_line_in_slow_noise() -> None:
    """A sine of 2 s in a random walk of three times its size."""
    times = np.arange(0, 100, 0.01)
    noise = np.cumsum(np.random.default_rng(1).normal(size=len(times)))
    assert period(10 * np.sin(pi * times) + 30 * noise / np.std(noise), 0.01) == pytest.approx(2, rel=0.05)
    assert period(np.full(1000, 7.0), 0.01) is None


@pytest.mark.parametrize("ecn", [False, True])
def test_packets_rest_at_the_operating_point(ecn: bool) -> None:
    """60 flows, 45 Mbit/s, 240 ms: p within 10 %, the queue within 5 %; refined windows, means over 3 seeds."""
    scenario = one_link(240, ecn, duration=200)
    point = close(network(scenario), scenario.law("pi"), windows=REFINED).point
    runs = [aqmlab.run(scenario, "pi", seed, series=True).series["bottleneck"] for seed in (1, 2, 3)]
    late = runs[0]["time"] > 60
    assert np.mean([run["p"][late].mean() for run in runs]) == pytest.approx(point.p, rel=0.1)
    assert np.mean([run["queue"][late].mean() for run in runs]) == pytest.approx(point.queue, rel=0.05)


@pytest.mark.parametrize("ecn", [False, True])
@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_packets_oscillate_beyond_the_boundary_and_rest_before(factor: float, ecn: bool) -> None:
    """500 flows of PI; oscillating is p at 0 for more than 1.5 % of the time, as in docs/analysis.md."""
    changes = {"links.bottleneck.rate": "312 Mbit/s", "links.bottleneck.target": "1500 packets"}
    changes |= {"links.bottleneck.buffer": "15000 packets", "flows.ftp.start": '{ uniform = ["0 s", "10 s"] }'}
    scenario = one_link(160, ecn, flows=500, duration=60, set=changes)
    gain = close(network(scenario), scenario.law("pi")).judge().gain
    assert gain is not None
    scaled = f"pi:a={factor * gain * 1.822e-5:.9g},b={factor * gain * 1.816e-5:.9g}"
    series = aqmlab.run(scenario, scaled, series=True).series["bottleneck"]
    at_zero = np.mean(series["p"][series["time"] > 30] <= 0)
    assert (at_zero > 0.015) == (factor > 1), at_zero


@pytest.mark.parametrize("windows", [CLASSIC, REFINED])
def test_growth_and_signals_balance_at_the_window(windows: Windows) -> None:
    for p in (0.001, 0.01, 0.1):
        w = windows.at(p)
        assert windows.cut(w) * p * w == pytest.approx(windows.growth(w))


def test_refined_windows_are_those_of_the_fluid_model() -> None:
    """Its documentation: p = 1 / ((W + 1/2) (1.16573/2 (W + 1/2) + 1)); W = 9.5 has p = 1 / (10 * 6.82865)."""
    assert REFINED.at(1 / 68.2865) == pytest.approx(9.5)


def test_outside_its_domain_the_model_says_why() -> None:
    scenario = one_link(80, flows=500)
    [doubt] = close(network(scenario), scenario.law("pi")).point.doubts()
    assert "timeouts" in doubt
    assert not close(network(one_link(240)), one_link(240).law("pi")).point.doubts()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ecn": True, "classes": (FlowClass(1e5, 0.2),)}, ["operating point", "marked"]),
        ({"buffer": 100.0}, ["operating point", "175", "100"]),
        ({"window": 5.0}, ["operating point", "15.4", "5"]),
    ],
)
def test_no_operating_point_is_refused(change: dict[str, object], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        solve(replace(HOLLOT, **change), made("pi", PI))
    assert all(word in str(error.value) for word in words), error.value


def test_red_that_signals_too_little_has_no_operating_point() -> None:
    red = {"min_th": 10.0, "max_th": 110.0, "max_p": 0.001, "q_weight": 0.002, "wait": True, "gentle": False}
    with pytest.raises(InputError, match="max_p"):
        solve(HOLLOT, made("red", red))


def test_a_scheme_without_model_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(InputError, match=r"codel.*npd-red, pd, pd-red, pi"):
        one_link(100).law("codel")
    with pytest.raises(InputError, match=r"pie.*pi, pi2, pid, red, rq-aqm"):
        design(one_link(100).law("pie"), HOLLOT)


def test_a_buffer_in_bytes_is_packets_of_the_size_on_the_wire_and_the_output_says_so() -> None:
    """1 MB of 1040 B are 961.5 packets; 1,000,000 would hold any queue."""
    scenario = one_link(80, set={"links.bottleneck.buffer": "1 MB"})
    found = network(scenario)
    assert (found.buffer, found.buffer_bytes) == (pytest.approx(1e6 / 1040), 1_000_000)
    link = scenario.link("bottleneck")
    assert (link.rate, link.delay, link.target, link.buffer) == (45e6, 0, 200, found.buffer)
    assert not link.rate_changes
    assert network(one_link(80)).buffer_bytes is None
    assert fluid(scenario, "pi", duration=1.0).document()["buffer_bytes"] == 1_000_000
    assert link.impairments == []
    with pytest.raises(InputError, match='link: unknown link "botleneck"; did you mean "bottleneck"'):
        scenario.link("botleneck")


def test_losses_that_are_no_signals_have_no_place() -> None:
    with pytest.raises(InputError, match=r"^links\.bottleneck\.loss: impairments of the wire"):
        network(one_link(80, set={"links.bottleneck.loss": "1%"}))


def test_a_link_layer_has_no_place_in_the_models() -> None:
    framed = one_link(80, set={"links.bottleneck.framing": "atm"})
    with pytest.raises(InputError, match=r"^links\.bottleneck\.overhead: the model does not support link layers"):
        network(framed)
    with pytest.raises(InputError, match=r"^links\.bottleneck\.overhead: the fluid model does not support link layers"):
        fluid(framed, "pi", duration=1.0)


def test_a_map_varies_times_and_frequencies_within_their_limits() -> None:
    """The scheme's own reader has the last word on the ends."""
    scenario = one_link(80)
    rule = scenario.law("pid")
    x, _ = axes(["w", "gain"], scenario, "pid", network(scenario))
    assert (x.present, x.values[0]) == (160, pytest.approx(20))
    assert rule.vary({"w": 20.0}).params["w"] == 20
    with pytest.raises(InputError, match=r"pid\.w: .* out of range: must lie in 0\.01 Hz"):
        axes(["w=0.001 Hz..1 Hz", "gain"], scenario, "pid", network(scenario))
    with pytest.raises(InputError, match='pid: unknown parameter "v"'):
        rule.vary({"v": 1.0})


def test_a_law_tells_its_parameters_in_base_units_and_what_auto_comes_to() -> None:
    scenario = one_link(80)
    rule = scenario.law("red:wait=false")
    assert rule.params == {
        "min_th": "auto", "max_th": "auto", "q_weight": 0.002, "burst": "auto", "max_p": 0.1, "gentle": True,
        "wait": False, "gentle_line": "stale", "mark_p": 1.0, "mean_packet": 1000.0, "flavour": "ns2",
    }  # fmt: skip
    # The burst is that of tc: (2*10 + 390)/3, rounded down.
    assert rule.auto(network(scenario)) == {"min_th": 10, "max_th": 390, "q_weight": 0.002, "burst": 136}
    assert (rule.spacing, scenario.law("red").spacing, scenario.law("pie").spacing) == (0.5, 1.5, 1.85)
    assert scenario.law("pie").params["target"] == pytest.approx(0.015)
