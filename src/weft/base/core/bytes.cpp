#include "weft/base/bytes.h"

#include <array>

namespace weft {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase32Digits = "abcdefghijklmnopqrstuvwxyz234567";

// The value of `digit`, or -1.
int digit_value(std::string_view digits, char digit) {
  const char lower = (digit >= 'A' && digit <= 'Z') ? static_cast<char>(digit - 'A' + 'a') : digit;
  const std::size_t at = digits.find(lower);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

SharedBytes::SharedBytes(Bytes bytes) {
  auto owner = std::make_shared<const Bytes>(std::move(bytes));
  view_ = *owner;
  owner_ = std::move(owner);
}

SharedBytes SharedBytes::slice(std::size_t offset, std::size_t length) const {
  WEFT_CHECK(offset <= size() && length <= size() - offset);
  return {owner_, view_.subspan(offset, length)};
}

ByteSpan as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string to_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string to_hex(ByteSpan bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(kHexDigits[byte >> 4U]);
    text.push_back(kHexDigits[byte & 15U]);
  }
  return text;
}

Result<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return invalid_argument("hex: expected an even number of digits, got " +
                            std::to_string(text.size()));
  }
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_value(kHexDigits, text[i]);
    const int low = digit_value(kHexDigits, text[i + 1]);
    if (high < 0 || low < 0) {
      return invalid_argument("hex: expected digits 0-9 a-f, got '" +
                              std::string(text.substr(i, 2)) + "'");
    }
    bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  return bytes;
}

std::string to_base32(ByteSpan bytes) {
  std::string text;
  text.reserve((bytes.size() * 8 + 4) / 5);
  unsigned buffer = 0;
  int bits = 0;
  for (const std::uint8_t byte : bytes) {
    buffer = ((buffer << 8U) | byte) & 0xffffU;
    for (bits += 8; bits >= 5; bits -= 5) {
      text.push_back(kBase32Digits[(buffer >> static_cast<unsigned>(bits - 5)) & 31U]);
    }
  }
  if (bits > 0) text.push_back(kBase32Digits[(buffer << static_cast<unsigned>(5 - bits)) & 31U]);
  return text;
}

Result<Bytes> from_base32(std::string_view text) {
  Bytes bytes;
  bytes.reserve(text.size() * 5 / 8);
  unsigned buffer = 0;
  int bits = 0;
  for (const char digit : text) {
    const int value = digit_value(kBase32Digits, digit);
    if (value < 0) {
      return invalid_argument("base32: expected letters a-z and digits 2-7, got '" +
                              std::string(1, digit) + "'");
    }
    buffer = ((buffer << 5U) | static_cast<unsigned>(value)) & 0xffffU;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::uint8_t>(buffer >> static_cast<unsigned>(bits)));
    }
  }
  const unsigned rest = buffer & ((1U << static_cast<unsigned>(bits)) - 1U);
  if (bits >= 5 || rest != 0) {
    return invalid_argument("base32: expected whole bytes, got " + std::to_string(text.size()) +
                            " digits with bits left over");
  }
  return bytes;
}

bool equal_constant_time(ByteSpan a, ByteSpan b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace weft
