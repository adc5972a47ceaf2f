// MixMail: letters between members, each of which arrives once and in order, whatever becomes of
// the links.
//
// A letter is one vector with its message (wire/mix_message.h). Its sender keeps it until the other
// end has named it as received; what a link loses is sent again over the next one, which begins
// with how many letters each end has:
//
//   link up     ->  received n          both ends, at once
//   received n  ->  the letters from n on, piece by piece, as the link takes them
//   a letter is whole -> received n + 1
//
// Bounds: of each member at most kMixLettersMax letters wait here, and one letter that comes is
// kept, of the bytes that its type may have. Nothing is allocated before that is checked.
// Where it stands: MixNode owns one. It borrows a Transport and has no thread and no clock.
// Threads: one owner. Fails: kCorrupt for what no honest member sends; its link is to be ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <variant>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/net/transport.h"
#include "weft/wire/mix_message.h"

namespace weft {

// A member that has so many letters to come is not there any more, whatever its link says.
inline constexpr std::size_t kMixLettersMax = 64;

// Their `vector` is set by MixMail where they are sent.
using MixMessage = std::variant<MixGivenMessage, MixReturnedMessage>;

struct MixLetter {
  MixMessage message;
  SharedBytes bytes;
};

struct MixMailOptions {
  // The size of a vector that comes, by the kind of its message.
  std::uint64_t given_bytes_max = 0;
  std::uint64_t returned_bytes_max = 0;
};

class MixMail {
 public:
  // Borrows `transport`, which must outlive this.
  MixMail(Transport& transport, const MixMailOptions& options)
      : transport_(transport), options_(options) {}

  // Sends it now or once a link is there. False: as many as may wait do so already, and it is
  // dropped. REQUIRES: some bytes.
  bool post(const PeerId& to, MixLetter letter);
  // Drops what waits for `peer`, to which nothing is sent any more.
  void forget(const PeerId& peer);

  // --- Events.
  void link_up(const PeerId& peer);
  void link_down(const PeerId& peer);
  void writable(const PeerId& peer) { push(peer, boxes_[peer]); }
  Status received(const PeerId& from, ByteSpan head);
  // A piece of a letter: the letter where it is the last one.
  Result<std::optional<MixLetter>> piece(const PeerId& from, const FrameView& frame);

  // Letters that `to` has not named as received; of all members without one.
  std::size_t waiting(const PeerId& to) const;
  std::size_t waiting() const;

 private:
  // What goes to one member and comes from it.
  struct MixBox {
    bool linked = false;
    // The other end has named what it has, on this link.
    bool greeted = false;
    std::deque<MixLetter> letters;
    std::uint64_t first = 0;  // the number of the first of them
    std::size_t sending = 0;  // its place among them
    std::uint32_t next_piece = 0;
    // What comes from there.
    std::uint64_t received = 0;
    Bytes incoming;
    std::uint32_t pieces = 0;
  };

  void push(const PeerId& to, MixBox& box);
  void greet(const PeerId& to, const MixBox& box);
  Result<std::optional<MixLetter>> take_piece(const PeerId& from, const MixPiece& piece,
                                              std::uint64_t bytes_max, const FrameView& frame,
                                              MixMessage message);

  Transport& transport_;
  const MixMailOptions options_;
  std::map<PeerId, MixBox> boxes_;
};

}  // namespace weft
