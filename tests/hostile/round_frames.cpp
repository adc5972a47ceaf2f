// Frames of rounds, of collectives beside them, of lines and of state.
#include <algorithm>

#include "frame_makers.h"
#include "weft/wire/collective_message.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/group_message.h"
#include "weft/wire/link_rate_message.h"

namespace weft::hostile {
namespace {

constexpr std::size_t kSegmentBytes = 8192;

CollectiveId open_round(const Facts& facts, Rng& rng) {
  CollectiveId id;
  id.view = facts.current.view;
  id.round = Round(facts.round.value() + rng.below(3));
  return id;
}

SegmentHead segment_head(const Facts& facts, Rng& rng) {
  SegmentHead head;
  const CollectiveId round = open_round(facts, rng);
  head.id = {round.view, round.round, 0};
  head.op = static_cast<CollectiveOp>(rng.below(7));
  head.form = static_cast<std::uint8_t>(rng.below(4));
  head.elements = facts.elements;
  head.segment = static_cast<std::uint32_t>(rng.below(4));
  return head;
}

Bytes received_map(const Facts& facts, Rng& rng) {
  Bytes map(facts.entries == 1 ? rng.below(8) : kReceivedMapBytesMax + rng.below(2));
  for (std::uint8_t& byte : map) byte = static_cast<std::uint8_t>(rng.below(3));
  return map;
}

Bytes segment(const Facts& facts, Rng& rng) {
  SegmentHead head = segment_head(facts, rng);
  if (rng.chance(0.3)) head.id.exchange = static_cast<std::uint8_t>(rng.below(kExchangesMax));
  return head.encode();
}

Bytes ready(const Facts& facts, Rng& rng) {
  ReadyMessage message;
  message.id = open_round(facts, rng);
  // One in two is of the team that the victim expects.
  const TeamId team = rng.chance(0.5) ? facts.team : random_array<TeamId>(rng);
  message.exchanges.resize(rng.chance(0.8) ? 1 : 1 + rng.below(kExchangesMax));
  for (ReadyMessage::Exchange& each : message.exchanges) {
    each = {team, facts.elements, received_map(facts, rng)};
  }
  return message.encode();
}

Bytes done(const Facts& facts, Rng& rng) {
  DoneMessage message;
  message.id = open_round(facts, rng);
  message.result_hash = rng.chance(0.5) ? facts.result_hash : random_array<Hash128>(rng);
  return message.encode();
}

Bytes finished(const Facts& facts, Rng& rng) {
  FinishedMessage message;
  message.round = Round(facts.round.value() + rng.below(3));
  return message.encode();
}

Bytes state_hash(const Facts& facts, Rng& rng) {
  StateHashMessage message;
  message.id = open_round(facts, rng);
  message.total = random_array<Hash128>(rng);
  const std::uint32_t count = facts.entries == 1 ? 4 : facts.entries * 2;
  for (std::uint32_t i = 0; i < count; ++i) message.tensors.push_back(random_array<Hash128>(rng));
  return message.encode();
}

Bytes progress(const Facts& facts, Rng& rng) {
  ProgressMessage message;
  message.id = open_round(facts, rng);
  message.query = rng.chance(0.5);
  message.contributed = rng.chance(0.5);
  message.waits_for = rng.chance(0.5) ? facts.other : PeerId{};
  return message.encode();
}

Bytes report(const Facts& facts, Rng& rng) {
  ReportMessage message;
  message.id = open_round(facts, rng);
  message.report.resize(facts.entries == 1 ? rng.below(200) : kReportBytesMax + rng.below(2));
  for (std::uint8_t& byte : message.report) byte = static_cast<std::uint8_t>(rng.next_u32());
  return message.encode();
}

GroupCallId group_call(const Facts& facts, Rng& rng) {
  GroupCallId call;
  call.view = facts.current.view;
  call.scope = static_cast<GroupScope>(rng.below(3));
  call.channel = static_cast<std::uint16_t>(rng.below(4));
  call.sequence = rng.chance(0.5) ? rng.below(3) : rng.next_u64();
  return call;
}

Bytes group_segment(const Facts& facts, Rng& rng) {
  GroupSegmentHead head;
  head.scope = static_cast<GroupScope>(rng.below(3));
  head.channel = static_cast<std::uint16_t>(rng.below(4));
  head.segment = segment_head(facts, rng);
  return head.encode();
}

Bytes group_ready(const Facts& facts, Rng& rng) {
  GroupReadyMessage message;
  message.call = group_call(facts, rng);
  message.form = static_cast<std::uint8_t>(rng.below(4));
  message.elements = facts.elements;
  message.received = received_map(facts, rng);
  return message.encode();
}

Bytes group_done(const Facts& facts, Rng& rng) {
  GroupDoneMessage message;
  message.call = group_call(facts, rng);
  return message.encode();
}

Bytes line_report(const Facts& facts, Rng& rng) {
  LinkReportMessage message;
  message.view = facts.current.view;
  const std::uint32_t rows = facts.entries == 1 ? 2 : std::min(facts.entries, kLinkRowsMax);
  for (std::uint32_t i = 0; i < rows; ++i) {
    LinkRow row;
    row.reporter = static_cast<std::uint16_t>(i);
    row.sequence = rng.next_u64();
    row.age_s = static_cast<std::uint16_t>(rng.below(100));
    LinkEntry entry;
    entry.from = static_cast<std::uint16_t>(i + 1);
    entry.rate = LinkCode(static_cast<std::uint16_t>(rng.next_u32()));
    entry.delay = LinkCode(static_cast<std::uint16_t>(rng.next_u32()));
    row.links = {entry};
    message.rows.push_back(std::move(row));
  }
  return message.encode();
}

Bytes probe(const Facts& facts, Rng& rng) {
  ProbeHead head;
  head.view = facts.current.view;
  head.sequence = rng.next_u32();
  head.index = static_cast<std::uint8_t>(rng.below(4));
  head.count = static_cast<std::uint8_t>(4 + rng.below(kProbeFramesMax));
  return head.encode();
}

Bytes state_query(const Facts& facts, Rng& rng) {
  StateQueryMessage message;
  if (rng.chance(0.5)) message.wanted = facts.snapshot.root;
  return message.encode();
}

Bytes state_offer(const Facts& facts, Rng& rng) {
  StateOfferMessage message;
  if (rng.chance(0.8)) message.snapshot = facts.snapshot;
  return message.encode();
}

Bytes block_request(const Facts& facts, Rng& rng) {
  BlockRequestMessage message;
  message.root = facts.snapshot.root;
  message.index = rng.chance(0.7) ? static_cast<std::uint32_t>(rng.below(2)) : rng.next_u32();
  return message.encode();
}

Bytes block(const Facts& facts, Rng& rng) {
  BlockHead head;
  head.root = facts.snapshot.root;
  head.index = static_cast<std::uint32_t>(rng.below(3));
  const std::size_t levels = facts.entries == 1 ? rng.below(4) : kBlockPathMax;
  for (std::size_t i = 0; i < levels; ++i) head.path.push_back(random_array<Hash256>(rng));
  return head.encode();
}

Bytes block_missing(const Facts& facts, Rng& /*rng*/) {
  BlockMissingMessage message;
  message.root = facts.snapshot.root;
  return message.encode();
}

Bytes result_request(const Facts& facts, Rng& rng) {
  ResultRequestMessage message;
  message.round = Round(facts.round.value() + rng.below(3));
  return message.encode();
}

Bytes result(const Facts& facts, Rng& rng) {
  ResultHead head;
  head.round = Round(facts.round.value() + rng.below(3));
  head.newest = Round(facts.round.value() + 3);
  head.elements = facts.elements;
  head.report_bytes = rng.chance(0.5) ? 0 : static_cast<std::uint32_t>(rng.below(1 << 20));
  head.piece = static_cast<std::uint32_t>(rng.below(2));
  head.hash = facts.result_hash;
  return head.encode();
}

Bytes result_missing(const Facts& facts, Rng& rng) {
  ResultMissingMessage message;
  message.round = facts.round;
  message.oldest = Round(facts.round.value() + rng.below(2));
  message.newest = Round(facts.round.value() + 2);
  return message.encode();
}

Bytes held_state(const Facts& facts, Rng& rng) {
  HeldStateMessage message;
  message.round = Round(facts.round.value() + rng.below(1000));
  message.root = facts.snapshot.root;
  message.run = message.view_run = facts.ticket.run;
  message.view = facts.current.view.number.value() + rng.below(2);
  message.members = {facts.self, facts.other};
  const std::size_t runs = facts.entries == 1 ? rng.below(3) : kPastRunsMax;
  for (std::size_t i = 0; i < runs; ++i) {
    PastRun past;
    past.run = random_array<RunId>(rng);
    past.generation = static_cast<std::uint32_t>(rng.below(4));
    past.until = facts.round;
    past.proof = random_array<Hash256>(rng);
    message.history.push_back(past);
  }
  return message.encode();
}

Bytes state_received(const Facts& facts, Rng& rng) {
  StateReceivedMessage message;
  message.bytes = rng.chance(0.5) ? facts.snapshot.bytes : rng.next_u64();
  return message.encode();
}

}  // namespace

std::vector<FrameKind> collective_kinds() {
  using namespace frame_type;  // NOLINT(google-build-using-namespace): names of one table
  return {
      {kSegment, "kSegment", Lane::kBulk, segment, kSegmentBytes},
      {kReady, "kReady", Lane::kControl, ready},
      {kDone, "kDone", Lane::kControl, done},
      {kFinished, "kFinished", Lane::kControl, finished},
      {kStateHash, "kStateHash", Lane::kControl, state_hash},
      {kProgress, "kProgress", Lane::kControl, progress},
      {kReport, "kReport", Lane::kControl, report},
      {kGroupSegment, "kGroupSegment", Lane::kBulk, group_segment, kSegmentBytes},
      {kGroupReady, "kGroupReady", Lane::kControl, group_ready},
      {kGroupDone, "kGroupDone", Lane::kControl, group_done},
      {kLinkReport, "kLinkReport", Lane::kControl, line_report},
      {kProbe, "kProbe", Lane::kBulk, probe, kProbeBodyBytesMax},
  };
}

std::vector<FrameKind> state_kinds() {
  using namespace frame_type;  // NOLINT(google-build-using-namespace): names of one table
  return {
      {kStateQuery, "kStateQuery", Lane::kControl, state_query},
      {kStateOffer, "kStateOffer", Lane::kControl, state_offer},
      {kBlockRequest, "kBlockRequest", Lane::kControl, block_request},
      {kBlock, "kBlock", Lane::kBulk, block, kStateBlockBytes},
      {kBlockMissing, "kBlockMissing", Lane::kControl, block_missing},
      {kResultRequest, "kResultRequest", Lane::kControl, result_request},
      {kResult, "kResult", Lane::kBulk, result, kStateBlockBytes},
      {kResultMissing, "kResultMissing", Lane::kControl, result_missing},
      {kHeldState, "kHeldState", Lane::kControl, held_state},
      {kStateReceived, "kStateReceived", Lane::kControl, state_received},
  };
}

}  // namespace weft::hostile
