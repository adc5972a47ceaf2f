#include "weft/wire/state_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/message_checks.h"

namespace weft {
namespace {

TEST(StateMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  const Bytes state(kStateBlockBytes + 5, 7);
  check_message(StateOfferMessage{});
  check_message(StateOfferMessage{make_manifest(Round(9), state)});
  check_message(BlockName{Hash256{1, 2}, 3});
  check_message(BlockMissingMessage{Hash256{4}});
  check_message(ResultRequestMessage{Round(77)});
  check_message(ResultHead{Round(7), Round(9), 1'000'000, 2, Hash128{5}});
  check_message(ResultMissingMessage{Round(7), Round(9), Round(12)});
}

TEST(StateMessage, ManifestCutsTheStateIntoNamedBlocks) {
  Bytes state(2 * kStateBlockBytes + 100, 1);
  const SnapshotManifest manifest = make_manifest(Round(3), state);
  ASSERT_EQ(manifest.blocks.size(), 3U);
  EXPECT_EQ(manifest.bytes, state.size());
  EXPECT_EQ(manifest.block_bytes(1), kStateBlockBytes);
  EXPECT_EQ(manifest.block_bytes(2), 100U);
  EXPECT_EQ(manifest.blocks[0], manifest.blocks[1]);
  EXPECT_EQ(manifest.blocks[2], sha256(ByteSpan(state).last(100)));
  state.back() = 2;
  EXPECT_NE(make_manifest(Round(3), state).id(), manifest.id());
  EXPECT_NE(make_manifest(Round(4), state).id(), make_manifest(Round(3), state).id());
}

TEST(StateMessage, ManifestWhoseBlocksDoNotFitItsBytesIsRefused) {
  Writer out;
  out.u8(1).round(Round(1)).u64(kStateBlockBytes + 1).u32(1).raw(Hash256{});
  EXPECT_EQ(StateOfferMessage::decode(out.written()).status().code(), Code::kCorrupt);
  Writer huge;
  huge.u8(1).round(Round(1)).u64(~std::uint64_t{0}).u32(0);
  EXPECT_EQ(StateOfferMessage::decode(huge.written()).status().code(), Code::kCorrupt);
  Writer many;
  many.u8(1)
      .round(Round(1))
      .u64(kStateBlockBytes * (kStateBlocksMax + 1ULL))
      .u32(kStateBlocksMax + 1);
  EXPECT_EQ(StateOfferMessage::decode(many.written()).status().code(), Code::kCorrupt);
}

TEST(StateMessage, ResultOfARoundAboveTheNewestIsRefused) {
  const ResultHead head{Round(9), Round(8), 10, 0, {}};
  EXPECT_EQ(ResultHead::decode(head.encode()).status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace weft
