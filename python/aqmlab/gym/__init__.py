"""A link as an environment for learning agents: `gymnasium.make("aqmlab.gym:Aqm-v0", scenario=...)`.

Importing this registers the environment. Exported policies are made without Gymnasium, which is then not there.
"""

from contextlib import suppress

with suppress(ImportError):
    from gymnasium import register

    register(
        "Aqm-v0",
        entry_point="aqmlab.gym.env:AqmEnv",
        vector_entry_point="aqmlab.gym.vector:AqmVectorEnv",
    )
