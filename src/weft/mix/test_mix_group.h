// A whole group of MixCores in virtual time, whose members have closed-form losses. For tests.
//
// Member i's loss is (x - target_i)^2 / 2 in each coordinate, plus noise of its gradient that is
// drawn by member and step; its optimizer is plain gradient descent. Messages take `latency`, local
// steps their member's seconds.
// Threads: one owner. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/mix/mix_core.h"

namespace weft {

class QuadraticLearner final : public MixLearner {
 public:
  QuadraticLearner(std::vector<std::vector<float>> targets, float rate, double noise)
      : targets_(std::move(targets)), rate_(rate), noise_(noise) {}

  std::size_t elements() const override { return targets_.front().size(); }
  Result<MixLoss> gradient(std::uint32_t member, std::uint64_t step, std::span<float> model,
                           std::span<float> gradient) override {
    Rng rng(member, step);
    for (std::size_t i = 0; i < model.size(); ++i) {
      gradient[i] = model[i] - targets_[member][i] + static_cast<float>(noise_ * rng.normal());
    }
    return MixLoss{1, 0, 1, 1};
  }
  Result<MixLoss> loss(std::uint32_t member, std::uint64_t step,
                       std::span<const float> model) override {
    Rng rng(member, step);
    double sum = 0;
    for (std::size_t i = 0; i < model.size(); ++i) {
      const double off = static_cast<double>(model[i]) - static_cast<double>(targets_[member][i]);
      sum += off * off / 2 + noise_ * rng.normal() * static_cast<double>(model[i]);
    }
    return MixLoss{sum, 0, 1, 1};
  }
  Status update(std::uint32_t /*member*/, std::uint64_t /*step*/, std::span<const float> gradient,
                std::span<float> model) override {
    for (std::size_t i = 0; i < model.size(); ++i) model[i] -= rate_ * gradient[i];
    return {};
  }

 private:
  const std::vector<std::vector<float>> targets_;
  const float rate_;
  const double noise_;
};

struct TestMixOptions {
  MixMethodTexts texts;
  std::uint32_t members = 4;
  std::uint64_t versions = 20;
  std::uint32_t steps = 5;
  // For one local step, by member; the last holds for all that follow.
  std::vector<double> seconds{0.1};
  double latency = 0;
  float rate = 0.1F;
  double noise = 0.3;
  // By member; the last holds for all that follow.
  std::vector<std::vector<float>> targets{{1, 2, 3}};
  std::vector<float> first{0, 0, 0};
  // In place of the quadratic losses; nothing: those.
  std::shared_ptr<MixLearner> learner = nullptr;
};

class TestMixGroup {
 public:
  explicit TestMixGroup(const TestMixOptions& options)
      : options_(options),
        method_(*MixMethod::parse(options.texts)),
        learner_(options.learner != nullptr
                     ? options.learner
                     : std::make_shared<QuadraticLearner>(targets_of(options), options.rate,
                                                          options.noise)),
        steps_(options.members, 0),
        alive_(options.members, true) {
    const auto first = std::make_shared<const std::vector<float>>(options.first);
    for (std::uint32_t i = 0; i < options.members; ++i) {
      cores_.push_back(
          std::make_unique<MixCore>(MixCoreOptions{.self = i,
                                                   .members = options.members,
                                                   .versions = options.versions,
                                                   .steps = options.steps,
                                                   .seed = 1,
                                                   .tensors = {{0, options.first.size(), true}},
                                                   .method = &method_,
                                                   .probe = learner_->probe()},
                                    first, now()));
    }
    for (std::uint32_t i = 0; i < options.members; ++i) touched_.insert(i);
  }

  // Until nothing is left to do, or `until`; false: nothing was left.
  bool run(double until = 1e9) {
    settle_all();
    while (!events_.empty() && events_.begin()->first.first <= until && failure_.ok()) {
      now_ = events_.begin()->first.first;
      const auto body = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      body();
      for (const std::uint32_t member : std::set(touched_)) {
        if (alive_[member]) act(member);
      }
      // Only when nothing else comes at this moment.
      if (events_.empty() || events_.begin()->first.first > now_) settle_all();
    }
    return !events_.empty();
  }

