"""Agents at a link: what Gymnasium asks for, the same bytes however it is run, and mistakes told clearly."""

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import aqmlab  # noqa: E402
from aqmlab.gym import rewards  # noqa: E402
from aqmlab.gym.env import AqmEnv  # noqa: E402
from aqmlab.gym.episodes import HALF, Episodes  # noqa: E402
from aqmlab.gym.task import GAUGES  # noqa: E402
from aqmlab.gym.vector import AqmVectorEnv  # noqa: E402
from conftest import SMALL  # noqa: E402

VARIED: dict[str, Any] = {
    "scenario": SMALL,
    "every": "20 ms",
    "draw": {"flows.ftp.count": (2, 40), "links.bottleneck.rate": ["5 Mbit/s", "20 Mbit/s"]},
}


def vector(count: int, **arguments: Any) -> AqmVectorEnv:
    return AqmVectorEnv(count, **{"threads": 1, **VARIED, **arguments})


def play(env: AqmVectorEnv, steps: int = 150, seed: int = 7) -> bytes:
    """All that a random agent meets, in bytes."""
    found = [env.reset(seed=seed)[0].tobytes()]
    env.action_space.seed(seed)
    for _ in range(steps):
        observations, reward, _, truncated, infos = env.step(env.action_space.sample())
        found += [observations.tobytes(), reward.tobytes(), truncated.tobytes(), infos["components"]["error"].tobytes()]
    return b"".join(found)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"act": "increment:0.05", "levels": 5},
        {"act": "pi:w=100Hz,a,b", "levels": 3, "observe": ["queue", "sojourn", "flows"]},
        {"act": "codel:target,interval", "observe": ["sojourn", "departure_rate", "drop_ratio"], "reward": "rl-aqm"},
        {"act": "red:max_p", "reward": {"delay": 1.0, "drops": 2.0}},
    ],
)
def test_gymnasium_has_nothing_to_say(arguments: dict[str, Any]) -> None:
    for mode in ("rgb_array", "ansi"):
        env = gymnasium.make("aqmlab.gym:Aqm-v0", **VARIED, **arguments, render_mode=mode)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env.unwrapped)
        env.close()
        env.close()


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads() -> None:
    assert play(vector(5)) == play(vector(5, threads=2)) == play(vector(5, copy=False))
    assert play(vector(5)) != play(vector(5), seed=8)


def test_an_agent_acts_at_a_link_whose_scheme_is_fixed() -> None:
    seen = [play(vector(1, set={"links.bottleneck.fixed": fixed})) for fixed in ("true", "false")]
    assert seen[0] == seen[1]


def test_a_single_environment_is_a_row_of_the_vector() -> None:
    many = gymnasium.make_vec("aqmlab.gym:Aqm-v0", 3, vectorization_mode="vector_entry_point", **VARIED)
    first, _ = many.reset(seed=3)
    alone = [AqmEnv(**VARIED) for _ in range(3)]
    for i, env in enumerate(alone):
        assert (env.reset(seed=3 + i)[0] == first[i]).all()
    many.action_space.seed(1)
    for _ in range(99):
        actions = many.action_space.sample()
        observations, reward, *_ = many.step(actions)
        for i, env in enumerate(alone):
            observation, own, _, truncated, info = env.step(actions[i])
            assert observation.tobytes() == observations[i].tobytes()
            assert own == reward[i] == info["components"]["error"]
            assert truncated is False
    assert [env.step(actions[i])[3] for i, env in enumerate(alone)] == [True] * 3  # 2 s of 20 ms


def test_environments_are_not_alike() -> None:
    env = vector(6, observe=["flows", "capacity"])
    observations, _ = env.reset(seed=1)
    env.step(env.action_space.sample())
    assert len({*env.readings()["flows"]}) > 2
    assert len({*observations[:, 1].tolist()}) == 2


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_an_episode_follows_another(mode: str) -> None:
    env = vector(2, autoreset_mode=mode)
    assert env.metadata["autoreset_mode"].value == mode
    env.reset(seed=1)
    steady = np.zeros((2, 1), dtype=np.float32)
    for _ in range(99):
        _, _, terminated, truncated, infos = env.step(steady)
        assert not truncated.any()
    last, reward, terminated, truncated, infos = env.step(steady)
    assert truncated.all()
    assert not terminated.any()
    if mode == "SameStep":
        assert all(isinstance(final, np.ndarray) and final.shape == (4,) for final in infos["final_obs"])
        assert (infos["final_info"]["components"]["error"] == infos["components"]["error"]).all()
        assert (last[:, 1] == 0).all()  # the queue of a new episode has no trend
    else:
        assert "final_obs" not in infos
        assert reward.all()
        fresh, reward, _, truncated, _ = env.step(steady)
        assert (fresh[:, 1] == 0).all()
        assert not reward.any()
        assert not truncated.any()


