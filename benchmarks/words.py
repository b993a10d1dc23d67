"""
Count the words of the pages for users, and say which are longer than they should be.

    python -m benchmarks.words      # exit status 1 where a bound is passed

A word has a letter or a digit. Code blocks, comments and front matter do not count; tables do.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 38_000  # all pages for users
BOUNDS = {  # of pages, and of folders
    "README.md": 500,
    "CHANGELOG.md": 2_000,
    "CONTRIBUTING.md": 1_200,
    "docs/concepts/glossary.md": 900,
    "docs/concepts/model.md": 2_500,
    "docs/reference/commands": 5_000,
    "docs/research/finding.md": 900,
    **{
        f"docs/research/papers/{name}.md": 500
        for name in ("mishra20", "pollard18", "smith21", "stoltzfus13", "yang")
    },
}
NOTES = (  # what commands wrote
    "docs/research/conformance.md",
    "docs/research/logs.md",
    "docs/research/timings.md",
)
DEVELOPERS = "CONTRIBUTING.md"  # counts by itself
LEFT_OUT = re.compile(r"\A---\n.*?^---\n|^(```+).*?^\1|<!--.*?-->|^:.*?$", re.MULTILINE | re.DOTALL)


def words_of(text: str) -> int:
    """Return how many words a page has."""
    words = re.sub(r"\]\([^)\s]*\)", "]", LEFT_OUT.sub("", text)).split()
    return sum(any(letter.isalnum() for letter in word) for word in words)


def pages() -> dict[str, int]:
    """Return the words of each page for users."""
    names = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    names += sorted((ROOT / "docs").rglob("*.md"))
    found = {str(path.relative_to(ROOT)): path for path in names}
    return {
        name: words_of(path.read_text(encoding="utf-8"))
        for name, path in found.items()
        if name not in NOTES
    }


def main() -> int:
    """Print the counts."""
    argparse.ArgumentParser(
        "python -m benchmarks.words", None, __doc__.splitlines()[1]
    ).parse_args()
    counts = pages()
    for name, count in counts.items():
        print(f"{count:7,}  {name}")
    total = sum(counts.values()) - counts[DEVELOPERS]
    print(f"{total:7,}  for users, of {MOST:,}")
    long = [] if total <= MOST else [f"pages for users: more than {MOST:,}"]
    for name, most in BOUNDS.items():
        count = sum(
            own for page, own in counts.items() if page == name or page.startswith(f"{name}/")
        )
        if count > most:
            long.append(f"{name}: {count:,} words, expected at most {most:,}")
    print("\n".join(long))
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
