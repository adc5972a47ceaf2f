#include "weft/base/rng.h"

#include <cmath>

#include "weft/base/check.h"
#include "weft/base/portable_math.h"

namespace weft {
namespace {

constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); }

}  // namespace

PhiloxCounter philox4x32(PhiloxCounter c, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * c[0];
    const std::uint64_t product1 = kMultiplier1 * c[2];
    c = {high(product1) ^ c[1] ^ key[0], low(product1), high(product0) ^ c[3] ^ key[1],
         low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return c;
}

float to_unit_float(std::uint32_t word) {
  return static_cast<float>(word >> 8U) * (1.0F / 16777216.0F);
}

Rng::Rng(std::uint64_t seed, std::uint64_t stream)
    : key_{low(seed), high(seed)}, counter_{0, 0, low(stream), high(stream)} {}

std::uint32_t Rng::next_u32() {
  if (used_ == 4) {
    block_ = philox4x32(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t Rng::next_u64() {
  const std::uint64_t first = next_u32();
  return (first << 32U) | next_u32();
}

double Rng::uniform() {
  return static_cast<double>(next_u64() >> 11U) * (1.0 / 9007199254740992.0);
}

std::uint64_t Rng::below(std::uint64_t bound) {
  WEFT_CHECK(bound > 0);
  // Reject the first 2^64 mod bound values, so that every remainder is equally likely.
  const std::uint64_t reject = (0 - bound) % bound;
  std::uint64_t value = next_u64();
  while (value < reject) value = next_u64();
  return value % bound;
}

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * portable_log(1.0 - uniform()));
  return radius * portable_cos(6.283185307179586 * uniform());
}

}  // namespace weft
