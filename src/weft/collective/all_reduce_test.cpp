// N cores in one thread, joined by queues whose order between links is drawn from a seed.
#include "weft/collective/all_reduce.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/collective/segment_plan.h"

namespace weft {
namespace {

constexpr std::size_t kLowWater = 2048;

struct Sizes {
  int members = 1;
  std::int64_t elements = 0;
};

class FakeNetwork {
 public:
  FakeNetwork(Sizes sizes, AllReduceOptions options, std::uint64_t seed)
      : size_(sizes.members), elements_(sizes.elements), rng_(seed) {
    queues_.resize(static_cast<std::size_t>(size_ * size_));
    options.size = size_;
    for (int rank = 0; rank < size_; ++rank) {
      options.rank = Rank(rank);
      sinks_.push_back(std::make_unique<Sink>(*this, rank));
      cores_.push_back(make_all_reduce(options, elements_, *sinks_.back()));
      std::vector<float> input(static_cast<std::size_t>(elements_));
      for (float& x : input) x = static_cast<float>(rng_.uniform() * 2 - 1);
      inputs_.push_back(std::move(input));
      offered_.push_back(0);
    }
  }

  AllReduce& core(int rank) { return *cores_[index(rank)]; }

  // Contributes a piece somewhere, or delivers one frame; false when nothing is left to do.
  bool step() {
    std::vector<int> choices;
    for (int rank = 0; rank < size_; ++rank) {
      if (offered_[index(rank)] < elements_) choices.push_back(size_ * size_ + rank);
    }
    for (int pair = 0; pair < size_ * size_; ++pair) {
      if (!queues_[index(pair)].empty()) choices.push_back(pair);
    }
    if (choices.empty()) return false;
    const int choice = choices[rng_.below(choices.size())];
    if (choice >= size_ * size_) {
      offer(choice - size_ * size_);
    } else {
      deliver(choice / size_, choice % size_);
    }
    return true;
  }

  void run() {
    while (step()) {
    }
  }

  void break_link(int a, int b) {
    queue(a, b).clear();
    queue(b, a).clear();
    core(a).on_link_down(Rank(b));
    core(b).on_link_down(Rank(a));
  }

  void restore_link(int a, int b) {
    ASSERT_TRUE(core(a).resume(Rank(b), core(b).received_map(Rank(a))).ok());
    ASSERT_TRUE(core(b).resume(Rank(a), core(a).received_map(Rank(b))).ok());
  }

  void expect_sums() {
    for (int rank = 0; rank < size_; ++rank) {
      ASSERT_TRUE(core(rank).complete()) << "rank " << rank;
      EXPECT_TRUE(core(rank).sent_all());
      EXPECT_EQ(core(rank).waits_for(), Rank(rank));
    }
    if (elements_ == 0) return;
    const std::shared_ptr<FloatBuffer> first_buffer = core(0).result();
    const std::span<const float> first = first_buffer->span();
    for (std::size_t i = 0; i < first.size(); ++i) {
      double sum = 0;
      for (const auto& input : inputs_) sum += static_cast<double>(input[i]);
      ASSERT_NEAR(first[i], sum, 1e-6 * size_) << "element " << i;
    }
    for (int rank = 1; rank < size_; ++rank) {
      const std::shared_ptr<FloatBuffer> buffer = core(rank).result();
      ASSERT_TRUE(std::ranges::equal(first, buffer->span())) << "rank " << rank;
    }
  }

  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
  std::size_t frames_sent() const { return frames_sent_; }

 private:
  struct Message {
    std::uint8_t type = 0;
    Bytes head;
    Bytes body;
  };
  struct Sink final : AllReduceSink {
    Sink(FakeNetwork& owner, int rank) : network(owner), self(rank) {}
    void send(Rank to, Frame frame) override {
      ++network.frames_sent_;
      const ByteSpan body = frame.body.span();
      network.queue(self, to.value())
          .push_back({frame.type, std::move(frame.head), Bytes(body.begin(), body.end())});
    }
    std::size_t queued_bytes(Rank to) const override { return network.bytes_in(self, to.value()); }
    FakeNetwork& network;
    int self;
  };

  static std::size_t index(int value) { return static_cast<std::size_t>(value); }
  std::deque<Message>& queue(int from, int to) { return queues_[index(from * size_ + to)]; }
  std::size_t bytes_in(int from, int to) {
    std::size_t sum = 0;
    for (const Message& message : queue(from, to)) sum += message.body.size();
    return sum;
  }

  void offer(int rank) {
    std::int64_t& at = offered_[index(rank)];
    const std::int64_t size =
        std::min<std::int64_t>(elements_ - at, 1 + static_cast<std::int64_t>(rng_.below(3000)));
    // From the end towards the front, as gradients come.
    at += size;
    core(rank).contribute(elements_ - at, std::span<const float>(inputs_[index(rank)])
                                              .subspan(static_cast<std::size_t>(elements_ - at),
                                                       static_cast<std::size_t>(size)));
  }

