// check_engine(): what holds for every Engine, run by all its members at once. For tests.
//
// Threads: one of each member.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/collective/engine.h"

namespace weft {

class EngineChecks {
 public:
  explicit EngineChecks(Engine& engine)
      : engine_(engine), rank_(engine.rank()), size_(engine.size()) {}

  // The first thing that does not hold, or ok.
  Status run() {
    for (const std::size_t elements :
         {std::size_t{1}, std::size_t{33}, std::size_t{5000}, std::size_t{300000}}) {
      WEFT_TRY(all_reduce(elements).with_context(fmt::format("all-reduce of {}", elements)));
      WEFT_TRY(scatter_and_gather(elements).with_context(fmt::format("parts of {}", elements)));
      WEFT_TRY(broadcast(elements).with_context(fmt::format("broadcast of {}", elements)));
    }
    WEFT_TRY(barrier().with_context("barrier"));
    WEFT_TRY(ring_of_messages().with_context("point to point"));
    WEFT_TRY(several_at_once().with_context("several at once"));
    return engine_.all_reduce(span_of(one_, 1), span_of(two_, 2), options())->wait(kLimit).code() ==
                   Code::kInvalidArgument
               ? Status()
               : internal_error("lengths that do not fit were taken");
  }

 private:
  static constexpr Duration kLimit = std::chrono::seconds(30);

  static CallOptions options(std::uint16_t channel = 0) {
    CallOptions made;
    made.channel = channel;
    made.limit = kLimit;
    return made;
  }
  template <std::size_t N>
  static std::span<float> span_of(std::array<float, N>& values, std::size_t size) {
    return std::span<float>(values).first(size);
  }
  // The same at all members.
  static std::vector<float> input_of(int rank, std::size_t elements) {
    Rng rng(static_cast<std::uint64_t>(rank) * 977 + elements);
    std::vector<float> values(elements);
    for (float& x : values) x = static_cast<float>(rng.uniform() * 2 - 1);
    return values;
  }
  Status near(std::span<const float> got, std::size_t offset, std::size_t elements) const {
    std::vector<double> want(elements, 0.0);
    for (int rank = 0; rank < size_; ++rank) {
      const std::vector<float> input = input_of(rank, elements);
      for (std::size_t i = 0; i < elements; ++i) want[i] += static_cast<double>(input[i]);
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::abs(static_cast<double>(got[i]) - want[offset + i]) > 1e-6 * size_) {
        return internal_error(
            fmt::format("element {}: expected {}, got {}", offset + i, want[offset + i], got[i]));
      }
    }
    return {};
  }
  // All members hold these very bits.
  Status same_everywhere(std::span<const float> values) {
    const Hash128 hash = xxh3_128(as_bytes(values));
    std::array<float, 4> own{};
    std::memcpy(own.data(), hash.data(), sizeof own);
    std::vector<float> all(own.size() * static_cast<std::size_t>(size_));
    WEFT_TRY(engine_.all_gather(own, all, options())->wait(kLimit));
    for (std::size_t i = 0; i < all.size(); i += own.size()) {
      if (std::memcmp(all.data() + i, own.data(), sizeof own) != 0) {
        return internal_error(fmt::format("rank {} holds other bits", i / own.size()));
      }
    }
    return {};
  }

  Status all_reduce(std::size_t elements) {
    const std::vector<float> input = input_of(rank_, elements);
    std::vector<float> output(elements);
    WEFT_TRY(engine_.all_reduce(input, output, options())->wait(kLimit));
    WEFT_TRY(near(output, 0, elements));
    WEFT_TRY(same_everywhere(output));
    std::vector<float> in_place = input;
    WEFT_TRY(engine_.all_reduce(in_place, in_place, options())->wait(kLimit));
    WEFT_TRY(near(in_place, 0, elements));
    return input == input_of(rank_, elements) ? Status() : internal_error("the input was changed");
  }
  Status scatter_and_gather(std::size_t part) {
    const std::size_t elements = part * static_cast<std::size_t>(size_);
    const std::vector<float> input = input_of(rank_, elements);
    std::vector<float> own(part);
    WEFT_TRY(engine_.reduce_scatter(input, own, options())->wait(kLimit));
    WEFT_TRY(near(own, part * static_cast<std::size_t>(rank_), elements));
    std::vector<float> all(elements);
    WEFT_TRY(engine_.all_gather(own, all, options())->wait(kLimit));
    WEFT_TRY(near(all, 0, elements));
    return same_everywhere(all);
  }
  Status broadcast(std::size_t elements) {
    for (int root = 0; root < size_; root += 2) {
      std::vector<float> values = input_of(rank_, elements);
      WEFT_TRY(engine_.broadcast(values, root, options())->wait(kLimit));
      if (values != input_of(root, elements)) {
        return internal_error(fmt::format("root {}: other values", root));
      }
    }
    return {};
  }
  Status barrier() {
    for (int i = 0; i < 5; ++i) WEFT_TRY(engine_.barrier(options())->wait(kLimit));
    return {};
  }
  Status ring_of_messages() {
    if (size_ == 1) return {};
    const int next = (rank_ + 1) % size_;
    const int previous = (rank_ + size_ - 1) % size_;
    for (const std::size_t elements : {std::size_t{3}, std::size_t{200000}}) {
      const std::vector<float> given = input_of(rank_, elements);
      std::vector<float> taken(elements);
      const auto sending = engine_.send(given, next, options(1));
      const auto receiving = engine_.receive(taken, previous, options(1));
      WEFT_TRY(receiving->wait(kLimit));
      WEFT_TRY(sending->wait(kLimit));
      if (taken != input_of(previous, elements)) return internal_error("other values came");
    }
    return {};
  }
  Status several_at_once() {
    constexpr std::size_t kCalls = 6;
    std::vector<std::vector<float>> outputs(kCalls, std::vector<float>(40000));
    const std::vector<float> input = input_of(rank_, 40000);
    std::vector<std::unique_ptr<Work>> calls;
    for (std::size_t i = 0; i < kCalls; ++i) {
      // The members begin them in different orders; each channel has one.
      const std::size_t at = (i + static_cast<std::size_t>(rank_)) % kCalls;
      CallOptions made = options(static_cast<std::uint16_t>(at));
      made.priority = static_cast<Priority>(at % kPriorities);
      calls.push_back(engine_.all_reduce(input, outputs[at], made));
    }
    for (const auto& call : calls) WEFT_TRY(call->wait(kLimit));
    for (const auto& output : outputs) WEFT_TRY(near(output, 0, 40000));
    return {};
  }

  Engine& engine_;
  const int rank_;
  const int size_;
  std::array<float, 1> one_{};
  std::array<float, 2> two_{};
};

inline Status check_engine(Engine& engine) { return EngineChecks(engine).run(); }

}  // namespace weft
