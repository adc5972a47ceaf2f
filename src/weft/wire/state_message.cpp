#include "weft/wire/state_message.h"

#include <algorithm>

#include "weft/base/check.h"
#include "weft/wire/codec.h"

namespace weft {

static std::uint64_t blocks_of(std::uint64_t bytes) {
  return bytes / kStateBlockBytes + (bytes % kStateBlockBytes != 0 ? 1 : 0);
}

static void write_manifest(Writer& out, const SnapshotManifest& manifest) {
  out.round(manifest.round).u64(manifest.bytes);
  out.u32(static_cast<std::uint32_t>(manifest.blocks.size()));
  for (const Hash256& block : manifest.blocks) out.raw(block);
}

static SnapshotManifest read_manifest(Reader& in) {
  SnapshotManifest manifest;
  manifest.round = in.round("round");
  manifest.bytes = in.u64("bytes");
  const std::uint32_t count = in.count("blocks", kStateBlocksMax);
  if (blocks_of(manifest.bytes) != count) in.fail("blocks", "their number does not fit the bytes");
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    manifest.blocks.push_back(in.raw<32>("block hash"));
  }
  return manifest;
}

Hash256 SnapshotManifest::id() const {
  Writer out;
  write_manifest(out, *this);
  return sha256(out.written());
}

std::size_t SnapshotManifest::block_bytes(std::uint32_t index) const {
  WEFT_CHECK(index < blocks.size());
  const std::uint64_t begin = std::uint64_t{index} * kStateBlockBytes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(kStateBlockBytes, bytes - begin));
}

SnapshotManifest make_manifest(Round round, ByteSpan state) {
  SnapshotManifest manifest{round, state.size(), {}};
  WEFT_CHECK(blocks_of(state.size()) <= kStateBlocksMax);
  for (std::size_t begin = 0; begin < state.size(); begin += kStateBlockBytes) {
    const std::size_t size = std::min(kStateBlockBytes, state.size() - begin);
    manifest.blocks.push_back(sha256(state.subspan(begin, size)));
  }
  return manifest;
}

Bytes StateOfferMessage::encode() const {
  Writer out;
  out.u8(manifest ? 1 : 0);
  if (manifest) write_manifest(out, *manifest);
  return out.take();
}

Result<StateOfferMessage> StateOfferMessage::decode(ByteSpan bytes) {
  Reader in("state offer", bytes);
  StateOfferMessage message;
  if (in.boolean("has manifest")) message.manifest = read_manifest(in);
  WEFT_TRY(in.finish());
  return message;
}

Bytes BlockName::encode() const {
  Writer out;
  out.raw(manifest).u32(index);
  return out.take();
}

Result<BlockName> BlockName::decode(ByteSpan bytes) {
  Reader in("block request", bytes);
  BlockName message;
  message.manifest = in.raw<32>("manifest");
  message.index = in.u32("index");
  WEFT_TRY(in.finish());
  return message;
}

Bytes BlockMissingMessage::encode() const {
  Writer out;
  out.raw(manifest);
  return out.take();
}

Result<BlockMissingMessage> BlockMissingMessage::decode(ByteSpan bytes) {
  Reader in("block missing", bytes);
  BlockMissingMessage message;
  message.manifest = in.raw<32>("manifest");
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

Bytes ResultHead::encode() const {
  Writer out;
  out.round(round).round(newest).u64(elements).u32(piece).raw(hash);
  return out.take();
}

Result<ResultHead> ResultHead::decode(ByteSpan bytes) {
  Reader in("result", bytes);
  ResultHead head;
  head.round = in.round("round");
  head.newest = in.round("newest");
  head.elements = in.u64("elements");
  head.piece = in.u32("piece");
  head.hash = in.raw<16>("hash");
  if (head.newest < head.round) in.fail("newest", "is below the round itself");
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
