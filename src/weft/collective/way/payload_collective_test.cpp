// Encoded inputs over a network: what all members get is what one place would compute from the
// payloads, bit by bit; what travels is as long as the payloads are.
#include "weft/collective/way/payload_collective.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/codec/codec_def.h"
#include "weft/codec/payload.h"
#include "weft/collective/reduce/collective_form.h"
#include "weft/collective/reduce/test_collective_network.h"

namespace weft::payload_collective_test {
namespace {

using Encoders = std::vector<std::shared_ptr<ErrorFeedback>>;

Encoders make_encoders(std::string_view codec, int members) {
  Encoders encoders;
  for (int rank = 0; rank < members; ++rank) {
    encoders.push_back(std::make_shared<ErrorFeedback>(*Codec::parse(codec)));
  }
  return encoders;
}

// One place, plain loops: what the members' encoders send, decoded and combined in rank order.
struct OnePlace {
  explicit OnePlace(std::string_view codec, int members)
      : encoders(make_encoders(codec, members)) {}

  std::vector<float> combine(const std::vector<std::vector<float>>& inputs, std::uint64_t round) {
    std::vector<float> sum(inputs.front().size());
    body_bytes = 0;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      ErrorFeedback& encoder = *encoders[rank];
      const std::span<const float> input = inputs[rank];
      const Bytes payload = encoder.encode(input, round << 16U | rank);
      encoder.commit();
      body_bytes += kPayloadHeadBytes + payload.size();
      std::vector<float> decoded(input.size());
      EXPECT_TRUE(encoder.codec().decode(payload, decoded).ok());
      const bool votes = encoder.codec().sum() == CodecSum::kMajority;
      for (std::size_t i = 0; i < decoded.size(); ++i) {
        const float vote = decoded[i] > 0 ? 1.0F : (decoded[i] < 0 ? -1.0F : 0.0F);
        sum[i] += votes ? vote : decoded[i];
        if (votes && rank + 1 == inputs.size()) {
          sum[i] = sum[i] > 0 ? 1.0F : (sum[i] < 0 ? -1.0F : 0.0F);
        }
      }
    }
    return sum;
  }

  Encoders encoders;
  // The bytes of all members, each counted once.
  std::size_t body_bytes = 0;
};

std::vector<std::vector<float>> inputs_of(const TestCollectiveNetwork& network, int members) {
  std::vector<std::vector<float>> inputs;
  inputs.reserve(static_cast<std::size_t>(members));
  for (int rank = 0; rank < members; ++rank) inputs.push_back(network.input(rank));
  return inputs;
}

void expect_everywhere(TestCollectiveNetwork& network, int members,
                       const std::vector<float>& expected, const std::string& what) {
  for (int rank = 0; rank < members; ++rank) {
    ASSERT_TRUE(network.core(rank).complete()) << what << ", rank " << rank;
    EXPECT_TRUE(network.core(rank).contributed());
    EXPECT_TRUE(network.core(rank).sent_all()) << what;
    EXPECT_EQ(network.core(rank).waits_for(), Rank(rank));
    const std::shared_ptr<FloatBuffer> result = network.core(rank).result();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(result->span()[i], expected[i]) << what << ", rank " << rank << ", element " << i;
    }
  }
}

TEST(PayloadCollective, EveryCodecGivesTheBitsThatOnePlaceWouldGive) {
  for (const CodecDef* def : codecs()) {
    for (const int members : {1, 2, 3, 7}) {
      for (const std::int64_t elements : {0, 1, 5, 6, 3500}) {
        OnePlace oracle(def->name, members);
        TestCollectiveNetwork network(small_segments(members), elements, 8, {},
                                      make_encoders(def->name, members));
        network.run();
        const std::vector<float> expected = oracle.combine(inputs_of(network, members), 7);
        expect_everywhere(network, members, expected, std::string(def->name));
        // Each member's payload to each other, and nothing else.
        EXPECT_EQ(network.body_bytes_sent(),
                  static_cast<std::size_t>(members - 1) * oracle.body_bytes)
            << def->name << ", " << members << " members";
      }
    }
  }
}

