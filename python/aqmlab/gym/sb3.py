"""The vector environment as Stable-Baselines3 wants it, and its policies as `aqmlab export-policy` reads them.

Needs stable-baselines3 and torch (`requirements-train.txt`).
"""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from aqmlab.gym.policy import ENTRY, SAMPLES
from aqmlab.gym.vector import AqmVectorEnv
from aqmlab.problems import InputError

ACTIVATIONS = {torch.nn.Tanh: "tanh", torch.nn.ReLU: "relu"}


class AqmVecEnv(VecEnv):
    """Links under agents; arguments are as of `AqmVectorEnv`."""

    def __init__(self, num_envs: int = 1, scenario: Any = "li2014/table-1", **arguments: Any) -> None:
        self.vector = AqmVectorEnv(num_envs, scenario, autoreset_mode=AutoresetMode.SAME_STEP, **arguments)
        self.render_mode = self.vector.render_mode
        self.metadata = self.vector.metadata
        self._actions: NDArray[Any] = np.zeros(0)
        super().__init__(num_envs, self.vector.single_observation_space, self.vector.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode everywhere."""
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        observations, _ = self.vector.reset(seed=seeds)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take actions."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Step; an ended episode is followed by the first observation of the next."""
        observations, rewards, _, done, infos = self.vector.step(self._actions)
        names = [*self.vector.reward.components]
        parts = np.stack([infos["components"][name] for name in names], axis=1).tolist()
        each: list[dict[str, Any]] = [{"components": dict(zip(names, row, strict=True))} for row in parts]
        for i in np.flatnonzero(done):
            each[i] |= {"terminal_observation": infos["final_obs"][i], "TimeLimit.truncated": True}
        return observations, rewards.astype(np.float32), done, each

    def close(self) -> None:
        """End all simulations."""
        self.vector.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute, the same for all."""
        return [getattr(self.vector, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:  # noqa: ARG002
        """Set an attribute of all."""
        setattr(self.vector, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:  # noqa: ARG002
        """Call a method of the vector environment, once for all."""
        return [getattr(self.vector, method_name)(*method_args, **method_kwargs)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ARG002
        """Nothing is wrapped."""
        return [False] * len(list(self._get_indices(indices)))

    def get_images(self) -> Sequence[Any]:
        """Return a picture of each."""
        return self.vector.render() or []


def save(model: Any, env: AqmVecEnv | AqmVectorEnv, path: str | Path, recipe: str = "") -> None:
    """Save a trained model so that `aqmlab export-policy` can make a scheme of it.

    That is Stable-Baselines3's own file with one more entry: the environment, the network, and its answers to some
    observations, against which the exported scheme is held.
    """
    vector = env.vector if isinstance(env, AqmVecEnv) else env
    layers, squash = _network(model.policy)
    low, high = vector.single_observation_space.low, vector.single_observation_space.high
    samples = np.random.default_rng(1).uniform(low, high, (SAMPLES, len(low))).astype(np.float32)
    document = {
        "schema": 1,
        "every": vector.every,
        "observe": list(vector.observe),
        "act": {
            "scheme": vector.act.scheme,
            "moved": [[move.name, move.ends, move.scale, move.step] for move in vector.act.moves],
        },
        "layers": layers,
        "squash": squash,
        "samples": samples.tolist(),
        "answers": np.asarray(model.predict(samples, deterministic=True)[0], dtype=np.float64)
        .reshape(SAMPLES, -1)
        .tolist(),
        "episodes": vector.episodes.document(),
        "recipe": recipe,
        "reward": dict(zip(vector.reward.components, vector.reward.weights.tolist(), strict=True)),
    }
    target = Path(path).with_suffix(".zip")
    model.save(target)
    with zipfile.ZipFile(target, "a") as file:
        file.writestr(ENTRY, json.dumps(document))


def _network(policy: Any) -> tuple[list[dict[str, Any]], str]:
    """The layers from observation to action, and what is done to the last one's answer."""
    if hasattr(policy, "mlp_extractor"):  # PPO, A2C
        modules, squash = [*policy.mlp_extractor.policy_net, policy.action_net], "clip"
    elif hasattr(policy, "actor"):  # SAC
        modules, squash = [*policy.actor.latent_pi, policy.actor.mu], "tanh"
    else:
        raise InputError("policy", f"{type(policy).__name__} is not known; train with PPO, A2C or SAC")
    layers: list[dict[str, Any]] = []
    for module in modules:
        if isinstance(module, torch.nn.Linear):
            weights, bias = module.weight.detach().cpu().tolist(), module.bias.detach().cpu().tolist()
            layers.append({"weights": weights, "bias": bias, "activation": "none"})
        elif type(module) in ACTIVATIONS:
            layers[-1]["activation"] = ACTIVATIONS[type(module)]
        else:
            raise InputError("policy", f"a layer {type(module).__name__}; expected linear layers with tanh or ReLU")
    return layers, squash
