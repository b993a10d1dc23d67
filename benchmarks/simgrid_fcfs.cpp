// Strict first come, first served on a fat-tree in SimGrid, for simgrid_fcfs.py.
//
// Reads from standard input: levels; m, w and p bottom level first; bandwidth in bytes per second;
// number of jobs; and for each job, in the order of submission: submit, nodes, compute, iterations,
// steps; for each step its flows, then source rank, destination rank and bytes of each. The first
// job in line starts on the lowest-numbered free nodes as soon as there are enough; an iteration
// computes, then makes its steps, each of which ends with its last flow. Writes the CPU seconds of
// the simulation, without building the platform, and begin and end of each job. The options make
// rates plain max-min; more of them may stand on the command line. SimGrid cuts what it sends to
// whole bytes, so sizes and bandwidths are told in parts of a byte (by default 2^20; UNITS on the
// command line, of which 1 leaves bytes as they are).

#include <cstdio>
#include <ctime>
#include <deque>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

namespace sg4 = simgrid::s4u;

struct Flow {
  unsigned from, to;
  double bytes;
};

struct Job {
  double submit, compute, begin, end;
  unsigned size, iterations;
  std::vector<std::vector<Flow>> steps;
  std::vector<unsigned> nodes;
};

static double units = 1048576.0;
static std::vector<sg4::Host*> hosts;
static std::set<unsigned> free_nodes;
static std::deque<Job*> line;

static void serve();

static void run(Job* job)
{
  for (unsigned i = 0; i < job->iterations; ++i) {
    sg4::this_actor::sleep_for(job->compute);
    for (const auto& step : job->steps) {
      std::vector<sg4::CommPtr> open;
      for (const Flow& flow : step)
        open.push_back(sg4::Comm::sendto_async(hosts[job->nodes[flow.from]], hosts[job->nodes[flow.to]],
                                                static_cast<uint64_t>(flow.bytes * units)));
      for (const auto& comm : open)
        comm->wait();
    }
  }
  job->end = sg4::Engine::get_clock();
  free_nodes.insert(job->nodes.begin(), job->nodes.end());
  serve();
}

static void serve()
{
  while (!line.empty() && free_nodes.size() >= line.front()->size) {
    Job* job = line.front();
    line.pop_front();
    job->begin = sg4::Engine::get_clock();
    auto last = free_nodes.begin();
    std::advance(last, job->size);
    job->nodes.assign(free_nodes.begin(), last);
    free_nodes.erase(free_nodes.begin(), last);
    sg4::Actor::create("job", hosts[0], run, job);
  }
}

int main(int argc, char* argv[])
{
  sg4::Engine engine(&argc, argv);
  for (const char* option : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                             "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0"})
    engine.set_config(option);

  if (argc > 1)
    units = std::stod(argv[1]);
  unsigned levels;
  std::cin >> levels;
  std::vector<unsigned> m(levels), w(levels), p(levels);
  for (auto* list : {&m, &w, &p})
    for (unsigned& value : *list)
      std::cin >> value;
  double bandwidth;
  std::size_t n_jobs;
  std::cin >> bandwidth >> n_jobs;
  std::vector<Job> jobs(n_jobs);
  for (Job& job : jobs) {
    std::size_t n_steps, n_flows;
    std::cin >> job.submit >> job.size >> job.compute >> job.iterations >> n_steps;
    job.steps.resize(n_steps);
    for (auto& step : job.steps) {
      std::cin >> n_flows;
      step.resize(n_flows);
      for (Flow& flow : step)
        std::cin >> flow.from >> flow.to >> flow.bytes;
    }
  }

  auto add_host = [](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    hosts.push_back(zone->create_host("n" + std::to_string(id), 1e9));
    return hosts.back();
  };
#if SIMGRID_VERSION >= 40000
  auto* tree = engine.get_netzone_root()->add_netzone_fatTree("tree", levels, m, w, p, bandwidth * units, 0.0,
                                                              sg4::Link::SharingPolicy::SPLITDUPLEX);
  tree->set_host_cb(add_host);
#else
  auto add_point = [&add_host](sg4::NetZone* zone, const std::vector<unsigned long>& place, unsigned long id) {
    auto* point = add_host(zone, place, id)->get_netpoint();
    return std::make_pair(point, static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
  };
  auto* tree = sg4::create_fatTree_zone("tree", nullptr, {levels, m, w, p}, {add_point, {}, {}}, bandwidth * units,
                                        0.0, sg4::Link::SharingPolicy::SPLITDUPLEX);
#endif
  tree->seal();

  for (unsigned node = 0; node < hosts.size(); ++node)
    free_nodes.insert(node);
  sg4::Actor::create("users", hosts[0], [&jobs]() {
    for (Job& job : jobs) {
      sg4::this_actor::sleep_until(job.submit);
      line.push_back(&job);
      serve();
    }
  });
  const std::clock_t begin = std::clock();
  engine.run();
  std::printf("%.6f\n", static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  for (const Job& job : jobs)
    std::printf("%.15g %.15g\n", job.begin, job.end);
  return 0;
}
