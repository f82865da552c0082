"""The program `aqmlab`, and `python -m aqmlab`: the command line."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is loaded ends it as Ctrl-C does later."""
    try:
        from aqmlab.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
