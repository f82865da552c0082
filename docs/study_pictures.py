"""Draw one figure of a paper for the page of its study (seed 1): docs/NAME.png.

`python docs/study_pictures.py [NAME ...]` draws the figures of the named studies, or all (about a minute).
"""

import sys
from pathlib import Path

import aqmlab
from aqmlab.present.figures.study import figure
from aqmlab.present.plots.files import draw, encode

FIGURES = {"boudi": "10", "jafar": "6", "sun2007": "12"}
"""The figure that each page shows, by study."""


def picture(name: str) -> bytes:
    """Return the figure of a study as PNG."""
    found = aqmlab.reproduce(name, figures=[FIGURES[name]])
    [wanted] = found.figures
    return encode(draw(figure(found, wanted)), "png")


def main() -> None:
    """Draw the figures."""
    for name in sys.argv[1:] or FIGURES:
        (Path(__file__).parent / f"{name}.png").write_bytes(picture(name))


if __name__ == "__main__":
    main()