def test_without_autoreset_some_are_reset() -> None:
    env = vector(2, autoreset_mode="Disabled", set={"duration": "40 ms"})
    env.reset(seed=1)
    steady = np.zeros((2, 1), dtype=np.float32)
    env.step(steady)
    env.step(steady)
    with pytest.raises(aqmlab.InputError, match="environment 0 is over"):
        env.step(steady)
    env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(aqmlab.InputError, match="environment 1 is over"):
        env.step(steady)


def test_an_agent_that_holds_p_is_a_constant_p() -> None:
    """Against a run of the engine: p = ((a + 1)/2)^2 = 0.04."""
    env = AqmEnv(SMALL, every="10 ms", reward={"utilisation": 1.0})
    env.reset(seed=1)
    scenario, seed = Episodes(SMALL).training(np.random.default_rng(0))
    env.vector._engine.reset(0, scenario, seed)
    queues = []
    for _ in range(200):
        env.step(np.array([-0.6], dtype=np.float32))
        queues.append(env.readings()["queue"])
    simulation = aqmlab.Simulation(scenario, "fixed-p:p=0.04", seed)
    plain = []
    for k in range(1, 201):
        simulation.step_until(k / 100)
        plain.append(simulation.probe().links["bottleneck"]["queue"])
    assert max(plain) > 20
    # The action is a float32, so p differs from 0.04 in the eighth digit: no draw of these falls between.
    assert queues == plain


def test_rewards_are_sums_of_what_info_shows() -> None:
    def brief(r: rewards.Readings) -> Any:
        return -r["queue"]

    weights: dict[Any, float] = {"utilisation": 0.5, "drops": 2.0, brief: 0.1}
    env = AqmEnv(SMALL, reward=weights)
    env.reset(seed=1)
    for _ in range(50):
        _, reward, _, _, info = env.step(env.action_space.sample())
        parts = info["components"]
        assert set(parts) == {"utilisation", "drops", "brief"}
        assert reward == pytest.approx(0.5 * parts["utilisation"] + 2 * parts["drops"] + 0.1 * parts["brief"])
        assert parts["brief"] == -env.readings()["queue"]
    many = AqmEnv(SMALL, reward=weights, vector_reward=True)
    many.reset(seed=1)
    _, several, *_ = many.step(np.zeros(1, dtype=np.float32))
    assert several.shape == many.reward_space.shape == (3,)


@pytest.mark.parametrize("preset", rewards.PRESETS)
def test_presets_are_better_at_the_target_than_at_a_full_queue(preset: str) -> None:
    def at(queue: float) -> float:
        each = dict.fromkeys(GAUGES, 0.0) | {
            "target": 30.0,
            "capacity": 1000.0,
            "departure_rate": 1000.0,
            "utilisation": 1,
        }
        each |= {"queue": queue, "error": queue - 30, "sojourn": queue / 1000}
        reward = rewards.reward(preset)
        columns = {name: np.array([value], dtype=np.float32) for name, value in each.items()}
        return float(reward.each(columns)[0] @ reward.weights)

    assert at(30) > at(100)
    assert len(rewards.PRESETS[preset].source) > 20


def test_held_out_episodes_are_the_same_for_all_and_no_training_has_them() -> None:
    episodes = Episodes(SMALL, draw=VARIED["draw"])
    held = [episodes.held_out(k) for k in range(20)]
    assert [(s.overrides, seed) for s, seed in held] == [
        (s.overrides, seed) for s, seed in map(episodes.held_out, range(20))
    ]
    assert len({s.group("ftp").count for s, _ in held}) > 10
    assert min(seed for _, seed in held) >= HALF
    stream = np.random.default_rng(1)
    assert max(episodes.training(stream)[1] for _ in range(200)) < HALF
    env = vector(2)
    one, _ = env.reset(seed=1, options={"held_out": 4})
    other, _ = env.reset(seed=2, options={"held_out": 4})
    assert (one == other).all()


