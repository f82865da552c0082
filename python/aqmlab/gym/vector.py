"""Links side by side as one vector environment, stepped by the engine on several cores."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab import _core
from aqmlab.extras import required
from aqmlab.gym import render, rewards
from aqmlab.gym.episodes import Episodes, Range, Source
from aqmlab.gym.rewards import Weights
from aqmlab.gym.task import GAUGES, OBSERVE, Ends, actuator, observed, seconds
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.quantities import whole

with required():
    from gymnasium import spaces
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

Seed = int | Sequence[int | None] | None
MODES = {mode.value: mode for mode in AutoresetMode}
OPTIONS = ("held_out", "reset_mask")
MOST_ENVS = 4096
"""Environments; one of a small scenario takes 0.3 MB when it begins, and more as its queue fills."""
MOST_THREADS = 1024
MOST_LEVELS = 2**24
"""Spacing of actions of 32 bits."""


class AqmVectorEnv(VectorEnv[NDArray[np.float32], NDArray[Any], NDArray[Any]]):
    """Links under agents: `num_envs` simulations, stepped together. Raises InputError for bad input.

    - `scenario`: by name, file or object, or a list from which each episode draws one.
    - `every`: the time between actions, such as "10 ms"; `link`: the link's name, by default the first.
    - `observe`: names of `GAUGES`.
    - `act`: "p" (the drop or mark probability), "increment" or "increment:0.02" (an action moves it by at most this
      share of its range), or parameters of a scheme: "pi:a,b". Those with a value stay: "pi:w=100Hz,a,b".
    - `ranges`: limits of the actions, (minimum, maximum) or (minimum, maximum, scale), by default the declared ones;
    scales are "linear", "log" and "square".
    - `levels`: makes actions discrete: so many values from -1 to 1.
    - `reward`: a name of `rewards.PRESETS`, or weights of `rewards.COMPONENTS` and of your functions.
    - `vector_reward`: rewards are vectors, one weighted component each.
    - `set`, `draw`: values of the scenario that are set, or drawn for each episode.
    - `threads`: by default as many as there are cores and environments.
    - `autoreset_mode`: "NextStep", "SameStep" or "Disabled".
    - `copy`: False returns the engine's own arrays, which the next step overwrites.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 25}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Source | Sequence[Source] = "li2014/table-1",
        *,
        every: str | float = "10 ms",
        link: str | None = None,
        observe: Sequence[str] = OBSERVE,
        act: str = "p",
        ranges: Mapping[str, Ends] | None = None,
        levels: int | None = None,
        reward: str | Weights = "target",
        vector_reward: bool = False,
        set: Mapping[str, str] | None = None,
        draw: Mapping[str, Range] | None = None,
        threads: int | None = None,
        autoreset_mode: str | AutoresetMode = "NextStep",
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs = whole("num_envs", num_envs, 1, MOST_ENVS)
        if threads is not None:
            whole("threads", threads, 1, MOST_THREADS)
        self.act = actuator(act, ranges)
        self.observe = observed(observe, self.act)
        self.every = seconds(every)
        self.episodes = Episodes(scenario, set or {}, draw or {})
        self.reward = rewards.reward(reward)
        self.vector_reward = vector_reward
        self.levels = _levels(levels)
        self.copy = copy
        self.render_mode = _render_mode(render_mode)
        self.autoreset = _mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset}
        first = self.episodes.first()
        self.link = first.links[0] if link is None else link
        if self.every > first.duration:
            raise InputError("every", f"{every} is longer than the scenario ({first.duration:g} s)")
        cores = os.cpu_count() or 1
        self._engine = _core.Environments(
            num_envs,
            self.link,
            self.act.spec,
            self.act.moved,
            self.every,
            list(self.observe),
            min(threads or cores, num_envs),
        )
        self._engine.reset(0, first, 1)  # refuses a link or a scheme that does not fit
        self._columns = {name: self._engine.readings[:, i] for i, name in enumerate(GAUGES)}
        self._spaces()
        self._streams: list[np.random.Generator] = []
        self._clock = self._first_end = 0  # steps, and when the next episode ends
        self._ends = np.zeros(num_envs, dtype=np.int64)
        self._done = np.zeros(num_envs, dtype=np.bool_)
        self._over = False  # whether one of them is done
        self._none, self._each = np.zeros(num_envs, dtype=np.bool_), np.ones(num_envs, dtype=np.bool_)
        self._history = [render.History() for _ in range(num_envs)] if render_mode else []

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse copy.copy, copy.deepcopy and pickle with TypeError."""
        raise not_copied(self)

    def _spaces(self) -> None:
        low = np.array([-1.0 if GAUGES[name].signed else 0.0 for name in self.observe], dtype=np.float32)
        self.single_observation_space: spaces.Box = spaces.Box(low, np.ones_like(low))
        moves = len(self.act.moves)
        self.single_action_space = (
            spaces.Box(-1.0, 1.0, (moves,), np.float32)
            if self.levels is None
            else spaces.Discrete(self.levels)
            if moves == 1
            else spaces.MultiDiscrete([self.levels] * moves)
        )
        self.reward_space = spaces.Box(-np.inf, np.inf, (len(self.reward.components),))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in every environment, or in the selected ones of `options["reset_mask"]`.

        A whole number as seed gives the environment i the seed + i. `options["held_out"]` = k begins the episodes k + i
        of the evaluation set instead of drawn ones.
        """
        options = options or {}
        for name in options.keys() - {*OPTIONS}:
            raise unknown("options", "unknown option", name, OPTIONS)
        self._seed(seed)
        mask = np.asarray(options.get("reset_mask", np.ones(self.num_envs, dtype=np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise InputError("options.reset_mask", f"expected {self.num_envs} truth values")
        for i in np.flatnonzero(mask):
            held_out = options.get("held_out")
            self._begin(int(i), None if held_out is None else whole("held_out", held_out, 0, 2**63 - 1) + int(i))
        self._over = bool(self._done.any())
        return self._observations(), {}

    def _seed(self, seed: Seed) -> None:
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            seed = [int(seed) + i for i in range(self.num_envs)]
        if seed is None:
            seed = [None] * self.num_envs
        elif len(seed) != self.num_envs:
            raise InputError("seed", f"{len(seed)} seeds for {self.num_envs} environments")
        self._streams = [
            self._streams[i] if self._streams and each is None else seeding.np_random(each)[0]
            for i, each in enumerate(seed)
        ]

    def _begin(self, i: int, held_out: int | None = None) -> None:
        drawn = self.episodes.training(self._streams[i]) if held_out is None else self.episodes.held_out(held_out)
        scenario, seed = drawn
        self._engine.reset(i, scenario, seed)
        self._ends[i] = self._clock + max(round(scenario.duration / self.every), 1)
        self._first_end = int(self._ends.min())
        self._done[i] = False
        if self._history:
            self._history[i] = render.History()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Act and let an interval pass. Episodes end with their scenario: they are truncated, never terminated."""
        if not self._streams:
            raise InputError("step", "call reset first")
        again = self._done if self._over else self._none
        if self._over and self.autoreset is AutoresetMode.DISABLED:
            raise InputError("step", f"the episode of environment {np.argmax(again)} is over; reset it")
        all_taken = self._engine.step(self._actions(actions), again)
        self._clock += 1
        components = self.reward.each(self._columns)
        if self._over:
            again = again.copy()
            components[again] = 0.0
            for i in np.flatnonzero(again):
                self._begin(int(i))
        self._over = self._clock >= self._first_end
        truncated = self._ends <= self._clock if self._over else self._none.copy()
        self._note(again)
        infos = self._infos(components)
        if not all_taken:
            infos["refused"], infos["_refused"] = ~self._engine.taken & ~again, self._each
        if self._over and self.autoreset is AutoresetMode.SAME_STEP:
            self._finish(truncated, infos)
            self._over = False
        elif self._over:
            self._done[:] = truncated
        rewards = components * self.reward.weights if self.vector_reward else components @ self.reward.weights
        return self._observations(), rewards, self._none.copy(), truncated, infos

    def _actions(self, actions: NDArray[Any]) -> NDArray[np.float32]:
        """Actions between -1 and 1, a row for each environment; InputError for any outside the space."""
        given = numbers(actions)
        if given.shape != self.action_space.shape:
            raise InputError("action", f"expected the shape {self.action_space.shape}, found {given.shape}")
        given = given.reshape(self.num_envs, len(self.act.moves))
        if self.levels is not None:
            most = self.levels - 1
            if not (given.min() >= 0 and given.max() <= most):
                raise InputError("action", f"{given.min()} to {given.max()}; expected 0 to {most}")
            if (broken := given != np.round(given)).any():
                raise InputError("action", f"{given[broken][0]}; expected a whole number, 0 to {most}")
            given = 2.0 * given / most - 1.0
        return np.ascontiguousarray(given, dtype=np.float32)

    def _infos(self, components: NDArray[np.float64]) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        for k, name in enumerate(self.reward.components):
            parts[name], parts[f"_{name}"] = components[:, k], self._each
        return {"components": parts, "_components": self._each}

    def _finish(self, truncated: NDArray[np.bool_], infos: dict[str, Any]) -> None:
        """Begin the next episodes at once, and keep what the ended ones showed last."""
        final = np.full(self.num_envs, None, dtype=object)
        last = {key: each for key, each in infos.items() if not key.startswith("_")}
        for i in np.flatnonzero(truncated):
            final[i] = self._engine.observations[i].copy()
            self._begin(int(i))
        infos.update(final_obs=final, _final_obs=truncated, final_info=_masked(last, truncated), _final_info=truncated)

    def _observations(self) -> NDArray[np.float32]:
        return self._engine.observations.copy() if self.copy else self._engine.observations

    def readings(self) -> dict[str, NDArray[np.float32]]:
        """Return what every gauge reads, in its unit: a number for each environment."""
        return {name: column.copy() for name, column in self._columns.items()}

    def _note(self, again: NDArray[np.bool_]) -> None:
        for i, history in enumerate(self._history):
            if not again[i]:
                history.add({name: float(column[i]) for name, column in self._columns.items()}, self.every)

    def render(self) -> Any:
        """Return a picture or one row of text for each environment; None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(render.frame(history, self.render_mode) for history in self._history)


def numbers(actions: Any) -> NDArray[Any]:
    """Return actions as an array; InputError for anything but an array of numbers."""
    try:
        given = np.asarray(actions)
    except ValueError as error:  # rows of different lengths
        raise InputError("action", f"{actions!r}: {error}") from None
    if given.dtype.kind not in "biuf":
        raise InputError("action", f"{actions!r}: expected numbers, of the action space")
    return given


def not_copied(env: object) -> TypeError:
    """Return the error of copies and pickles: the simulation runs outside Python."""
    name = type(env).__name__
    return TypeError(
        f"{name} cannot be copied or pickled: its simulations are the engine's; make another {name} with the same "
        "arguments, in a function for another process"
    )


def _masked(infos: Mapping[str, Any], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """The same infos, of some environments only."""
    found: dict[str, Any] = {}
    for key, value in infos.items():
        if not key.startswith("_"):
            found[key] = _masked(value, mask) if isinstance(value, dict) else np.where(mask, value, 0)
            found[f"_{key}"] = mask
    return found


def _levels(levels: int | None) -> int | None:
    return None if levels is None else whole("levels", levels, 2, MOST_LEVELS)


def _render_mode(mode: str | None) -> str | None:
    if mode is not None and mode not in AqmVectorEnv.metadata["render_modes"]:
        raise unknown("render_mode", "unknown mode", mode, AqmVectorEnv.metadata["render_modes"])
    return mode


def _mode(mode: str | AutoresetMode) -> AutoresetMode:
    if isinstance(mode, AutoresetMode):
        return mode
    if mode not in MODES:
        raise unknown("autoreset_mode", "unknown mode", mode, MODES)
    return MODES[mode]
