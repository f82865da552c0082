"""Pictures as journals and slides take them: fonts, widths, scales, and nothing outside the paper."""

import io
import itertools
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import matplotlib.image as mpl_image
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

import aqmlab as lab
from aqmlab.present.plots import data
from aqmlab.present.plots.files import draw, encode
from aqmlab.present.plots.paper import short
from aqmlab.present.plots.style import SIZES, Print
from aqmlab.runs.statistics import Ranking, Summary

WIDTHS = {"ieee1": 3.5, "ieee2": 7.16, "slide": 12.0}
NAMES = ["DropTail", "PI (w=85 Hz)", "FQ-CoDel", "BLUE‡"]
TIME = np.linspace(0.01, 2, 200)


def summary(mean: float) -> Summary:
    return Summary(mean, mean / 10, 5)


def pictures() -> dict[str, data.Drawing]:
    """One of each kind that `plot` draws."""
    points = {name: np.random.default_rng(i).uniform(1, 9, (5, 2)) for i, name in enumerate(NAMES)}
    clouds = {name: data.Cloud(cloud, range(5), cloud.mean(axis=0), cloud) for name, cloud in points.items()}
    curves = {name: (i + TIME, TIME / 2) for i, name in enumerate(NAMES)}
    seeds = {name: {seed: float(y) for seed, y in enumerate(points[name][:, 1])} for name in NAMES}
    means = {name: summary(float(np.mean(list(values.values())))) for name, values in seeds.items()}
    lines = {name: {x: summary(x * (i + 1)) for x in (5.0, 10.0, 50.0)} for i, name in enumerate(NAMES)}
    panels = [data.Panel(name, "mean 51, std 12", [data.Curve(name, TIME, 50 + TIME)], "both", 30.0) for name in NAMES]
    cells = [data.HeatPanel(name, np.outer([1, 2, 5.0], [10, 20, 40.0]) * (i + 1)) for i, name in enumerate(NAMES)]
    ranks = Ranking({name: 1.0 + i for i, name in enumerate(NAMES)}, 12, 0.01, 1.5)
    delay, rate = "99th percentile of the queueing delay (ms)", "Link rate (Mbit/s)"
    return {
        "over time": data.OverTime(panels, 2.0, [data.Frame("Queue (packets)", 60.0)]),
        "scatter": data.Scatter(
            "Mean queueing delay (ms)", "Goodput (Mbit/s)", NAMES, [data.ScatterPanel("", clouds)], "", 1
        ),
        "distributions": data.Distributions(delay, "Share", NAMES, [data.DistributionPanel("", curves, (0.0, 6.0))], 1),
        "dots": data.Dots(delay, NAMES, seeds, means),
        "boxes": data.Boxes(delay, NAMES, {name: list(values.values()) for name, values in seeds.items()}),
        "heat": data.HeatMaps(rate, "Number of flows", delay, [5, 10, 20], [2, 5, 10], cells),
        "lines": data.LineChart(
            rate, [data.LinePanel("home, 5 flows", delay, lines), data.LinePanel("b", delay, lines)]
        ),
        "ranking": data.CriticalDifference(ranks, {name: name for name in NAMES}),
    }


PLACED = pytest.mark.parametrize(
    ("kind", "size"),
    [
        pytest.param(kind, size, marks=pytest.mark.nightly if (i + j) % len(WIDTHS) else ())
        for i, kind in enumerate(pictures())
        for j, size in enumerate(WIDTHS)
    ],
)
"""Each kind in one place by day, in the others by night."""


@PLACED
def test_a_picture_is_as_wide_as_its_place(kind: str, size: str) -> None:
    figure = draw(pictures()[kind], Print(SIZES[size]))
    [box] = re.findall(rb"/MediaBox \[ ?0 0 ([0-9.]+) ([0-9.]+) ?\]", encode(figure, "pdf"))
    assert float(box[0]) / 72 == pytest.approx(WIDTHS[size], abs=0.01)
    [svg] = re.findall(rb'<svg [^>]*width="([0-9.]+)pt"', encode(figure, "svg").replace(b"\n", b" "))
    assert float(svg) / 72 == pytest.approx(WIDTHS[size], abs=0.01)
    assert struct.unpack(">I", encode(figure, "png")[16:20])[0] / 200 == pytest.approx(WIDTHS[size], abs=0.01)
    assert float(box[1]) / 72 < (7.5 if size == "slide" else 9.25)


