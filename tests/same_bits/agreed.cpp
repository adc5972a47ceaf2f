#include "agreed.h"

#include <cmath>

#include "weft/base/hash.h"

namespace weft::same_bits {

std::string Bits::hash() const { return to_hex(xxh3_128(bytes_)); }

static float random_value(const Magnitudes& magnitudes, Rng& rng) {
  const auto powers = static_cast<std::uint64_t>(magnitudes.most - magnitudes.least);
  const int power = magnitudes.least + static_cast<int>(rng.below(powers));
  const float fraction = 1.0F + to_unit_float(rng.next_u32());
  return std::ldexp(rng.below(2) == 0 ? fraction : -fraction, power);
}

void fill(std::span<float> values, const Magnitudes& magnitudes, Rng& rng) {
  for (float& value : values) value = random_value(magnitudes, rng);
}

std::vector<float> random_values(std::size_t size, const Magnitudes& magnitudes, Rng& rng) {
  std::vector<float> values(size);
  fill(values, magnitudes, rng);
  return values;
}

std::vector<float> odd_values(std::size_t size, Rng& rng) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kOdd[] = {0.0F, -0.0F, kInfinity, -kInfinity,
                            std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> values(size);
  for (float& value : values) {
    const std::uint64_t kind = rng.below(300);
    value = kind < std::size(kOdd)
                ? kOdd[kind]
                : random_value(kAllMagnitudes[kind % std::size(kAllMagnitudes)], rng);
  }
  return values;
}

}  // namespace weft::same_bits
