// TestSeeds: the seeds of a test that does one thing over many of them. For tests.
//
// They are all of [first, last], unless the environment has WEFT_SEED_SLICE=COUNT:TEXT: then they
// are COUNT of them, drawn by TEXT. ./test sets that under sanitizers, where a seed takes ten times
// as long, with the commit as the text, so that each commit looks at other seeds; the release build
// runs all of them (docs/HACKING.md).
// Threads: values. Fails: never; a variable that is not of that form changes nothing.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/rng.h"

namespace weft {

class TestSeeds {
 public:
  // REQUIRES: first <= last.
  TestSeeds(std::uint64_t first, std::uint64_t last)
      // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment meanwhile.
      : TestSeeds(first, last, std::getenv("WEFT_SEED_SLICE")) {}  // tidy: allow getenv: for tests

  TestSeeds(std::uint64_t first, std::uint64_t last, const char* slice) {
    for (std::uint64_t seed = first; seed <= last; ++seed) seeds_.push_back(seed);
    const std::string_view text = slice == nullptr ? "" : slice;
    std::size_t count = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (failure != std::errc() || count == 0 || count >= seeds_.size()) return;
    const Hash128 hash =
        xxh3_128(as_bytes(text.substr(static_cast<std::size_t>(end - text.data()))));
    Rng rng(hash[0] | hash[1] << 8U | hash[2] << 16U, 0x5eed);
    for (std::size_t i = 0; i < count; ++i) {
      std::swap(seeds_[i], seeds_[i + rng.below(seeds_.size() - i)]);
    }
    seeds_.resize(count);
    std::sort(seeds_.begin(), seeds_.end());
    whole_ = false;
  }

  auto begin() const { return seeds_.begin(); }
  auto end() const { return seeds_.end(); }
  std::size_t size() const { return seeds_.size(); }
  // Whether they are all: what only many seeds show is expected of these alone.
  bool whole() const { return whole_; }

 private:
  std::vector<std::uint64_t> seeds_;
  bool whole_ = true;
};

}  // namespace weft