def test_pictures_show_the_queue() -> None:
    env = AqmEnv(SMALL, render_mode="rgb_array")
    env.reset(seed=1)
    blank = env.render()
    for _ in range(50):
        env.step(np.array([-1.0], dtype=np.float32))
    assert blank.shape == env.render().shape == (240, 400, 3)
    assert (env.render() != blank).any()
    text = AqmEnv(SMALL, render_mode="ansi")
    text.reset(seed=1)
    text.step(np.zeros(1, dtype=np.float32))
    assert text.render().startswith("0.010 s: queue ")
    assert AqmEnv(SMALL).render() is None


BAD: list[tuple[dict[str, Any], str]] = [
    ({"observe": ["qeue"]}, 'observe: unknown observation "qeue"; did you mean "queue"?'),
    ({"observe": []}, "observe: is empty"),
    ({"observe": ["queue", "queue"]}, "observe: names an observation twice"),
    ({"act": "codel:target", "observe": ["p"]}, "observe: codel has no p"),
    ({"act": "pie:tarrget"}, 'act.pie.tarrget: unknown parameter "tarrget"; did you mean "target"'),
    ({"act": "codell:target"}, 'act: unknown scheme "codell"; did you mean "codel"?'),
    ({"act": "pi"}, 'act: "pi" moves nothing'),
    ({"act": "pi:c=2,a"}, 'pi.c: unknown parameter "c"'),
    ({"act": "fq-codel:flows", "observe": ["queue"]}, "cannot change while the scheme runs"),
    ({"act": "dctcp-step:unmarkable", "observe": ["queue"]}, "is not a number with a declared range"),
    ({"ranges": {"p": (0.5, 0.5)}}, "act.fixed-p.p: the range 0.5 to 0.5 is empty"),
    ({"ranges": {"p": (0, 2)}}, "is not within the declared one, 0 to 1"),
    ({"ranges": {"p": (0, 1, "cubic")}}, 'ranges.p: unknown scale "cubic"'),
    ({"ranges": {"q": (0, 1)}}, 'ranges: nothing moves "q"'),
    ({"ranges": {"p": ("a", "b")}}, 'ranges.p: "a" is not a quantity'),
    ({"act": "increment:7"}, "the largest increment is 7 of the range"),
    ({"every": "0 s"}, 'every: "0 s" is not a time above 0 s'),
    ({"every": "10"}, 'every: "10" is not a time'),
    ({"every": float("nan")}, "every"),
    ({"every": "3 s"}, "every: 3 s is longer than the scenario (2 s)"),
    ({"link": "botleneck"}, 'link: unknown link "botleneck"; did you mean "bottleneck"'),
    ({"levels": 1}, "levels: 1: expected a whole number from 2 to"),
    ({"reward": "pett"}, 'reward: unknown preset "pett"; did you mean "pet"?'),
    ({"reward": {"dealy": 1}}, 'reward: unknown component "dealy"; did you mean "delay"?'),
    ({"reward": {"delay": float("nan")}}, "reward: the weight of delay is nan"),
    ({"reward": {}}, "reward: is empty"),
    ({"draw": {"flows.ftp.count": (9, 2)}}, "draw.flows.ftp.count: the range 9 to 2 is empty"),
    ({"draw": {"flows.ftp.rtt": ("20 ms", "1 Mbit/s")}}, "differ in their units"),
    ({"draw": {"flows.ftp.rtt": []}}, "draw.flows.ftp.rtt: is empty"),
    ({"draw": {"flows.ftp.rttt": ["20 ms"]}}, 'did you mean "rtt"'),
    ({"num_envs": 10**6}, "num_envs: 1000000: expected a whole number from 1 to 4096"),
    ({"num_envs": 10**400}, "num_envs: 1000"),
    ({"threads": 10**6}, "threads: 1000000: expected a whole number from 1 to 1024"),
    ({"levels": 10**400}, "levels: 1000"),
    ({"every": 10**400}, "every: "),
    ({"ranges": {"p": (0, 10**400)}}, "act.fixed-p.p: the range 0 to inf"),
    ({"num_envs": 0}, "num_envs: 0: expected a whole number from 1 to 4096"),
    ({"threads": 0}, "threads: 0"),
    ({"autoreset_mode": "nextstep"}, "autoreset_mode: unknown mode"),
    ({"render_mode": "human"}, 'render_mode: unknown mode "human"'),
    ({"scenario": "li2014/tabel-1"}, 'did you mean "li2014/table-1"'),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda value: str(value)[:60])
