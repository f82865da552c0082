"""Tables of results as text for a paper: `compare --format`."""

import re

import pytest

from aqmlab.notebook import Sheet
from aqmlab.present.parts import Section
from aqmlab.present.sheets import as_latex, as_markdown
from conftest import SMALL, Aqmlab

LINK = ("--rate", "45 Mbit/s", "--rtt", "80 ms", "--flows", "60")
SHEET = Sheet("Delay & loss", ["Scheme", "Loss (%)"], [["PI_2", "1.5 ± 0.2"], ["<b>", "–"]])


def test_latex_is_escaped_and_a_table_has_a_label() -> None:
    text = as_latex([Section(SHEET.title, sheet=SHEET)])
    assert r"\begin{tabular}{lr}" in text
    assert "\\caption{Delay \\& loss}\n\\label{tab:delay-loss}\n" in text
    assert r"Scheme & \shortstack[r]{Loss\\(\%)} \\" in text
    assert r"PI\_2 & 1.5 $\pm$ 0.2 \\" in text


def test_a_long_table_in_latex_spans_pages() -> None:
    long = Sheet("Long", ["Scheme", "Loss (%)"], [["PI", "1.5"]] * 41)
    text = as_latex([Section(long.title, sheet=long)])
    assert text.startswith("% \\usepackage{booktabs,longtable}\n\\begin{longtable}{lr}")
    assert r"\caption{Long}\label{tab:long}\\" in text


def test_markdown_has_a_column_for_each_head() -> None:
    assert as_markdown([Section(SHEET.title, sheet=SHEET)]).splitlines() == [
        "**Delay &amp; loss**",
        "",
        "| Scheme | Loss (%) |",
        "| --- | --: |",
        "| PI_2 | 1.5 ± 0.2 |",
        "| &lt;b&gt; | – |",
    ]


@pytest.mark.parametrize(
    ("of", "caption", "row"),
    [
        ([str(SMALL)], "\\caption{small: Link bottleneck. Seed 1.}\n\\label{tab:small-link-bottleneck}", "\nPI & "),
        (["--study", "rfc7928", "--only", "5.2"], r"\caption{Best schemes.", "\nExperiment & PI & CoDel"),
    ],
)
def test_a_comparison_is_a_latex_table(aqmlab: Aqmlab, of: list[str], caption: str, row: str) -> None:
    done = aqmlab("compare", *of, "--aqms", "pi,codel", "--format", "latex")
    assert done.returncode == 0
    assert done.stdout.startswith("% \\usepackage{booktabs}\n\\begin{table}")
    assert caption in done.stdout
    assert row in done.stdout


def test_the_tables_of_several_scenarios_have_labels_of_their_own(aqmlab: Aqmlab) -> None:
    done = aqmlab("compare", "home/call", "home/game", "--aqms", "codel", "--set", "duration=16s", "--format", "latex")
    labels = re.findall(r"\\label{(.*?)}", done.stdout)
    assert len(labels) == len(set(labels)) == 6


def test_one_format_at_a_time(aqmlab: Aqmlab) -> None:
    done = aqmlab("compare", SMALL, "--format", "latex", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "format: latex: --json prints one JSON document" in done.stderr


@pytest.mark.parametrize(
    ("command", "row"),
    [
        (("run", str(SMALL), "--aqm", "pi"), "| ftp | 10 | "),
        (("compare", "--study", "bbr-draft", "--only", "1"), "| 1 Exiting STARTUP on Bandwidth Plateau | "),
        (("reproduce", "sun2007", "--table", "1"), "| PI | 285.3 → "),
        (("analyse", "pi", *LINK), "| Hollot et al.'s P(s) | 1.34 | "),
        (("analyse", "npd-red", "--ranges", *LINK, "--buffer", "900 packets"), "| K_d with a stable K_p | "),
        (("advise", "--rate", "10Mbit/s", "--aqms", "fq-codel,droptail", "--seeds", "2"), "| FQ-CoDel | 1.000 | "),
        (("break", "codel", "--against", "pie", "--by", "delay", "--runs", "200"), "aqmlab compare worst.toml --aqms "),
    ],
)
def test_other_results_have_the_same_formats(aqmlab: Aqmlab, command: tuple[str, ...], row: str) -> None:
    markdown, latex = (aqmlab(*command, "--format", kind).stdout for kind in ("markdown", "latex"))
    assert row in markdown
    assert row.strip("| ") in latex.replace("&", "|").replace(r"$\to$", "→").replace(r"\_", "_")


def test_a_live_run_has_the_same_formats(live_machine: None, aqmlab: Aqmlab) -> None:
    command = ("live", "--rate", "1Mbit/s", "--out", "out", "--format")
    markdown, latex = (aqmlab(*command, kind, "--", "true").stdout for kind in ("markdown", "latex"))
    assert "**line: Links**\n\n| Link | Utilisation (%) | " in markdown
    assert r"\caption{line: Flows. Packets were written late by " in latex
    assert "decisions agree" in aqmlab("live", "--replay", "out", "--format", "latex").stdout


def test_sentences_and_code_are_printed_around_a_table() -> None:
    section = Section("Of", sheet=SHEET, findings=["PI_2 is | best."], code=["tc qdisc add", "", r"\end{verbatim}"])
    markdown, latex = as_markdown([section]), as_latex([section])
    assert markdown.startswith("PI_2 is &#124; best.\n\n**Of**\n\n| Scheme |")
    assert markdown.endswith("\n    tc qdisc add\n    \n    \\end{verbatim}\n")
    assert latex.index(r"PI\_2 is | best.") < latex.index(r"\begin{table}") < latex.index(r"\texttt{tc qdisc add}\\")
    assert r"\end{verbatim}" not in latex


def test_a_section_without_a_table_has_its_title_and_warnings() -> None:
    section = Section("Commands", warnings=["not tested"], code=["tc"])
    assert as_markdown([section]) == "**Commands**\n\nnot tested\n\n    tc\n"
    assert r"\paragraph{Commands}" in as_latex([section])
