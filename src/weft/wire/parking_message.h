// The messages of parked links (net/parking_transport.h): a link whose connections are closed while
// its control frames travel through other members.
//
//   park_ask    = nonce 16                     (may our link be parked?)
//   park_answer = agreed u8                    (if so, what follows is sealed)
//   park_done   = empty                        (control: what follows is sealed; bulk: nothing
//                                               follows)
//   park_resume = name 16                      (first on a new link: the parked one that it
//                                               continues; zeros: it continues none)
//   routed      = origin peer, target peer, hops u8, sealed bytes
//
// `sealed` is a packet under a key that only origin and target have:
//
//   parked_packet = kind u8, sequence u64, acknowledged u64, payload bytes
//   parked_frame  = type u8, head bytes, body bytes            (the payload of kind kFrame)
#pragma once

#include <array>
#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

using ParkNonce = std::array<std::uint8_t, 16>;
using ParkName = std::array<std::uint8_t, 16>;

// A frame of more bytes, its head and body together, is not routed: its link is opened again.
inline constexpr std::size_t kRoutedFrameBytesMax = 32 * 1024;
// A sealed packet that contains such a frame is no larger.
inline constexpr std::size_t kRoutedBytesMax = kRoutedFrameBytesMax + 128;
// A packet passes through at most so many members.
inline constexpr std::uint8_t kRoutedHopsMax = 16;

struct ParkAskMessage {
  ParkNonce nonce{};
  Bytes encode() const;
  static Result<ParkAskMessage> decode(ByteSpan bytes);
};

struct ParkAnswerMessage {
  bool agreed = false;
  Bytes encode() const;
  static Result<ParkAnswerMessage> decode(ByteSpan bytes);
};

struct ParkDoneMessage {
  Bytes encode() const { return {}; }
  static Result<ParkDoneMessage> decode(ByteSpan bytes);
};

struct ParkResumeMessage {
  ParkName name{};
  Bytes encode() const;
  static Result<ParkResumeMessage> decode(ByteSpan bytes);
};

struct RoutedMessage {
  PeerId origin;
  PeerId target;
  // How many members may still forward it; in [0, kRoutedHopsMax].
  std::uint8_t hops = kRoutedHopsMax;
  Bytes sealed;
  Bytes encode() const;
  static Result<RoutedMessage> decode(ByteSpan bytes);
};

enum class ParkedKind : std::uint8_t {
  // With a sequence number: delivered in order, once, and acknowledged.
  kFrame = 0,
  kBeat = 1,    // nothing else was sent for a while
  kHangUp = 2,  // the connections may be closed
  kUnpark = 3,  // further control frames come by the link's own connections
  // Without one.
  kAcknowledgement = 4,
  kProbe = 5,  // does the way through the members work?
  kProbeReply = 6,
  kEnd = 7,  // the link is ended; the payload is the reason for people
};
inline constexpr ParkedKind kLastParkedKind = ParkedKind::kEnd;
constexpr bool is_sequenced(ParkedKind kind) { return kind <= ParkedKind::kUnpark; }

struct ParkedPacket {
  ParkedKind kind = ParkedKind::kFrame;
  // From 1; 0 exactly for kinds without one.
  std::uint64_t sequence = 0;
  // All packets of the other side up to this one have arrived.
  std::uint64_t acknowledged = 0;
  Bytes payload;
  Bytes encode() const;
  static Result<ParkedPacket> decode(ByteSpan bytes);
};

struct ParkedFrame {
  std::uint8_t type = 0;
  Bytes head;
  Bytes body;
  Bytes encode() const;
  static Result<ParkedFrame> decode(ByteSpan bytes);
};

}  // namespace weft