  void deliver(int from, int to) {
    const std::size_t before = bytes_in(from, to);
    Message message = std::move(queue(from, to).front());
    queue(from, to).pop_front();
    FrameView view{message.type, message.head, message.body};
    if (rng_.below(2) == 0) {
      const MutableByteSpan out =
          core(to).body_destination(Rank(from), message.head, message.body.size());
      ASSERT_EQ(out.size(), message.body.size());
      std::ranges::copy(message.body, out.begin());
      view.body = out;
    }
    const Status status = core(to).on_frame(Rank(from), view);
    ASSERT_TRUE(status.ok()) << status.to_string();
    if (before > kLowWater && bytes_in(from, to) <= kLowWater) core(from).on_writable(Rank(to));
  }

  int size_;
  std::int64_t elements_;
  Rng rng_;
  std::size_t frames_sent_ = 0;
  std::vector<std::deque<Message>> queues_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::vector<std::vector<float>> inputs_;
  std::vector<std::int64_t> offered_;
  std::vector<std::unique_ptr<AllReduce>> cores_;
};

AllReduceOptions small_segments() {
  AllReduceOptions options;
  options.id = {ViewId{ViewNumber(3), {}}, Round(7)};
  options.segment_bytes = 1024;
  options.bucket_bytes = 16 * 1024;
  options.direct_bytes_max = 512;
  options.queue_bytes_max = 4096;
  return options;
}

class AllReduceSizes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, AllReduceSizes, testing::Range(1, 6));

TEST_P(AllReduceSizes, SumsAreTheOraclesAndBitEqual) {
  for (const std::int64_t elements : {0, 1, 3, 17, 128, 129, 1000, 4097, 20011, 65536}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << elements << " elements, seed " << seed);
      FakeNetwork network({GetParam(), elements}, small_segments(), seed);
      network.run();
      network.expect_sums();
    }
  }
}

TEST_P(AllReduceSizes, OrderOfEventsDoesNotChangeTheBits) {
  AllReduceOptions options = small_segments();
  std::vector<float> first;
  for (std::uint64_t order = 0; order < 4; ++order) {
    FakeNetwork network({GetParam(), 5001}, options, 9);
    for (std::uint64_t i = 0; i < order; ++i) network.below(2);
    network.run();
    const std::shared_ptr<FloatBuffer> buffer = network.core(GetParam() - 1).result();
    if (order == 0) first.assign(buffer->span().begin(), buffer->span().end());
    EXPECT_TRUE(std::ranges::equal(first, buffer->span()));
  }
}

TEST_P(AllReduceSizes, LinksBreakAndComeBackAtAnyMoment) {
  const int members = GetParam();
  if (members == 1) return;
  for (const std::int64_t elements : {100, 9001}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(testing::Message() << elements << " elements, seed " << seed);
      FakeNetwork network({members, elements}, small_segments(), seed);
      const auto bound = static_cast<std::uint64_t>(members);
      for (int fault = 0; fault < 4; ++fault) {
        for (std::uint64_t steps = network.below(60); steps > 0; --steps) network.step();
        const int a = static_cast<int>(network.below(bound));
        const int b = (a + 1 + static_cast<int>(network.below(bound - 1))) % members;
        network.break_link(a, b);
        for (std::uint64_t steps = network.below(20); steps > 0; --steps) network.step();
        network.restore_link(a, b);
      }
      network.run();
      network.expect_sums();
    }
  }
}

TEST(AllReduceStart, NothingIsSentBeforeResume) {
  for (const std::int64_t elements : {50, 5000}) {
    AllReduceOptions options = small_segments();
    options.start_open = false;
    FakeNetwork network({3, elements}, options, 5);
    network.run();
    EXPECT_EQ(network.frames_sent(), 0U);
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        if (a == b) continue;
        ASSERT_TRUE(network.core(a).resume(Rank(b), {}).ok());
      }
    }
    network.run();
    network.expect_sums();
  }
}

struct RecordingSink final : AllReduceSink {
  void send(Rank, Frame frame) override { sent.push_back(std::move(frame)); }
  std::size_t queued_bytes(Rank) const override { return 0; }
  std::vector<Frame> sent;
};

Status offer_frame(AllReduce& core, int from, const SegmentHead& head, std::size_t body_bytes) {
  const Bytes bytes = head.encode();
  const Bytes body(body_bytes);
  if (!core.body_destination(Rank(from), bytes, body_bytes).empty()) {
    EXPECT_EQ(core.body_destination(Rank(from), bytes, body_bytes).size(), body_bytes);
  }
  return core.on_frame(Rank(from), {frame_type::kSegment, bytes, body});
}

