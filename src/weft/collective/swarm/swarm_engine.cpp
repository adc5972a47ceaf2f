#include "weft/collective/swarm/swarm_engine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/thread.h"

namespace weft {
namespace {

// Between two looks at whether the peer is a member yet.
constexpr Duration kSettlePause = std::chrono::milliseconds(10);
// The loop ends a call at its limit; past this after it, the loop is gone.
constexpr Duration kLoopLimit = std::chrono::seconds(5);

struct End {
  bool done = false;
  // No caller waits any more, and the output may be freed.
  bool abandoned = false;
  Status status;
};

class SwarmWork final : public Work {
 public:
  SwarmWork(std::shared_ptr<Guarded<End>> end, Duration limit)
      : end_(std::move(end)), limit_(limit) {}
  ~SwarmWork() override {
    end_->wait_until(clock_.now() + limit_ + kLoopLimit, [](const End& end) { return end.done; });
    end_->with([](End& end) { end.abandoned = true; });
  }
  bool done() override {
    return end_->with([](const End& end) { return end.done; });
  }
  Status wait(Duration limit) override {
    const bool ended =
        end_->wait_until(clock_.now() + limit, [](const End& end) { return end.done; });
    if (!ended) return timed_out("the call goes on");
    return end_->with([](const End& end) { return end.status; });
  }

 private:
  std::shared_ptr<Guarded<End>> end_;
  const Duration limit_;
  SystemClock clock_;
};

class SwarmEngine final : public Engine {
 public:
  explicit SwarmEngine(Swarm& swarm) : swarm_(swarm) {}

  std::string_view name() const override { return "swarm"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Status settle(Duration limit) override;

  std::unique_ptr<Work> all_reduce(std::span<const float> input, std::span<float> output,
                                   const CallOptions& options) override {
    GroupCall call = call_of(CollectiveKind::kAllReduce, input.size(), options);
    if (input.size() != output.size()) return misfit(call);
    call.input = input;
    return begin(std::move(call), output, 0);
  }
  std::unique_ptr<Work> reduce_scatter(std::span<const float> input, std::span<float> output,
                                       const CallOptions& options) override {
    GroupCall call = call_of(CollectiveKind::kReduceScatter, input.size(), options);
    if (size_ > 0 && input.size() / static_cast<std::size_t>(size_) != output.size()) {
      return misfit(call);
    }
    call.input = input;
    return begin(std::move(call), output, output.size() * static_cast<std::size_t>(rank_));
  }
  std::unique_ptr<Work> all_gather(std::span<const float> input, std::span<float> output,
                                   const CallOptions& options) override {
    GroupCall call = call_of(CollectiveKind::kAllGather, output.size(), options);
    call.input = input;
    return begin(std::move(call), output, 0);
  }
  std::unique_ptr<Work> broadcast(std::span<float> values, int root,
                                  const CallOptions& options) override {
    GroupCall call = call_of(CollectiveKind::kBroadcast, values.size(), options);
    call.root = Rank(root);
    if (root == rank_) call.input = values;
    return begin(std::move(call), values, 0);
  }
  std::unique_ptr<Work> barrier(const CallOptions& options) override {
    return begin(call_of(CollectiveKind::kBarrier, 0, options), {}, 0);
  }
  std::unique_ptr<Work> send(std::span<const float> values, int to,
                             const CallOptions& options) override {
    GroupCall call = call_of(CollectiveKind::kBroadcast, values.size(), options);
    call.partner = Rank(to);
    call.gives = true;
    call.input = values;
    return begin(std::move(call), {}, 0);
  }
  std::unique_ptr<Work> receive(std::span<float> values, int from,
                                const CallOptions& options) override {
    GroupCall call = call_of(CollectiveKind::kBroadcast, values.size(), options);
    call.partner = Rank(from);
    return begin(std::move(call), values, 0);
  }

 private:
  GroupCall call_of(CollectiveKind kind, std::size_t elements, const CallOptions& options) const {
    GroupCall call;
    call.kind = kind;
    call.channel = options.channel;
    call.priority = options.priority;
    call.elements = static_cast<std::int64_t>(elements);
    call.precision = options.precision;
    call.deadline = clock_.now() + options.limit;
    return call;
  }
  static std::unique_ptr<Work> misfit(const GroupCall& call) {
    return ended_work(invalid_argument(
        fmt::format("{}: input and output do not fit together", to_string(call.kind))));
  }
  // When it ends well, `output` is the result from element `offset`.
  std::unique_ptr<Work> begin(GroupCall call, std::span<float> output, std::size_t offset);

  Swarm& swarm_;
  SystemClock clock_;
  ViewId view_;
  int rank_ = -1;
  int size_ = 0;
};

Status SwarmEngine::settle(Duration limit) {
  // The swarm announces its views to the thread that calls next() alone; others have to ask.
  Status asked;
  const bool settled = poll_until(clock_, clock_.now() + limit, kSettlePause, [&] {
    const Result<SwarmStatus> status = swarm_.status();
    asked = status.status();
    if (!asked.ok()) return true;
    const auto self = std::ranges::find_if(status->members, &PeerStatus::self);
    if (self == status->members.end()) return false;
    view_ = status->view;
    rank_ = self->rank.value();
    size_ = static_cast<int>(status->members.size());
    return true;
  });
  if (!settled) return timed_out("this peer is no member of a view yet");
  return asked;
}

std::unique_ptr<Work> SwarmEngine::begin(GroupCall call, std::span<float> output,
                                         std::size_t offset) {
  if (size_ == 0) return ended_work(aborted("engine: settle() has found no group yet"));
  auto end = std::make_shared<Guarded<End>>();
  const Duration limit = call.deadline - clock_.now();
  swarm_.begin_group(view_, std::move(call), [end, output, offset](const GroupOutcome& outcome) {
    end->with([&](End& at) {
      if (outcome.status.ok() && !output.empty() && !at.abandoned) {
        const std::span<const float> result = std::as_const(*outcome.values).span();
        std::ranges::copy(result.subspan(offset, output.size()), output.begin());
      }
      at.done = true;
      at.status = outcome.status;
    });
  });
  return std::make_unique<SwarmWork>(end, limit);
}

}  // namespace

std::unique_ptr<Engine> make_swarm_engine(Swarm& swarm) {
  return std::make_unique<SwarmEngine>(swarm);
}

}  // namespace weft
