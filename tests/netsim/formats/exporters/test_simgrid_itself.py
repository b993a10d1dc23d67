"""SimGrid 3.32 itself loads what is written, and finds the same routes, latencies, capacities."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from netsim.formats.exporters.registry import convert
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology

pytestmark = pytest.mark.heavy

PROGRAM = """
#include <simgrid/s4u.hpp>
#include <cstdio>
namespace sg4 = simgrid::s4u;
int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  engine.seal_platform();
  for (auto* a : engine.get_all_hosts())
    for (auto* b : engine.get_all_hosts()) {
      if (a == b) continue;
      std::vector<sg4::Link*> links;
      double latency = 0;
      a->route_to(b, links, &latency);
      printf("%s %s %.17g", a->get_cname(), b->get_cname(), latency);
      for (auto* l : links) printf(" %s %.17g", l->get_cname(), l->get_bandwidth());
      printf("\\n");
    }
}
"""


@pytest.fixture(scope="module")
def simgrid(tmp_path_factory):
    """Return a function that gives the routes of a platform, as SimGrid sees them."""
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/simgrid/s4u.hpp").exists():
        pytest.skip("needs g++ and libsimgrid-dev")
    folder = tmp_path_factory.mktemp("simgrid")
    (folder / "routes.cpp").write_text(PROGRAM)
    subprocess.run(  # noqa: S603 (our own program)
        [compiler, "-o", folder / "routes", folder / "routes.cpp", "-lsimgrid"], check=True
    )

    def routes(topology, routing=None):
        convert(topology, "simgrid-xml", folder / "platform.xml", routing)
        done = subprocess.run(  # noqa: S603 (our own program)
            [folder / "routes", folder / "platform.xml", "--log=root.thresh:warning"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stderr == ""
        for line in done.stdout.splitlines():
            source, target, latency, *links = line.split()
            yield source, target, float(latency), links[::2], list(map(float, links[1::2]))

    return routes


CASES = [
    (
        {
            "kind": "fat-tree",
            "children": [4, 3, 2],
            "parents": [1, 2, 2],
            "parallel": [1, 1, 3],
            "missing": ["n5", "s1.4"],
        },
        "d-mod-k",
    ),
    ({"kind": "torus", "dims": [4, 3], "duplex": "half", "nodes_per_router": 2}, "dimension-order"),
    ({"kind": "dragonfly", "groups": 4, "routers": [2, 3], "latency": "codes"}, "minimal"),
]


@pytest.mark.parametrize(("spec", "routing"), CASES)
def test_simgrid_takes_the_routes_that_are_written(simgrid, spec, routing):
    topology = make_topology(spec)
    chosen = make_routing(routing, topology)
    count = 0
    for source, target, latency, links, rates in simgrid(topology, chosen):
        ends = (np.array([topology.vertex_number(name)]) for name in (source, target))
        own = chosen.routes(*ends).links
        first = np.minimum(own, topology.reverse[own]) if topology.half_duplex else own
        assert links == [topology.link_name(int(link)) for link in first]
        assert rates == pytest.approx(topology.capacity[own].tolist(), rel=1e-12)
        wanted = topology.path_latency_s(np.array([own.size]))[0]
        assert latency == pytest.approx(wanted, rel=1e-12, abs=1e-18)
        count += 1
    assert count == topology.usable_nodes.size * (topology.usable_nodes.size - 1)


@pytest.mark.parametrize(("spec", "routing"), CASES)
def test_simgrid_finds_shortest_paths_over_the_cables_that_are_written(simgrid, spec, routing):
    del routing
    topology = make_topology(spec)
    shortest = make_routing("shortest", topology)
    for source, target, _, links, _ in simgrid(topology):
        ends = (np.array([topology.vertex_number(name)]) for name in (source, target))
        assert len(links) == shortest.routes(*ends).hops[0]