TEST(AllReduceHostile, RingRefusesWhatNoMemberSends) {
  AllReduceOptions options = small_segments();
  options.size = 3;
  options.rank = Rank(1);
  RecordingSink sink;
  const auto core = make_all_reduce(options, 3000, sink);
  const std::vector<float> input(3000, 1.0F);
  core->contribute(0, input);
  const std::size_t sent = sink.sent.size();
  EXPECT_GT(sent, 0U);
  SegmentHead good{options.id, CollectiveOp::kReduce, 3000, 0};
  // Chunk 0 starts at rank 1, so the predecessor's partial sum of segment 0 has no place here.
  EXPECT_EQ(offer_frame(*core, 0, good, 1024).code(), Code::kCorrupt);
  const auto plan = plan_segments(3000, {3, 4096, 256});
  const auto mine =
      static_cast<std::uint32_t>(std::ranges::find(plan, Rank(1), &Segment::owner) - plan.begin());
  good.segment = mine;
  const auto bytes = static_cast<std::size_t>(plan[mine].elements) * sizeof(float);
  SegmentHead bad = good;
  bad.segment = 100000;
  EXPECT_EQ(offer_frame(*core, 0, bad, bytes).code(), Code::kCorrupt);
  bad = good;
  bad.op = CollectiveOp::kDirect;
  EXPECT_EQ(offer_frame(*core, 0, bad, bytes).code(), Code::kCorrupt);
  bad = good;
  bad.op = CollectiveOp::kGather;
  EXPECT_EQ(offer_frame(*core, 0, bad, bytes).code(), Code::kCorrupt);
  EXPECT_EQ(offer_frame(*core, 2, good, bytes).code(), Code::kCorrupt);
  EXPECT_EQ(offer_frame(*core, 0, good, bytes - 4).code(), Code::kCorrupt);
  EXPECT_EQ(offer_frame(*core, 0, good, bytes + 1).code(), Code::kCorrupt);
  bad = good;
  bad.elements = 2999;
  const Status other_length = offer_frame(*core, 0, bad, bytes);
  EXPECT_EQ(other_length.code(), Code::kInvalidArgument);
  EXPECT_THAT(other_length.message(), testing::HasSubstr("2999"));
  EXPECT_EQ(core->on_frame(Rank(0), {frame_type::kSegment, {}, {}}).code(), Code::kCorrupt);
  EXPECT_TRUE(offer_frame(*core, 0, good, bytes).ok());
  EXPECT_EQ(offer_frame(*core, 0, good, bytes).code(), Code::kCorrupt) << "twice";
  EXPECT_EQ(core->resume(Rank(2), Bytes(5)).code(), Code::kCorrupt);
  EXPECT_FALSE(core->complete());
  EXPECT_EQ(core->waits_for(), Rank(0));
}

TEST(AllReduceHostile, DirectRefusesWhatNoMemberSends) {
  AllReduceOptions options = small_segments();
  options.size = 3;
  options.rank = Rank(1);
  RecordingSink sink;
  const auto core = make_all_reduce(options, 10, sink);
  const SegmentHead good{options.id, CollectiveOp::kDirect, 10, 0};
  SegmentHead bad = good;
  bad.op = CollectiveOp::kReduce;
  EXPECT_EQ(offer_frame(*core, 0, bad, 40).code(), Code::kCorrupt);
  bad = good;
  bad.segment = 1;
  EXPECT_EQ(offer_frame(*core, 0, bad, 40).code(), Code::kCorrupt);
  bad = good;
  bad.elements = 11;
  EXPECT_EQ(offer_frame(*core, 0, bad, 44).code(), Code::kInvalidArgument);
  EXPECT_EQ(offer_frame(*core, 0, good, 44).code(), Code::kCorrupt);
  EXPECT_EQ(offer_frame(*core, 1, good, 40).code(), Code::kCorrupt) << "from itself";
  EXPECT_EQ(offer_frame(*core, 7, good, 40).code(), Code::kCorrupt) << "from nobody";
  EXPECT_TRUE(offer_frame(*core, 0, good, 40).ok());
  EXPECT_EQ(offer_frame(*core, 0, good, 40).code(), Code::kCorrupt) << "twice";
  EXPECT_EQ(core->resume(Rank(2), Bytes(2)).code(), Code::kCorrupt);
  EXPECT_EQ(core->waits_for(), Rank(1)) << "its own input is missing";
}

TEST(SegmentPlan, CoversEveryElementOnceWithinTheLimits) {
  for (const int size : {1, 2, 3, 5, 64}) {
    for (const std::int64_t elements : {0, 1, 15, 16, 17, 1000, 99991}) {
      std::int64_t at = 0;
      for (const Segment& segment : plan_segments(elements, {size, 4096, 256})) {
        ASSERT_EQ(segment.offset, at);
        ASSERT_GT(segment.elements, 0);
        ASSERT_LE(segment.elements, 256);
        ASSERT_LT(segment.owner.value(), size);
        at += segment.elements;
      }
      EXPECT_EQ(at, elements);
    }
  }
}

}  // namespace
}  // namespace weft
