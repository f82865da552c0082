"""Train an AQM with PPO or SAC on the CPU; `make train` runs it.

The agent sets the drop probability every 10 ms, so that the queue of links unlike each other stays at
its target. `aqmlab export-policy` makes a scheme of what it saves.
"""

import argparse
import time
import warnings
from typing import Any

import torch
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from aqmlab.gym.env import AqmEnv
from aqmlab.gym.sb3 import AqmVecEnv, save

TASK: dict[str, Any] = {
    "scenario": "li2014/table-1",
    "every": "10 ms",
    "observe": ["error", "trend", "arrival_rate", "p"],
    "act": "p",
    "ranges": {"p": (0.0, 1.0, "square")},
    "reward": "near",
    "set": {"duration": "15 s"},
    "draw": {
        "flows.ftp.count": (30, 600),
        "flows.ftp.rtt": ("50 ms", "250 ms"),
        "links.bottleneck.rate": ("15 Mbit/s", "100 Mbit/s"),
    },
}
"""Links of 15 to 100 Mbit/s with 30 to 600 flows; each episode is another one."""


def main() -> None:
    """Train and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", choices=["ppo", "sac"], default="ppo")
    parser.add_argument("--steps", type=int, default=700_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--out", default="model.zip")
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(AqmEnv(**TASK))
    torch.set_num_threads(1)
    env = AqmVecEnv(given.envs, threads=2, **TASK)
    network: dict[str, Any] = {"net_arch": {"pi": [16, 16], "vf": [64, 64]}, "log_std_init": -1.0}
    if given.algorithm == "sac":
        network = {"net_arch": [32, 32]}
    watched = VecNormalize(VecMonitor(env), norm_obs=False, gamma=0.98)
    common: dict[str, Any] = {"seed": given.seed, "device": "cpu", "verbose": 1, "policy_kwargs": network}
    model = (
        PPO(
            "MlpPolicy",
            watched,
            n_steps=256,
            batch_size=1024,
            n_epochs=10,
            gamma=0.98,
            learning_rate=lambda left: 1e-3 * left,
            **common,
        )
        if given.algorithm == "ppo"
        else SAC("MlpPolicy", watched, train_freq=64, gradient_steps=64, gamma=0.98, **common)
    )
    started = time.perf_counter()
    model.learn(given.steps)
    minutes = (time.perf_counter() - started) / 60
    recipe = f"{given.algorithm.upper()}, seed {given.seed}, {given.steps} steps, {minutes:.1f} minutes"
    save(model, env, given.out, recipe)
    print(f"{given.out}: {recipe}")


if __name__ == "__main__":
    main()
