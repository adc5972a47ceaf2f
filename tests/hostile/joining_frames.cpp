// Frames by which transports make and end links, peers are brought together, and newcomers join.
#include <algorithm>

#include "frame_makers.h"
#include "weft/wire/admission_message.h"
#include "weft/wire/end_message.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/join_message.h"
#include "weft/wire/link_message.h"
#include "weft/wire/reach_message.h"

namespace weft::hostile {
namespace {

// Begins with what a listener of the test looks for: bytes that somebody was made to say.
RelayToken marked_token(Rng& rng) {
  auto token = random_array<RelayToken>(rng);
  constexpr std::string_view kMark = "\r\nWEFTTRAP\r\n";
  std::copy(kMark.begin(), kMark.end(), token.begin());
  return token;
}

Bytes hello(const Facts& facts, Rng& rng) {
  HelloMessage message;
  message.lane = static_cast<std::uint8_t>(rng.below(kBulkConnectionsMax + 1));
  message.from = facts.self;
  message.to = facts.peer;
  message.link = random_array<LinkId>(rng);
  message.instance = facts.incarnation;
  return message.encode();
}

Bytes hello_reply(const Facts& facts, Rng& rng) {
  HelloReplyMessage message;
  message.verdict = static_cast<HelloVerdict>(rng.below(5));
  message.from = facts.self;
  message.instance = facts.incarnation;
  message.text.assign(facts.entries, 'x');
  return message.encode();
}

Bytes goodbye(const Facts& facts, Rng& rng) {
  GoodbyeMessage message;
  message.code = static_cast<Code>(rng.below(7));
  message.text.assign(facts.entries, 'x');
  return message.encode();
}

Bytes introduce(const Facts& facts, Rng& rng) {
  IntroduceMessage message;
  message.attempt = random_array<ReachAttempt>(rng);
  message.peer = facts.other;
  message.relay = rng.chance(0.5);
  return message.encode();
}

Bytes introduction(const Facts& facts, Rng& rng) {
  IntroductionMessage message;
  message.attempt = random_array<ReachAttempt>(rng);
  message.peer = facts.other;
  message.asker = rng.chance(0.3);
  message.endpoints = {facts.trap, facts.trap};
  return message.encode();
}

Bytes relay_offer(const Facts& facts, Rng& rng) {
  RelayOfferMessage message;
  message.attempt = random_array<ReachAttempt>(rng);
  message.peer = facts.other;
  message.asker = rng.chance(0.3);
  message.tokens = {marked_token(rng), marked_token(rng)};
  const auto count = std::min<std::size_t>(facts.entries, kReachEndpointsMax);
  message.endpoints.assign(count, facts.trap);
  return message.encode();
}

Bytes reach_refused(const Facts& facts, Rng& rng) {
  ReachRefusedMessage message;
  message.attempt = random_array<ReachAttempt>(rng);
  message.text.assign(facts.entries, 'x');
  return message.encode();
}

Bytes shortcut(const Facts& /*facts*/, Rng& rng) {
  ShortcutMessage message;
  message.name = random_array<decltype(message.name)>(rng);
  message.token = random_array<decltype(message.token)>(rng);
  return message.encode();
}

Bytes shortcut_hello(const Facts& /*facts*/, Rng& rng) {
  ShortcutHelloMessage message;
  message.token = random_array<decltype(message.token)>(rng);
  return message.encode();
}

Bytes lane_moved(const Facts& /*facts*/, Rng& rng) {
  LaneMovedMessage message;
  message.to = rng.chance(0.5) ? LaneMovedMessage::kToShortcut
                               : static_cast<std::uint8_t>(rng.below(kBulkConnectionsMax));
  return message.encode();
}

Bytes connections(const Facts& /*facts*/, Rng& rng) {
  ConnectionsMessage message;
  message.count = static_cast<std::uint8_t>(rng.below(kBulkConnectionsMax + 2));
  return message.encode();
}

Bytes alive(const Facts& /*facts*/, Rng& rng) {
  AliveMessage message;
  message.answer = rng.chance(0.5);
  return message.encode();
}

Hash256 recipe_hash_of(const Facts& facts) {
  return sha256(as_bytes(std::string_view(facts.recipe)));
}

JoinProof proof_of(const Facts& facts, ProofPurpose purpose) {
  return make_proof(facts.ticket, purpose, {facts.self, facts.peer, facts.exporter});
}

Bytes recipe_request(const Facts& facts, Rng& /*rng*/) {
  RecipeRequestMessage message;
  message.proof = proof_of(facts, ProofPurpose::kRecipe);
  return message.encode();
}

Bytes recipe(const Facts& facts, Rng& rng) {
  RecipeMessage message;
  if (rng.chance(0.5)) {
    message.successor = SuccessorRun{random_array<RunId>(rng), recipe_hash_of(facts),
                                     random_array<InvitationId>(rng), facts.ticket.expiry_unix_s,
                                     random_array<Hash256>(rng)};
  }
  message.text = facts.entries == 1 ? facts.recipe : std::string(kRecipeBytesMax, 'x');
  return message.encode();
}

Bytes join_request(const Facts& facts, Rng& /*rng*/) {
  JoinRequestMessage message;
  message.proof = proof_of(facts, ProofPurpose::kJoin);
  message.layout_hash = facts.layout_hash;
  message.recipe_hash = recipe_hash_of(facts);
  message.joiner.id = facts.self;
  message.joiner.incarnation = facts.incarnation;
  message.joiner.endpoints = {facts.trap};
  return message.encode();
}

Bytes join_accepted(const Facts& facts, Rng& /*rng*/) {
  JoinAcceptedMessage message;
  message.current = facts.current;
  return message.encode();
}

Bytes join_refused(const Facts& facts, Rng& rng) {
  JoinRefusedMessage message;
  message.code = static_cast<RefusalCode>(rng.below(16));
  message.retry_after_ms = rng.next_u32();
  message.reason.assign(std::min<std::size_t>(facts.entries, kRefusalBytesMax + 1), 'x');
  return message.encode();
}

Bytes admit_request(const Facts& facts, Rng& /*rng*/) {
  AdmitRequestMessage message;
  message.incarnation = facts.incarnation;
  message.caught_up = facts.round;
  return message.encode();
}

Bytes member_proof_of(const Facts& facts, Rng& /*rng*/) {
  MemberProofMessage message;
  message.hmac = member_proof(facts.invitation_key, facts.ticket.run,
                              {facts.self, facts.peer, facts.exporter});
  return message.encode();
}

Bytes run_over(const Facts& facts, Rng& rng) {
  RunOverMessage message;
  message.round = Round(facts.round.value() + rng.below(3));
  message.serves_for_ms = static_cast<std::uint32_t>(rng.below(kServesForMsMax + 1));
  return message.encode();
}

}  // namespace

std::vector<FrameKind> link_kinds() {
  using namespace frame_type;  // NOLINT(google-build-using-namespace): names of one table
  constexpr Lane kLane = Lane::kControl;
  return {
      {kHello, "kHello", kLane, hello},
      {kHelloReply, "kHelloReply", kLane, hello_reply},
      {kGoodbye, "kGoodbye", kLane, goodbye},
      {kIntroduce, "kIntroduce", kLane, introduce},
      {kIntroduction, "kIntroduction", kLane, introduction},
      {kRelayOffer, "kRelayOffer", kLane, relay_offer},
      {kReachRefused, "kReachRefused", kLane, reach_refused},
      {kShortcut, "kShortcut", kLane, shortcut},
      {kShortcutHello, "kShortcutHello", Lane::kBulk, shortcut_hello},
      {kLaneMoved, "kLaneMoved", Lane::kBulk, lane_moved},
      {kConnections, "kConnections", kLane, connections},
      {kAlive, "kAlive", kLane, alive},
  };
}

std::vector<FrameKind> joining_kinds() {
  using namespace frame_type;  // NOLINT(google-build-using-namespace): names of one table
  constexpr Lane kLane = Lane::kControl;
  return {
      {kRecipeRequest, "kRecipeRequest", kLane, recipe_request},
      {kRecipe, "kRecipe", kLane, recipe},
      {kJoinRequest, "kJoinRequest", kLane, join_request},
      {kJoinAccepted, "kJoinAccepted", kLane, join_accepted},
      {kJoinRefused, "kJoinRefused", kLane, join_refused},
      {kAdmitRequest, "kAdmitRequest", kLane, admit_request},
      {kMemberProof, "kMemberProof", kLane, member_proof_of},
      {kRunOver, "kRunOver", kLane, run_over},
  };
}

}  // namespace weft::hostile
