// CollectiveNetwork: the cores of one collective and its receivers in one thread, joined by queues
// whose order between links is drawn from a seed. For tests, which see faults in failed();
// TestCollectiveNetwork is the one that GoogleTest knows.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/collective/reduce/collective.h"

namespace weft {

class CollectiveNetwork {
 public:
  static constexpr std::size_t kLowWater = 2048;
  // Makes the core of the rank in the options.
  using Maker = std::function<std::unique_ptr<Collective>(
      const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink)>;

  // `options`: id, rank and residual are set here; residuals[r] and encoders[r], if given, are rank
  // r's. Where rounds are verified, `maker` sets the signer.
  CollectiveNetwork(CollectiveOptions options, std::int64_t elements, std::uint64_t seed,
                    std::vector<std::shared_ptr<FloatBuffer>> residuals = {},
                    const std::vector<std::shared_ptr<ErrorFeedback>>& encoders = {},
                    const Maker& maker = {})
      : options_(options),
        size_(options.size + options.receivers),
        elements_(elements),
        rng_(seed) {
    queues_.resize(index(size_ * size_));
    sent_.resize(index(size_ * size_));
    for (int rank = 0; rank < size_; ++rank) {
      options.rank = Rank(rank);
      if (!residuals.empty()) options.residual = residuals[index(rank)];
      if (!encoders.empty()) options.encoder = encoders[index(rank)];
      std::vector<float> input(index(elements_));
      for (float& x : input) x = static_cast<float>(rng_.uniform() * 2 - 1);
      inputs_.push_back(std::move(input));
      offered_.push_back(input_range(rank).first);
      sinks_.push_back(std::make_unique<Sink>(*this, rank));
      // A barrier sends when it is made, so the sinks must be there.
      cores_.push_back(maker ? maker(options, elements_, *sinks_.back())
                             : make_collective(options, elements_, *sinks_.back()));
    }
  }

  virtual ~CollectiveNetwork() = default;
  CollectiveNetwork(const CollectiveNetwork&) = delete;
  CollectiveNetwork& operator=(const CollectiveNetwork&) = delete;

  Collective& core(int rank) { return *cores_[index(rank)]; }
  const std::vector<float>& input(int rank) const { return inputs_[index(rank)]; }
  void set_input(int rank, std::vector<float> values) { inputs_[index(rank)] = std::move(values); }

  // Which elements rank contributes: [first, second).
  std::pair<std::int64_t, std::int64_t> input_range(int rank) const {
    if (options_.kind == CollectiveKind::kAllGather) {
      return {elements_ / size_ * rank, elements_ / size_ * (rank + 1)};
    }
    if (options_.kind == CollectiveKind::kBroadcast && Rank(rank) != options_.root) return {0, 0};
    // Receivers give none.
    if (rank >= options_.size) return {0, 0};
    return {0, elements_};
  }
  // Which elements of the result mean anything.
  std::pair<std::int64_t, std::int64_t> result_range(int rank) const {
    if (options_.kind == CollectiveKind::kReduce && Rank(rank) != options_.root) return {0, 0};
    if (options_.kind != CollectiveKind::kReduceScatter) return {0, elements_};
    return {elements_ / size_ * rank, elements_ / size_ * (rank + 1)};
  }

