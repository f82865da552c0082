"""Prepares the process from which commands are forked: builds the tree of commands, and freezes the imported objects.

The garbage collector of a command then neither visits nor copies them.
"""

import gc
from functools import cache

import typer.main

from aqmlab.cli import app

typer.main.get_command = cache(typer.main.get_command)
typer.main.get_command(app)
gc.collect()
gc.freeze()
