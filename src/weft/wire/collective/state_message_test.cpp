#include "weft/wire/state_message.h"

#include <gtest/gtest.h>

#include "weft/wire/core/message_checks.h"
#include "weft/wire/hash_tree.h"

namespace weft::state_message_test {
namespace {

TEST(StateMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(StateQueryMessage{});
  check_message(StateQueryMessage{Hash256{8}});
  check_message(StateOfferMessage{});
  check_message(StateOfferMessage{SnapshotName{Round(9), kStateBlockBytes + 5, Hash256{7}}});
  check_message(BlockRequestMessage{Hash256{1, 2}, 3});
  check_message(BlockHead{Hash256{1, 2}, 3, {}});
  check_message(BlockHead{Hash256{1, 2}, 3, {Hash256{4}, Hash256{5}}});
  check_message(BlockMissingMessage{Hash256{4}});
  check_message(ResultRequestMessage{Round(77)});
  check_message(ResultHead{Round(7), Round(9), 1'000'000, 5000, 2, Hash128{5}});
  check_message(ResultMissingMessage{Round(7), Round(9), Round(12)});
  check_message(StateHistory{});
  check_message(StateHistory{Hash256{9}, 120, {{Hash256{3}, 40}, {Hash256{4}, 50}}});
  check_message(HeldStateMessage{Round(12), Hash256{6}});
  check_message(HeldStateMessage{Round(12),
                                 Hash256{6},
                                 RunId{7},
                                 RunId{7},
                                 3,
                                 {PeerId{Hash256{8}}},
                                 {PastRun{RunId{7}, 2, Round(9), Hash256{1}}}});
  check_message(StateReceivedMessage{std::uint64_t{5} << 40U});
}

TEST(StateMessage, AHistoryTellsWhereItsStateBegins) {
  StateHistory history{Hash256{9}, 120, {{Hash256{3}, 40}, {Hash256{4}, 50}}};
  Bytes state = history.encode();
  EXPECT_EQ(state.size() % 64, 0U);
  const std::size_t before = state.size();
  state.resize(before + 100, 7);
  EXPECT_EQ(*StateHistory::bytes_in(state), before);
  EXPECT_EQ(*StateHistory::decode(ByteSpan(state).first(before)), history);
  EXPECT_FALSE(StateHistory::bytes_in(ByteSpan(state).first(before - 1)).ok());
  EXPECT_FALSE(StateHistory::bytes_in(ByteSpan(state).first(3)).ok());
  for (const int low : {0, 63, 255}) {
    state[0] = static_cast<std::uint8_t>(low);
    EXPECT_FALSE(StateHistory::decode(ByteSpan(state).first(before)).ok());
  }
  history.absorbed.assign(kAbsorbedMax + 1, {});
  EXPECT_EQ(StateHistory::decode(history.encode()).status().code(), Code::kCorrupt);
}

TEST(StateMessage, ANameKnowsItsBlocks) {
  const SnapshotName name{Round(3), 2 * kStateBlockBytes + 100, {}};
  EXPECT_EQ(name.blocks(), 3U);
  EXPECT_EQ(name.block_bytes(1), kStateBlockBytes);
  EXPECT_EQ(name.block_bytes(2), 100U);
  EXPECT_EQ((SnapshotName{Round(3), 0, {}}).blocks(), 0U);
  EXPECT_EQ((SnapshotName{Round(3), kStateBlockBytes, {}}).blocks(), 1U);
}

TEST(StateMessage, ABlockProvesItselfByItsPathAndNoOtherDoes) {
  Bytes state(2 * kStateBlockBytes + 100, 1);
  state[kStateBlockBytes] = 2;
  const ByteSpan bytes = state;
  const std::vector<ByteSpan> blocks = {bytes.first(kStateBlockBytes),
                                        bytes.subspan(kStateBlockBytes, kStateBlockBytes),
                                        bytes.last(100)};
  const HashTree tree({sha256(blocks[0]), sha256(blocks[1]), sha256(blocks[2])});
  const SnapshotName name = name_snapshot(Round(3), state.size(), tree.root());
  for (std::uint32_t i = 0; i < 3; ++i) {
    BlockHead head{name.root, i, tree.path(i)};
    EXPECT_TRUE(head.proves(name, blocks[i]));
    EXPECT_FALSE(head.proves(name, blocks[(i + 1) % 3]));
    EXPECT_FALSE(head.proves(name, blocks[i].first(99)));
    EXPECT_FALSE(head.proves({Round(4), state.size(), name.root}, blocks[i]));
    EXPECT_FALSE(head.proves({Round(3), state.size() + kStateBlockBytes, name.root}, blocks[i]));
    EXPECT_FALSE(head.proves({Round(3), state.size(), Hash256{}}, blocks[i]));
    head.index = 3;
    EXPECT_FALSE(head.proves(name, blocks[i]));
  }
}

TEST(StateMessage, WhatIsOutOfBoundsIsRefused) {
  const SnapshotName most{Round(1), std::uint64_t{kStateBlockBytes} * kStateBlocksMax, {}};
  EXPECT_TRUE(StateOfferMessage::decode(StateOfferMessage{most}.encode()).ok());
  for (const std::uint64_t bytes : {most.bytes + 1, ~std::uint64_t{0}}) {
    const SnapshotName huge{Round(1), bytes, {}};
    EXPECT_EQ(StateOfferMessage::decode(StateOfferMessage{huge}.encode()).status().code(),
              Code::kCorrupt);
  }
  BlockHead head{Hash256{}, 1, std::vector<Hash256>(kBlockPathMax)};
  EXPECT_TRUE(BlockHead::decode(head.encode()).ok());
  head.path.emplace_back();
  EXPECT_EQ(BlockHead::decode(head.encode()).status().code(), Code::kCorrupt);
}

TEST(StateMessage, ResultOfARoundAboveTheNewestIsRefused) {
  const ResultHead head{Round(9), Round(8), 10, 0, 0, {}};
  EXPECT_EQ(ResultHead::decode(head.encode()).status().code(), Code::kCorrupt);
  const ResultHead much{Round(8), Round(8), 10, kRoundReportsBytesMax + 1, 0, {}};
  EXPECT_EQ(ResultHead::decode(much.encode()).status().code(), Code::kCorrupt);
}

TEST(StateMessage, SumsAndReportsOfAResultAreCutIntoPiecesEachByItself) {
  ResultHead head{Round(8), Round(8), kPieceElements + 3, kStateBlockBytes + 5, 0, {}};
  EXPECT_EQ(head.sum_pieces(), 2U);
  EXPECT_EQ(head.pieces(), 4U);
  std::vector<std::size_t> sizes;
  for (head.piece = 0; head.piece < 5; ++head.piece) sizes.push_back(head.piece_bytes());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{kStateBlockBytes, 12, kStateBlockBytes, 5, 0}));
  head = {Round(8), Round(8), std::numeric_limits<std::uint64_t>::max(), 0, 7, {}};
  EXPECT_EQ(head.piece_bytes(), kStateBlockBytes);
}

}  // namespace
}  // namespace weft::state_message_test
