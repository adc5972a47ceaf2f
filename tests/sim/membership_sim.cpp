// membership_sim: runs simulated memberships for many seeds and checks what must always hold.
//
//   membership_sim --seeds 1..1000 --peers 64 --jobs 2
//   membership_sim --seed 77 --peers 8 --trace
//   membership_sim --seeds 1..300 --peers 5 --hostile    (one that was a member lies to the others)
//
// Every seed gives the same run each time. Ends with the number of seeds and of faults found, and
// with status 1 if there was one.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/thread.h"
#include "weft/sim/membership/simulation.h"

namespace {

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t last = 10;
  int peers = 8;
  int jobs = 1;
  bool trace = false;
  bool merge = false;
  bool hostile = false;
  bool records = false;
};

int usage() {
  std::fprintf(stderr,
               "usage: membership_sim [--seeds A..B | --seed S] [--peers N] [--jobs N] [--merge] "
               "[--hostile] [--records] [--trace]\n");
  return 2;
}

// False for what is no usable command line.
bool parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--merge") {
      out.merge = true;
      continue;
    }
    if (name == "--hostile") {
      out.hostile = true;
      continue;
    }
    if (name == "--records") {
      out.records = true;
      continue;
    }
    if (name == "--trace") {
      out.trace = true;
      continue;
    }
    if (++i >= argc) return false;
    const std::string value = argv[i];
    if (name == "--seeds") {
      const std::size_t dots = value.find("..");
      if (dots == std::string::npos) return false;
      out.first = std::strtoull(value.c_str(), nullptr, 10);
      out.last = std::strtoull(value.c_str() + dots + 2, nullptr, 10);
    } else if (name == "--seed") {
      out.first = out.last = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--peers") {
      out.peers = std::atoi(value.c_str());
    } else if (name == "--jobs") {
      out.jobs = std::atoi(value.c_str());
    } else {
      return false;
    }
  }
  return out.peers >= 1 && out.peers <= 256 && out.jobs >= 1 && out.jobs <= 64 &&
         out.first <= out.last;
}

struct Tally {
  std::uint64_t faulty = 0;
  std::uint64_t views = 0;
  std::uint64_t rounds = 0;
  std::uint64_t faults = 0;
  std::uint64_t events = 0;
  std::uint64_t quorum_lost = 0;
  std::uint64_t branches = 0;
  std::uint64_t merges = 0;
};

void run_one(std::uint64_t seed, const Arguments& arguments, weft::Guarded<Tally>& tally) {
  weft::SimulationOptions options;
  options.seed = seed;
  options.peers = arguments.peers;
  options.trace = arguments.trace;
  options.merge = arguments.merge;
  options.hostile = arguments.hostile;
  options.records = arguments.records;
  const weft::SimulationResult result = weft::simulate(options);
  tally.with([&](Tally& sum) {
    sum.views += result.views;
    sum.rounds += result.rounds;
    sum.faults += result.faults;
    sum.events += result.events;
    sum.branches += result.branches;
    sum.merges += result.merges;
    sum.quorum_lost += result.quorum_lost ? 1 : 0;
    const bool single = arguments.first == arguments.last;
    if (!result.fault.empty() || single) {
      std::printf("seed %llu: %s (trace %016llx, %llu views, %llu rounds%s)\n",
                  static_cast<unsigned long long>(seed),
                  result.fault.empty() ? "ok" : result.fault.c_str(),
                  static_cast<unsigned long long>(result.trace_hash),
                  static_cast<unsigned long long>(result.views),
                  static_cast<unsigned long long>(result.rounds),
                  result.quorum_lost ? ", quorum lost" : "");
      std::fflush(stdout);
    }
    if (!result.fault.empty()) ++sum.faulty;
  });
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return usage();
  weft::Guarded<Tally> tally;
  weft::Atomic<std::uint64_t> next = arguments.first;
  {
    std::vector<weft::Thread> threads;
    for (int job = 0; job < arguments.jobs; ++job) {
      threads.emplace_back([&] {
        for (std::uint64_t seed = next++; seed <= arguments.last; seed = next++) {
          run_one(seed, arguments, tally);
        }
      });
    }
  }
  return tally.with([&](const Tally& sum) {
    std::printf(
        "%llu seeds of %d peers: %llu faulty; %llu faults played, %llu views, %llu rounds, "
        "%llu events, %llu branches, %llu merges, %llu runs lost their quorum for good\n",
        static_cast<unsigned long long>(arguments.last - arguments.first + 1), arguments.peers,
        static_cast<unsigned long long>(sum.faulty), static_cast<unsigned long long>(sum.faults),
        static_cast<unsigned long long>(sum.views), static_cast<unsigned long long>(sum.rounds),
        static_cast<unsigned long long>(sum.events), static_cast<unsigned long long>(sum.branches),
        static_cast<unsigned long long>(sum.merges),
        static_cast<unsigned long long>(sum.quorum_lost));
    return sum.faulty == 0 ? 0 : 1;
  });
}