  const MixCore& core(std::uint32_t member) const { return *cores_[member]; }
  const std::vector<float>& model(std::uint32_t member = 0) const {
    return *cores_[member]->model();
  }
  // "0.5: 1 of 2" for each combination: time, version, contributions.
  const std::vector<std::string>& log() const { return log_; }
  // The newest that anybody made.
  const MixCombined& newest() const { return newest_; }
  std::uint64_t steps_of(std::uint32_t member) const { return steps_[member]; }
  // The first that any member reported.
  const Status& failure() const { return failure_; }
  // Models and deltas that members have sent each other, answers not counted.
  std::uint64_t returned() const { return returned_; }
  double seconds() const { return now_; }
  const MixMethod& method() const { return method_; }

  void kill_at(std::uint32_t member, double when) {
    at(when, [this, member] {
      alive_[member] = false;
      for (std::uint32_t i = 0; i < options_.members; ++i) {
        if (alive_[i]) touch(i).lost(member, now());
      }
    });
  }
  std::function<void(const MixCombined& made, std::uint32_t by)> on_combined;

 private:
  static std::vector<std::vector<float>> targets_of(const TestMixOptions& options) {
    std::vector<std::vector<float>> all = options.targets;
    all.resize(options.members, options.targets.back());
    return all;
  }
  TimePoint now() const { return TimePoint() + from_seconds(now_); }
  MixCore& touch(std::uint32_t member) {
    touched_.insert(member);
    return *cores_[member];
  }
  void at(double when, std::function<void()> body) {
    events_.emplace(std::pair{when, order_++}, std::move(body));
  }

  void settle_all() {
    for (const std::uint32_t member : std::exchange(touched_, {})) {
      if (!alive_[member]) continue;
      cores_[member]->settle(now());
      act(member);
    }
  }
  void act(std::uint32_t member) {
    MixCore& core = *cores_[member];
    if (failure_.ok()) failure_ = core.failure();
    for (MixCombined& made : core.take_combined()) {
      char text[64];
      std::snprintf(text, sizeof text, "%g: %u of %u", now_, static_cast<unsigned>(made.version),
                    made.contributions);
      log_.emplace_back(text);
      if (on_combined) on_combined(made, member);
      newest_ = std::move(made);
    }
    if (std::optional<MixWork> work = core.take_work()) start(member, *work);
    for (MixSend& send : core.take_sends()) deliver(member, std::move(send));
    if (const std::optional<TimePoint> when = core.next_deadline()) {
      const double moment = to_seconds(when->time_since_epoch());
      if (moment > now_) at(moment, [this, member] { touch(member); });
    }
  }
  void start(std::uint32_t member, const MixWork& work) {
    auto model = std::make_shared<std::vector<float>>(*work.model);
    MixLocalWork local = {member, steps_[member], work.steps, work.version};
    if (work.beside) local.beside = *work.beside;
    const MixLoss loss = *method_.local.run(local, *learner_, *model);
    steps_[member] += work.steps;
    const double each =
        options_.seconds[std::min<std::size_t>(member, options_.seconds.size() - 1)];
    const auto body = [this, member, id = work.id, model, loss] {
      if (alive_[member]) touch(member).worked(id, model, loss, now());
    };
    at(now_ + each * work.steps, body);
  }
  void deliver(std::uint32_t from, MixSend send) {
    if (std::holds_alternative<MixReturned>(send.what)) ++returned_;
    at(now_ + options_.latency, [this, from, send = std::move(send)] {
      if (!alive_[send.to]) return;
      MixCore& core = touch(send.to);
      if (const auto* const given = std::get_if<MixGiven>(&send.what)) {
        core.given(from, *given, now());
      } else {
        core.returned(from, std::get<MixReturned>(send.what), now());
      }
    });
  }

  const TestMixOptions options_;
  const MixMethod method_;
  const std::shared_ptr<MixLearner> learner_;
  std::vector<std::unique_ptr<MixCore>> cores_;
  std::vector<std::uint64_t> steps_;
  std::vector<bool> alive_;
  std::set<std::uint32_t> touched_;
  std::map<std::pair<double, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t order_ = 0;
  std::uint64_t returned_ = 0;
  double now_ = 0;
  std::vector<std::string> log_;
  MixCombined newest_;
  Status failure_;
};

}  // namespace weft
