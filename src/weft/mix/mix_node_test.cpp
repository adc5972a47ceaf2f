// Members on simulated links that break: the same bits as over links that stand.
#include "weft/mix/mix_node.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_seeds.h"
#include "weft/net/sim_network.h"
#include "weft/wire/frame_type.h"

namespace weft::mix_node_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::size_t kNodeElements = 263'000;  // two pieces

// Pulls each model to ones, with a pull that differs by member and step.
class PullLearner final : public MixLearner {
 public:
  std::size_t elements() const override { return kNodeElements; }
  Result<MixLoss> gradient(std::uint32_t member, std::uint64_t step, std::span<float> model,
                           std::span<float> gradient) override {
    const float pull = 0.01F * static_cast<float>(1 + member + step % 3);
    for (std::size_t i = 0; i < model.size(); ++i) gradient[i] = pull * (model[i] - 1);
    return MixLoss{1, 0, 1, 1};
  }
  Result<MixLoss> loss(std::uint32_t member, std::uint64_t step,
                       std::span<const float> model) override {
    const double pull = 0.01 * static_cast<double>(1 + member + step % 3);
    double sum = 0;
    for (const float value : model) sum += pull / 2 * (double{value} - 1) * (double{value} - 1);
    return MixLoss{sum, 0, 1, 1};
  }
  Status update(std::uint32_t /*member*/, std::uint64_t /*step*/, std::span<const float> gradient,
                std::span<float> model) override {
    for (std::size_t i = 0; i < model.size(); ++i) model[i] -= gradient[i];
    return {};
  }
};

// One machine with its member, whose local steps take time.
class Machine final : public TransportHandler {
 public:
  Machine(SimNetwork& network, MixNodeOptions options, MixLearner& learner)
      : network_(network),
        options_(std::move(options)),
        learner_(learner),
        transport_(network.start(options_.members[options_.core.self].id)) {
    transport_.set_handler(*this);
    network_.set_alarm_body(id(), [this] { wake(); });
  }
  const PeerId& id() const { return options_.members[options_.core.self].id; }
  void start(MixVector first) {
    for (PeerAddress& member : options_.members) member.endpoints = {network_.endpoint(member.id)};
    node_ = std::make_unique<MixNode>(options_, transport_, std::move(first), network_.now());
    wake();
  }
  const MixNode& node() const { return *node_; }
  MixNode& node() { return *node_; }
  std::uint64_t bytes_sent() const { return transport_.total_stats().bytes_sent; }

  void on_link_up(const LinkInfo& link) override {
    transport_.set_trust(link.peer, LinkTrust::kProved);
    node_->link_up(link.peer, network_.now());
    wake();
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    node_->link_down(peer, why, network_.now());
    wake();
  }
  void on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) override {
    const Status taken = node_->receive(from, frame, network_.now());
    if (!taken.ok()) transport_.close(from, taken);
    wake();
  }
  void on_writable(const PeerId& peer, Lane /*lane*/) override { node_->writable(peer); }

 private:
  void wake() {
    const TimePoint now = network_.now();
    node_->act(now);
    node_->settle(now);
    node_->act(now);
    if (const auto work = node_->take_work()) take_steps(*work);
    if (const auto due = node_->next_deadline()) network_.set_alarm(id(), *due);
  }
  void take_steps(const MixWork& work) {
    auto model = std::make_shared<std::vector<float>>(*work.model);
    MixLocalWork local = {options_.core.self, steps_, work.steps, work.version};
    if (work.beside) local.beside = *work.beside;
    const Result<MixLoss> loss = options_.core.method->local.run(local, learner_, *model);
    ASSERT_TRUE(loss.ok());
    steps_ += work.steps;
    network_.call_at(network_.now() + milliseconds(20 + options_.core.self),
                     [this, id = work.id, model, loss = *loss] {
                       if (!network_.running(this->id())) return;
                       node_->worked(id, model, loss, network_.now());
                       wake();
                     });
  }

  SimNetwork& network_;
  MixNodeOptions options_;
  MixLearner& learner_;
  SimTransport& transport_;
  std::unique_ptr<MixNode> node_;
  std::uint64_t steps_ = 0;
};

