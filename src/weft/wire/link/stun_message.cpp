#include "weft/wire/stun_message.h"

#include <algorithm>

namespace weft {

namespace {

constexpr std::uint16_t kBindingRequest = 0x0001;
constexpr std::uint16_t kBindingReply = 0x0101;
constexpr std::uint16_t kMappedAddress = 0x0001;
constexpr std::uint16_t kXorMappedAddress = 0x0020;
constexpr std::array<std::uint8_t, 4> kCookie = {0x21, 0x12, 0xa4, 0x42};
constexpr std::size_t kStunHeadBytes = 20;
constexpr std::size_t kAttributeHeadBytes = 4;

// REQUIRES: at + 2 <= bytes.size().
std::uint16_t big_u16(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8U | bytes[at + 1]);
}

// The value of one of the two attributes: zero u8, family u8, port u16, address. The mask of a
// plain address is empty; the other's is cookie and transaction.
bool read_address(ByteSpan value, ByteSpan mask, StunReply& out) {
  if (value.size() < 8) return false;
  const std::uint8_t family = value[1];
  const std::size_t size = family == 1 ? 4 : 16;
  if (family != 1 && family != 2) return false;
  if (value.size() != 4 + size) return false;
  out.port = big_u16(value, 2);
  if (!mask.empty()) out.port = static_cast<std::uint16_t>(out.port ^ big_u16(mask, 0));
  const ByteSpan address = value.subspan(4);
  out.address.assign(address.begin(), address.end());
  for (std::size_t i = 0; i < mask.size() && i < size; ++i) out.address[i] ^= mask[i];
  return true;
}

}  // namespace

Bytes StunRequest::encode() const {
  Bytes bytes = {0, kBindingRequest, 0, 0};
  bytes.insert(bytes.end(), kCookie.begin(), kCookie.end());
  bytes.insert(bytes.end(), transaction.begin(), transaction.end());
  return bytes;
}

Result<StunReply> StunReply::decode(ByteSpan bytes) {
  if (bytes.size() < kStunHeadBytes || bytes.size() > kStunReplyBytesMax) {
    return corrupt("stun_reply: expected 20 to 1500 bytes");
  }
  if (big_u16(bytes, 0) != kBindingReply) return corrupt("stun_reply.type: no binding answer");
  if (big_u16(bytes, 2) != bytes.size() - kStunHeadBytes) return corrupt("stun_reply.length");
  if (!std::equal(kCookie.begin(), kCookie.end(), bytes.begin() + 4)) {
    return corrupt("stun_reply.cookie");
  }
  StunReply reply;
  std::copy_n(bytes.begin() + 8, reply.transaction.size(), reply.transaction.begin());
  bool found = false;
  std::size_t at = kStunHeadBytes;
  while (at + kAttributeHeadBytes <= bytes.size()) {
    const std::uint16_t type = big_u16(bytes, at);
    const std::size_t size = big_u16(bytes, at + 2);
    at += kAttributeHeadBytes;
    if (size > bytes.size() - at) return corrupt("stun_reply.attribute: longer than the message");
    const ByteSpan value = bytes.subspan(at, size);
    if (type == kXorMappedAddress) {
      if (!read_address(value, bytes.subspan(4, 16), reply)) {
        return corrupt("stun_reply.xor_mapped_address");
      }
      return reply;
    }
    if (type == kMappedAddress) found = read_address(value, {}, reply);
    at += std::min((size + 3) / 4 * 4, bytes.size() - at);
  }
  if (!found) return corrupt("stun_reply: expected an address");
  return reply;
}

}  // namespace weft
