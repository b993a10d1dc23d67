"""What all tests share: reference data that lies beside the repository, where present."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared():
    """Return a function that gives the path of reference data, or skips where it is absent."""

    def locate(relative):
        path = SHARED / relative
        if not path.exists():
            pytest.skip(f"reference data {relative} is not present beside the repository")
        return path

    return locate
