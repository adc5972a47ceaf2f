#include "weft/io/tensorboard/crc32c.h"

#include <array>

namespace weft {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected
constexpr std::uint32_t kMaskDelta = 0xA282EAD8;

constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    table[i] = crc;
  }
  return table;
}();

}  // namespace

std::uint32_t crc32c(ByteSpan bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const std::uint8_t byte : bytes) crc = (crc >> 8U) ^ kTable[(crc ^ byte) & 0xFFU];
  return ~crc;
}

std::uint32_t masked_crc32c(ByteSpan bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15U) | (crc << 17U)) + kMaskDelta;
}

}  // namespace weft
