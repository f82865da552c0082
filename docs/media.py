"""Draw the picture of docs/media.md: a call with an upload, by controller and scheme, in frame delay and freezes.

`python docs/media.py` writes docs/media.png.
"""

import re
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import matplotlib as mpl
from matplotlib.figure import Figure

import aqmlab
from aqmlab.present.plots import style

PICTURE = Path(__file__).with_suffix(".png")
PAGE = Path(__file__).with_suffix(".md")
SCHEMES = {"DropTail": "droptail", "FQ-CoDel": "fq-codel", "CAKE": "cake", "DualPI2, L4S": "dualpi2"}
LAWS = {
    "SCReAMv2": {"law": "scream"},
    "GCC": {"law": "gcc"},
    "Constant, 1.5 Mbit/s": {"law": "constant", "rate": "1.5 Mbit/s"},
}
"""The values set for the call, by the name in the legend."""
SEEDS = 5


def measured(scenario: Path) -> dict[str, list[tuple[float, float]]]:
    """Return frame delay p95 (ms) and share of frozen time (%), means over the seeds, of each scheme by controller."""
    found = {}
    for title, call in LAWS.items():
        changes = {f"flows.call.{key}": value for key, value in call.items()}
        upload = {"flows.upload.tcp.congestion_control": "prague"} if call["law"] == "scream" else {}
        columns = []
        for scheme in SCHEMES.values():
            more = upload if scheme == "dualpi2" else {}
            runs = [aqmlab.run(scenario, scheme, seed=seed, set=changes | more) for seed in range(1, SEEDS + 1)]
            media = [run.flows["call"].media for run in runs]
            delays = [1e3 * (each.frame_delay_p95 or 0.0) for each in media if each]
            columns.append((fmean(delays), fmean(100 * (each.freeze_ratio or 0.0) for each in media if each)))
        found[title] = columns
    return found


def main() -> None:
    """Run the page's scenario under all and write the picture."""
    text = re.search(r"```toml\n(# picture\.toml.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    if text is None:
        raise RuntimeError(f"{PAGE}: no scenario picture.toml in it")
    with TemporaryDirectory() as folder, mpl.rc_context(style.STYLE):
        scenario = Path(folder) / "picture.toml"
        scenario.write_text(text[1], encoding="utf-8")
        figure = Figure(figsize=(style.WIDTH, 2.6), layout="constrained")
        panels = figure.subplots(1, 2)
        width = 0.8 / len(LAWS)
        for i, (title, columns) in enumerate(measured(scenario).items()):
            for panel, heights in zip(panels, zip(*columns, strict=True), strict=True):
                places = [place + (i - (len(LAWS) - 1) / 2) * width for place in range(len(SCHEMES))]
                panel.bar(places, heights, width, label=title, color=style.PALETTE[i])
            print(title, columns)
        for panel, title in zip(panels, ("Frame delay p95 (ms)", "Frozen (% of the time)"), strict=True):
            panel.set_ylabel(title)
            panel.set_xticks(range(len(SCHEMES)), SCHEMES, fontsize=7)
        panels[0].set_yscale("log")
        panels[0].legend()
        figure.savefig(PICTURE, dpi=200)


if __name__ == "__main__":
    main()
