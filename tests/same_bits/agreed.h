// What a swarm must agree on bit by bit, as lines "NAME HASH", and the inputs for computing it.
//
// Inputs are made of integers and powers of two alone, so they are the same on every processor even
// where what is tested is not. Threads: one.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/rng.h"

namespace weft::same_bits {

// The lengths around those of vector registers and blocks, and two beyond.
inline constexpr std::size_t kLengths[] = {1, 7, 8, 15, 16, 17, 127, 128, 129, 1000, 4097};

// What is hashed for one line.
class Bits {
 public:
  // A NaN counts as one pattern: which of them an operation gives differs between processors.
  template <class Value>
  Bits& add(std::span<Value> values) {
    for (auto value : values) {
      if constexpr (std::is_floating_point_v<decltype(value)>) {
        if (value != value) value = std::numeric_limits<decltype(value)>::quiet_NaN();
      }
      const ByteSpan bytes = as_bytes(std::span<const decltype(value)>(&value, 1));
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    return *this;
  }
  template <class Value>
  Bits& add(const std::vector<Value>& values) {
    return add(std::span<const Value>(values));
  }
  Bits& add(double value) { return add(std::span<const double>(&value, 1)); }

  std::string hash() const;

 private:
  Bytes bytes_;
};

// NAME and HASH of each line, in the order of their computing.
using Lines = std::vector<std::pair<std::string, std::string>>;

// Powers of two between which the magnitudes of random values are.
struct Magnitudes {
  const char* name;
  int least;
  int most;
};
inline constexpr Magnitudes kNormal = {"normal", -6, 3};
inline constexpr Magnitudes kTiny = {"tiny", -148, -120};  // some are denormal
inline constexpr Magnitudes kHuge = {"huge", 55, 90};      // the squares of some are infinite
inline constexpr Magnitudes kAllMagnitudes[] = {kNormal, kTiny, kHuge};

void fill(std::span<float> values, const Magnitudes& magnitudes, Rng& rng);
std::vector<float> random_values(std::size_t size, const Magnitudes& magnitudes, Rng& rng);
// Values of all magnitudes, with zeros of both signs, infinities and NaN among them.
std::vector<float> odd_values(std::size_t size, Rng& rng);

// Each adds its lines. They throw std::logic_error where something cannot be made.
void add_optimizers(Lines& lines);
void add_clipping(Lines& lines);
void add_schedules(Lines& lines);
void add_random_numbers(Lines& lines);
void add_initial_values(Lines& lines);
void add_codecs(Lines& lines);
void add_sums(Lines& lines);
void add_aggregators(Lines& lines);
void add_gates(Lines& lines);
void add_codes(Lines& lines);
void add_replayed(Lines& lines);

}  // namespace weft::same_bits
