"""Show cells of ``%%sh`` as a console: commands behind ``$``, which alone are copied."""

from docutils import nodes
from sphinx.application import Sphinx

MAGIC = "%%sh\n"


def _show(_: Sphinx, document: nodes.document) -> None:
    for block in document.findall(nodes.literal_block):
        text = block.astext()
        if not text.startswith(MAGIC):
            continue
        lines = text.removeprefix(MAGIC).splitlines()
        continued = [False, *(line.endswith("\\") for line in lines[:-1])]
        shown = "\n".join(
            line if more else f"$ {line}" for line, more in zip(lines, continued, strict=True)
        )
        block.children = [nodes.Text(shown)]
        block.rawsource = shown
        block["language"] = "console"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the change."""
    app.connect("doctree-read", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
