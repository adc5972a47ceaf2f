#include "weft/attack/robust_experiment.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "weft/aggregate/aggregator.h"
#include "weft/attack/attack.h"
#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kInputs = 64;
constexpr std::int64_t kHidden = 32;
constexpr double kMeansLength = 3.2;
constexpr std::int64_t kTrainRows = 4000;
constexpr std::int64_t kTestRows = 2000;
constexpr std::string_view kLabelFlip = "label_flip";

template <class T>
T need_value(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return std::move(*result);
}

struct Rows {
  Array inputs;  // [rows, kInputs]
  Array labels;  // [rows]
};

class Mixture {
 public:
  explicit Mixture(std::uint64_t seed) : rng_(seed) {
    for (std::int64_t label = 0; label < kClasses; ++label) {
      std::vector<double>& mean = means_.emplace_back();
      double squares = 0;
      for (std::int64_t i = 0; i < kInputs; ++i) {
        mean.push_back(rng_.normal());
        squares += mean.back() * mean.back();
      }
      for (double& value : mean) value *= kMeansLength / std::sqrt(squares);
    }
  }
  // Row i has the label i * kClasses / count: they are sorted.
  Rows draw(std::int64_t count) {
    Rows rows{Array::empty({count, kInputs}), Array::empty({count}, DType::kI64)};
    float* value = rows.inputs.data<float>();
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t label = row * kClasses / count;
      rows.labels.data<std::int64_t>()[row] = label;
      for (const double mean : means_[static_cast<std::size_t>(label)]) {
        *value++ = static_cast<float>(mean + rng_.normal());
      }
    }
    return rows;
  }

 private:
  Rng rng_;
  std::vector<std::vector<double>> means_;
};

// The rows of each honest member: of the sorted ones a range, or as many drawn ones.
class Shards {
 public:
  explicit Shards(const RobustOptions& options)
      : rng_(options.seed, 1), order_(kTrainRows), size_(kTrainRows / options.honest) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    if (!options.same_data) return;
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng_.below(i)]);
  }
  void draw_batch(int member, const Rows& from, Rows& batch) {
    const std::int64_t count = batch.labels.dim(0);
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t at =
          member * size_ + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(size_)));
      const std::int64_t taken = order_[static_cast<std::size_t>(at)];
      const float* const values = from.inputs.data<float>() + taken * kInputs;
      std::copy(values, values + kInputs, batch.inputs.data<float>() + row * kInputs);
      batch.labels.data<std::int64_t>()[row] = from.labels.data<std::int64_t>()[taken];
    }
  }

 private:
  Rng rng_;
  std::vector<std::int64_t> order_;
  std::int64_t size_;
};

class Model {
 public:
  explicit Model(std::uint64_t seed) {
    net_.add<Linear>("fc1", kInputs, kHidden);
    net_.add<ReLU>("relu");
    net_.add<Linear>("fc2", kHidden, kClasses);
    net_.initialize(seed);
    arena_ = std::make_unique<ParameterArena>(net_.layout());
    net_.bind(*arena_);
  }

  std::size_t size() const { return arena_->gradients().size(); }
  std::span<const float> gradient(const Rows& batch) {
    arena_->zero_gradients();
    backward(cross_entropy(net_.forward(Tensor(batch.inputs)), batch.labels));
    return arena_->gradients();
  }
  void step(std::span<const float> update, double learning_rate) {
    const std::span<float> parameters = arena_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] -= static_cast<float>(learning_rate) * update[i];
    }
  }
  double accuracy(const Rows& test) {
    const NoGrad no_grad;
    const Tensor best = argmax(net_.forward(Tensor(test.inputs)), 1);
    return mean(cast(eq(best, Tensor(test.labels)), DType::kF32)).item();
  }

 private:
  Sequential net_;
  std::unique_ptr<ParameterArena> arena_;
};

// What the members send in a round: the honest ones first.
class Members {
 public:
  Members(const RobustOptions& options, std::size_t elements)
      : options_(options),
        sent_(static_cast<std::size_t>(options.honest), std::vector<float>(elements)) {
    if (options.attack.empty()) return;
    if (options.attack != kLabelFlip) attack_ = need_value(Attack::parse(options.attack));
    memories_.resize(static_cast<std::size_t>(options.liars));
    sent_.resize(sent_.size() + memories_.size(), std::vector<float>(elements));
    flipped_.resize(elements);
  }

  int count() const { return static_cast<int>(sent_.size()); }
  std::vector<std::span<const float>> sent() const { return {sent_.begin(), sent_.end()}; }
  void take(int member, std::span<const float> gradient) {
    std::vector<float>& kept = sent_[static_cast<std::size_t>(member)];
    const auto old_share = static_cast<float>(options_.momentum);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      kept[i] = old_share * kept[i] + (1 - old_share) * gradient[i];
    }
  }
  bool flip_labels() const { return options_.attack == kLabelFlip; }
  // `gradient` is that of a batch whose labels are flipped.
  void take_flipped(std::span<const float> gradient) {
    const auto share = static_cast<float>((1 - options_.momentum) / options_.honest);
    for (std::size_t i = 0; i < flipped_.size(); ++i) flipped_[i] += share * gradient[i];
  }
  // Liars' own update is the honest members' mean.
  void lie(std::uint64_t round) {
    if (flip_labels()) {
      std::fill(sent_.begin() + options_.honest, sent_.end(), flipped_);
      for (float& value : flipped_) value *= static_cast<float>(options_.momentum);
    }
    if (!attack_) return;
    const auto honest = static_cast<std::size_t>(options_.honest);
    const std::vector<std::span<const float>> all = sent();
    const std::span seen = std::span(all).first(honest);
    std::vector<float> own(all.front().size());
    Aggregator().aggregate(seen, {}, own);
    for (std::size_t liar = 0; liar < memories_.size(); ++liar) {
      attack_->forge({seen, own, options_.liars, round}, memories_[liar], sent_[honest + liar]);
    }
  }

 private:
  const RobustOptions& options_;
  std::vector<std::vector<float>> sent_;
  std::optional<Attack> attack_;
  std::vector<AttackMemory> memories_;
  // The momentum of gradients of flipped labels.
  std::vector<float> flipped_;
};

void flip_labels(Rows& batch) {
  std::int64_t* const labels = batch.labels.data<std::int64_t>();
  std::transform(labels, labels + batch.labels.dim(0), labels,
                 [](std::int64_t label) { return kClasses - 1 - label; });
}

}  // namespace

std::optional<double> robust_accuracy(const RobustOptions& options) {
  Mixture mixture(options.seed);
  const Rows train = mixture.draw(kTrainRows);
  const Rows test = mixture.draw(kTestRows);
  Shards shards(options);
  Model model(options.seed);
  Members members(options, model.size());
  const Aggregator rule = need_value(Aggregator::parse(options.rule));
  if (!rule.check(members.count(), options.liars).ok()) return std::nullopt;

  Rows batch{Array::empty({options.batch, kInputs}), Array::empty({options.batch}, DType::kI64)};
  std::vector<float> update(model.size());
  for (int step = 0; step < options.steps; ++step) {
    for (int member = 0; member < options.honest; ++member) {
      shards.draw_batch(member, train, batch);
      members.take(member, model.gradient(batch));
      if (!members.flip_labels()) continue;
      flip_labels(batch);
      members.take_flipped(model.gradient(batch));
    }
    const auto round = static_cast<std::uint64_t>(step);
    members.lie(round);
    rule.aggregate(members.sent(), {options.liars, round}, update);
    model.step(update, options.learning_rate);
  }
  return model.accuracy(test);
}

}  // namespace weft