def test_mistakes_are_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(aqmlab.InputError) as caught:
        AqmVectorEnv(**{"scenario": SMALL, **arguments})
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [1.5, -1.25, float("nan")])
def test_an_action_outside_its_space_is_refused_and_nothing_is_lost(value: float) -> None:
    env = vector(2)
    env.reset(seed=1)
    with pytest.raises(aqmlab.InputError, match=f"(?i)action: {value} for p in environment 1; expected -1 to 1"):
        env.step(np.array([[0.0], [value]], dtype=np.float32))
    with pytest.raises(aqmlab.InputError, match="action: expected the shape"):
        env.step(np.zeros((2, 2), dtype=np.float32))
    untouched = vector(2)
    untouched.reset(seed=1)
    steady = np.zeros((2, 1), dtype=np.float32)
    assert (env.step(steady)[0] == untouched.step(steady)[0]).all()


def test_a_discrete_action_outside_its_space_is_refused() -> None:
    env = vector(2, levels=3)
    env.reset(seed=1)
    with pytest.raises(aqmlab.InputError, match="action: 0 to 3; expected 0 to 2"):
        env.step(np.array([0, 3]))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (0.5, "action: 0.5; expected a whole number, 0 to 2"),
        ("a", "action: 'a': expected numbers"),
        (None, "action: None: expected numbers"),
        ([[1], [1, 2]], r"action: \[\[1\], \[1, 2\]\]: "),
    ],
    ids=str,
)
def test_what_is_no_action_is_refused(action: Any, message: str) -> None:
    one, two = AqmEnv(SMALL, levels=3), vector(1, levels=3)
    one.reset(seed=1)
    two.reset(seed=1)
    with pytest.raises(aqmlab.InputError, match=message):
        one.step(action)
    if action is not None and not isinstance(action, list):
        with pytest.raises(aqmlab.InputError, match="expected"):
            two.step(np.array([action]))
    one.step(1)
    two.step(np.array([1.0]))


def test_numbers_are_asked_for_where_actions_are_continuous() -> None:
    env = vector(1)
    env.reset(seed=1)
    with pytest.raises(aqmlab.InputError, match="expected numbers"):
        env.step(np.array([["a"]]))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda each: each.__name__)
@pytest.mark.parametrize("make", [AqmEnv, AqmVectorEnv])
def test_copies_are_refused_in_words(make: Any, copied: Any) -> None:
    with pytest.raises(TypeError, match=rf"{make.__name__} cannot be copied or pickled: .* make another"):
        copied(make(scenario=SMALL))


def test_a_reward_that_is_no_number_is_told() -> None:
    def broken(r: rewards.Readings) -> Any:
        return np.log(r["queue"] - 1e9)

    env = AqmEnv(SMALL, reward={broken: 1.0})
    env.reset(seed=1)
    with (
        pytest.raises(aqmlab.InputError, match="reward: broken is nan in environment 0"),
        np.errstate(invalid="ignore"),
    ):
        env.step(np.zeros(1, dtype=np.float32))


def test_parameters_that_contradict_each_other_are_refused_by_the_scheme() -> None:
    env = AqmEnv(SMALL, act="red:min_th,max_th", ranges={"min_th": (1, 90), "max_th": (1, 90)}, observe=["queue"])
    env.reset(seed=1)
    assert "refused" not in env.step(np.array([-0.5, 0.5], dtype=np.float32))[4]
    assert env.step(np.array([0.5, -0.5], dtype=np.float32))[4]["refused"] is True
    assert "refused" not in env.step(np.array([-0.5, 0.5], dtype=np.float32))[4]


def test_step_before_reset() -> None:
    with pytest.raises(aqmlab.InputError, match="call reset first"):
        vector(1).step(np.zeros((1, 1), dtype=np.float32))


def test_scenarios_of_other_traffic(tmp_path: Path) -> None:
    other = tmp_path / "udp.toml"
    other.write_text(
        SMALL.read_text().replace('kind = "ftp"\n', 'kind = "udp-cbr"\nrate = "2 Mbit/s"\n').split("tcp =")[0]
    )
    env = vector(4, scenario=[SMALL, other], draw=None)
    env.reset(seed=1)
    for _ in range(150):
        env.step(env.action_space.sample())
    assert env.readings()["queue"].max() > 0


def test_the_page_lists_what_can_be_named() -> None:
    page = (Path(__file__).parent.parent / "docs" / "gym.md").read_text(encoding="utf-8")
    for gauge in GAUGES.values():
        assert f"| `{gauge.name}`" in page
        assert f"| {gauge.doc} |" in page
    for name, component in rewards.COMPONENTS.items():
        assert f"| `{name}` | {(component.__doc__ or '').rstrip('.')} |" in page
    for name, preset in rewards.PRESETS.items():
        assert f"| `{name}` | " in page
        assert preset.source in page
