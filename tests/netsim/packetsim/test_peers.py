"""The packet simulation against another one (CODES on ROSS) on tori, meshes and dragonflies."""

import pytest
from measured.peers import BARS, compared, read
from sampling import sampled


@pytest.fixture(scope="module")
def document():
    """Return the scenes and what the other program said of them."""
    return read()


@pytest.mark.parametrize(
    "name",
    sampled(
        [
            "dragonfly, minimal, channels first come",
            "dragonfly, Valiant, channels first come",
            "torus, dateline",
            "mesh, no bubble",
        ],
        {"dragonfly, Valiant, channels first come", "mesh, no bubble"},
    ),
)
def test_jobs_of_some_scenes_take_as_long_as_there(document, name):
    """A sample of the scenes; these runs differ in nothing that is known to matter."""
    found = compared(document, name, 5)
    q = found.quantities()

    assert found.own.n_cases == 4
    assert found.contended >= 5
    assert q["alone mean"] <= 1.0
    assert q["mean"] <= 1.0
    assert q["contended"] <= 1.5
    assert 0.9 <= q["bias"] <= 1.1


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted({bar[0] for bar in BARS}))
def test_all_jobs_of_all_scenes_meet_their_bars(document, name):
    """As the evidence has it."""
    found = compared(document, name).quantities()
    bars = [bar[1:] for bar in BARS if bar[0] == name]

    assert [found[key] for key, low, high in bars if not low <= found[key] <= high] == []
