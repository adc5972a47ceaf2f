// Any bytes as the answer of a STUN server: refused, or an address of bounded length.
#include <cstddef>
#include <cstdint>

#include "weft/base/check.h"
#include "weft/wire/stun_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reply = weft::StunReply::decode(weft::ByteSpan(data, size));
  if (!reply.ok()) {
    WEFT_CHECK(reply.status().code() == weft::Code::kCorrupt);
    return 0;
  }
  WEFT_CHECK(reply->address.size() == 4 || reply->address.size() == 16);
  return 0;
}