@PLACED
def test_all_words_are_on_the_paper(kind: str, size: str) -> None:
    figure = draw(pictures()[kind], Print(SIZES[size]))
    FigureCanvasAgg(figure).draw()
    width, height = figure.bbox.size
    for text in words(figure):
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.y0 >= -1, text.get_text()  # noqa: PT018 - the same fault
        assert box.x1 <= width + 1 and box.y1 <= height + 1, text.get_text()  # noqa: PT018


@pytest.mark.parametrize("kind", pictures())
def test_nothing_touches_the_edge_of_the_paper(kind: str) -> None:
    figure = draw(pictures()[kind], Print(SIZES["ieee1"], about="n = 5 (seeds 1 to 5)."))
    dark = brightness(encode(figure, "png")) < 0.98
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    free = rows[0], columns[0], dark.shape[0] - 1 - rows[-1], dark.shape[1] - 1 - columns[-1]
    assert min(free) / 200 > 0.06, "inches above, left, below and right"


def brightness(png: bytes) -> np.ndarray:
    """Return the brightness of the pixels, 0 to 1."""
    return mpl_image.imread(io.BytesIO(png))[:, :, :3].min(axis=2)


def test_a_long_title_is_in_lines_that_fit_its_panel() -> None:
    titles = ["8.2.6 (2) capacity changes, 100 ms", "7.2 (IV) bursts: web, CBR, bulk, video\nweb", "c"] * 2
    points = data.Cloud(np.array([[1.0, 2.0]]), [1], None, None)
    panels = [data.ScatterPanel(title, {"PI": points}) for title in titles]
    figure = draw(data.Scatter("Delay (ms)", "Goodput (Mbit/s)", ["PI"], panels, "median"))
    FigureCanvasAgg(figure).draw()
    boxes = [axes.title if axes.title.get_text() else axes._left_title for axes in figure.axes]  # type: ignore[attr-defined]
    ends = [text.get_window_extent() for text in boxes]
    for row in (ends[:3], ends[3:]):
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(row))
        assert row[-1].x1 < figure.bbox.width


def test_a_legend_is_for_several_curves() -> None:
    drawn = pictures()["distributions"]
    assert isinstance(drawn, data.Distributions)
    assert len(draw(drawn).legends) == 1
    alone = [replace(panel, curves={"FQ-CoDel": panel.curves["FQ-CoDel"]}) for panel in drawn.panels]
    assert draw(replace(drawn, names=["FQ-CoDel"], panels=alone)).legends == []


def test_a_scheme_alone_is_in_the_middle() -> None:
    drawn = pictures()["dots"]
    assert isinstance(drawn, data.Dots)
    values, means = ({"FQ-CoDel": of["FQ-CoDel"]} for of in (drawn.values, drawn.summaries))
    [axes] = draw(data.Dots(drawn.label, NAMES, values, means)).axes  # type: ignore[arg-type]
    assert axes.get_xlim() == (-0.5, 0.5)


def words(figure: Figure) -> list[Text]:
    """The texts that are drawn: all but the labels of ticks beyond the ends of an axis."""
    unseen = set()
    for axes in figure.axes:
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not axes.get_visible() or not min(ends) <= tick.get_loc() <= max(ends):
                    unseen |= {tick.label1, tick.label2}
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text() and text not in unseen]


@pytest.mark.skipif(shutil.which("pdffonts") is None, reason="pdffonts is missing: install poppler-utils")
@pytest.mark.parametrize("kind", pictures())
def test_fonts_are_embedded_and_none_is_of_type_3(kind: str, tmp_path: Path) -> None:
    """IEEE's checker refuses Type 3, which matplotlib writes unless told otherwise."""
    file = tmp_path / "picture.pdf"
    file.write_bytes(encode(draw(pictures()[kind]), "pdf"))
    fonts = subprocess.run(["pdffonts", file], capture_output=True, text=True, check=True).stdout.splitlines()[2:]
    assert fonts
    for font in fonts:
        assert "TrueType" in font
        assert re.search(r"Identity-H +yes yes", font), "embedded, and only the letters that are used"


