"""aqmlab with a scheme of one's own: import this before aqmlab, or use the command `own-lab`."""

import sys

from own_scheme import _native

if sys.modules.setdefault("aqmlab._core", _native) is not _native:
    raise ImportError("aqmlab runs without own_scheme already: import own_scheme first")


def main() -> None:
    """Run the command line of aqmlab; the scheme is in its catalogue."""
    from aqmlab import cli

    cli.main()
