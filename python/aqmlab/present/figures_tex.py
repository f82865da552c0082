"""Figures with their captions as LaTeX."""

from collections.abc import Mapping

from aqmlab.present.plots.style import Size
from aqmlab.present.tables import escaped, slug

ONE_COLUMN = 4.0
"""Inches up to which a figure is within one column of a journal."""


def in_latex(captions: Mapping[str, str], size: Size) -> str:
    """Return a figure environment for each file NAME.pdf with its caption, for the package graphicx."""
    figure = "figure" if size.width <= ONE_COLUMN else "figure*"
    return "\n".join(
        rf"""\begin{{{figure}}}
\centering
\includegraphics[width=\linewidth]{{{name}.pdf}}
\caption{{{escaped(caption)}}}
\label{{fig:{slug(name)}}}
\end{{{figure}}}
"""
        for name, caption in captions.items()
    )
