"""Notebooks of the site draw pictures as SVG on nothing, so that they fit both themes."""

c = get_config()  # noqa: F821 (IPython gives it)
c.InlineBackend.figure_formats = {"svg"}
c.InlineBackend.print_figure_kwargs = {"bbox_inches": "tight", "facecolor": "none"}
