"""An allocator of one's own that chooses badly is told what was expected of it."""

import numpy as np
import pytest

from netsim.topology.fattree import build_fat_tree
from scheduler import NodeChooser
from scheduler.allocators import ALLOCATORS, make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job


@pytest.mark.parametrize("chosen", [3, np.int64(3), [0, "n1"], [0, 1.5], [[0], [1]], [None, 1]])
def test_what_is_no_list_of_node_numbers_is_refused(chosen):
    class Own(NodeChooser):
        def choose(self, *_):
            return chosen

    cluster = Cluster(build_fat_tree([2, 2], [1, 2], [1, 1], 1e9))
    job = Job(id=7, submit_s=0.0, n_nodes=2, runtime_s=1.0, requested_s=None)

    with pytest.raises(AllocationError, match="expected numbers of nodes for job 7, got"):
        Own().allocate(job, cluster)


def test_what_has_no_method_allocate_is_refused(monkeypatch):
    monkeypatch.setitem(ALLOCATORS, "own", type("Own", (), {}))

    with pytest.raises(AllocationError, match="'own': expected a method allocate, it is missing"):
        make_allocator("own", {}, seed=1)
