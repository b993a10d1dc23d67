"""Name maps: better names for GUIDs, as `--node-name-map` of the InfiniBand tools reads them."""

import re

from netsim.common.errors import TopologyError

_LINE = re.compile(r'(?:0x|[SH]-)?([0-9a-fA-F]{1,16})\s+(?:"([^"]+)"|(\S+))\s*(?:#.*)?')


def read_name_map(text: str, source: str) -> dict[str, str]:
    """
    Read a map of GUIDs to names.

    `text`: lines ``0x<guid> "name"`` or ``H-<guid> name``; ``#`` starts a comment; adapters of one
    host may share a name. Result: names by GUID in 16 hexadecimal digits.

    Examples
    --------
    >>> read_name_map('0x2c90300080e84 "login 1"', "example")
    {'0002c90300080e84': 'login 1'}
    """
    names: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise TopologyError(
                f"{source}:{number}: expected a GUID and a name, got {stripped[:60]!r}."
            )
        guid, name = match[1].lower().zfill(16), match[2] or match[3]
        if guid in names:
            raise TopologyError(f"{source}:{number}: GUID {guid} again.")
        names[guid] = name
    return names