@pytest.mark.skipif(shutil.which("pdffonts") is None, reason="pdffonts is missing: install poppler-utils")
def test_a_column_of_a_journal_has_its_letters(tmp_path: Path) -> None:
    file = tmp_path / "picture.pdf"
    file.write_bytes(encode(draw(pictures()["heat"], Print(SIZES["ieee1"])), "pdf"))
    fonts = subprocess.run(["pdffonts", file], capture_output=True, text=True, check=True).stdout.splitlines()[2:]
    assert {font.split()[0].partition("+")[2].partition("-")[0] for font in fonts} == {"STIXGeneral"}


def test_numbers_of_a_heat_map_have_three_digits_and_do_not_collide() -> None:
    shown = [short(each) for each in (1000, 12500, 7.123, 0.00512, 1.6666e-5, 2e6)]
    assert shown == ["1000", "12500", "7.12", "0.00512", "1.67e-5", "2e6"]
    xs = [100.0 * i + 1 / 3 for i in range(1, 25)]
    cells = [data.HeatPanel("PI", np.outer([1.0, 2.0], xs))]
    figure = draw(data.HeatMaps("Link rate (Mbit/s)", "Flows", "Delay (ms)", xs, [1, 2], cells), Print(SIZES["ieee1"]))
    FigureCanvasAgg(figure).draw()
    boxes = [tick.get_window_extent() for tick in figure.axes[0].get_xticklabels() if tick.get_visible()]
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_eight_panels_in_a_column_are_two_abreast() -> None:
    panels = [data.Panel(f"Scheme {i}", "mean 51, std 12", [data.Curve("x", TIME, 50 + TIME)]) for i in range(8)]
    figure = draw(data.OverTime(panels, 2.0, [data.Frame("Queue (packets)", 60.0)]), Print(SIZES["ieee1"]))
    grid = figure.axes[0].get_subplotspec()
    assert grid is not None
    assert grid.get_gridspec().get_geometry() == (4, 2)
    assert min(axes.get_position().height * figure.get_figheight() for axes in figure.axes) > 0.8  # inches


def test_footnotes_are_left_out_on_request() -> None:
    drawn = pictures()["dots"]
    told, silent = (draw(drawn, Print(footnotes=shown)) for shown in (True, False))
    assert any("reconstructed" in text.get_text() for text in told.findobj(Text))  # type: ignore[attr-defined]
    assert not any("reconstructed" in text.get_text() for text in silent.findobj(Text))  # type: ignore[attr-defined]


def test_letters_and_lines_of_a_slide_are_twice_as_large() -> None:
    drawn = pictures()["distributions"]
    [page], [slide] = (draw(drawn, Print(SIZES[size])).axes for size in ("ieee2", "slide"))
    assert slide.xaxis.label.get_fontsize() == 2 * page.xaxis.label.get_fontsize() == 16
    assert slide.lines[0].get_linewidth() == pytest.approx(2 * page.lines[0].get_linewidth())
    assert [line.get_color() for line in slide.lines] == [line.get_color() for line in page.lines]


def test_axes_are_logarithmic_and_begin_above_zero() -> None:
    [axes] = draw(pictures()["distributions"], Print(log="x")).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert axes.get_xlim() == pytest.approx((0.01, 6.0))
    [axes, *_] = draw(pictures()["lines"], Print(log="xy")).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_labels_can_be_replaced() -> None:
    [axes] = draw(pictures()["scatter"], Print(x="Delay", y="Rate")).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Delay", "Rate")
    *panels, bar = draw(pictures()["heat"], Print(y="Flows")).axes
    assert panels[0].get_ylabel() == "Flows"
    assert bar.get_ylabel() == "99th percentile of the queueing delay (ms)"


def test_names_without_room_are_refused() -> None:
    ranks = Ranking({"a" * 30: 1.0, "b": 2.0, "c": 3.0}, 12, 0.01, 1.5)
    drawn = data.CriticalDifference(ranks, {name: name for name in ranks.ranks})
    draw(drawn)
    with pytest.raises(lab.InputError, match="no room for the ranks"):
        draw(drawn, Print(SIZES["ieee1"]))