// Rounds with error feedback: what a network that breaks all the time gives is what one place gives
// that knows no network. Every third round is aborted in the middle and run again.
TEST(PayloadCollective, RerunsApplyResidualsOnce) {
  for (const std::string codec :
       {"topk:ratio=0.05", "ef_sign", "int8", "sign", "powersgd:rank=2"}) {
    constexpr int kMembers = 4;
    OnePlace oracle(codec, kMembers);
    const Encoders encoders = make_encoders(codec, kMembers);
    for (std::uint64_t round = 1; round <= 12; ++round) {
      CollectiveOptions options = small_segments(kMembers);
      options.id.round = Round(round);
      if (round % 3 == 0) {
        TestCollectiveNetwork aborted(options, 2000, round + 100, {}, encoders);
        for (std::uint64_t steps = aborted.below(60); steps > 0; --steps) aborted.step();
        for (const auto& encoder : encoders) encoder->rollback();
      }
      TestCollectiveNetwork network(options, 2000, round, {}, encoders);
      network.run();
      const std::vector<float> expected = oracle.combine(inputs_of(network, kMembers), round);
      expect_everywhere(network, kMembers, expected, codec);
      if (testing::Test::HasFatalFailure()) return;
      for (const auto& encoder : encoders) encoder->commit();
    }
    for (int rank = 0; rank < kMembers; ++rank) {
      const ResidualValues here = encoders[static_cast<std::size_t>(rank)]->residual();
      const ResidualValues there = oracle.encoders[static_cast<std::size_t>(rank)]->residual();
      ASSERT_EQ(here == nullptr, there == nullptr);
      if (here) {
        EXPECT_EQ(*here, *there) << codec << ", rank " << rank;
      }
    }
  }
}

