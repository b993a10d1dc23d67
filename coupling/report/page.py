"""HTML of a report: one page, no network, readable on a phone, in print and in the dark."""

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root{color-scheme:light dark;--ink:#24292f;--soft:#57606a;--line:#d0d7de;
--back:#fff;--card:#f6f8fa}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--line:#3d444d;
--back:#0d1117;--card:#161b22}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1180px;margin:0 auto;padding:1.2rem clamp(.8rem,3vw,2rem) 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.6rem 0 .2rem}
h2{font-size:1.25rem;margin:2.6rem 0 .4rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
p,ul,dl{max-width:80ch}li{margin:.25rem 0}
.soft,figcaption,caption{color:var(--soft)}
nav a{margin-right:1rem;white-space:nowrap}a{color:inherit}
.short{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.4rem 1.2rem}
.short ul{padding-left:1rem;max-width:none}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,470px),1fr));
gap:1.2rem 2rem;margin:1rem 0}
figure{margin:0;min-width:0;max-width:620px}figcaption{font-size:.86rem;margin-top:.2rem}
svg{display:block;width:100%;height:auto}svg image{image-rendering:pixelated}
svg text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
.wide{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-size:.86rem;padding-bottom:.3rem}
th,td{padding:.28rem .55rem;text-align:right;border-bottom:1px solid var(--line);
white-space:nowrap;vertical-align:bottom}
th{font-weight:600}thead th{white-space:normal}
th:first-child,td:first-child{text-align:left;padding-left:0}
.text td,.text th{text-align:left;white-space:normal;overflow-wrap:anywhere;vertical-align:top}
.chip{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin-right:.45em}
details{margin:.8rem 0}summary{cursor:pointer;color:var(--soft)}
pre{overflow-x:auto;background:var(--card);padding:.8rem;border-radius:6px;font-size:.82rem}
dt{font-weight:600;margin-top:.6rem}dd{margin:0}
@media print{body{font-size:11px}nav,summary{display:none}figure,table{break-inside:avoid}
.figures{grid-template-columns:1fr 1fr}main{max-width:none;padding:0}}
"""
Html = str
"""HTML, as opposed to text that has yet to be escaped."""


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Html]],
    *,
    caption: str = "",
    kind: str = "numbers",
) -> Html:
    """
    Write a table.

    Parameters
    ----------
    headings : sequence of str
        Text.
    rows : iterable of sequence of HTML
        Cells, escaped by the caller.
    caption : str, optional
        Text above the table.
    kind : {"numbers", "text"}
        Numbers are set to the right, and their table scrolls sideways where it is too wide.

    Returns
    -------
    HTML
        The table.
    """
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = f"<thead><tr>{head}</tr></thead>" if headings else ""
    return (
        f'<div class="wide"><table class="{kind}">{title}{top}\n<tbody>\n{body}</tbody>'
        "</table></div>\n"
    )


def figures(pictures: Iterable[tuple[Html, str]]) -> Html:
    """
    Lay pictures beside each other, below each other on a phone.

    Parameters
    ----------
    pictures : iterable of (HTML, str)
        SVG and caption.

    Returns
    -------
    HTML
        The pictures.
    """
    blocks = "".join(
        f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>\n"
        for picture, caption in pictures
    )
    return f'<div class="figures">\n{blocks}</div>\n' if blocks else ""


def paragraph(text: str, kind: str = "") -> Html:
    """
    Write a paragraph.

    Parameters
    ----------
    text : str
        Text.
    kind : str, optional
        Class in the style sheet.

    Returns
    -------
    HTML
        The paragraph.
    """
    return f'<p class="{kind}">{escape(text)}</p>\n' if kind else f"<p>{escape(text)}</p>\n"


def bullets(lines: Iterable[str]) -> Html:
    """
    Write a list.

    Parameters
    ----------
    lines : iterable of str
        Text.

    Returns
    -------
    HTML
        The list.
    """
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>\n"


def details(summary: str, content: Html) -> Html:
    """
    Hide content until it is asked for.

    Parameters
    ----------
    summary : str
        Text that stays visible.
    content : HTML
        What it hides.

    Returns
    -------
    HTML
        The block.
    """
    return f"<details><summary>{escape(summary)}</summary>\n{content}</details>\n"


def label(name: str, colour: str) -> Html:
    """
    Write the name of a run with its colour.

    Parameters
    ----------
    name : str
        The run.
    colour : str
        As ``#rrggbb``.

    Returns
    -------
    HTML
        The name.
    """
    return f'<span class="chip" style="background:{colour}"></span>{escape(name)}'


def page(title: str, subtitle: str, short: Html, sections: Sequence[tuple[str, Html]]) -> Html:
    """
    Write the page.

    Parameters
    ----------
    title, subtitle : str
        Text on top.
    short : HTML
        The result in short.
    sections : sequence of (str, HTML)
        Heading and content; a section without content is left out.

    Returns
    -------
    HTML
        A document that needs no other file.
    """
    shown = [(heading, content) for heading, content in sections if content]
    links = "".join(
        f'<a href="#{index}">{escape(heading)}</a> ' for index, (heading, _) in enumerate(shown)
    )
    body = "".join(
        f'<section>\n<h2 id="{index}">{escape(heading)}</h2>\n{content}</section>\n'
        for index, (heading, content) in enumerate(shown)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(title)}</h1>\n<p class="soft">{escape(subtitle)}</p>\n'
        f'<div class="short">{short}</div>\n<nav><p>{links}</p></nav>\n{body}'
        "</main>\n</body>\n</html>\n"
    )
