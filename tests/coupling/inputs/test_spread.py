"""Runs under routings that fix no path."""

import pytest

import fabricsim as fs

_TREE = {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "parallel": [1, 1]}


def ran(routing, **changes):
    """Run some synthetic jobs on scattered nodes."""
    fields = {
        "topology": _TREE,
        "workload": {"generator": "synth", "mean_nodes": 6, "n_jobs": 30, "max_nodes": 16},
        "allocator": "random",
        "model": "fluid",
        "routing": routing,
    } | changes
    return fs.run(fs.Experiment(**fields))


def test_a_run_tells_the_links_of_a_pool_evenly_and_never_over_full():
    free, fixed = (ran(name).links.set_index("link") for name in ("adaptive", "d-mod-k"))
    up = [f"s1.{leaf}>s2." for leaf in range(4)]

    for name in up:
        assert free.loc[f"{name}0", "bytes"] == pytest.approx(free.loc[f"{name}1", "bytes"])
        assert free.loc[f"{name}0", "bytes"] > 0.0
    assert free["busy_fraction"].max() <= 1.0
    assert free["bytes"].sum() == pytest.approx(fixed["bytes"].sum(), rel=0.05)


def test_jobs_hold_each_other_up_less_where_switches_choose():
    means = {name: ran(name).summary["mean_interference"] for name in ("adaptive", "d-mod-k")}

    assert 1.0 < means["adaptive"] < means["d-mod-k"]


_TORUS = {"kind": "torus", "dims": [4, 4]}
_DRAGONFLY = {"kind": "dragonfly", "groups": 5, "routers": 2, "nodes_per_router": 2}


@pytest.mark.parametrize(
    ("machine", "usual"), [(_TORUS, "dimension-order"), (_DRAGONFLY, "minimal")]
)
def test_packets_over_many_paths_hold_each_other_up_less(machine, usual):
    means = {
        name: ran(name, topology=machine).summary["mean_interference"]
        for name in ("adaptive", usual)
    }

    assert 1.0 < means["adaptive"] < means[usual]


def test_a_run_of_the_exact_model_on_a_torus_is_refused_by_name():
    with pytest.raises(
        fs.FabricsimError,
        match=r"'adaptive' on the fabric \(4 x 4 torus.*model 'flow-level' needs a sing",
    ):
        ran("adaptive", topology=_TORUS, model="flow-level")
