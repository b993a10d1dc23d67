// Flows on a fat-tree in SimGrid, for exact_vs_simgrid.py.
//
// Reads from standard input: levels; m, w and p bottom level first; bandwidth in bytes per
// second; number of flows; source, destination and bytes of each. All flows start at time 0.
// Writes the CPU seconds of the simulation, without building the platform, and then the
// finish time of each flow. The options make rates plain max-min: model CM02 without
// corrections and without cross traffic.

#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

int main(int argc, char* argv[])
{
  sg4::Engine engine(&argc, argv);
  for (const char* option : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                             "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0"})
    engine.set_config(option);

  unsigned levels;
  std::cin >> levels;
  std::vector<unsigned> m(levels), w(levels), p(levels);
  for (auto* list : {&m, &w, &p})
    for (unsigned& value : *list)
      std::cin >> value;
  double bandwidth;
  std::size_t n_flows;
  std::cin >> bandwidth >> n_flows;
  std::vector<std::size_t> src(n_flows), dst(n_flows);
  std::vector<double> bytes(n_flows), finish(n_flows);
  for (std::size_t f = 0; f < n_flows; ++f)
    std::cin >> src[f] >> dst[f] >> bytes[f];

  std::vector<sg4::Host*> hosts;
  auto add_host = [&hosts](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    hosts.push_back(zone->create_host("n" + std::to_string(id), 1e9));
    return std::make_pair(hosts.back()->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
  };
  auto* tree = sg4::create_fatTree_zone("tree", nullptr, {levels, m, w, p}, {add_host, {}, {}}, bandwidth, 0.0,
                                        sg4::Link::SharingPolicy::SPLITDUPLEX);
  tree->seal();

  sg4::Actor::create("flows", hosts[0], [&]() {
    std::vector<sg4::CommPtr> flows(n_flows);
    for (std::size_t f = 0; f < n_flows; ++f)
      flows[f] = sg4::Comm::sendto_async(hosts[src[f]], hosts[dst[f]], bytes[f]);
    for (std::size_t f = 0; f < n_flows; ++f) {
      flows[f]->wait();
      finish[f] = flows[f]->get_finish_time();
    }
  });
  const std::clock_t begin = std::clock();
  engine.run();
  std::printf("%.6f\n", static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  for (double time : finish)
    std::printf("%.15g\n", time);
  return 0;
}
