"""`python -m aqmlab`: the command line."""

from aqmlab.cli import main

if __name__ == "__main__":
    main()
