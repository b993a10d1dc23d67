"""SVG for a page: sheets are printed one after the other, and a text is measured once for all."""

from functools import lru_cache
from io import StringIO
from typing import Any

from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

_TEXTS = 4096  # that are remembered
_MEASURE: Any = text_to_path.get_text_width_height_descent


@lru_cache(_TEXTS)
def text_size(text: str, font: FontProperties) -> tuple[float, float, float]:
    """Return width, height and descent of a line of text in points."""
    size: tuple[float, float, float] = _MEASURE(text, font, ismath=False)
    return size


class _Renderer(RendererSVG):
    """Writes SVG."""

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: object
    ) -> tuple[float, float, float]:
        """Return the size of a text."""
        if ismath:
            size: tuple[float, float, float] = _MEASURE(s, prop, ismath)
            return size
        return text_size(s, prop)


def page_svg(figure: Figure, dots: float) -> str:
    """Return a figure as SVG without a background. `dots`: per inch, of what is drawn as dots."""
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    written = StringIO()
    wide, high = figure.get_size_inches()
    page = _Renderer(  # type: ignore[no-untyped-call]
        wide * figure.dpi, high * figure.dpi, written, image_dpi=dots
    )
    renderer = MixedModeRenderer(figure, wide, high, dots, page)  # type: ignore[no-untyped-call]
    figure.draw(renderer)  # type: ignore[arg-type]
    renderer.finalize()
    return written.getvalue()