  // Contributes a piece somewhere, or delivers one frame; false when nothing is left to do.
  bool step() {
    std::vector<int> choices;
    for (int rank = 0; rank < size_; ++rank) {
      if (offered_[index(rank)] < input_range(rank).second) {
        choices.push_back(size_ * size_ + rank);
      }
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
    check(core(a).resume(Rank(b), core(b).received_map(Rank(a))));
    check(core(b).resume(Rank(a), core(a).received_map(Rank(b))));
  }

  // `times` times: breaks a link drawn from the seed, after fewer than `steps_max` steps, and
  // restores it a few steps later.
  void break_links(int times, std::uint64_t steps_max) {
    const auto bound = static_cast<std::uint64_t>(size_);
    for (int fault = 0; fault < times; ++fault) {
      for (std::uint64_t steps = below(steps_max); steps > 0; --steps) step();
      const auto a = static_cast<int>(below(bound));
      const int b = (a + 1 + static_cast<int>(below(bound - 1))) % size_;
      break_link(a, b);
      for (std::uint64_t steps = below(20); steps > 0; --steps) step();
      restore_link(a, b);
    }
  }

  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
  std::size_t frames_sent() const { return frames_sent_; }
  std::size_t body_bytes_sent() const { return body_bytes_sent_; }
  // From rank to rank.
  std::size_t body_bytes_sent(int from, int to) const { return sent_[index(from * size_ + to)]; }

 protected:
  // A core has refused what a correct one sent, or worse.
  virtual void failed(const std::string& text) {
    static_cast<void>(text);
    WEFT_CHECK(false);
  }
  void check(const Status& status) {
    if (!status.ok()) failed(status.to_string());
  }

  template <class Int>
  static std::size_t index(Int value) {
    return static_cast<std::size_t>(value);
  }
  const CollectiveOptions& options() const { return options_; }
  int size() const { return size_; }
  std::int64_t elements() const { return elements_; }

 private:
  struct Message {
    std::uint8_t type = 0;
    Bytes head;
    Bytes body;
  };
  struct Sink final : CollectiveSink {
    Sink(CollectiveNetwork& owner, int rank) : network(owner), self(rank) {}
    void send(Rank to, Frame frame) override {
      ++network.frames_sent_;
      const ByteSpan body = frame.body.span();
      network.body_bytes_sent_ += body.size();
      network.sent_[index(self * network.size_ + to.value())] += body.size();
      network.queue(self, to.value())
          .push_back({frame.type, std::move(frame.head), Bytes(body.begin(), body.end())});
    }
    std::size_t queued_bytes(Rank to) const override { return network.bytes_in(self, to.value()); }
    CollectiveNetwork& network;
    int self;
  };

  std::deque<Message>& queue(int from, int to) { return queues_[index(from * size_ + to)]; }
  std::size_t bytes_in(int from, int to) {
    std::size_t sum = 0;
    for (const Message& message : queue(from, to)) sum += message.body.size();
    return sum;
  }

  void offer(int rank) {
    const auto [begin, end] = input_range(rank);
    std::int64_t& at = offered_[index(rank)];
    const std::int64_t size =
        std::min<std::int64_t>(end - at, 1 + static_cast<std::int64_t>(rng_.below(3000)));
    at += size;
    // From the end towards the front, as gradients come.
    const std::int64_t offset = begin + end - at;
    core(rank).contribute(
        offset, std::span<const float>(inputs_[index(rank)]).subspan(index(offset), index(size)));
  }

  void deliver(int from, int to) {
    const std::size_t before = bytes_in(from, to);
    Message message = std::move(queue(from, to).front());
    queue(from, to).pop_front();
    FrameView view{message.type, message.head, message.body};
    if (rng_.below(2) == 0) {
      const MutableByteSpan out =
          core(to).body_destination(Rank(from), message.head, message.body.size());
      // Signed messages have no place of their own.
      const bool placed = options_.verification.verifiers == 0 || !out.empty();
      if (placed) {
        if (out.size() != message.body.size()) return failed("a place of another size");
        std::ranges::copy(message.body, out.begin());
        view.body = out;
      }
    }
    const Status status = core(to).on_frame(Rank(from), view);
    check(status);
    if (before > kLowWater && bytes_in(from, to) <= kLowWater) core(from).on_writable(Rank(to));
  }

  const CollectiveOptions options_;
  int size_;
  std::int64_t elements_;
  Rng rng_;
  std::size_t frames_sent_ = 0;
  std::size_t body_bytes_sent_ = 0;
  std::vector<std::size_t> sent_;
  std::vector<std::deque<Message>> queues_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::vector<std::vector<float>> inputs_;
  std::vector<std::int64_t> offered_;
  std::vector<std::unique_ptr<Collective>> cores_;
};

// Many small segments, so that a few thousand elements meet every case.
inline CollectiveOptions small_segments(int members) {
  CollectiveOptions options;
  options.id = {ViewId{ViewNumber(3), {}}, Round(7)};
  options.size = members;
  options.segment_bytes = 1024;
  options.bucket_bytes = 16 * 1024;
  options.direct_bytes_max = 512;
  options.queue_bytes_max = 4096;
  return options;
}

}  // namespace weft
