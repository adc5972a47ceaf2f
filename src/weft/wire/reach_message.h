// The messages by which two peers that cannot dial each other are brought together by a third.
//
//   introduce     = attempt 16, peer, relay u8          (asker -> any peer that both are linked to)
//   introduction  = attempt 16, peer, asker u8, endpoint text, endpoint text   (to both)
//   relay_offer   = attempt 16, peer, asker u8, token 32, token 32, count u32, endpoint text ...
//   reach_refused = attempt 16, text
//
// The asker draws `attempt`. An introduction reports what the introducer sees of the other side:
// the source addresses of its control and its bulk connection. A relay offer names the relay's own
// endpoints and two tokens, for the control and the bulk lane, with which this side claims its
// half.
//
// A preface opens a connection that is not a plain dial, before any encryption:
//
//   preface = "WEFTRLY1", pass 32                         (to a relay)
//           | "WEFTPCH1", mark 16, lane u8, asker u8, zero u8[14]     (punched; both sides send it)
//
// The pass is a hash of the token, the mark a hash of the attempt: so a listener at an address that
// a third party named receives no bytes that anybody chose.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

inline constexpr std::size_t kReachEndpointBytesMax = 96;
inline constexpr std::size_t kReachEndpointsMax = 4;
inline constexpr std::size_t kReachTextBytesMax = 256;
inline constexpr std::size_t kPrefaceBytes = 40;

using ReachAttempt = std::array<std::uint8_t, 16>;
// Valid for one connection and a few seconds.
using RelayToken = std::array<std::uint8_t, 32>;

// What a preface carries in place of a token or of an attempt.
RelayToken relay_pass(const RelayToken& token);
ReachAttempt punch_mark(const ReachAttempt& attempt);

struct IntroduceMessage {
  ReachAttempt attempt{};
  // The peer that the asker wants to reach.
  PeerId peer;
  // The asker wants a relay: a punched connection has failed, or is impossible.
  bool relay = false;

  Bytes encode() const;
  static Result<IntroduceMessage> decode(ByteSpan bytes);
};

struct IntroductionMessage {
  ReachAttempt attempt{};
  // The other side.
  PeerId peer;
  // This side asked, and sends the hello.
  bool asker = false;
  // "host:port" of the other side's control and bulk connections, as the introducer sees them.
  std::array<std::string, 2> endpoints;

  Bytes encode() const;
  static Result<IntroductionMessage> decode(ByteSpan bytes);
};

struct RelayOfferMessage {
  ReachAttempt attempt{};
  PeerId peer;
  bool asker = false;
  // The tokens of the control lane and of the bulk lane.
  std::array<RelayToken, 2> tokens{};
  // The relay's own addresses.
  std::vector<std::string> endpoints;

  Bytes encode() const;
  static Result<RelayOfferMessage> decode(ByteSpan bytes);
};

struct ReachRefusedMessage {
  ReachAttempt attempt{};
  std::string text;

  Bytes encode() const;
  static Result<ReachRefusedMessage> decode(ByteSpan bytes);
};

enum class PrefaceKind : std::uint8_t { kRelay, kPunch };

struct PrefaceMessage {
  PrefaceKind kind = PrefaceKind::kRelay;
  // Set in kRelay.
  RelayToken pass{};
  // Set in kPunch.
  ReachAttempt mark{};
  std::uint8_t lane = 0;
  bool asker = false;

  // The length is always kPrefaceBytes.
  Bytes encode() const;
  static Result<PrefaceMessage> decode(ByteSpan bytes);
};
// No other kind of connection begins with this byte.
inline constexpr std::uint8_t kPrefaceFirstByte = 'W';

}  // namespace weft
