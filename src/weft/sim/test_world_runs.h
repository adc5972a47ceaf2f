// Runs of one world that must not differ. For tests.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/sim/world.h"

namespace weft::sim {

// Whether `run`, which gives the WorldResult of one world, has the same events and the same state
// with one, two and three threads. Returns the hash of the events.
template <class Run>
std::uint64_t expect_same_events(const Run& run) {
  std::set<std::uint64_t> hashes;
  std::set<std::string> states;
  const int before = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    const WorldResult result = run();
    EXPECT_EQ(result.fault, "");
    hashes.insert(result.event_hash);
    states.insert(result.state_hash);
  }
  set_thread_count(before);
  EXPECT_EQ(hashes.size(), 1U);
  EXPECT_EQ(states.size(), 1U);
  return *hashes.begin();
}

}  // namespace weft::sim
