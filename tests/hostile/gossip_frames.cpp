// Frames of gossip. Members of a run with agreed rounds refuse them, whatever they hold.
#include "frame_makers.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/gossip_message.h"

namespace weft::hostile {
namespace {

MemberRecord record(const Facts& facts, Rng& rng) {
  MemberRecord out;
  out.key = random_array<Hash256>(rng);
  out.standing.counter = facts.incarnation;
  out.standing.left = rng.chance(0.2);
  out.standing.endpoints = {facts.trap};
  out.standing.signature = random_array<RecordSignature>(rng);
  out.presence.round = facts.round;
  out.presence.signature = random_array<RecordSignature>(rng);
  return out;
}

Bytes book(const Facts& facts, Rng& rng) {
  GossipBookMessage message;
  for (std::uint32_t i = 0; i < facts.entries; ++i) message.records.push_back(record(facts, rng));
  return message.encode();
}

GossipParametersHead parameters_head(const Facts& facts, Rng& rng) {
  GossipParametersHead head;
  head.round = Round(facts.round.value() + rng.below(3));
  head.degree = static_cast<std::uint32_t>(1 + rng.below(8));
  head.topology = rng.chance(0.5);
  head.newcomer = rng.chance(0.2);
  head.elements = facts.elements;
  head.piece = static_cast<std::uint32_t>(rng.below(2));
  return head;
}

Bytes parameters(const Facts& facts, Rng& rng) { return parameters_head(facts, rng).encode(); }

Bytes absent(const Facts& facts, Rng& /*rng*/) {
  return GossipAbsentMessage{.round = facts.round}.encode();
}

Bytes request(const Facts& facts, Rng& /*rng*/) {
  return GossipParametersRequestMessage{.attempt = facts.incarnation}.encode();
}

Bytes welcome(const Facts& facts, Rng& /*rng*/) {
  return GossipWelcomeMessage{.key = facts.invitation_key}.encode();
}

}  // namespace

std::vector<FrameKind> gossip_kinds() {
  using namespace frame_type;
  return {
      {kGossipBook, "kGossipBook", Lane::kControl, book},
      {kGossipParameters, "kGossipParameters", Lane::kBulk, parameters, 4000},
      {kGossipAbsent, "kGossipAbsent", Lane::kControl, absent},
      {kGossipParametersRequest, "kGossipParametersRequest", Lane::kControl, request},
      {kGossipWelcome, "kGossipWelcome", Lane::kControl, welcome},
  };
}

}  // namespace weft::hostile
