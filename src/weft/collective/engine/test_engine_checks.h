// check_engine(): what holds for every Engine, run by all its members at once. For tests.
//
// Threads: one of each member.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/collective/engine/engine.h"
#include "weft/collective/engine/gather_bytes.h"
#include "weft/wire/collective_message.h"

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
    for (const std::size_t bytes_max : {std::size_t{200}, kReportBytesMax}) {
      WEFT_TRY(reports(bytes_max).with_context(fmt::format("reports up to {}", bytes_max)));
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
      if (!std::ranges::equal(as_bytes(std::span<const float>(all).subspan(i, own.size())),
                              as_bytes(std::span<const float>(own)))) {
        return internal_error(fmt::format("rank {} holds other bits", i / own.size()));
      }
    }
    return {};
  }

  // A report of a length from 0 on, including the maximum; by rank, the same at all members.
  Bytes report_of(int rank, std::size_t bytes_max) const {
    const std::size_t length = rank == size_ - 1 ? bytes_max : 37 * static_cast<std::size_t>(rank);
    Bytes report(std::min(length, bytes_max));
    for (std::size_t i = 0; i < report.size(); ++i) {
      report[i] = static_cast<std::uint8_t>(0xff - 13 * i - static_cast<std::size_t>(rank));
    }
    return report;
  }
  Status reports(std::size_t bytes_max) {
    const Result<std::vector<Bytes>> got =
        gather_bytes(engine_, report_of(rank_, bytes_max), bytes_max, options());
    WEFT_TRY(got.status());
    if (got->size() != static_cast<std::size_t>(size_)) return internal_error("not one a member");
    for (int rank = 0; rank < size_; ++rank) {
      if ((*got)[static_cast<std::size_t>(rank)] != report_of(rank, bytes_max)) {
        return internal_error(fmt::format("that of rank {} is another one", rank));
      }
    }
    const Status longer =
        gather_bytes(engine_, Bytes(bytes_max + 1), bytes_max, options()).status();
    if (longer.code() != Code::kInvalidArgument) return internal_error("a byte too many was taken");
    // One that says more than it may is found out by all. Its own second exchange would find
    // nobody, so this is tried with what goes in one.
    if (size_ == 1 || bytes_max > 200) return {};
    const std::size_t own_max = rank_ == 0 ? bytes_max + 1 : bytes_max;
    const Bytes too_long(rank_ == 0 ? bytes_max + 1 : 1);
    const Result<std::vector<Bytes>> refused = gather_bytes(engine_, too_long, own_max, options());
    return rank_ == 0 || refused.status().code() == Code::kCorrupt
               ? Status()
               : internal_error("more than may be was taken");
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
