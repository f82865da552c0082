"""What the process does from which commands are forked: it builds their tree, and sets aside what it has imported.

The garbage collector of a command then neither visits nor copies that.
"""

import gc
from functools import cache

import typer.main

from aqmlab.cli import app

typer.main.get_command = cache(typer.main.get_command)
typer.main.get_command(app)
gc.collect()
gc.freeze()
