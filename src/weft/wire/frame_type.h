// The number of every frame type, in one place, so that no two families share one.
//
//   0x01-0x0f  links: used inside net, never shown above it
//   0x10-0x2f  membership
//   0x30-0x4f  collectives
//   0x50-0x6f  state transfer
#pragma once

#include <cstdint>

namespace weft::frame_type {

// Links (wire/link_message.h).
inline constexpr std::uint8_t kHello = 0x01;
inline constexpr std::uint8_t kHelloReply = 0x02;
inline constexpr std::uint8_t kGoodbye = 0x03;
inline constexpr std::uint8_t kLastLinkType = 0x0f;

}  // namespace weft::frame_type
