// swarm_sim: runs whole swarms in the simulator over many seeds; see swarm_world.h.
//
//   swarm_sim [--peers N] [--seeds A..B | --seed S] [--rounds N] [--local STEPS [--overlap]]
//             [--late] [--records] [--stuck] [--mesh N] [--verbose]
//
// Prints the hash of each seed's events and the seeds that fail, and runs the first seed twice: the
// same seed must repeat itself.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "weft/sim/swarm_world.h"

namespace weft::sim {
namespace {

struct Arguments {
  SwarmWorldOptions world;
  std::uint64_t first = 1;
  std::uint64_t last = 40;
};

[[noreturn]] void usage(const std::string& fault) {
  std::fprintf(
      stderr,
      "%s\nusage: swarm_sim [--peers N] [--seeds A..B | --seed S] [--rounds N] "
      "[--local STEPS [--overlap]] [--late] [--records] [--stuck] [--mesh N] [--verbose]\n",
      fault.c_str());
  std::exit(2);
}

std::uint64_t number(const std::string& text) {
  try {
    return std::stoull(text);
  } catch (const std::exception&) {
    usage("expected a number, got '" + text + "'");
  }
}

Arguments parse(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--verbose") {
      out.world.verbose = true;
      continue;
    }
    if (name == "--records") {
      out.world.records = true;
      continue;
    }
    if (name == "--late") {
      out.world.late = true;
      continue;
    }
    if (name == "--stuck") {
      out.world.stuck = true;
      continue;
    }
    if (name == "--overlap") {
      out.world.overlap = true;
      continue;
    }
    if (i + 1 == argc) usage("no value for " + name);
    const std::string value = argv[++i];
    if (name == "--peers") {
      out.world.peers = static_cast<int>(number(value));
    } else if (name == "--rounds") {
      out.world.rounds = number(value);
    } else if (name == "--mesh") {
      out.world.mesh_members = static_cast<int>(number(value));
    } else if (name == "--local") {
      out.world.local_steps = static_cast<std::int64_t>(number(value));
    } else if (name == "--seed") {
      out.first = out.last = number(value);
    } else if (const auto dots = value.find(".."); name == "--seeds" && dots != value.npos) {
      out.first = number(value.substr(0, dots));
      out.last = number(value.substr(dots + 2));
    } else {
      usage("unknown: " + name + " " + value);
    }
  }
  return out;
}

SwarmReport run_seed(SwarmWorldOptions options, std::uint64_t seed) {
  options.seed = seed;
  return SwarmWorld(options).run();
}

int run(const Arguments& arguments) {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  SwarmReport sum;
  for (std::uint64_t seed = arguments.first; seed <= arguments.last; ++seed) {
    SwarmReport report = run_seed(arguments.world, seed);
    if (seed == arguments.first && report.fault.empty()) {
      const SwarmReport again = run_seed(arguments.world, seed);
      if (again.trace_hash != report.trace_hash) report.fault = "the seed does not repeat itself";
      if (again.state_hash != report.state_hash) report.fault = "the seed ends in another state";
    }
    ++(report.fault.empty() ? passed : failed);
    std::printf("seed %llu: trace %016llx\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(report.trace_hash));
    if (!report.fault.empty()) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), report.fault.c_str());
    }
    sum.views += report.views;
    sum.reruns += report.reruns;
    sum.joins += report.joins;
    sum.events += report.events;
    sum.gave_up += report.gave_up;
    sum.finished += report.finished;
    sum.accuracy += report.accuracy;
    sum.late += report.late;
    sum.overdue += report.overdue;
    sum.parked_max = std::max(sum.parked_max, report.parked_max);
    sum.connected_max = std::max(sum.connected_max, report.connected_max);
  }
  std::printf("%s views, %s reruns, %s joins, %s events, %d peers finished, %d gave up\n",
              std::to_string(sum.views).c_str(), std::to_string(sum.reruns).c_str(),
              std::to_string(sum.joins).c_str(), std::to_string(sum.events).c_str(), sum.finished,
              sum.gave_up);
  if (arguments.world.late) {
    std::printf("%s parts of rounds came too late\n", std::to_string(sum.late).c_str());
  }
  if (arguments.world.mesh_members > 0) {
    std::printf("at most %s parked links and %s connected peers at one member\n",
                std::to_string(sum.parked_max).c_str(), std::to_string(sum.connected_max).c_str());
  }
  if (arguments.world.stuck) {
    std::printf("%s times a member was put out while it computed\n",
                std::to_string(sum.overdue).c_str());
  }
  if (arguments.world.local_steps > 0) {
    std::printf("mean accuracy %.3f\n",
                sum.accuracy / static_cast<double>(arguments.last - arguments.first + 1));
  }
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(passed),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::sim

int main(int argc, char** argv) { return weft::sim::run(weft::sim::parse(argc, argv)); }
