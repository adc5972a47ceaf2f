#include "weft/wire/mix_message.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "weft/base/check.h"
#include "weft/wire/codec.h"
#include "weft/wire/core/endpoint_text.h"

namespace weft {
namespace {

void write_piece(Writer& out, const MixPiece& vector) {
  out.u64(vector.letter).u64(vector.bytes).u32(vector.piece);
}

MixPiece read_piece(Reader& in) {
  MixPiece vector;
  vector.letter = in.u64("letter");
  vector.bytes = in.u64("bytes");
  vector.piece = in.u32("piece");
  if (vector.bytes == 0 || vector.bytes > kMixBytesMax) {
    in.fail("bytes", "are none or too many");
  } else if (vector.piece >= vector.pieces()) {
    in.fail("piece", "lies behind the last one");
  }
  return vector;
}

std::uint32_t read_steps(Reader& in) {
  const std::uint32_t steps = in.u32("steps");
  if (steps > kMixStepsMax) in.fail("steps", "are too many");
  return steps;
}

double read_sum(Reader& in, std::string_view field) {
  const double value = in.f64(field);
  if (value < 0) in.fail(field, "is negative");
  return value;
}

}  // namespace

std::size_t MixPiece::size() const {
  WEFT_CHECK(piece < pieces());
  return std::min(kMixPieceBytes, bytes - begin());
}

Bytes MixGivenMessage::encode() const {
  Writer out;
  write_piece(out, vector);
  out.u64(version).u32(steps);
  return out.take();
}

Result<MixGivenMessage> MixGivenMessage::decode(ByteSpan bytes) {
  Reader in("mix given", bytes);
  MixGivenMessage message;
  message.vector = read_piece(in);
  message.version = in.u64("version");
  message.steps = read_steps(in);
  WEFT_TRY(in.finish());
  return message;
}

Bytes MixReturnedMessage::encode() const {
  Writer out;
  write_piece(out, vector);
  out.u64(base)
      .u32(steps)
      .f64(seconds)
      .u64(std::bit_cast<std::uint64_t>(loss))
      .f64(correct)
      .f64(samples)
      .f64(labels);
  return out.take();
}

Result<MixReturnedMessage> MixReturnedMessage::decode(ByteSpan bytes) {
  Reader in("mix returned", bytes);
  MixReturnedMessage message;
  message.vector = read_piece(in);
  message.base = in.u64("base");
  message.steps = read_steps(in);
  message.seconds = read_sum(in, "seconds");
  message.loss = std::bit_cast<double>(in.u64("loss"));
  message.correct = read_sum(in, "correct");
  message.samples = read_sum(in, "samples");
  message.labels = read_sum(in, "labels");
  WEFT_TRY(in.finish());
  return message;
}

Bytes MixHistoryMessage::encode() const {
  return Writer().u32(origin).u64(round).u32(distance).take();
}

Result<MixHistoryMessage> MixHistoryMessage::decode(ByteSpan bytes) {
  Reader in("mix history", bytes);
  MixHistoryMessage message;
  message.origin = in.u32("origin");
  message.round = in.u64("round");
  message.distance = in.u32("distance");
  if (message.distance == 0 || message.distance > kMixDistanceMax) {
    in.fail("distance", "is none or too large");
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes MixReceivedMessage::encode() const { return Writer().u64(letters).take(); }

Result<MixReceivedMessage> MixReceivedMessage::decode(ByteSpan bytes) {
  Reader in("mix received", bytes);
  MixReceivedMessage message;
  message.letters = in.u64("letters");
  WEFT_TRY(in.finish());
  return message;
}

Bytes MixRosterMessage::encode() const {
  Writer out;
  out.u32(static_cast<std::uint32_t>(members.size()));
  for (const Member& member : members) {
    out.peer(member.id);
    write_endpoints(out, member.endpoints);
  }
  return out.take();
}

Result<MixRosterMessage> MixRosterMessage::decode(ByteSpan bytes) {
  Reader in("mix roster", bytes);
  MixRosterMessage message;
  std::set<PeerId> named;
  const std::uint32_t count = in.count("members", kMixMembersMax);
  if (count == 0) in.fail("members", "are none");
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    Member member;
    member.id = in.peer("member");
    member.endpoints = read_endpoints(in, 0);
    if (!named.insert(member.id).second) in.fail("member", "is named twice");
    message.members.push_back(std::move(member));
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes MixLeavingMessage::encode() const { return {}; }

Result<MixLeavingMessage> MixLeavingMessage::decode(ByteSpan bytes) {
  Reader in("mix leaving", bytes);
  WEFT_TRY(in.finish());
  return MixLeavingMessage{};
}

}  // namespace weft
