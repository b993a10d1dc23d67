// Replays a schedule of jobs in SimGrid: starts as given, ends as its network has them.
//
//   g++ -O2 -o replay replay.cpp -lsimgrid && ./replay platform.xml schedule.txt > jobs.csv
//
// A job of the schedule is: job ID SUBMIT START NODES ITERATIONS COMPUTE STEPS, times in seconds, and for each
// step: step FLOWS, then FLOWS lines FROM TO BYTES, with ranks of the job. Each iteration computes, then makes
// its steps one after the other; a step starts all its flows together and ends with the last of them. Writes
// the columns of Batsim's jobs.csv that `fabricsim compare RESULT --with jobs.csv` reads.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

struct Flow {
  sg4::Host* from;
  sg4::Host* to;
  double bytes;
};

struct Job {
  std::string id;
  double submit = 0.0, start = 0.0, compute = 0.0, end = 0.0;
  unsigned long nodes = 0, iterations = 0;
  std::vector<std::vector<Flow>> steps;
};

static void run(Job* job)
{
  sg4::this_actor::sleep_until(job->start);
  for (unsigned long i = 0; i < job->iterations; ++i) {
    sg4::this_actor::sleep_for(job->compute);
    for (const auto& step : job->steps) {
      std::vector<sg4::CommPtr> open;
      for (const Flow& flow : step)
        open.push_back(sg4::Comm::sendto_async(flow.from, flow.to, flow.bytes));
      for (const auto& comm : open)
        comm->wait();
    }
  }
  job->end = sg4::Engine::get_clock();
}

static sg4::Host* host(const std::string& job, const std::string& rank)
{
  return sg4::Host::by_name("j" + job + "." + rank);
}

int main(int argc, char* argv[])
{
  sg4::Engine engine(&argc, argv);
  if (argc != 3) {
    std::cerr << "usage: replay platform.xml schedule.txt\n";
    return 2;
  }
  engine.load_platform(argv[1]);
  std::ifstream file(argv[2]);
  std::vector<Job> jobs;
  std::string word, from, to;
  while (file >> word && word == "job") {
    Job job;
    std::size_t steps = 0;
    file >> job.id >> job.submit >> job.start >> job.nodes >> job.iterations >> job.compute >> steps;
    job.steps.resize(steps);
    for (auto& step : job.steps) {
      std::size_t flows = 0;
      file >> word >> flows;
      for (std::size_t i = 0; i < flows; ++i) {
        Flow flow;
        file >> from >> to >> flow.bytes;
        flow.from = host(job.id, from);
        flow.to = host(job.id, to);
        step.push_back(flow);
      }
    }
    jobs.push_back(job);
  }
  if (!file.eof() || jobs.empty()) {
    std::cerr << argv[2] << ": not a schedule\n";
    return 2;
  }
  sg4::Host* anywhere = engine.get_all_hosts().front();
  for (Job& job : jobs)
    sg4::Actor::create("job " + job.id, anywhere, run, &job);
  engine.run();
  std::printf("job_id,submission_time,requested_number_of_resources,starting_time,finish_time\n");
  for (const Job& job : jobs)
    std::printf("%s,%.15g,%lu,%.15g,%.15g\n", job.id.c_str(), job.submit, job.nodes, job.start, job.end);
  return 0;
}
