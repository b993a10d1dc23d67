"""Notebooks of the site draw pictures as SVG."""

c = get_config()  # noqa: F821 (IPython gives it)
c.InlineBackend.figure_formats = {"svg"}
