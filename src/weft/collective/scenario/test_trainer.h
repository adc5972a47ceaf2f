// TestTrainer: training whose every state is known beforehand, so that any wrong sum shows.
//
// The state is a vector of small whole numbers held in f32, and the gradient of each item of the
// global batch depends on the state and the item alone. All sums are exact; so the state after a
// round is the same at any history of crashes and joins, and trained() gives it without a network.
// Threads: one owner. For tests.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/collective/core/swarm_core.h"

namespace weft {

class TestTrainer {
 public:
  static constexpr int kGlobalBatch = 24;

  explicit TestTrainer(std::size_t elements) : state_(elements) {
    for (std::size_t i = 0; i < elements; ++i) state_[i] = static_cast<float>(mix(i) % kModulus);
  }

  virtual ~TestTrainer() = default;
  TestTrainer(const TestTrainer&) = default;
  TestTrainer& operator=(const TestTrainer&) = default;

  virtual std::uint64_t round() const { return round_; }
  virtual std::size_t elements() const { return state_.size(); }
  const std::vector<float>& state() const { return state_; }

  // The sum of the gradients, for the next round, of the items that one of `members` computes.
  virtual std::vector<float> shard(int rank, int members) const {
    return items(kGlobalBatch * rank / members, kGlobalBatch * (rank + 1) / members);
  }
  // The items [begin, end) of the global batch.
  std::vector<float> items(int begin, int end) const {
    // An item's gradient at element i is (own value + 31 i + 7 state[i]) % 101. The sum of all of
    // them depends on what their own values do not, modulo 101: one look-up for each element.
    std::array<std::uint32_t, 101> table{};
    for (int item = begin; item < end; ++item) {
      const std::uint64_t salt =
          mix((round_ + 1) * kGlobalBatch + static_cast<std::uint64_t>(item));
      const auto value = static_cast<std::uint32_t>(salt % 9973);
      for (std::uint32_t rest = 0; rest < 101; ++rest) table[rest] += (value + rest) % 101;
    }
    std::vector<float> sums(state_.size());
    // Plain pointers: tests are compiled without optimisation where a sanitizer is in the build.
    float* out = sums.data();
    std::uint32_t place = 0;
    for (const float *own = state_.data(), *last = own + sums.size(); own != last; ++own, ++out) {
      const std::uint32_t rest =
          (place + 7 * static_cast<std::uint32_t>(static_cast<std::int32_t>(*own))) % 101;
      *out = static_cast<float>(static_cast<std::int32_t>(table[rest]));
      place += 31;
    }
    return sums;
  }
  virtual void apply(std::span<const float> sums) {
    WEFT_CHECK(sums.size() >= state_.size());
    const float* sum = sums.data();
    for (float *own = state_.data(), *last = own + state_.size(); own != last; ++own, ++sum) {
      *own = rest_of(3 * *own + *sum);
    }
    ++round_;
  }
  // What a member has to say of that part, where rounds have reports.
  virtual Bytes report(int rank, int members) const {
    const std::string text = report_text(round() + 1, rank, members);
    return {text.begin(), text.end()};
  }
  static std::string report_text(std::uint64_t round, int rank, int members) {
    std::string text = "round " + std::to_string(round) + ", rank " + std::to_string(rank) +
                       " of " + std::to_string(members) + ' ';
    // From short ones to those that fill what a report may have.
    const std::size_t part = kReportBytesMax * (round + static_cast<std::uint64_t>(rank)) % 8192;
    text.resize(std::clamp(part, text.size(), kReportBytesMax), '.');
    return text;
  }
  // What all of a round's members had to say, before it is applied.
  virtual void hear(std::span<const Bytes> /*reports*/) {}
  // The mean of this state and of what serialise() gave elsewhere, with that weight.
  virtual Status merge(ByteSpan in, double weight) {
    TestTrainer other(0);
    if (Status loaded = other.load(in); !loaded.ok()) return loaded;
    if (other.elements() != elements()) return corrupt("state: another length");
    const auto part = static_cast<float>(weight);
    for (std::size_t i = 0; i < state_.size(); ++i) {
      state_[i] += part * (other.state_[i] - state_[i]);
    }
    return {};
  }
  // As a fault of memory would.
  void spoil_last() { state_.back() += 1; }

  // In two tensors, "first" and "second".
  virtual StateHash hash() const {
    const std::span<const float> values(state_);
    const std::size_t half = state_.size() / 2;
    StateHash hash;
    hash.total = xxh3_128(as_bytes(values));
    hash.tensors = {{"first", xxh3_128(as_bytes(values.first(half)))},
                    {"second", xxh3_128(as_bytes(values.subspan(half)))}};
    return hash;
  }

  virtual Bytes serialise() const {
    const std::size_t bytes = state_.size() * sizeof(float);
    Bytes out(sizeof round_ + bytes);
    std::memcpy(out.data(), &round_, sizeof round_);
    if (bytes > 0) std::memcpy(out.data() + sizeof round_, state_.data(), bytes);
    return out;
  }
  // Takes over the length, too.
  virtual Status load(ByteSpan in) {
    if (in.size() < sizeof round_) return corrupt("state: too short");
    state_.resize((in.size() - sizeof round_) / sizeof(float));
    std::memcpy(&round_, in.data(), sizeof round_);
    const std::size_t bytes = state_.size() * sizeof(float);
    if (bytes > 0) std::memcpy(state_.data(), in.data() + sizeof round_, bytes);
    return {};
  }

 private:
  static constexpr int kModulus = 4093;
  // fmod(value, kModulus), which is slow: what a round makes of whole states and gradients is below
  // four times the modulus, and each subtraction of it is exact.
  static float rest_of(float value) {
    constexpr auto kWhole = static_cast<float>(kModulus);
    if (!(value >= 0 && value < 4 * kWhole)) return std::fmod(value, kWhole);
    while (value >= kWhole) value -= kWhole;
    return value;
  }
  static std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31U);
  }

  std::uint64_t round_ = 0;
  std::vector<float> state_;
};

// What one machine alone would hold after `rounds`. Remembers the last answer.
inline const TestTrainer& trained(std::size_t elements, std::uint64_t rounds) {
  static TestTrainer trainer(0);
  if (trainer.elements() != elements || trainer.round() > rounds) trainer = TestTrainer(elements);
  while (trainer.round() < rounds) trainer.apply(trainer.shard(0, 1));
  return trainer;
}

}  // namespace weft
