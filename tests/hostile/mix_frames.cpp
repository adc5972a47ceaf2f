// Frames of methods of loose exchange. Members of a run whose rounds are exact refuse them,
// whatever they hold.
#include "frame_makers.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/mix_message.h"

namespace weft::hostile {
namespace {

MixPiece piece(const Facts& facts, Rng& rng) {
  const std::uint64_t bytes = facts.elements * sizeof(float);
  return {rng.below(3), bytes, static_cast<std::uint32_t>(rng.below(2))};
}

Bytes given(const Facts& facts, Rng& rng) {
  const auto steps = static_cast<std::uint32_t>(rng.below(100));
  return MixGivenMessage{piece(facts, rng), facts.round.value(), steps}.encode();
}

Bytes returned(const Facts& facts, Rng& rng) {
  MixReturnedMessage message;
  message.vector = piece(facts, rng);
  message.base = facts.round.value();
  message.steps = static_cast<std::uint32_t>(rng.below(100));
  message.seconds = rng.uniform();
  message.loss = rng.normal();
  message.samples = message.labels = 32;
  return message.encode();
}

Bytes received(const Facts& /*facts*/, Rng& rng) {
  return MixReceivedMessage{rng.below(4)}.encode();
}

Bytes roster(const Facts& facts, Rng& rng) {
  MixRosterMessage message;
  message.members = {{facts.peer, {facts.trap}}, {facts.self, {facts.trap}}};
  for (std::uint32_t i = 0; i < facts.entries; ++i) {
    message.members.push_back({PeerId{random_array<Hash256>(rng)}, {facts.trap}});
  }
  return message.encode();
}

Bytes leaving(const Facts& /*facts*/, Rng& /*rng*/) { return MixLeavingMessage{}.encode(); }

}  // namespace

std::vector<FrameKind> mix_kinds() {
  using namespace frame_type;
  return {
      {kMixGiven, "kMixGiven", Lane::kBulk, given, 4000},
      {kMixReturned, "kMixReturned", Lane::kBulk, returned, 4000},
      {kMixReceived, "kMixReceived", Lane::kControl, received, 0},
      {kMixRoster, "kMixRoster", Lane::kControl, roster, 0},
      {kMixLeaving, "kMixLeaving", Lane::kControl, leaving, 0},
  };
}

}  // namespace weft::hostile
