"""Pollard18, section V-B: what the model is compared with."""

from coupling.papers import pollard18
from coupling.papers.pollard18 import SETTINGS, WorkloadRunner
from netsim.registries.contention_models import make_contention_model


def test_fluid_is_compared_without_the_buffers_that_flow_level_does_not_model(monkeypatch):
    """The last column alone has the buffers of the packet simulation, 64 KiB."""
    built = []

    def made(name, fabric):
        built.append((name, fabric.buffer_bytes))
        return make_contention_model(name, fabric)

    class Half:
        interference = 1.5

    monkeypatch.setattr(pollard18, "make_contention_model", made)
    monkeypatch.setattr(pollard18, "CHECKED", float("inf"))
    monkeypatch.setattr(
        pollard18, "simulate_jobs", lambda jobs, *_, **__: dict.fromkeys(jobs, Half)
    )

    rows = WorkloadRunner(SETTINGS[2]).against_exact(0)

    assert built == [("fluid", 0.0), ("fluid", 65536.0)]
    assert all(len(row) == 1 + len(built) and row[0] == 1.5 for row in rows)
