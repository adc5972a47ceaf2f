// explore_views: every order of events of a small membership, see explorer.h.
//
//   explore_views --members 3 --joiners 1 --crashes 1 --ballots 1
//
// Ends with the number of worlds, and with status 1 and the way to the fault if there is one.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "weft/sim/membership/explorer.h"

namespace {

int usage() {
  std::fprintf(stderr,
               "usage: explore_views [--members N] [--joiners N] [--crashes N] [--suspicions N]\n"
               "                     [--leaves N] [--ballots N] [--ballots-in-all N] [--rounds N]\n"
               "                     [--worlds-max N]\n");
  return 2;
}

bool parse(int argc, char** argv, weft::ExploreOptions& out) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const long long value = std::atoll(argv[i + 1]);
    if (value < 0) return false;
    if (name == "--worlds-max") {
      out.states_max = static_cast<std::uint64_t>(value);
      continue;
    }
    int* const slot = name == "--members"          ? &out.members
                      : name == "--joiners"        ? &out.joiners
                      : name == "--crashes"        ? &out.crashes
                      : name == "--suspicions"     ? &out.suspicions
                      : name == "--leaves"         ? &out.leaves
                      : name == "--ballots"        ? &out.ballots
                      : name == "--ballots-in-all" ? &out.ballots_in_all
                      : name == "--rounds"         ? &out.rounds
                                                   : nullptr;
    if (slot == nullptr || value > 100) return false;
    *slot = static_cast<int>(value);
  }
  return argc % 2 == 1 && out.members >= 1 && out.members + out.joiners <= 8;
}

unsigned long long number(std::uint64_t value) { return value; }

}  // namespace

int main(int argc, char** argv) {
  weft::ExploreOptions options;
  if (!parse(argc, argv, options)) return usage();
  options.progress = [](std::uint64_t worlds) {
    std::fprintf(stderr, "%llu million worlds\n", number(worlds / 1'000'000));
  };
  const weft::ExploreResult result = weft::explore(options);
  for (std::size_t i = 0; i < result.path.size(); ++i) {
    std::printf("%4zu  %s\n", i + 1, result.path[i].c_str());
  }
  if (!result.fault.empty()) std::printf("FAULT: %s\n", result.fault.c_str());
  std::printf(
      "%d members, %d joiners, %d crashes, %d suspicions, %d leaves, %d ballots each, %d rounds: "
      "%llu worlds%s, %llu transitions, %llu ends, %llu views, at most %llu events in a row\n",
      options.members, options.joiners, options.crashes, options.suspicions, options.leaves,
      options.ballots, options.rounds, number(result.worlds),
      result.complete ? " (all)" : " (stopped)", number(result.transitions), number(result.ends),
      number(result.views), number(result.depth_max));
  return result.fault.empty() ? 0 : 1;
}