class Machines {
 public:
  Machines(const MixMethodTexts& texts, std::uint32_t members, std::uint64_t seed,
           std::uint64_t versions = 8)
      : network_(network_options(seed)), method_(*MixMethod::parse(texts)) {
    std::vector<PeerAddress> addresses;
    for (std::uint32_t i = 0; i < members; ++i) {
      addresses.push_back({PeerId{sha256(as_bytes(std::string_view(std::to_string(i))))}, {}});
    }
    for (std::uint32_t i = 0; i < members; ++i) {
      MixNodeOptions options;
      options.core = {.self = i,
                      .members = members,
                      .versions = versions,
                      .steps = 3,
                      .tensors = {{0, kNodeElements, true}},
                      .method = &method_};
      options.members = addresses;
      options.patience = seconds(60);
      machines_.push_back(std::make_unique<Machine>(network_, std::move(options), learner_));
    }
    for (std::uint32_t i = 0; i < members; ++i) {
      machines_[i]->start(
          std::make_shared<const std::vector<float>>(kNodeElements, static_cast<float>(i % 3)));
    }
  }
  static SimNetworkOptions network_options(std::uint64_t seed) {
    SimNetworkOptions options;
    options.seed = seed;
    options.bytes_per_second = 20'000'000;
    return options;
  }
  SimNetwork& network() { return network_; }
  Machine& machine(std::size_t index) { return *machines_[index]; }
  std::size_t size() const { return machines_.size(); }
  bool all_over() const {
    return std::ranges::all_of(machines_,
                               [](const auto& machine) { return machine->node().is_parted(); });
  }
  // True: all have come to the end, and nobody waits for a letter.
  bool run(Duration limit) {
    const TimePoint until = network_.now() + limit;
    while (!all_over() && network_.now() < until && network_.step()) {
    }
    return all_over();
  }

 private:
  SimNetwork network_;
  const MixMethod method_;
  PullLearner learner_;
  std::vector<std::unique_ptr<Machine>> machines_;
};

TEST(MixNode, LinksThatBreakChangeNoBit) {
  for (const char* const method : {"fedavg", "dpsgd", "fedadam", "fedamd", "sybilwall"}) {
    Machines whole({.method = method}, 4, 1);
    ASSERT_TRUE(whole.run(std::chrono::minutes(5))) << method;
    for (const std::uint64_t seed : TestSeeds(1, 3)) {
      Machines broken({.method = method}, 4, seed);
      Rng rng(seed, 2);
      for (int cut = 1; cut <= 12; ++cut) {
        const std::uint64_t a = rng.below(4);
        const std::uint64_t b = (a + 1 + rng.below(3)) % 4;
        broken.network().call_at(TimePoint() + cut * milliseconds(83), [&broken, a, b] {
          broken.network().break_link(broken.machine(a).id(), broken.machine(b).id());
        });
      }
      ASSERT_TRUE(broken.run(std::chrono::minutes(5))) << method << ", seed " << seed;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(*broken.machine(i).node().result(), *whole.machine(i).node().result())
            << method << ", seed " << seed << ", member " << i;
        EXPECT_EQ(broken.machine(i).node().members_there(), 4U);
      }
    }
  }
}

TEST(MixNode, ANumberIsAByteOnTheWay) {
  // Two versions of three numbers, for a model of a megabyte.
  Machines machines({.method = "spsa_byte", .outer = "plain:rate=1e-5"}, 2, 1, 2);
  ASSERT_TRUE(machines.run(std::chrono::minutes(5)));
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const MixNode& node = machines.machine(i).node();
    EXPECT_EQ(node.core().version(), 2U);
    EXPECT_NE((*node.result())[0], static_cast<float>(i));
    EXPECT_LT(machines.machine(i).bytes_sent(), 1024U);
  }
}

