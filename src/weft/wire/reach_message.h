// The messages by which two peers that cannot dial each other are brought together by a third.
//
//   introduce     = attempt 16, peer, relay u8          (asker -> any peer that both are linked to)
//   introduction  = attempt 16, peer, asker u8, endpoint text, endpoint text   (to both)
//   relay_offer   = attempt 16, peer, asker u8, token 32, token 32, count u32, endpoint text ...
//   reach_refused = attempt 16, text
//
// `attempt` is drawn by the asker. An introduction tells what the introducer sees of the other
// side: where its control and its bulk connection come from. A relay offer names the relay's own
// endpoints and the two tokens, of the control and the bulk lane, that buy this side its half.
//
// A preface opens a connection that is no plain dial, before any encryption:
//
//   preface = "WEFTRLY1", pass 32                         (to a relay)
//           | "WEFTPCH1", mark 16, lane u8, asker u8, zero u8[14]      (punched; both sides say it)
//
// The pass is a hash of the token and the mark one of the attempt: whoever listens at an address
// that somebody else named gets no bytes that anybody chose.
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
// Good for one connection, and for a few seconds.
using RelayToken = std::array<std::uint8_t, 32>;

// What a preface shows of either.
RelayToken relay_pass(const RelayToken& token);
ReachAttempt punch_mark(const ReachAttempt& attempt);

struct IntroduceMessage {
  ReachAttempt attempt{};
  // Whom the asker wants.
  PeerId peer;
  // A relay is wanted: a punched connection has been tried, or cannot come about.
  bool relay = false;

  Bytes encode() const;
  static Result<IntroduceMessage> decode(ByteSpan bytes);
};

struct IntroductionMessage {
  ReachAttempt attempt{};
  // The other side.
  PeerId peer;
  // This side asked, and says hello.
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
  // Control lane, bulk lane.
  std::array<RelayToken, 2> tokens{};
  // Of the relay.
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
  // Of kRelay.
  RelayToken pass{};
  // Of kPunch.
  ReachAttempt mark{};
  std::uint8_t lane = 0;
  bool asker = false;

  // Always kPrefaceBytes.
  Bytes encode() const;
  static Result<PrefaceMessage> decode(ByteSpan bytes);
};
// No other connection begins with it.
inline constexpr std::uint8_t kPrefaceFirstByte = 'W';

}  // namespace weft
