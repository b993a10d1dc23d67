"""Names, options and numbers by hand of the contention models of the dictionary."""

from itertools import takewhile

import pytest
from measured.scenes import Stream

from netsim.common.errors import ContentionError, NetsimError
from netsim.registries.contention_models import CONTENTION_MODELS, make_contention_model

NAMES = sorted(CONTENTION_MODELS)


def first_jobs(tree, seed):
    """Return jobs that start before the first one ends."""
    events = Stream(tree, seed, 12, random_nodes=True).events()
    return [
        (job, traffic) for _, job, traffic in takewhile(lambda event: event[0] == "start", events)
    ]


@pytest.mark.parametrize("name", NAMES)
class TestEveryModel:
    """What models promise in runs stands in tests/contracts/test_models.py."""

    def test_notices_jobs_that_share_a_link(self, fabric, traffic, name):
        """Messages of many packets, as a packet alone would wait for nobody."""
        model = make_contention_model(name, fabric([1e6] * 3))
        for job in range(2):
            model.start(job, traffic([[(job, 1e6, [job, 2], 0.1)]], 0.5, 3))

        assert (model.solve()[1] > 1.05) == (name != "null")

    def test_refuses_options_it_does_not_have(self, tree, name):
        with pytest.raises(ContentionError, match=f"{name}': unknown option 'colour'"):
            make_contention_model(name, tree, options={"colour": 1})


def test_an_unknown_name_lists_the_choices(tree):
    with pytest.raises(ContentionError, match=r"unknown contention model 'fats'; choose from flow"):
        make_contention_model("fats", tree)


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_fairness_lists_the_choices(tree, name):
    with pytest.raises(NetsimError, match="per-sender, per-flow"):
        make_contention_model(name, tree, fairness="fair")


@pytest.mark.parametrize("options", [{"tolerance": 2.0}, {"seed": -1}])
def test_values_out_of_range_are_refused_before_the_first_job(tree, options):
    with pytest.raises(ContentionError, match=next(iter(options))):
        make_contention_model("fluid", tree, options=options)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("fluid", {"seed": 2.5}, "seed: expected a whole number from .*, got 2.5"),
        ("fluid", {"seed": True}, "seed: expected a whole number from .*, got True"),
        ("fluid", {"tolerance": [0.1]}, "tolerance: expected a number, got"),
        ("fluid", {"tolerance": "0.1"}, "tolerance: expected a number, got '0.1'"),
        ("fluid", {"tolerance": float("nan")}, "tolerance: expected a number, got nan"),
        ("flow-level", {"seed": None}, "seed: expected a whole number from .*, got None"),
        ("exact", {}, "contention model: expected 'flow-level', as it is called now"),
    ],
)
def test_what_is_no_number_is_refused(tree, name, options, expected):
    with pytest.raises(ContentionError, match=expected):
        make_contention_model(name, tree, options=options)


def test_exact_simulates_the_jobs_from_offsets_of_their_own(fabric, traffic):
    """Three jobs that always communicate over one link take three times as long, always."""
    links = fabric([1.0] * 4)
    busy = make_contention_model("flow-level", links)
    for job in range(3):
        busy.start(job, traffic([[(job, 1.0, [job, 3], 0.0)]], 0.0, 4))
    assert busy.solve() == pytest.approx({0: 3.0, 1: 3.0, 2: 3.0}, rel=1e-9)

    values = []
    for seed in (0, 0, 1):
        model = make_contention_model("flow-level", links, options={"seed": seed})
        for job in range(3):
            model.start(job, traffic([[(job, 1.0 + 0.1 * job, [job, 3], 0.0)]], 1.0, 4))
        values.append(dict(model.solve()))
        assert model.worst_link(0) == -1
        assert model.blame(0) == {}
    assert values[0] == values[1] != values[2]
