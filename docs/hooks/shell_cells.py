"""Cells of ``%%sh`` become consoles, whose commands alone are copied; ``%%writefile`` files."""

from docutils import nodes
from sphinx.application import Sphinx


def _show(_: Sphinx, document: nodes.document) -> None:
    for block in list(document.findall(nodes.literal_block)):
        magic, _, text = block.astext().partition("\n")
        if magic == "%%sh":
            _replace(block, _console(text), "console")
        elif magic.startswith("%%writefile "):
            _replace(block, text, magic.rpartition(".")[2])
            # What the cell prints says nothing to a reader.
            for output in block.parent.parent.findall(lambda node: "cell_output" in _classes(node)):
                output.children = []


def _classes(node: nodes.Node) -> list[str]:
    return node["classes"] if isinstance(node, nodes.Element) else []


def _console(text: str) -> str:
    lines = text.splitlines()
    continued = [False, *(line.endswith("\\") for line in lines[:-1])]
    return "\n".join(
        line if more else f"$ {line}" for line, more in zip(lines, continued, strict=True)
    )


def _replace(block: nodes.literal_block, text: str, language: str) -> None:
    block.children = [nodes.Text(text)]
    block.rawsource = text
    block["language"] = language


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the change."""
    app.connect("doctree-read", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