TEST(PayloadCollective, LinksBreakAndComeBackAtAnyMoment) {
  for (const std::uint64_t seed : TestSeeds(1, 60)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::string codec = seed % 2 == 0 ? "topk:ratio=0.5" : "f32";
    OnePlace oracle(codec, 5);
    TestCollectiveNetwork network(small_segments(5), 3000, seed, {}, make_encoders(codec, 5));
    network.break_links(12, 40);
    network.run();
    expect_everywhere(network, 5, oracle.combine(inputs_of(network, 5), 7), codec);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// --- What no member sends.

struct KeptFrames final : CollectiveSink {
  void send(Rank, Frame frame) override { sent.push_back(std::move(frame)); }
  std::size_t queued_bytes(Rank) const override { return 0; }
  std::vector<Frame> sent;
};

// One member of three, rank 1, with top-k of 1000 elements; and the frames of a correct member.
struct Victim {
  Victim() {
    options = small_segments(3);
    options.segment_bytes = 256;
    options.encoder = std::make_shared<ErrorFeedback>(*Codec::parse("topk:ratio=0.1"));
    const std::vector<float> input(1000, 1.0F);
    KeptFrames theirs;
    CollectiveOptions other = options;
    other.encoder = std::make_shared<ErrorFeedback>(*Codec::parse("topk:ratio=0.1"));
    other.rank = Rank(0);
    const auto sender = make_collective(other, 1000, theirs);
    sender->contribute(0, input);
    for (std::size_t i = 0; i < theirs.sent.size() / 2; ++i) frames.push_back(theirs.sent[i]);
    options.rank = Rank(1);
    core = make_collective(options, 1000, sink);
  }
  Code offer_segment(int from, const SegmentHead& head, const Bytes& body) {
    const Bytes encoded = head.encode();
    (void)core->body_destination(Rank(from), encoded, body.size());
    return core->on_frame(Rank(from), {frame_type::kSegment, encoded, body}).code();
  }
  SegmentHead head(std::size_t frame) const { return *SegmentHead::decode(frames[frame].head); }
  Bytes body(std::size_t frame) const {
    const ByteSpan bytes = frames[frame].body.span();
    return {bytes.begin(), bytes.end()};
  }
  CollectiveOptions options;
  KeptFrames sink;
  std::vector<Frame> frames;
  std::unique_ptr<Collective> core;
};

TEST(PayloadCollectiveHostile, RefusesWhatNoMemberSends) {
  Victim victim;
  ASSERT_GE(victim.frames.size(), 3U);
  const SegmentHead good = victim.head(0);
  const Bytes body = victim.body(0);
  SegmentHead bad = good;
  bad.op = CollectiveOp::kDirect;
  EXPECT_EQ(victim.offer_segment(0, bad, body), Code::kCorrupt);
  bad = good;
  bad.segment = 1;
  EXPECT_EQ(victim.offer_segment(0, bad, body), Code::kCorrupt) << "out of order";
  bad = good;
  bad.elements = 999;
  EXPECT_EQ(victim.offer_segment(0, bad, body), Code::kInvalidArgument);
  EXPECT_EQ(victim.offer_segment(1, good, body), Code::kCorrupt) << "from itself";
  EXPECT_EQ(victim.offer_segment(3, good, body), Code::kCorrupt) << "from nobody";
  EXPECT_EQ(victim.offer_segment(0, good, Bytes(kPayloadHeadBytes - 1)), Code::kCorrupt);
  EXPECT_EQ(victim.offer_segment(0, good, Bytes(257)), Code::kCorrupt);
  EXPECT_EQ(victim.core->resume(Rank(0), Bytes(1)).code(), Code::kCorrupt);
  Bytes map(victim.core->map_size());
  map.back() = 2;
  EXPECT_EQ(victim.core->resume(Rank(0), map).code(), Code::kCorrupt) << "a map with a hole";
  map.assign(map.size(), 2);
  EXPECT_EQ(victim.core->resume(Rank(0), map).code(), Code::kCorrupt) << "more than was sent";
  for (std::size_t i = 0; i < victim.frames.size(); ++i) {
    EXPECT_EQ(victim.offer_segment(0, victim.head(i), victim.body(i)), Code::kOk) << i;
    EXPECT_EQ(victim.offer_segment(0, victim.head(i), victim.body(i)), Code::kCorrupt) << "twice";
  }
  EXPECT_EQ(victim.core->waits_for(), Rank(1)) << "its own input is missing";
}

// The length that the head tells: as long as an encoder's, but not a byte beyond the codec's bound.
TEST(PayloadCollectiveHostile, ALengthBeyondTheBoundIsRefusedBeforeItIsAllocated) {
  for (const std::uint64_t length :
       {std::uint64_t{905}, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    Victim victim;
    Bytes body;
    write_payload_head({ElementType::kF32, victim.options.encoder->codec().id(), 1000, length},
                       body);
    body.resize(256);
    EXPECT_EQ(victim.options.encoder->codec().bytes_max(1000), 904U);
    EXPECT_EQ(victim.offer_segment(0, victim.head(0), body), Code::kCorrupt) << length;
  }
}

// Damage anywhere in the payload: refused at its sender with the last segment at the latest, or
// another vector; never a read or write beyond.
TEST(PayloadCollectiveHostile, DamagedPayloadsAreTheirSendersFault) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Victim victim;
    Rng rng(seed);
    const std::size_t which = rng.below(victim.frames.size());
    for (std::size_t i = 0; i < victim.frames.size(); ++i) {
      Bytes body = victim.body(i);
      if (i == which) {
        body[rng.below(body.size())] = static_cast<std::uint8_t>(rng.below(256));
      }
      const Code code = victim.offer_segment(0, victim.head(i), body);
      EXPECT_TRUE(code == Code::kOk || code == Code::kCorrupt);
      if (code != Code::kOk) {
        ++refused;
        break;
      }
    }
  }
  EXPECT_GT(refused, 20U);
}

}  // namespace
}  // namespace weft::payload_collective_test
