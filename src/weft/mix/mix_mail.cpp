#include "weft/mix/mix_mail.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/wire/frame_type.h"

namespace weft {
namespace {

// What a link is given ahead of what it has sent.
constexpr std::size_t kMixQueuedBytes = std::size_t{4} << 20;

struct LetterHead {
  MixPiece vector;

  Frame operator()(MixGivenMessage message) const {
    message.vector = vector;
    return {frame_type::kMixGiven, message.encode(), {}};
  }
  Frame operator()(MixReturnedMessage message) const {
    message.vector = vector;
    return {frame_type::kMixReturned, message.encode(), {}};
  }
};

}  // namespace

bool MixMail::post(const PeerId& to, MixLetter letter) {
  WEFT_CHECK(letter.bytes.size() > 0);
  MixBox& box = boxes_[to];
  if (box.letters.size() >= kMixLettersMax) return false;
  box.letters.push_back(std::move(letter));
  push(to, box);
  return true;
}

void MixMail::forget(const PeerId& peer) { boxes_.erase(peer); }

void MixMail::greet(const PeerId& to, const MixBox& box) {
  // A link that has just ended is reported by an event of its own.
  static_cast<void>(
      transport_.send(to, Lane::kControl,
                      {frame_type::kMixReceived, MixReceivedMessage{box.received}.encode(), {}}));
}

void MixMail::link_up(const PeerId& peer) {
  MixBox& box = boxes_[peer];
  box.linked = true;
  box.greeted = false;
  greet(peer, box);
}

void MixMail::link_down(const PeerId& peer) {
  const auto found = boxes_.find(peer);
  if (found == boxes_.end()) return;
  MixBox& box = found->second;
  box.linked = false;
  box.incoming = {};
  box.pieces = 0;
}

Status MixMail::received(const PeerId& from, ByteSpan head) {
  WEFT_TRY_ASSIGN(const MixReceivedMessage message, MixReceivedMessage::decode(head));
  MixBox& box = boxes_[from];
  const std::uint64_t sent = box.first + (box.greeted ? box.sending : box.letters.size());
  if (message.letters < box.first || message.letters > sent) {
    return corrupt(fmt::format("mix: expected {} to {} letters to be received, got {}", box.first,
                               sent, message.letters));
  }
  const auto gone = static_cast<std::size_t>(message.letters - box.first);
  box.letters.erase(box.letters.begin(), box.letters.begin() + static_cast<std::ptrdiff_t>(gone));
  box.first = message.letters;
  if (std::exchange(box.greeted, true)) {
    box.sending -= gone;
  } else {
    box.sending = 0;
    box.next_piece = 0;
  }
  push(from, box);
  return {};
}

void MixMail::push(const PeerId& to, MixBox& box) {
  while (box.linked && box.greeted && box.sending < box.letters.size()) {
    if (transport_.queued_bytes(to, Lane::kBulk) >= kMixQueuedBytes) return;
    const MixLetter& letter = box.letters[box.sending];
    const MixPiece piece{box.first + box.sending, letter.bytes.size(), box.next_piece};
    Frame frame = std::visit(LetterHead{piece}, letter.message);
    frame.body = letter.bytes.slice(piece.begin(), piece.size());
    // Its end is reported by an event of its own, and the letter goes over the next link.
    if (!transport_.send(to, Lane::kBulk, std::move(frame)).ok()) return;
    if (++box.next_piece < piece.pieces()) continue;
    ++box.sending;
    box.next_piece = 0;
  }
}

Result<std::optional<MixLetter>> MixMail::piece(const PeerId& from, const FrameView& frame) {
  if (frame.type == frame_type::kMixGiven) {
    WEFT_TRY_ASSIGN(const MixGivenMessage message, MixGivenMessage::decode(frame.head));
    return take_piece(from, message.vector, options_.given_bytes_max, frame, message);
  }
  WEFT_TRY_ASSIGN(const MixReturnedMessage message, MixReturnedMessage::decode(frame.head));
  return take_piece(from, message.vector, options_.returned_bytes_max, frame, message);
}

Result<std::optional<MixLetter>> MixMail::take_piece(const PeerId& from, const MixPiece& piece,
                                                     std::uint64_t bytes_max,
                                                     const FrameView& frame, MixMessage message) {
  MixBox& box = boxes_[from];
  if (piece.bytes > bytes_max) {
    return corrupt(
        fmt::format("mix: expected a vector of at most {} bytes, got {}", bytes_max, piece.bytes));
  }
  if (frame.body.size() != piece.size()) {
    return corrupt(
        fmt::format("mix: expected a piece of {} bytes, got {}", piece.size(), frame.body.size()));
  }
  const bool begins = piece.piece == 0 && box.pieces == 0;
  if (begins) box.incoming.resize(piece.bytes);
  if (piece.letter != box.received || piece.piece != box.pieces ||
      piece.bytes != box.incoming.size()) {
    return corrupt(fmt::format("mix: expected piece {} of letter {}, got piece {} of letter {}",
                               box.pieces, box.received, piece.piece, piece.letter));
  }
  std::memcpy(box.incoming.data() + piece.begin(), frame.body.data(), frame.body.size());
  if (++box.pieces < piece.pieces()) return std::optional<MixLetter>();
  box.pieces = 0;
  ++box.received;
  greet(from, box);
  return std::optional(MixLetter{message, SharedBytes(std::exchange(box.incoming, Bytes()))});
}

std::size_t MixMail::waiting(const PeerId& to) const {
  const auto found = boxes_.find(to);
  return found == boxes_.end() ? 0 : found->second.letters.size();
}

std::size_t MixMail::waiting() const {
  std::size_t sum = 0;
  for (const auto& [peer, box] : boxes_) sum += box.letters.size();
  return sum;
}

}  // namespace weft
