#include "weft/wire/state_message.h"

#include <algorithm>

#include "weft/base/check.h"
#include "weft/wire/codec.h"
#include "weft/wire/hash_tree.h"

namespace weft {

static std::uint64_t blocks_of(std::uint64_t bytes) {
  return bytes / kStateBlockBytes + (bytes % kStateBlockBytes != 0 ? 1 : 0);
}

std::uint32_t SnapshotName::blocks() const { return static_cast<std::uint32_t>(blocks_of(bytes)); }

std::size_t SnapshotName::block_bytes(std::uint32_t index) const {
  WEFT_CHECK(index < blocks());
  const std::uint64_t begin = std::uint64_t{index} * kStateBlockBytes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(kStateBlockBytes, bytes - begin));
}

SnapshotName name_snapshot(Round round, std::uint64_t bytes, const Hash256& tree_root) {
  Writer out;
  out.text("weft snapshot").round(round).u64(bytes).raw(tree_root);
  return {round, bytes, sha256(out.written())};
}

Bytes StateQueryMessage::encode() const {
  Writer out;
  out.u8(wanted ? 1 : 0);
  if (wanted) out.raw(*wanted);
  return out.take();
}

Result<StateQueryMessage> StateQueryMessage::decode(ByteSpan bytes) {
  Reader in("state query", bytes);
  StateQueryMessage message;
  if (in.boolean("has root")) message.wanted = in.raw<32>("root");
  WEFT_TRY(in.finish());
  return message;
}

Bytes StateOfferMessage::encode() const {
  Writer out;
  out.u8(snapshot ? 1 : 0);
  if (snapshot) out.round(snapshot->round).u64(snapshot->bytes).raw(snapshot->root);
  return out.take();
}