TEST(MixNode, ALetterWithoutItsMeanOrWithAByteThatIsNoNumberEndsItsLink) {
  const std::vector<std::pair<MixMethodTexts, Bytes>> wrong = {
      {{.method = "spsa_byte"}, MixReturnedMessage{{0, 1, 0}, 0, 1}.encode()},
      {{.method = "fedamd"}, MixGivenMessage{{0, 1, 0}, 1, 1}.encode()},
  };
  for (const auto& [texts, head] : wrong) {
    Machines machines(texts, 2, 1);
    const std::uint8_t type =
        texts.method == "fedamd" ? frame_type::kMixGiven : frame_type::kMixReturned;
    const Bytes body = {0x80};
    MixNode& node = machines.machine(1).node();
    const Status taken = node.receive(machines.machine(0).id(), {type, head, body}, TimePoint());
    EXPECT_EQ(taken.code(), Code::kCorrupt) << texts.method;
    EXPECT_EQ(node.members_there(), 1U) << texts.method;
  }
}

TEST(MixNode, WhatIsToldBehindAModelIsWholeOrEndsItsLink) {
  const auto sends = [](const Bytes& told) {
    Machines machines({.method = "sybilwall"}, 3, 1);
    Bytes body(kNodeElements * sizeof(float));
    body.insert(body.end(), told.begin(), told.end());
    MixNode& node = machines.machine(1).node();
    const ByteSpan all = body;
    Status taken;
    MixPiece piece{0, all.size(), 0};
    for (; taken.ok() && piece.piece < piece.pieces(); ++piece.piece) {
      const Bytes head = MixReturnedMessage{piece, 0, 3}.encode();
      taken = node.receive(
          machines.machine(0).id(),
          {frame_type::kMixReturned, head, all.subspan(piece.begin(), piece.size())}, TimePoint());
    }
    return taken.code();
  };
  const Bytes head = MixHistoryMessage{2, 0, 1}.encode();
  Bytes whole = head;
  whole.resize(head.size() + kNodeElements * sizeof(float));
  EXPECT_EQ(sends({}), Code::kOk) << "members that know of nobody tell nothing";
  EXPECT_EQ(sends(whole), Code::kOk);
  EXPECT_EQ(sends(head), Code::kCorrupt) << "no model";
  EXPECT_EQ(sends(Bytes(5)), Code::kCorrupt) << "half a head";
  whole.push_back(0);
  EXPECT_EQ(sends(whole), Code::kCorrupt) << "more than a letter may have";
  whole.pop_back();
  whole[12] = 0;  // the distance
  EXPECT_EQ(sends(whole), Code::kCorrupt);
}

TEST(MixNode, ALostServerEndsTheRunForAll) {
  Machines machines({.method = "fedavg"}, 3, 1);
  machines.network().call_at(TimePoint() + milliseconds(300), [&machines] {
    machines.network().crash(machines.machine(0).id(), SimCrash::kKilled);
  });
  EXPECT_FALSE(machines.run(seconds(30)));
  for (const std::size_t member : {1U, 2U}) {
    EXPECT_THAT(machines.machine(member).node().failure().message(), HasSubstr("member 0"));
  }
}

TEST(MixNode, WhoLeavesOrSendsWhatIsCorruptIsLostAtOnce) {
  for (const bool corrupt_frame : {false, true}) {
    Machines machines({.method = "dpsgd"}, 3, 1);
    machines.network().call_at(TimePoint() + milliseconds(100), [&machines, corrupt_frame] {
      if (!corrupt_frame) return machines.machine(2).node().leave();
      const PeerId& liar = machines.machine(2).id();
      for (const std::size_t member : {0U, 1U}) {
        const Bytes head(3);
        static_cast<void>(machines.machine(member).node().receive(
            liar, {frame_type::kMixReturned, head, {}}, machines.network().now()));
      }
    });
    machines.run(seconds(30));
    for (const std::size_t member : {0U, 1U}) {
      EXPECT_EQ(machines.machine(member).node().members_there(), 2U);
      EXPECT_NE(machines.machine(member).node().result(), nullptr);
    }
  }
}

}  // namespace
}  // namespace weft::mix_node_test
