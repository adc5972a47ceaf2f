// Steps that members replay from a seed and a few numbers instead of sending them.
#include <memory>
#include <stdexcept>
#include <variant>
#include <vector>

#include "agreed.h"
#include "weft/mix/mix_core.h"

namespace weft::same_bits {
namespace {

constexpr std::size_t kElements = 37;
constexpr std::uint32_t kReplicas = 3;
constexpr std::uint64_t kSteps = 1000;

// The square of the distance from a point of the member's own, of integers.
class Distances final : public MixLearner {
 public:
  std::size_t elements() const override { return kElements; }
  Result<MixLoss> loss(std::uint32_t member, std::uint64_t /*step*/,
                       std::span<const float> model) override {
    double sum = 0;
    for (std::size_t i = 0; i < model.size(); ++i) {
      const double off = static_cast<double>(model[i]) - target(member, i);
      sum += off * off / 2;
    }
    return MixLoss{sum, 0, 1, 1};
  }
  Result<MixLoss> gradient(std::uint32_t member, std::uint64_t step, std::span<float> model,
                           std::span<float> gradient) override {
    for (std::size_t i = 0; i < model.size(); ++i) {
      gradient[i] = static_cast<float>(static_cast<double>(model[i]) - target(member, i));
    }
    return loss(member, step, model);
  }
  Status update(std::uint32_t /*member*/, std::uint64_t /*step*/,
                std::span<const float> /*gradient*/, std::span<float> /*model*/) override {
    return internal_error("no optimizer takes part");
  }

 private:
  static double target(std::uint32_t member, std::size_t at) {
    return static_cast<double>((7 * at + 3 * member) % 5) - 2;
  }
};

std::vector<float> replayed_model(const MixMethod& method) {
  Distances learner;
  const auto first = std::make_shared<const std::vector<float>>(kElements, 0.0F);
  const TimePoint now;
  std::vector<std::unique_ptr<MixCore>> cores;
  for (std::uint32_t i = 0; i < kReplicas; ++i) {
    cores.push_back(std::make_unique<MixCore>(MixCoreOptions{.self = i,
                                                             .members = kReplicas,
                                                             .versions = kSteps,
                                                             .tensors = {{0, kElements, true}},
                                                             .method = &method},
                                              first, now));
  }
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    for (std::uint32_t i = 0; i < kReplicas; ++i) {
      const MixWork work = cores[i]->take_work().value();
      auto made = std::make_shared<std::vector<float>>(*work.model);
      const MixLocalWork local = {i, step, work.steps, work.version};
      const MixLoss loss = method.local.run(local, learner, *made).value();
      cores[i]->worked(work.id, made, loss, now);
    }
    for (std::uint32_t i = 0; i < kReplicas; ++i) {
      for (const MixSend& send : cores[i]->take_sends()) {
        cores[send.to]->returned(i, std::get<MixReturned>(send.what), now);
      }
    }
    for (const auto& core : cores) core->settle(now);
  }
  for (const auto& core : cores) {
    if (*core->model() != *cores.front()->model()) throw std::logic_error("spsa: two models");
  }
  return *cores.front()->model();
}

}  // namespace

void add_replayed(Lines& lines) {
  for (const char* const text : {"spsa", "spsa:directions=8:epsilon=0.01"}) {
    const MixMethod method =
        MixMethod::parse({.method = "spsa_byte", .outer = "plain:rate=0.02", .local = text})
            .value();
    lines.emplace_back(std::string("replay/") + text, Bits().add(replayed_model(method)).hash());
  }
}

}  // namespace weft::same_bits