Result<StateOfferMessage> StateOfferMessage::decode(ByteSpan bytes) {
  Reader in("state offer", bytes);
  StateOfferMessage message;
  if (in.boolean("has snapshot")) {
    SnapshotName& snapshot = message.snapshot.emplace();
    snapshot.round = in.round("round");
    snapshot.bytes = in.u64("bytes");
    snapshot.root = in.raw<32>("root");
    if (blocks_of(snapshot.bytes) > kStateBlocksMax) in.fail("bytes", "are too many");
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes BlockRequestMessage::encode() const {
  Writer out;
  out.raw(root).u32(index);
  return out.take();
}

Result<BlockRequestMessage> BlockRequestMessage::decode(ByteSpan bytes) {
  Reader in("block request", bytes);
  BlockRequestMessage message;
  message.root = in.raw<32>("root");
  message.index = in.u32("index");
  WEFT_TRY(in.finish());
  return message;
}

bool BlockHead::proves(const SnapshotName& snapshot, ByteSpan body) const {
  if (root != snapshot.root || index >= snapshot.blocks()) return false;
  if (body.size() != snapshot.block_bytes(index)) return false;
  const auto tree_root = root_of_path(sha256(body), index, snapshot.blocks(), path);
  return tree_root && name_snapshot(snapshot.round, snapshot.bytes, *tree_root) == snapshot;
}

Bytes BlockHead::encode() const {
  Writer out;
  out.raw(root).u32(index).u8(static_cast<std::uint8_t>(path.size()));
  for (const Hash256& partner : path) out.raw(partner);
  return out.take();
}

Result<BlockHead> BlockHead::decode(ByteSpan bytes) {
  Reader in("block", bytes);
  BlockHead head;
  head.root = in.raw<32>("root");
  head.index = in.u32("index");
  const std::uint8_t count = in.u8("path");
  if (count > kBlockPathMax) in.fail("path", "is too long");
  for (std::uint8_t i = 0; i < count && !in.failed(); ++i) {
    head.path.push_back(in.raw<32>("partner"));
  }
  WEFT_TRY(in.finish());
  return head;
}

Bytes BlockMissingMessage::encode() const {
  Writer out;
  out.raw(root);
  return out.take();
}

Result<BlockMissingMessage> BlockMissingMessage::decode(ByteSpan bytes) {
  Reader in("block missing", bytes);
  BlockMissingMessage message;
  message.root = in.raw<32>("root");
  WEFT_TRY(in.finish());
  return message;
}

static constexpr std::size_t kHistoryAlignment = 64;

static std::size_t history_bytes(std::size_t absorbed) {
  const std::size_t used = 4 + 32 + 8 + 4 + absorbed * (32 + 8);
  return (used + kHistoryAlignment - 1) / kHistoryAlignment * kHistoryAlignment;
}

Bytes StateHistory::encode() const {
  const std::size_t size = history_bytes(absorbed.size());
  Writer out;
  out.u32(static_cast<std::uint32_t>(size)).raw(branch).u64(samples);
  out.u32(static_cast<std::uint32_t>(absorbed.size()));
  for (const AbsorbedBranch& one : absorbed) out.raw(one.branch).u64(one.until);
  Bytes bytes = out.take();
  bytes.resize(size);
  return bytes;
}

Result<StateHistory> StateHistory::decode(ByteSpan bytes) {
  Reader in("state history", bytes);
  StateHistory history;
  const std::uint32_t size = in.u32("bytes");
  history.branch = in.raw<32>("branch");
  history.samples = in.u64("samples");
  const std::uint32_t count = in.count("absorbed", kAbsorbedMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    const Hash256 branch = in.raw<32>("absorbed branch");
    history.absorbed.push_back({branch, in.u64("until")});
  }
  const std::size_t used = 4 + 32 + 8 + 4 + std::size_t{count} * (32 + 8);
  if (size != history_bytes(count)) in.fail("bytes", "do not fit what follows");
  for (std::size_t i = used; i < history_bytes(count) && !in.failed(); ++i) {
    if (in.u8("zeros") != 0) in.fail("zeros", "are something else");
  }
  WEFT_TRY(in.finish());
  return history;
}

Result<std::size_t> StateHistory::bytes_in(ByteSpan state) {
  Reader in("state history", state.first(std::min<std::size_t>(state.size(), 4)));
  const std::size_t size = in.u32("bytes");
  WEFT_TRY(in.finish());
  if (size < history_bytes(0) || size > history_bytes(kAbsorbedMax) || size > state.size()) {
    return corrupt("state history: expected it before the state, got " + std::to_string(size) +
                   " bytes of it in a state of " + std::to_string(state.size()));
  }
  return size;
}

Bytes HeldStateMessage::encode() const {
  Writer out;
  out.round(round).raw(root).raw(run).raw(view_run).u64(view);
  out.u32(static_cast<std::uint32_t>(members.size()));
  for (const PeerId& member : members) out.peer(member);
  out.u32(static_cast<std::uint32_t>(history.size()));
  for (const PastRun& past : history) {
    out.raw(past.run).u32(past.generation).round(past.until).raw(past.proof);
  }
  return out.take();
}

Result<HeldStateMessage> HeldStateMessage::decode(ByteSpan bytes) {
  Reader in("held state", bytes);
  HeldStateMessage message;
  message.round = in.round("round");
  message.root = in.raw<32>("root");
  message.run = in.raw<32>("run");
  message.view_run = in.raw<32>("view_run");
  message.view = in.u64("view");
  const std::uint32_t members = in.count("members", kMembersMax);
  for (std::uint32_t i = 0; i < members && !in.failed(); ++i) {
    message.members.push_back(in.peer("member"));
  }
  const std::uint32_t runs = in.count("history", kPastRunsMax);
  for (std::uint32_t i = 0; i < runs && !in.failed(); ++i) {
    PastRun& past = message.history.emplace_back();
    past.run = in.raw<32>("past.run");
    past.generation = in.u32("past.generation");
    past.until = in.round("past.until");
    past.proof = in.raw<32>("past.proof");
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes StateReceivedMessage::encode() const {
  Writer out;
  out.u64(bytes);
  return out.take();
}

Result<StateReceivedMessage> StateReceivedMessage::decode(ByteSpan bytes) {
  Reader in("state received", bytes);
  StateReceivedMessage message;
  message.bytes = in.u64("bytes");
  WEFT_TRY(in.finish());
  return message;
}

Bytes ResultRequestMessage::encode() const {
  Writer out;
  out.round(round);
  return out.take();
}

Result<ResultRequestMessage> ResultRequestMessage::decode(ByteSpan bytes) {
  Reader in("result request", bytes);
  ResultRequestMessage message;
  message.round = in.round("round");
  WEFT_TRY(in.finish());
  return message;
}

std::uint64_t ResultHead::sum_pieces() const {
  return elements / kPieceElements + (elements % kPieceElements != 0 ? 1 : 0);
}

std::uint64_t ResultHead::pieces() const {
  return sum_pieces() + (report_bytes + kStateBlockBytes - 1) / kStateBlockBytes;
}

std::size_t ResultHead::piece_bytes() const {
  const std::uint64_t first_report = sum_pieces();
  if (piece < first_report) {
    const std::uint64_t left = elements - std::uint64_t{piece} * kPieceElements;
    return static_cast<std::size_t>(std::min<std::uint64_t>(kPieceElements, left)) * sizeof(float);
  }
  const std::uint64_t begin = (piece - first_report) * kStateBlockBytes;
  if (begin >= report_bytes) return 0;
  return static_cast<std::size_t>(std::min<std::uint64_t>(kStateBlockBytes, report_bytes - begin));
}

Bytes ResultHead::encode() const {
  Writer out;
  out.round(round).round(newest).u64(elements).u32(report_bytes).u32(piece).raw(hash);
  return out.take();
}

Result<ResultHead> ResultHead::decode(ByteSpan bytes) {
  Reader in("result", bytes);
  ResultHead head;
  head.round = in.round("round");
  head.newest = in.round("newest");
  head.elements = in.u64("elements");
  head.report_bytes = in.u32("report bytes");
  head.piece = in.u32("piece");
  head.hash = in.raw<16>("hash");
  if (head.newest < head.round) in.fail("newest", "is below the round itself");
  if (head.report_bytes > kRoundReportsBytesMax) in.fail("report bytes", "too many");
  WEFT_TRY(in.finish());
  return head;
}

Bytes ResultMissingMessage::encode() const {
  Writer out;
  out.round(round).round(oldest).round(newest);
  return out.take();
}

Result<ResultMissingMessage> ResultMissingMessage::decode(ByteSpan bytes) {
  Reader in("result missing", bytes);
  ResultMissingMessage message;
  message.round = in.round("round");
  message.oldest = in.round("oldest");
  message.newest = in.round("newest");
  WEFT_TRY(in.finish());
  return message;
}

}  // namespace weft
