// The messages with which two transports make and end a link; no folder above net sees them.
//
//   hello       = magic u32, version u16, lane u8, from peer, to peer, link 16, instance u64
//   hello_reply = verdict u8, from peer, instance u64, text
//   goodbye     = code u8, text
//   shortcut    = name 16, token 32    (control; the dialler listens at a socket of that name)
//   shortcut_hello = token 32          (first on a connection to it)
//   lane_moved  = to u8                (bulk; what follows comes by the connection of that number,
//                                      0 the first, or by the shortcut: 255)
//   alive       = answer u8            (control; 0: do you answer? 1: I do)
//   connections = count u8             (control; from the dialler: how many carry the bulk lane;
//                                      from the other side: how many it wishes for)
//
// One hello opens each connection of a link, and the dialler sends first; connections with the same
// `link` belong together. `instance` is drawn when a transport starts, which distinguishes a
// restarted peer from one that dialled twice. While a link to a peer stands and answers, no other
// process is accepted as that peer.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

inline constexpr std::uint32_t kLinkMagic = 0x74666577;  // "weft"
inline constexpr std::uint16_t kLinkVersion = 1;
inline constexpr std::size_t kLinkTextBytesMax = 512;
// The bulk lane of one link has at most this many connections.
inline constexpr std::size_t kBulkConnectionsMax = 8;

using LinkId = std::array<std::uint8_t, 16>;

struct HelloMessage {
  std::uint16_t version = kLinkVersion;
  // 0 control, 1 bulk, 2 to 8 further connections of the bulk lane, in order.
  std::uint8_t lane = 0;
  PeerId from;
  // The peer that the dialler wants to reach.
  PeerId to;
  LinkId link{};
  std::uint64_t instance = 0;

  Bytes encode() const;
  // kCorrupt if the bytes are no hello; a hello of another version decodes, so that the version can
  // be reported.
  static Result<HelloMessage> decode(ByteSpan bytes);
};

enum class HelloVerdict : std::uint8_t {
  kAccepted = 0,
  // Both sides dial each other, and the replier's own dial is the one that stays.
  kWaitForMine = 1,
  kWrongPeer = 2,
  kWrongVersion = 3,
  kLinked = 4,
  // Another process with the dialler's key has a link that answers.
  kTwin = 5,
};

struct AliveMessage {
  bool answer = false;

  Bytes encode() const;
  static Result<AliveMessage> decode(ByteSpan bytes);
};

struct HelloReplyMessage {
  HelloVerdict verdict = HelloVerdict::kAccepted;
  PeerId from;
  std::uint64_t instance = 0;
  std::string text;

  Bytes encode() const;
  static Result<HelloReplyMessage> decode(ByteSpan bytes);
};

// For two peers on one machine: their bulk frames may go through memory instead
// (net/shm/shortcut.h).
struct ShortcutMessage {
  // The name of a socket that nobody else knows, written as hexadecimal digits.
  std::array<std::uint8_t, 16> name{};
  // Proves who connects to that socket.
  std::array<std::uint8_t, 32> token{};

  Bytes encode() const;
  static Result<ShortcutMessage> decode(ByteSpan bytes);
};

struct ShortcutHelloMessage {
  std::array<std::uint8_t, 32> token{};

  Bytes encode() const;
  static Result<ShortcutHelloMessage> decode(ByteSpan bytes);
};

struct LaneMovedMessage {
  static constexpr std::uint8_t kToShortcut = 255;
  std::uint8_t to = 0;

  Bytes encode() const;
  static Result<LaneMovedMessage> decode(ByteSpan bytes);
};

struct ConnectionsMessage {
  std::uint8_t count = 1;

  Bytes encode() const;
  static Result<ConnectionsMessage> decode(ByteSpan bytes);
};

struct GoodbyeMessage {
  Code code = Code::kUnavailable;
  std::string text;

  Bytes encode() const;
  static Result<GoodbyeMessage> decode(ByteSpan bytes);
};

}  // namespace weft
