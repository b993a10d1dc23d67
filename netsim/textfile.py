"""Files: texts as they are, packed by gzip or not."""

import zlib
from pathlib import Path

from netsim.errors import TopologyError

_MOST_BYTES = 512 * 2**20  # of a file, unpacked


def read_text_file(path: Path) -> str:
    """
    Read a text file that gzip may have packed.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        Its contents, without the marks of Windows.

    Raises
    ------
    TopologyError
        If it cannot be read, is too large or no text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if data[:2] == b"\x1f\x8b":
            unpack = zlib.decompressobj(wbits=31)
            data = unpack.decompress(data, _MOST_BYTES + 1)
            if len(data) <= _MOST_BYTES and not unpack.eof:
                raise TopologyError(f"{path}: cannot be read: the gzip file ends too early.")
        if len(data) > _MOST_BYTES:
            raise TopologyError(f"{path}: more than {_MOST_BYTES // 2**20} MiB, unpacked.")
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except zlib.error:
        raise TopologyError(f"{path}: cannot be read: the gzip file is damaged.") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise TopologyError(f"{path}:{line}: expected text in UTF-8.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, TopologyError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise TopologyError(f"{path}: cannot be read: {reason}.") from None
