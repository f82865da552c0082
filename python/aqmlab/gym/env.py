"""One link as an environment: the vector environment with one link."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.extras import required
from aqmlab.gym.vector import AqmVectorEnv, not_copied, numbers

with required():
    from gymnasium import Env
    from gymnasium.vector import AutoresetMode


class AqmEnv(Env[NDArray[np.float32], Any]):
    """A link under an agent; arguments are as of `AqmVectorEnv`, without `num_envs`, `threads`, `autoreset_mode`."""

    metadata: dict[str, Any] = dict(AqmVectorEnv.metadata)  # noqa: RUF012

    def __init__(self, scenario: Any = "li2014/table-1", **arguments: Any) -> None:
        self.vector = AqmVectorEnv(1, scenario, threads=1, autoreset_mode=AutoresetMode.DISABLED, **arguments)
        self.observation_space: Any = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self.reward_space = self.vector.reward_space
        self.render_mode = self.vector.render_mode

    def __repr__(self) -> str:
        moved = ", ".join(move.name for move in self.vector.act.moves)
        return f"<AqmEnv: {moved} at {self.vector.link}, each {self.vector.every:g} s>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse copy.copy, copy.deepcopy and pickle with TypeError."""
        raise not_copied(self)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; `options={"held_out": k}` begins the episode k of the evaluation set."""
        super().reset(seed=seed)
        self.vector._streams = [self.np_random]
        observations, _ = self.vector.reset(options=options)
        return observations[0].copy(), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], Any, bool, bool, dict[str, Any]]:
        """Act and let an interval pass."""
        observations, rewards, _, truncated, infos = self.vector.step(numbers(action)[None])
        parts = infos["components"]
        info: dict[str, Any] = {"components": {name: float(parts[name][0]) for name in self.vector.reward.components}}
        if "refused" in infos:
            info["refused"] = bool(infos["refused"][0])
        reward = rewards[0] if self.vector.vector_reward else float(rewards[0])
        return observations[0].copy(), reward, False, bool(truncated[0]), info

    def readings(self) -> dict[str, float]:
        """Return what every gauge reads, in its unit."""
        return {name: float(column[0]) for name, column in self.vector.readings().items()}

    def render(self) -> Any:
        """Return a picture or one row of text."""
        frames = self.vector.render()
        return None if frames is None else frames[0]
